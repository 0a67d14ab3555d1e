/* store/sqlite: opening a store by URL, and closing it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/diagnostics.h"
#include "store/sqlite/delivery.h"
#include "store/sqlite/sqlite_internal.h"

enum { FILE_MODE = 0660 /* less the umask: who is not named by owner or group sees no event */ };

static const char scheme[] = "sqlite:";

/* --- what a URL names ------------------------------------------------------------------------------------- */

static trilha_status refuse_url(trilha_error *err, const char *why) {
  return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID",
                          "%s: write sqlite:PATH, as in sqlite:trilha.db or "
                          "sqlite:/var/lib/trilha/trilha.db",
                          why);
}

/* The part after "sqlite:" is the path, byte for byte: nothing is decoded. */
static trilha_status path_of_url(trilha_text url, trilha_buffer *path, trilha_error *err) {
  const size_t skip = sizeof scheme - 1;
  if (url.size < skip || memcmp(url.data, scheme, skip) != 0) return refuse_url(err, "this is not an sqlite: URL");
  trilha_text rest = {url.data + skip, url.size - skip};
  if (rest.size == 0) return refuse_url(err, "the URL names no file");
  if (trilha_text_find(rest, '\0') != NULL) return refuse_url(err, "the path holds a NUL");
  if (trilha_text_is(rest, ":memory:"))
    return refuse_url(err, "a database in memory is refused, for what was acknowledged must be on disk");
  if (rest.size > 2 && rest.data[0] == '/' && rest.data[1] == '/' && rest.data[2] != '/')
    return refuse_url(err, "an sqlite: URL has no host part");
  trilha_buffer_add_text(path, rest);
  return trilha_buffer_check(path, err);
}

static trilha_status refuse_folder(const char *folder, int os_errno, trilha_error *err) {
  if (os_errno == ENOENT || os_errno == ENOTDIR)
    return trilha_error_set_errno(err, TRILHA_NOT_FOUND, "STORE_FOLDER_MISSING", os_errno,
                                  "the folder '%s' of the database does not exist; create it first", folder);
  return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_CANNOT_OPEN", os_errno,
                                "the folder '%s' of the database cannot be used", folder);
}

/* The file's own absolute path, so that every way of naming one file leads to one lock file. A file that is not there
 * yet is named by its folder. */
static trilha_status resolve(const char *path, char **ret_path, trilha_error *err) {
  char *whole = realpath(path, NULL);
  if (whole == NULL && errno != ENOENT) return refuse_folder(path, errno, err);
  if (whole == NULL) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    TRILHA_BUFFER_SCOPED folder = {0};
    trilha_buffer_append(&folder, slash == NULL ? "." : path, slash == NULL ? 1 : (size_t)(slash - path) + 1);
    if (folder.failed != TRILHA_OK) return trilha_error_no_memory(err);
    if (name[0] == '\0') return refuse_folder(path, ENOENT, err);
    char *real_folder = realpath(folder.data, NULL);
    if (real_folder == NULL) return refuse_folder(folder.data, errno, err);
    TRILHA_BUFFER_SCOPED joined = {0};
    trilha_buffer_add_string(&joined, strcmp(real_folder, "/") == 0 ? "" : real_folder);
    trilha_buffer_add_char(&joined, '/');
    trilha_buffer_add_string(&joined, name);
    free(real_folder);
    whole = trilha_buffer_take(&joined, NULL);
    if (whole == NULL) return trilha_error_no_memory(err);
  }
  *ret_path = whole;
  if (strlen(whole) > TRILHA_SQLITE_PATH_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID", "the path of the database is longer than %d bytes",
                            TRILHA_SQLITE_PATH_MAX);
  return TRILHA_OK;
}

/* What is there already must be a regular file that may be read. */
static trilha_status check_file(const char *path, trilha_error *err) {
  struct stat st;
  if (stat(path, &st) != 0) {
    if (errno == ENOENT) return TRILHA_OK;
    return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_CANNOT_OPEN", errno, "cannot look at '%s'", path);
  }
  if (S_ISDIR(st.st_mode))
    return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID",
                            "'%s' is a folder; name the database file in it, as in sqlite:%s/trilha.db", path, path);
  if (!S_ISREG(st.st_mode))
    return trilha_error_set(err, TRILHA_USAGE, "STORE_URL_INVALID", "'%s' is not a regular file", path);
  if (access(path, R_OK) != 0)
    return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_DENIED", errno,
                                  "'%s' cannot be read; its owner or group must let this user in", path);
  return TRILHA_OK;
}

/* --- files ------------------------------------------------------------------------------------------------ */

bool trilha_sqlite_file_exists(const trilha_sqlite_store *s) {
  struct stat st;
  return stat(s->path, &st) == 0;
}

