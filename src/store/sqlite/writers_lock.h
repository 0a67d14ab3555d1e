/* store/sqlite: the lock file that the writers of all processes queue on. Room: store/sqlite (inside).
 *
 * Why: SQLite's own wait for a lock is a loop of sleeps, so under load whoever released the lock takes it again and
 * others starve (measured: of 16 processes one made 2 commits while another made 13,806). Here writers are served in
 * the order in which they came.
 *
 * How: the file `<database>.lock` is a ticket dispenser and a waiting room.
 *   - Byte ranges of the file, far beyond its content, are tickets: who locks byte T of them (fcntl, open file
 * description locks) holds ticket T. Tickets rise; the counter stands in the file and is read and raised under the lock
 * of one further byte, the door.
 *   - A ticket is served when no byte below it is locked. Whoever dies, however it dies, loses its locks with its file
 * description, so nothing can be left behind: not a held lock, not a place in the queue. The counter's value survives
 * and need not be right, only never lower while tickets are out.
 *   - Waiting is a futex on a word of the file, which the leaving writer raises; because a killed writer raises
 * nothing, everyone also looks every few milliseconds.
 *   - A second word counts commits, so that readers of any process can sleep until there may be something new. It is a
 * hint.
 *
 * The file is never removed: a writer could be queueing on it. Thread safety: acquire and release by one thread at a
 * time per object (the turn in queue.c sees to it); the commit functions from any thread.
 */
#ifndef TRILHA_STORE_SQLITE_WRITERS_LOCK_H
#define TRILHA_STORE_SQLITE_WRITERS_LOCK_H

#include <sys/types.h>

#include "base/clock.h"
#include "trilha/error.h"

typedef struct trilha_writers_lock trilha_writers_lock;

enum { TRILHA_WRITERS_LOCK_LOOK_MS = 10 }; /* longest delay after a holder was killed */

/* Opens or creates `<database_path>.lock` with the mode given. DENIED: the file or folder is not writable. UNSUPPORTED:
 * the file system has no such locks or cannot map files. */
trilha_status trilha_writers_lock_open(const char *database_path, mode_t mode, trilha_writers_lock **ret_lock,
                                       trilha_error *err) TRILHA_MUST_USE;
void trilha_writers_lock_close(trilha_writers_lock *take_lock);

/* Waits for the turn. TIMEOUT when the deadline passes first; then the place in the queue is given up. */
trilha_status trilha_writers_lock_acquire(trilha_writers_lock *lock, trilha_deadline deadline,
                                          trilha_error *err) TRILHA_MUST_USE;
void trilha_writers_lock_release(trilha_writers_lock *lock);

/* How many commits were noted; wraps. */
uint32_t trilha_writers_lock_commits(const trilha_writers_lock *lock);
void trilha_writers_lock_note_commit(trilha_writers_lock *lock);
/* Sleeps until the count is no longer `seen`, at most `ms`. */
void trilha_writers_lock_wait_commit(const trilha_writers_lock *lock, uint32_t seen, int64_t ms);

#endif
