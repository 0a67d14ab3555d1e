/* redaction: adding a key to a keyring file. The file is replaced whole, on disk before it is visible, so that a crash
 * leaves either the old keyring or the new one: half a keyring would make tokens untestable. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/uuid.h"
#include "redaction/redaction_internal.h"

enum { LOCK_ATTEMPTS = 100 };

static trilha_status io_error(trilha_error *err, const char *what, const char *path) {
  return trilha_error_set_errno(err, TRILHA_IO, "KEYRING_IO", errno, "cannot %s keyring %s", what, path);
}

/* Opens (creating it) and locks the file that is at `path` now. Another writer may have renamed its own over it between
 * our open and our lock: then the lock is on a file nobody sees any more, and we start again. */
static trilha_status open_locked(const char *path, int *ret_fd, trilha_error *err) {
  for (int attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
    if (fd < 0) return io_error(err, "open", path);
    struct stat held, seen;
    int locked;
    do locked = flock(fd, LOCK_EX);
    while (locked != 0 && errno == EINTR);
    if (locked == 0 && fstat(fd, &held) == 0 && stat(path, &seen) == 0 && held.st_ino == seen.st_ino &&
        held.st_dev == seen.st_dev) {
      *ret_fd = fd;
      return TRILHA_OK;
    }
    int why = errno;
    close(fd);
    if (locked != 0) {
      errno = why;
      return io_error(err, "lock", path);
    }
  }
  return trilha_error_set(err, TRILHA_UNAVAILABLE, "KEYRING_BUSY", "keyring %s is being changed by others", path);
}

/* The whole new content: what was there, its last line ended, and the new key. */
static trilha_status new_content(int fd, const char *path, trilha_text kid, trilha_buffer *content, trilha_error *err) {
  trilha_status status = trilha_keyring_check_mode(fd, path, err);
  if (status == TRILHA_OK) status = trilha_keyring_read_fd(fd, path, content, err);
  if (status != TRILHA_OK) return status;
  if (content->size != 0 && content->data[content->size - 1] != '\n') trilha_buffer_add_char(content, '\n');
  unsigned char root[TRILHA_ROOT_KEY_SIZE_MIN];
  if (!trilha_random_bytes(root, sizeof root))
    return trilha_error_set(err, TRILHA_IO, "RANDOM_FAILED", "the system gave no random bytes");
  char encoded[TRILHA_ROOT_KEY_SIZE_MIN * 4 / 3 + 3];
  size_t size = trilha_base64url(root, sizeof root, encoded);
  trilha_buffer_add_text(content, kid);
  trilha_buffer_add_char(content, ':');
  trilha_buffer_append(content, encoded, size);
  trilha_buffer_add_char(content, '\n');
  explicit_bzero(root, sizeof root);
  explicit_bzero(encoded, sizeof encoded);
  status = trilha_buffer_check(content, err);
  if (status != TRILHA_OK) return status;
  /* Also finds a kid that is there already, and refuses to extend a broken file. */
  trilha_keyring *check = calloc(1, sizeof *check);
  if (check == NULL) return trilha_error_no_memory(err);
  status = trilha_keyring_parse(trilha_buffer_text(content), false, check, err);
  trilha_keyring_free(check);
  return status;
}

static bool write_all(int fd, trilha_text text) {
  while (text.size != 0) {
    ssize_t n = write(fd, text.data, text.size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.data += n;
    text.size -= (size_t)n;
  }
  return true;
}

static trilha_status sync_directory(const char *path, trilha_error *err) {
  const char *slash = strrchr(path, '/');
  TRILHA_BUFFER_SCOPED directory = {0};
  if (slash == NULL)
    trilha_buffer_add_char(&directory, '.');
  else
    trilha_buffer_append(&directory, path, slash == path ? 1 : (size_t)(slash - path));
  trilha_status status = trilha_buffer_check(&directory, err);
  if (status != TRILHA_OK) return status;
  int fd = open(directory.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fsync(fd) != 0) status = io_error(err, "sync the folder of", path);
  if (fd >= 0) close(fd);
  return status;
}

static trilha_status replace(const char *path, trilha_text content, trilha_error *err) {
  TRILHA_BUFFER_SCOPED temporary = {0};
  trilha_buffer_add_format(&temporary, "%s.XXXXXX", path);
  trilha_status status = trilha_buffer_check(&temporary, err);
  if (status != TRILHA_OK) return status;
  int fd = mkostemp(temporary.data, O_CLOEXEC); /* mode 0600 */
  if (fd < 0) return io_error(err, "write beside", path);
  bool written = write_all(fd, content) && fsync(fd) == 0;
  int why = errno;
  if (close(fd) != 0 && written) written = false, why = errno;
  if (written && rename(temporary.data, path) != 0) written = false, why = errno;
  if (!written) {
    unlink(temporary.data);
    errno = why;
    return io_error(err, "write", path);
  }
  return sync_directory(path, err);
}

static trilha_status check_arguments(trilha_text path, trilha_text kid, trilha_buffer *terminated, trilha_error *err) {
  if (path.size == 0 || trilha_text_find(path, '\0') != NULL)
    return trilha_error_set(err, TRILHA_USAGE, "KEYRING_SOURCE", "the keyring's path is empty or holds U+0000");
  if (!trilha_kid_valid(kid))
    return trilha_error_set(err, TRILHA_USAGE, "KEYRING_KID", "a kid has 1 to 16 characters of a-z, 0-9 and '-'");
  trilha_buffer_add_text(terminated, path);
  return trilha_buffer_check(terminated, err);
}

trilha_status trilha_keyring_add_check(trilha_text path, trilha_text kid, trilha_error *err) {
  TRILHA_BUFFER_SCOPED terminated = {0};
  trilha_status status = check_arguments(path, kid, &terminated, err);
  if (status != TRILHA_OK) return status;
  int fd = open(terminated.data, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? TRILHA_OK : io_error(err, "open", terminated.data);
  trilha_buffer content = {0};
  status = new_content(fd, terminated.data, kid, &content, err); /* it only lacks the writing */
  trilha_keyring_wipe(&content);
  close(fd);
  return status;
}

trilha_status trilha_keyring_add(trilha_text path, trilha_text kid, trilha_error *err) {
  TRILHA_BUFFER_SCOPED terminated = {0};
  int fd = -1;
  trilha_status status = check_arguments(path, kid, &terminated, err);
  if (status == TRILHA_OK) status = open_locked(terminated.data, &fd, err);
  if (status != TRILHA_OK) return status;
  trilha_buffer content = {0};
  status = new_content(fd, terminated.data, kid, &content, err);
  if (status == TRILHA_OK) status = replace(terminated.data, trilha_buffer_text(&content), err);
  trilha_keyring_wipe(&content);
  close(fd);
  return status;
}
