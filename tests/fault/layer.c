/* tests/fault: a layer between a program and its files that lies about the disk; loaded with LD_PRELOAD.
 *
 * Beside the live files, which play the page cache, it keeps what a disk would hold after the power went: a second
 * folder. A written range reaches it when the file is synced, or earlier, whole or torn into sectors, as a kernel may
 * write back at any time. A new file is on the disk only when its folder was synced. A sync that fails reports EIO and
 * forgets the ranges, as Linux marks such pages clean: a later sync does not bring them back. A killed process leaves
 * the disk as it is.
 *
 * TRILHA_LAYER_FILES  the database's path: it looks after this and its write-ahead log
 * TRILHA_LAYER_DISK   the folder of the disk
 * TRILHA_LAYER_SEED   of its draws
 * TRILHA_LAYER_FAIL   N: one in N writes and one in N syncs fails; absent: none
 *
 * One process at a time: ranges are kept in its memory. SQLite writes with pwrite64 and syncs with fdatasync alone. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 8, FDS_MAX = 1024, NAME_MAX_HERE = 64, PATH_MAX_HERE = 512, SECTOR = 512, CHUNK = 65536 };

typedef struct range {
  off64_t at;
  size_t size;
} range;

typedef struct file {
  char name[NAME_MAX_HERE];
  bool linked; /* its name is on the disk */
  range *dirty;
  size_t count, capacity;
} file;

static struct {
  pthread_mutex_t lock;
  bool ready;
  const char *files, *disk;
  char folder[PATH_MAX_HERE];
  unsigned seed, fail;
  file all[FILES_MAX];
  int count;
  int of_fd[FDS_MAX];      /* 1 + index of its file; 0: none of ours */
  bool is_folder[FDS_MAX]; /* the folder of the files */
} layer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The next definition of a function, as a pointer of its type. */
#define REAL(name, type)                        \
  __extension__({                               \
    type function_;                             \
    void *found_ = real(#name);                 \
    memcpy(&function_, &found_, sizeof found_); \
    function_;                                  \
  })

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

typedef int (*open_call)(const char *, int, ...);
typedef int (*fd_call)(int);
typedef ssize_t (*pwrite_call)(int, const void *, size_t, off64_t);
typedef ssize_t (*write_call)(int, const void *, size_t);
typedef int (*truncate_call)(int, off64_t);
typedef int (*path_call)(const char *);

/* --- the disk -------------------------------------------------------------------------------------------------------
 */

static void begin(void) {
  layer.ready = true;
  layer.files = getenv("TRILHA_LAYER_FILES");
  layer.disk = getenv("TRILHA_LAYER_DISK");
  const char *seed = getenv("TRILHA_LAYER_SEED"), *fail = getenv("TRILHA_LAYER_FAIL");
  layer.seed = seed == NULL ? 1 : (unsigned)strtoul(seed, NULL, 10);
  layer.fail = fail == NULL ? 0 : (unsigned)strtoul(fail, NULL, 10);
  if (layer.files == NULL || layer.disk == NULL) return;
  const char *slash = strrchr(layer.files, '/');
  snprintf(layer.folder, sizeof layer.folder, "%.*s", slash == NULL ? 0 : (int)(slash - layer.files), layer.files);
}

static void lock(void) {
  pthread_mutex_lock(&layer.lock);
  if (!layer.ready) begin();
}

static void unlock(void) {
  pthread_mutex_unlock(&layer.lock);
}

static bool draw(unsigned one_in) {
  return one_in != 0 && (unsigned)rand_r(&layer.seed) % one_in == 0;
}

static bool is_ours(const char *path) {
  if (layer.files == NULL || layer.disk == NULL || strncmp(path, layer.files, strlen(layer.files)) != 0) return false;
  const char *suffix = path + strlen(layer.files);
  return suffix[0] == '\0' || strcmp(suffix, "-wal") == 0; /* the others hold nothing that must last */
}

static void disk_path(const file *f, char out[PATH_MAX_HERE]) {
  snprintf(out, PATH_MAX_HERE, "%s/%s%s", layer.disk, f->name, f->linked ? "" : ".pending");
}

static int open_disk(const file *f) {
  char path[PATH_MAX_HERE];
  disk_path(f, path);
  int fd = REAL(open64, open_call)(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0) abort();
  return fd;
}

static void put(int disk, const char *data, size_t size, off64_t at) {
  if (REAL(pwrite64, pwrite_call)(disk, data, size, at) != (ssize_t)size) abort();
}

static void note_dirty(file *f, off64_t at, size_t size) {
  if (f->count == f->capacity) {
    f->capacity = f->capacity == 0 ? 256 : f->capacity * 2;
    f->dirty = realloc(f->dirty, f->capacity * sizeof *f->dirty);
    if (f->dirty == NULL) abort();
  }
  f->dirty[f->count++] = (range){at, size};
}

/* A kernel may write anything back before it is asked to: the whole, or some sectors of it. */
static void write_back_early(const file *f, const char *data, size_t size, off64_t at) {
  if (!draw(4)) return;
  int disk = open_disk(f);
  bool torn = draw(2);
  for (size_t done = 0; done < size; done += SECTOR) {
    size_t part = size - done < SECTOR ? size - done : SECTOR;
    if (!torn || draw(2)) put(disk, data + done, part, at + (off64_t)done);
  }
  REAL(close, fd_call)(disk);
}

static void copy_range(int from, int to, range r) {
  static char data[CHUNK];
  while (r.size > 0) {
    ssize_t n = pread64(from, data, r.size < CHUNK ? r.size : CHUNK, r.at);
    if (n <= 0) return; /* cut off meanwhile */
    put(to, data, (size_t)n, r.at);
    r.at += n;
    r.size -= (size_t)n;
  }
}

static void sync_file(int fd, file *f) {
  struct stat64 live;
  char path[PATH_MAX_HERE];
  int disk = open_disk(f);
  snprintf(path, sizeof path, "%.400s/%s", layer.folder, f->name);
  int readable = REAL(open64, open_call)(path, O_RDONLY);
  for (size_t i = 0; readable >= 0 && i < f->count; i++) copy_range(readable, disk, f->dirty[i]);
  if (readable >= 0) REAL(close, fd_call)(readable);
  f->count = 0;
  if (fstat64(fd, &live) != 0 || REAL(ftruncate64, truncate_call)(disk, live.st_size) != 0) abort();
  REAL(close, fd_call)(disk);
}

static void sync_folder(void) {
  for (int i = 0; i < layer.count; i++) {
    file *f = &layer.all[i];
    char pending[PATH_MAX_HERE], path[PATH_MAX_HERE];
    if (f->linked) continue;
    disk_path(f, pending);
    f->linked = true;
    disk_path(f, path);
    if (rename(pending, path) != 0 && errno != ENOENT) abort();
  }
}

/* --- what the program calls
 * ------------------------------------------------------------------------------------------- */

static int file_named(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash == NULL ? path : slash + 1;
  for (int i = 0; i < layer.count; i++)
    if (strcmp(layer.all[i].name, name) == 0) return i;
  if (layer.count == FILES_MAX) abort();
  file *f = &layer.all[layer.count];
  char on_disk[PATH_MAX_HERE];
  snprintf(f->name, sizeof f->name, "%.60s", name);
  f->linked = true;
  disk_path(f, on_disk);
  f->linked = access(on_disk, F_OK) == 0;
  return layer.count++;
}

static void note_open(int fd, const char *path) {
  if (fd < 0 || fd >= FDS_MAX) return;
  lock();
  layer.of_fd[fd] = is_ours(path) ? file_named(path) + 1 : 0;
  layer.is_folder[fd] = layer.folder[0] != '\0' && strcmp(path, layer.folder) == 0;
  unlock();
}

__attribute__((visibility("default"))) int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  int fd = REAL(open64, open_call)(path, flags, mode);
  note_open(fd, path);
  return fd;
}