static trilha_status refuse_replaced(const trilha_sqlite_store *s, trilha_error *err) {
  return trilha_error_set(
      err, TRILHA_UNAVAILABLE, "STORE_REPLACED",
      "the database '%s' was moved, removed or replaced while it was open; close the store, and open it again once "
      "the right file is there",
      s->path);
}

trilha_status trilha_sqlite_check_file(trilha_sqlite_store *s, trilha_error *err) {
  struct stat st;
  bool there = stat(s->path, &st) == 0;
  pthread_mutex_lock(&s->mutex);
  bool first = s->inode == 0;
  if (there && first) {
    s->device = st.st_dev;
    s->inode = st.st_ino;
  }
  bool same = there && s->device == st.st_dev && s->inode == st.st_ino;
  pthread_mutex_unlock(&s->mutex);
  if (same) return TRILHA_OK;
  return first ? trilha_sqlite_not_initialized(s, err) : refuse_replaced(s, err);
}

trilha_status trilha_sqlite_not_initialized(const trilha_sqlite_store *s, trilha_error *err) {
  return trilha_error_set(err, TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED",
                          trilha_sqlite_file_exists(s) ? "%s has no Trilha tables: run `trilha init`"
                                                       : "%s does not exist: run `trilha init`",
                          s->display_url);
}

static trilha_status sync_folder(const char *path, trilha_error *err) {
  TRILHA_BUFFER_SCOPED folder = {0};
  const char *slash = strrchr(path, '/');
  trilha_buffer_append(&folder, path, slash == path ? 1 : (size_t)(slash - path));
  if (folder.failed != TRILHA_OK) return trilha_error_no_memory(err);
  int fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int rc = fd < 0 ? -1 : fsync(fd);
  int os_errno = errno;
  if (fd >= 0) close(fd);
  /* Some file systems cannot sync folders and say so; they order the entry themselves. */
  if (rc == 0 || os_errno == EINVAL) return TRILHA_OK;
  return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_IO", os_errno,
                                "the folder '%s' cannot be synced, so the new database might not survive a crash",
                                folder.data);
}

/* Made here and not by SQLite for its mode, and so that its name is on disk before anything is acknowledged. O_EXCL: a
 * file that exists is never opened by other means than SQLite, for closing it would drop SQLite's locks of this
 * process. */
trilha_status trilha_sqlite_create_file(trilha_sqlite_store *s, trilha_error *err) {
  int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
  if (fd < 0 && errno == EEXIST) return TRILHA_OK;
  if (fd < 0)
    return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_CANNOT_OPEN", errno,
                                  "cannot create the database '%s'; its folder must be writable", s->path);
  close(fd);
  return sync_folder(s->path, err);
}

static void warn_of_network(const trilha_sqlite_store *s) {
  static const unsigned long network[] = {0x6969 /* NFS */,      0x517B /* SMB */,      0xFF534D42 /* CIFS */,
                                          0xFE534D42 /* SMB2 */, 0x00C36400 /* Ceph */, 0x5346414F /* AFS */};
  struct statfs fs;
  if (statfs(s->path, &fs) != 0) return;
  for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
    if (((unsigned long)fs.f_type & 0xffffffffUL) == network[i])
      trilha_emit(&s->diagnostics, TRILHA_WARNING, "sqlite.network_filesystem",
                  "the database lies on a network file system: only processes of one host may use it", NULL);
}

trilha_status trilha_sqlite_lock_file(trilha_sqlite_store *s, trilha_writers_lock **ret_lock, trilha_error *err) {
  trilha_status status = TRILHA_OK;
  pthread_mutex_lock(&s->lock_mutex);
  if (s->lock == NULL) {
    struct stat st;
    if (stat(s->path, &st) != 0)
      status = trilha_sqlite_not_initialized(s, err);
    else
      status = trilha_writers_lock_open(s->path, st.st_mode & 0777, &s->lock, err);
  }
  if (status == TRILHA_OK) *ret_lock = s->lock;
  pthread_mutex_unlock(&s->lock_mutex);
  return status;
}

/* --- the store -------------------------------------------------------------------------------------------- */

trilha_status trilha_sqlite_check_process(const trilha_sqlite_store *s, trilha_error *err) {
  if (s->pid == getpid()) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_USAGE, "HANDLE_FORKED",
                          "this store was opened before fork(); open a new one in the child process");
}

static void close_store(trilha_store *store) {
  if (store == NULL) return;
  trilha_sqlite_store *s = trilha_sqlite_of(store);
  /* In a child after fork() nothing may be touched: SQLite would release locks and files that are the parent's. */
  if (s->pid != getpid()) return;
  TRILHA_ASSERT(!s->writing && s->idle_count == s->readers_open);
  for (unsigned i = 0; i < s->idle_count; i++) trilha_sqlite_disconnect(s->idle[i]);
  trilha_sqlite_disconnect(s->writer);
  trilha_writers_lock_close(s->lock);
  pthread_mutex_destroy(&s->mutex);
  pthread_mutex_destroy(&s->lock_mutex);
  free(s->path);
  free(s->display_url);
  free(s);
}

