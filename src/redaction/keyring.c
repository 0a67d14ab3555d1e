/* redaction: the keyring. Root keys come from outside the database, are derived per purpose at once and then forgotten.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "redaction/redaction_internal.h"

/* Changing either text makes every stored token and digest unrecognisable: add a version, never edit. */
#define PURPOSE_REDACTION TRILHA_TEXT("trilha redaction v1")
#define PURPOSE_DIGEST    TRILHA_TEXT("trilha digest v1")

void trilha_keyring_wipe(trilha_buffer *buffer) {
  if (buffer->data != NULL) explicit_bzero(buffer->data, buffer->capacity);
  trilha_buffer_done(buffer);
}

void trilha_keyring_free(trilha_keyring *keyring) {
  if (keyring == NULL) return;
  for (size_t i = 0; i < keyring->count; i++) {
    trilha_hmac_key_free(keyring->keys[i].redaction);
    trilha_hmac_key_free(keyring->keys[i].digest);
  }
  free(keyring);
}

const trilha_key *trilha_keyring_find(const trilha_keyring *keyring, trilha_text kid) {
  for (size_t i = keyring->count; i-- > 0;)
    if (trilha_text_equal(trilha_key_kid(&keyring->keys[i]), kid)) return &keyring->keys[i];
  return NULL;
}

bool trilha_keyring_has(const trilha_keyring *keyring, trilha_text kid) {
  return keyring != NULL && trilha_keyring_find(keyring, kid) != NULL;
}