__attribute__((visibility("default"))) int close(int fd) {
  if (fd >= 0 && fd < FDS_MAX) {
    lock();
    layer.of_fd[fd] = 0;
    layer.is_folder[fd] = false;
    unlock();
  }
  return REAL(close, fd_call)(fd);
}

static file *file_of(int fd) {
  return fd >= 0 && fd < FDS_MAX && layer.of_fd[fd] != 0 ? &layer.all[layer.of_fd[fd] - 1] : NULL;
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  lock();
  file *f = file_of(fd);
  if (f != NULL && draw(layer.fail)) {
    errno = draw(2) ? EIO : ENOSPC;
    unlock();
    return -1;
  }
  ssize_t n = REAL(pwrite64, pwrite_call)(fd, data, size, at);
  if (f != NULL && n > 0) {
    note_dirty(f, at, (size_t)n);
    write_back_early(f, data, (size_t)n, at);
  }
  unlock();
  return n;
}

__attribute__((visibility("default"))) int ftruncate64(int fd, off64_t size) {
  lock();
  const file *f = file_of(fd);
  int done = REAL(ftruncate64, truncate_call)(fd, size);
  if (f != NULL && done == 0 && draw(2)) {
    int disk = open_disk(f);
    if (REAL(ftruncate64, truncate_call)(disk, size) != 0) abort();
    REAL(close, fd_call)(disk);
  }
  unlock();
  return done;
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
  lock();
  file *f = file_of(fd);
  bool fails = f != NULL && draw(layer.fail);
  if (fails) f->count = 0; /* clean, and never written */
  if (f != NULL && !fails) sync_file(fd, f);
  if (fd >= 0 && fd < FDS_MAX && layer.is_folder[fd]) sync_folder();
  bool ours = f != NULL || (fd >= 0 && fd < FDS_MAX && layer.is_folder[fd]);
  unlock();
  if (fails) errno = EIO;
  return fails ? -1 : ours ? 0 : REAL(fdatasync, fd_call)(fd);
}

/* A removed file may be gone at once, or be back after the power failed. */
__attribute__((visibility("default"))) int unlink(const char *path) {
  lock();
  if (is_ours(path)) {
    file *f = &layer.all[file_named(path)];
    char on_disk[PATH_MAX_HERE];
    disk_path(f, on_disk);
    if (!f->linked || draw(2)) {
      REAL(unlink, path_call)(on_disk);
      f->linked = false;
    }
    f->count = 0;
  }
  unlock();
  return REAL(unlink, path_call)(path);
}