static const char *kind(const trilha_store *store) {
  (void)store;
  return "sqlite";
}

static const char *display_url(const trilha_store *store) {
  return ((const trilha_sqlite_store *)(const void *)store)->display_url;
}

static const trilha_store_operations operations = {
    .close = close_store,
    .append = trilha_sqlite_append,
    .event_by_id = trilha_sqlite_event_by_id,
    .events_query = trilha_sqlite_events_query,
    .events_after = trilha_sqlite_events_after,
    .last_event = trilha_sqlite_last_event,
    .wait = trilha_sqlite_wait,
    .registry_revision = trilha_sqlite_registry_revision,
    .types_list = trilha_sqlite_types_list,
    .types_apply = trilha_sqlite_types_apply,
    .audit_insert = trilha_sqlite_audit_insert,
    .audit_list = trilha_sqlite_audit_list,
    .migrate = trilha_sqlite_migrate,
    .kind = kind,
    .display_url = display_url,
};

static trilha_sqlite_store *new_store(const trilha_store_options *o) {
  trilha_sqlite_store *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  s->base.op = &operations;
  s->base.delivery = &trilha_sqlite_delivery;
  s->pid = getpid();
  s->lock_timeout_ms = o->lock_timeout_ms > 0 ? o->lock_timeout_ms : TRILHA_SQLITE_LOCK_TIMEOUT_MS;
  s->scan_interval_ms = o->scan_interval_ms > 0 ? o->scan_interval_ms : TRILHA_SQLITE_SCAN_MS;
  s->readers_max = o->readers_max > 0 ? o->readers_max : TRILHA_SQLITE_READERS_MAX;
  if (s->readers_max > TRILHA_SQLITE_READERS_LIMIT) s->readers_max = TRILHA_SQLITE_READERS_LIMIT;
  s->unsafe_no_fsync = o->unsafe_no_fsync;
  s->allow_unmigrated = o->allow_unmigrated;
  s->diagnostics = o->diagnostics;
  s->writers_tail = &s->writers;
  s->readers_tail = &s->readers_waiting;
  pthread_mutex_init(&s->mutex, NULL);
  pthread_mutex_init(&s->lock_mutex, NULL);
  return s;
}

static trilha_status name_store(trilha_sqlite_store *s, trilha_text url, trilha_error *err) {
  TRILHA_BUFFER_SCOPED path = {0}, shown = {0};
  trilha_status status = path_of_url(url, &path, err);
  if (status == TRILHA_OK) status = resolve(path.data, &s->path, err);
  if (status == TRILHA_OK) status = check_file(s->path, err);
  if (status != TRILHA_OK) return status;
  trilha_buffer_add_text(&shown, url);
  s->display_url = trilha_buffer_take(&shown, NULL);
  return s->display_url == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

/* An unmigrated store may be opened, but not one that is no database or that a newer program migrated. */
static trilha_status check_schema(trilha_sqlite_store *s, trilha_deadline deadline, trilha_error *err) {
  if (!trilha_sqlite_file_exists(s)) return s->allow_unmigrated ? TRILHA_OK : trilha_sqlite_not_initialized(s, err);
  warn_of_network(s);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  trilha_error found = {0};
  status = trilha_sqlite_schema_check(s, c, &found);
  trilha_sqlite_read_end(s, c);
  bool unmigrated = strcmp(found.code, "STORE_NOT_INITIALIZED") == 0 || strcmp(found.code, "STORE_OUTDATED") == 0;
  if (status == TRILHA_OK || (unmigrated && s->allow_unmigrated)) return TRILHA_OK;
  return trilha_error_copy(err, &found);
}

trilha_status trilha_sqlite_open(const trilha_store_options *options, trilha_store **ret_store, trilha_error *err) {
  enum { CONNECT_MS = 10000 };
  if (!sqlite3_threadsafe())
    return trilha_error_set(err, TRILHA_UNSUPPORTED, "STORE_SQLITE_BUILD",
                            "this SQLite was built without thread safety");
  trilha_sqlite_store *s = new_store(options);
  if (s == NULL) return trilha_error_no_memory(err);
  trilha_deadline deadline =
      trilha_deadline_in_ms(options->connect_timeout_ms > 0 ? options->connect_timeout_ms : CONNECT_MS);
  trilha_status status = name_store(s, options->url, err);
  if (status == TRILHA_OK) status = check_schema(s, deadline, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "opening the store '%.*s'", (int)options->url.size, options->url.data);
    close_store(&s->base);
    return status;
  }
  *ret_store = &s->base;
  return TRILHA_OK;
}
