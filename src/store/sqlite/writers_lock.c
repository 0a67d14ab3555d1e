/* store/sqlite: the writers' lock file. */
#include "store/sqlite/writers_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/text.h"

/* The content of the file. Changing it needs another file name: older programs may hold the old one. */
typedef struct lock_page {
  uint64_t next_ticket; /* read and written holding the door */
  uint32_t turns;       /* raised whenever a ticket is given back */
  uint32_t commits;     /* raised after every commit */
} lock_page;

enum {
  PAGE_BYTES = 4096,      /* reserved on disk, so that touching the mapping can not meet a full disk */
  DOOR_YIELDS = 64,       /* tries for the door before sleeping; it is held for two system calls */
  TICKET_TRIES = 1 << 16, /* tickets found taken before the file is called broken */
};
static const off_t DOOR = (off_t)1 << 20;
static const off_t TICKETS = (off_t)1 << 40;
static const uint64_t TICKET_MAX = (uint64_t)1 << 61;

struct trilha_writers_lock {
  int fd;
  lock_page *page;
  char *path;
  off_t held; /* byte of the ticket, 0 for none */
};

/* --- byte ranges and futexes ---------------------------------------------------------------------------- */

static int range(int fd, int command, short type, off_t start, off_t length) {
  struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  int rc;
  do rc = fcntl(fd, command, &l);
  while (rc != 0 && errno == EINTR);
  if (rc == 0 && command == F_OFD_GETLK) return l.l_type == F_UNLCK ? 0 : 1;
  return rc;
}

static void futex_wait(const uint32_t *word, uint32_t seen, int64_t ms) {
  struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

static void futex_raise(uint32_t *word) {
  __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* --- opening -------------------------------------------------------------------------------------------- */

static trilha_status refuse_open(const char *path, int os_errno, trilha_error *err) {
  if (os_errno == EACCES || os_errno == EPERM || os_errno == EROFS)
    return trilha_error_set_errno(err, TRILHA_DENIED, "STORE_LOCK_DENIED", os_errno,
                                  "cannot open the writers' lock file '%s': whoever writes the database needs write "
                                  "permission on this file and, to create it, on its folder",
                                  path);
  if (os_errno == ENOSPC || os_errno == EDQUOT)
    return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_FULL", os_errno,
                                  "no room for the writers' lock file '%s'", path);
  return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_LOCK_FAILED", os_errno,
                                "cannot open the writers' lock file '%s'", path);
}

static trilha_status refuse_kind(const char *path, int os_errno, trilha_error *err) {
  return trilha_error_set_errno(
      err, TRILHA_UNSUPPORTED, "STORE_LOCK_UNSUPPORTED", os_errno,
      "the file system of '%s' cannot lock byte ranges or share mapped files between processes; "
      "put the database on a local file system",
      path);
}

static trilha_status map_page(trilha_writers_lock *lock, trilha_error *err) {
  int rc = posix_fallocate(lock->fd, 0, PAGE_BYTES);
  if (rc == EOPNOTSUPP || rc == EINVAL) rc = ftruncate(lock->fd, PAGE_BYTES) == 0 ? 0 : errno;
  if (rc != 0) return refuse_open(lock->path, rc, err);
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lock->fd, 0);
  if (page == MAP_FAILED) return refuse_kind(lock->path, errno, err);
  lock->page = page;
  if (range(lock->fd, F_OFD_GETLK, F_WRLCK, DOOR, 1) < 0) return refuse_kind(lock->path, errno, err);
  return TRILHA_OK;
}

static trilha_status open_file(trilha_writers_lock *lock, mode_t mode, trilha_error *err) {
  lock->fd = open(lock->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (lock->fd < 0 && errno == ENOENT) {
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    /* As the database's own companions: whoever may write the one may write the other, whatever the umask. */
    struct stat st;
    if (lock->fd >= 0 && fstat(lock->fd, &st) == 0 && (st.st_mode & 0777) != mode) (void)!fchmod(lock->fd, mode);
  }
  if (lock->fd < 0) return refuse_open(lock->path, errno, err);
  struct stat st;
  if (fstat(lock->fd, &st) != 0 || !S_ISREG(st.st_mode))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_LOCK_FAILED",
                            "the writers' lock file '%s' is not a regular file", lock->path);
  return TRILHA_OK;
}

trilha_status trilha_writers_lock_open(const char *database_path, mode_t mode, trilha_writers_lock **ret_lock,
                                       trilha_error *err) {
  trilha_writers_lock *lock = calloc(1, sizeof *lock);
  if (lock == NULL) return trilha_error_no_memory(err);
  lock->fd = -1;
  TRILHA_BUFFER_SCOPED name = {0};
  trilha_buffer_add_string(&name, database_path);
  trilha_buffer_add_string(&name, ".lock");
  lock->path = trilha_buffer_take(&name, NULL);
  trilha_status status = lock->path == NULL ? trilha_error_no_memory(err) : open_file(lock, mode & 0777, err);
  if (status == TRILHA_OK) status = map_page(lock, err);
  if (status != TRILHA_OK) {
    trilha_writers_lock_close(lock);
    return status;
  }
  *ret_lock = lock;
  return TRILHA_OK;
}

