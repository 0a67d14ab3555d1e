/* tests/store/sqlite: a file layer of SQLite that fails on request. */
#include "faulty_vfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

typedef struct faulty {
  sqlite3_file base;
  faulty_file kind;
  sqlite3_file *real; /* right behind this struct */
} faulty;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static struct {
  faulty_file file;
  faulty_call call;
  int code, left, given;
} armed;

static atomic_long reads;

void faulty_arm(faulty_file file, faulty_call call, int code, int count) {
  armed.file = file;
  armed.call = call;
  armed.code = code;
  armed.left = count;
  armed.given = 0;
}

int faulty_given(void) {
  return armed.given;
}

long faulty_reads(void) {
  return atomic_load(&reads);
}

static bool fails(const faulty *f, faulty_call call) {
  if (armed.left == 0 || armed.file != f->kind || armed.call != call) return false;
  armed.left--;
  armed.given++;
  return true;
}

static faulty *of(sqlite3_file *file) {
  return (faulty *)(void *)file;
}
#define REAL(file)    (of(file)->real)
#define METHODS(file) (of(file)->real->pMethods)

static int do_close(sqlite3_file *f) {
  return METHODS(f)->xClose(REAL(f));
}
static int do_read(sqlite3_file *f, void *data, int size, sqlite3_int64 at) {
  atomic_fetch_add(&reads, 1);
  return fails(of(f), FAULTY_READ) ? armed.code : METHODS(f)->xRead(REAL(f), data, size, at);
}
static int do_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 at) {
  return fails(of(f), FAULTY_WRITE) ? armed.code : METHODS(f)->xWrite(REAL(f), data, size, at);
}
static int do_truncate(sqlite3_file *f, sqlite3_int64 size) {
  return METHODS(f)->xTruncate(REAL(f), size);
}
static int do_sync(sqlite3_file *f, int flags) {
  return fails(of(f), FAULTY_SYNC) ? armed.code : METHODS(f)->xSync(REAL(f), flags);
}
static int do_size(sqlite3_file *f, sqlite3_int64 *size) {
  return METHODS(f)->xFileSize(REAL(f), size);
}
static int do_lock(sqlite3_file *f, int level) {
  return METHODS(f)->xLock(REAL(f), level);
}
static int do_unlock(sqlite3_file *f, int level) {
  return METHODS(f)->xUnlock(REAL(f), level);
}
static int do_reserved(sqlite3_file *f, int *out) {
  return METHODS(f)->xCheckReservedLock(REAL(f), out);
}
static int do_control(sqlite3_file *f, int op, void *arg) {
  return METHODS(f)->xFileControl(REAL(f), op, arg);
}
static int do_sector(sqlite3_file *f) {
  return METHODS(f)->xSectorSize(REAL(f));
}
static int do_traits(sqlite3_file *f) {
  return METHODS(f)->xDeviceCharacteristics(REAL(f));
}
static int do_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
  return METHODS(f)->xShmMap(REAL(f), page, size, extend, out);
}
static int do_shm_lock(sqlite3_file *f, int at, int n, int flags) {
  return METHODS(f)->xShmLock(REAL(f), at, n, flags);
}
static void do_shm_barrier(sqlite3_file *f) {
  METHODS(f)->xShmBarrier(REAL(f));
}
static int do_shm_unmap(sqlite3_file *f, int remove) {
  return METHODS(f)->xShmUnmap(REAL(f), remove);
}

/* Version 2: no memory mapping of the database, so that every read passes here. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = do_close,
    .xRead = do_read,
    .xWrite = do_write,
    .xTruncate = do_truncate,
    .xSync = do_sync,
    .xFileSize = do_size,
    .xLock = do_lock,
    .xUnlock = do_unlock,
    .xCheckReservedLock = do_reserved,
    .xFileControl = do_control,
    .xSectorSize = do_sector,
    .xDeviceCharacteristics = do_traits,
    .xShmMap = do_shm_map,
    .xShmLock = do_shm_lock,
    .xShmBarrier = do_shm_barrier,
    .xShmUnmap = do_shm_unmap,
};

static int do_open(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *out_flags) {
  (void)v;
  faulty *f = of(file);
  f->real = (sqlite3_file *)(void *)(f + 1);
  f->kind = (flags & SQLITE_OPEN_WAL) != 0 ? FAULTY_WAL : FAULTY_DATABASE;
  int rc = real_vfs->xOpen(real_vfs, name, f->real, flags, out_flags);
  f->base.pMethods = f->real->pMethods == NULL ? NULL : &methods;
  return rc;
}

void faulty_register(void) {
  if (real_vfs != NULL) return;
  real_vfs = sqlite3_vfs_find(NULL);
  vfs = *real_vfs;
  vfs.zName = "faulty";
  vfs.szOsFile = (int)sizeof(faulty) + real_vfs->szOsFile;
  vfs.xOpen = do_open;
  sqlite3_vfs_register(&vfs, 1);
}