bool trilha_kid_valid(trilha_text kid) {
  if (kid.size == 0 || kid.size > TRILHA_KID_SIZE_MAX) return false;
  for (size_t i = 0; i < kid.size; i++) {
    char c = kid.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

/* --- parsing --------------------------------------------------------------------------------------------- */

static trilha_text trimmed(trilha_text line) {
  while (line.size != 0 && (line.data[0] == ' ' || line.data[0] == '\t')) line.data++, line.size--;
  while (line.size != 0 && strchr(" \t\r", line.data[line.size - 1]) != NULL) line.size--;
  return line;
}

static trilha_status bad_line(trilha_error *err, size_t line, const char *why) {
  return trilha_error_set(err, TRILHA_INVALID, "KEYRING_INVALID", "keyring line %zu: %s", line, why);
}

/* NULL without memory. */
static trilha_hmac_key *derive(trilha_text root, trilha_text purpose) {
  unsigned char secret[TRILHA_SHA256_SIZE];
  trilha_hmac_key *key = NULL;
  if (trilha_hkdf_sha256(root, (trilha_text){"", 0}, purpose, secret, sizeof secret))
    key = trilha_hmac_key_new((trilha_text){(const char *)secret, sizeof secret});
  explicit_bzero(secret, sizeof secret);
  return key;
}

static trilha_status add_key(trilha_keyring *keyring, trilha_text kid, trilha_text root, trilha_error *err) {
  trilha_key *key = &keyring->keys[keyring->count++];
  memcpy(key->kid, kid.data, kid.size);
  key->kid_size = kid.size;
  key->redaction = derive(root, PURPOSE_REDACTION);
  key->digest = derive(root, PURPOSE_DIGEST);
  return key->redaction == NULL || key->digest == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

static trilha_status add_line(trilha_keyring *keyring, trilha_text line, size_t number, trilha_error *err) {
  const char *colon = trilha_text_find(line, ':');
  if (colon == NULL) return bad_line(err, number, "not of the form kid:base64");
  trilha_text kid = {line.data, (size_t)(colon - line.data)};
  trilha_text encoded = trimmed((trilha_text){colon + 1, line.size - kid.size - 1});
  if (!trilha_kid_valid(kid)) return bad_line(err, number, "a kid has 1 to 16 characters of a-z, 0-9 and '-'");
  if (keyring->count == TRILHA_KEYRING_KEYS_MAX) return bad_line(err, number, "more than 64 keys");
  if (trilha_keyring_find(keyring, kid) != NULL) return bad_line(err, number, "this kid was given before");
  /* Decoding needs size * 3 / 4 + 1 bytes, so the encoded size is bounded first. */
  unsigned char root[TRILHA_ROOT_KEY_SIZE_MAX + 4];
  size_t root_size = 0;
  trilha_status status;
  if (encoded.size > TRILHA_ROOT_KEY_SIZE_MAX / 3 * 4 || !trilha_base64_decode(encoded, root, &root_size))
    status = bad_line(err, number, "the key is not base64 of 32 to 1,023 bytes");
  else if (root_size < TRILHA_ROOT_KEY_SIZE_MIN)
    status = bad_line(err, number, "the key is shorter than 32 bytes");
  else
    status = add_key(keyring, kid, (trilha_text){(const char *)root, root_size}, err);
  explicit_bzero(root, sizeof root);
  return status;
}

trilha_status trilha_keyring_parse(trilha_text content, bool allow_empty, trilha_keyring *keyring, trilha_error *err) {
  size_t number = 0;
  for (size_t at = 0; at < content.size;) {
    const char *end = memchr(content.data + at, '\n', content.size - at);
    size_t size = end == NULL ? content.size - at : (size_t)(end - (content.data + at));
    trilha_text line = trimmed((trilha_text){content.data + at, size});
    at += size + 1;
    number++;
    if (line.size == 0 || line.data[0] == '#') continue;
    trilha_status status = add_line(keyring, line, number, err);
    if (status != TRILHA_OK) return status;
  }
  if (keyring->count == 0 && !allow_empty)
    return trilha_error_set(err, TRILHA_INVALID, "KEYRING_EMPTY", "the keyring holds no key");
  return TRILHA_OK;
}

/* --- sources --------------------------------------------------------------------------------------------- */

trilha_status trilha_keyring_check_mode(int fd, const char *shown, trilha_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0)
    return trilha_error_set_errno(err, TRILHA_IO, "KEYRING_IO", errno, "cannot examine keyring %s", shown);
  if (!S_ISREG(st.st_mode))
    return trilha_error_set(err, TRILHA_DENIED, "KEYRING_MODE", "keyring %s is not a regular file", shown);
  if ((st.st_mode & 077) != 0)
    return trilha_error_set(err, TRILHA_DENIED, "KEYRING_MODE",
                            "keyring %s may be read or written by others (mode %04o): set it to 0600", shown,
                            (unsigned)(st.st_mode & 07777));
  return TRILHA_OK;
}

trilha_status trilha_keyring_read_fd(int fd, const char *shown, trilha_buffer *out, trilha_error *err) {
  /* All at once: a buffer that grows would leave copies of key material in freed memory. */
  if (!trilha_buffer_reserve(out, TRILHA_KEYRING_BYTES_MAX + 1)) return trilha_buffer_check(out, err);
  for (;;) {
    ssize_t n = read(fd, out->data + out->size, TRILHA_KEYRING_BYTES_MAX + 1 - out->size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return trilha_error_set_errno(err, TRILHA_IO, "KEYRING_IO", errno, "cannot read keyring %s", shown);
    if (n == 0) return TRILHA_OK;
    out->size += (size_t)n;
    if (out->size > TRILHA_KEYRING_BYTES_MAX)
      return trilha_error_set(err, TRILHA_INVALID, "KEYRING_INVALID", "keyring %s is larger than 65,536 bytes", shown);
  }
}

static trilha_status read_path(const char *path, bool check_mode, trilha_buffer *out, trilha_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO must not make us wait */
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
    return trilha_error_set(err, TRILHA_NOT_FOUND, "KEYRING_NOT_FOUND", "there is no keyring %s", path);
  if (fd < 0) return trilha_error_set_errno(err, TRILHA_IO, "KEYRING_IO", errno, "cannot open keyring %s", path);
  trilha_status status = check_mode ? trilha_keyring_check_mode(fd, path, err) : TRILHA_OK;
  if (status == TRILHA_OK) status = trilha_keyring_read_fd(fd, path, out, err);
  close(fd);
  return status;
}

static trilha_status read_environment(const char *name, trilha_buffer *out, trilha_error *err) {
  const char *value = getenv(name);
  if (value == NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "KEYRING_NOT_FOUND", "the environment has no variable %s", name);
  trilha_buffer_add_string(out, value);
  return trilha_buffer_check(out, err);
}

/* systemd shows a credential of an unprivileged unit as 0440 because of its access list, and guards the directory
 * itself, so the mode is not asked for here. */
static trilha_status read_credential(const char *name, trilha_buffer *out, trilha_error *err) {
  const char *directory = getenv("CREDENTIALS_DIRECTORY");
  if (strchr(name, '/') != NULL || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
    return trilha_error_set(err, TRILHA_USAGE, "KEYRING_SOURCE", "a credential's name holds no '/'");
  if (directory == NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "KEYRING_NOT_FOUND",
                            "CREDENTIALS_DIRECTORY is not set: the service manager gave no credential %s", name);
  TRILHA_BUFFER_SCOPED path = {0};
  trilha_buffer_add_format(&path, "%s/%s", directory, name);
  trilha_status status = trilha_buffer_check(&path, err);
  return status == TRILHA_OK ? read_path(path.data, false, out, err) : status;
}

static trilha_status read_source(const char *source, trilha_buffer *out, trilha_error *err) {
  const char *colon = strchr(source, ':');
  if (colon == NULL || colon[1] == '\0')
    return trilha_error_set(err, TRILHA_USAGE, "KEYRING_SOURCE",
                            "a keyring is given as file:PATH, env:NAME or credential:NAME");
  trilha_text scheme = {source, (size_t)(colon - source)};
  if (trilha_text_is(scheme, "file")) return read_path(colon + 1, true, out, err);
  if (trilha_text_is(scheme, "env")) return read_environment(colon + 1, out, err);
  if (trilha_text_is(scheme, "credential")) return read_credential(colon + 1, out, err);
  return trilha_error_set(err, TRILHA_USAGE, "KEYRING_SOURCE",
                          "a keyring is given as file:PATH, env:NAME or credential:NAME");
}

trilha_status trilha_keyring_load(trilha_text source, trilha_keyring **ret_keyring, trilha_error *err) {
  if (source.size == 0 || trilha_text_find(source, '\0') != NULL)
    return trilha_error_set(err, TRILHA_USAGE, "KEYRING_SOURCE", "the keyring's source is empty or holds U+0000");
  TRILHA_BUFFER_SCOPED terminated = {0};
  trilha_buffer_add_text(&terminated, source);
  trilha_status status = trilha_buffer_check(&terminated, err);
  if (status != TRILHA_OK) return status;
  trilha_keyring *keyring = calloc(1, sizeof *keyring);
  if (keyring == NULL) return trilha_error_no_memory(err);
  trilha_buffer content = {0};
  status = read_source(terminated.data, &content, err);
  if (status == TRILHA_OK) status = trilha_keyring_parse(trilha_buffer_text(&content), false, keyring, err);
  trilha_keyring_wipe(&content);
  if (status == TRILHA_OK)
    *ret_keyring = keyring;
  else
    trilha_keyring_free(keyring);
  return status;
}

/* --- the content digest (ruling R21) --------------------------------------------------------------------- */

/* The fields' size goes in front, so that no other split of fields and payload gives the same bytes. */
static trilha_status digest_message(trilha_text fields, const trilha_json_value *payload, trilha_buffer *message,
                                    trilha_error *err) {
  trilha_buffer_add_string(message, "trilha digest");
  trilha_buffer_add_char(message, '\0');
  trilha_buffer_add_u64(message, fields.size);
  trilha_buffer_add_char(message, '\0');
  trilha_buffer_add_text(message, fields);
  trilha_buffer_add_char(message, '\0');
  trilha_status status = trilha_json_write_canonical(message, payload, err);
  return status == TRILHA_OK ? trilha_buffer_check(message, err) : status;
}

trilha_status trilha_keyring_digest(const trilha_keyring *keyring, trilha_text kid_or_absent, trilha_text fields,
                                    const trilha_json_value *payload, trilha_buffer *out, trilha_error *err) {
  if (keyring == NULL) return TRILHA_OK;
  const trilha_key *key =
      kid_or_absent.data == NULL ? trilha_keyring_newest(keyring) : trilha_keyring_find(keyring, kid_or_absent);
  if (key == NULL)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "REDACTION_KEY_MISSING",
                            "the key that signed it is not in the keyring");
  TRILHA_BUFFER_SCOPED message = {0};
  trilha_status status = digest_message(fields, payload, &message, err);
  if (status != TRILHA_OK) return status;
  unsigned char mac[TRILHA_SHA256_SIZE];
  if (!trilha_hmac_key_sign(key->digest, trilha_buffer_text(&message), mac)) return trilha_error_no_memory(err);
  char encoded[TRILHA_SHA256_SIZE * 4 / 3 + 3];
  size_t size = trilha_base64url(mac, sizeof mac, encoded);
  trilha_buffer_add_text(out, trilha_key_kid(key));
  trilha_buffer_add_char(out, ':');
  trilha_buffer_append(out, encoded, size);
  return trilha_buffer_check(out, err);
}