void trilha_writers_lock_close(trilha_writers_lock *take_lock) {
  if (take_lock == NULL) return;
  if (take_lock->page != NULL) munmap(take_lock->page, PAGE_BYTES);
  if (take_lock->fd >= 0) close(take_lock->fd);
  free(take_lock->path);
  free(take_lock);
}

/* --- queueing ------------------------------------------------------------------------------------------- */

static trilha_status refuse_turn(const trilha_writers_lock *lock, trilha_error *err) {
  return trilha_error_set(err, TRILHA_TIMEOUT, "STORE_BUSY",
                          "other writers held '%s' until the deadline; nothing was stored", lock->path);
}

static trilha_status fail_range(const trilha_writers_lock *lock, trilha_error *err) {
  int os_errno = errno;
  if (os_errno == EINVAL || os_errno == EOPNOTSUPP || os_errno == ENOSYS) return refuse_kind(lock->path, os_errno, err);
  return trilha_error_set_errno(err, TRILHA_UNAVAILABLE, "STORE_LOCK_FAILED", os_errno,
                                "cannot lock the writers' lock file '%s'", lock->path);
}

static trilha_status enter_door(trilha_writers_lock *lock, trilha_deadline deadline, trilha_error *err) {
  for (int i = 0; range(lock->fd, F_OFD_SETLK, F_WRLCK, DOOR, 1) != 0; i++) {
    if (errno != EAGAIN && errno != EACCES) return fail_range(lock, err);
    if (i < DOOR_YIELDS) {
      sched_yield();
      continue;
    }
    if (trilha_deadline_passed(deadline)) return refuse_turn(lock, err);
    trilha_clock_sleep_ms(1);
  }
  return TRILHA_OK;
}

/* Holding the door. A ticket found taken means that the counter fell back (the file was replaced by hand): go on above
 * it. */
static trilha_status draw_ticket(trilha_writers_lock *lock, trilha_error *err) {
  uint64_t ticket = __atomic_load_n(&lock->page->next_ticket, __ATOMIC_RELAXED);
  for (int i = 0; i < TICKET_TRIES; i++, ticket++) {
    if (ticket >= TICKET_MAX) ticket = 0;
    if (range(lock->fd, F_OFD_SETLK, F_WRLCK, TICKETS + (off_t)ticket, 1) == 0) {
      lock->held = TICKETS + (off_t)ticket;
      __atomic_store_n(&lock->page->next_ticket, ticket + 1, __ATOMIC_RELAXED);
      return TRILHA_OK;
    }
    if (errno != EAGAIN && errno != EACCES) return fail_range(lock, err);
  }
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_LOCK_FAILED",
                          "the writers' lock file '%s' has no free ticket", lock->path);
}

static trilha_status take_ticket(trilha_writers_lock *lock, trilha_deadline deadline, trilha_error *err) {
  trilha_status status = enter_door(lock, deadline, err);
  if (status != TRILHA_OK) return status;
  status = draw_ticket(lock, err);
  range(lock->fd, F_OFD_SETLK, F_UNLCK, DOOR, 1);
  return status;
}

trilha_status trilha_writers_lock_acquire(trilha_writers_lock *lock, trilha_deadline deadline, trilha_error *err) {
  TRILHA_ASSERT(lock->held == 0);
  trilha_status status = take_ticket(lock, deadline, err);
  if (status != TRILHA_OK) return status;
  for (;;) {
    /* The word is read before the look, so a turn given back in between ends the sleep at once. */
    uint32_t turns = __atomic_load_n(&lock->page->turns, __ATOMIC_SEQ_CST);
    int others = lock->held == TICKETS ? 0 : range(lock->fd, F_OFD_GETLK, F_WRLCK, TICKETS, lock->held - TICKETS);
    if (others == 0) return TRILHA_OK;
    status = others < 0 ? fail_range(lock, err) : trilha_deadline_passed(deadline) ? refuse_turn(lock, err) : TRILHA_OK;
    if (status != TRILHA_OK) {
      trilha_writers_lock_release(lock);
      return status;
    }
    futex_wait(&lock->page->turns, turns, trilha_deadline_left_ms(deadline, TRILHA_WRITERS_LOCK_LOOK_MS));
  }
}

void trilha_writers_lock_release(trilha_writers_lock *lock) {
  TRILHA_ASSERT(lock->held != 0);
  range(lock->fd, F_OFD_SETLK, F_UNLCK, lock->held, 1);
  lock->held = 0;
  futex_raise(&lock->page->turns);
}

/* --- commits -------------------------------------------------------------------------------------------- */

uint32_t trilha_writers_lock_commits(const trilha_writers_lock *lock) {
  return __atomic_load_n(&lock->page->commits, __ATOMIC_SEQ_CST);
}

void trilha_writers_lock_note_commit(trilha_writers_lock *lock) {
  futex_raise(&lock->page->commits);
}

void trilha_writers_lock_wait_commit(const trilha_writers_lock *lock, uint32_t seen, int64_t ms) {
  futex_wait(&lock->page->commits, seen, ms);
}
