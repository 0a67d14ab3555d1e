/* json: faults: what went wrong while reading, and where. */
#include <stdio.h>

#include "base/error.h"
#include "json/json_internal.h"

char *trilha_json_run_fault(trilha_json_run *run, const char *at, trilha_status status, const char *code,
                            const char *message) {
  if (run->status != TRILHA_OK) return NULL;
  run->status = status;
  run->code = code;
  run->message = message;
  run->offset = (size_t)(at - run->text);
  return NULL;
}

char *trilha_json_run_unexpected(trilha_json_run *run, const char *at, const char *message) {
  if (at >= run->text + run->size) message = run->size == 0 ? "the text is empty" : "the text ends too early";
  /* A byte order mark is what people meet and cannot see. */
  if (at == run->text && run->size >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
    message = "the text begins with a byte order mark";
  return trilha_json_run_fault(run, at, TRILHA_INVALID, "JSON_SYNTAX", message);
}

/* --- escapes -------------------------------------------------------------------------------------------- */

/* The value of four hexadecimal digits, or -1. */
static int32_t hex4(const char *p) {
  int32_t value = 0;
  for (int i = 0; i < 4; i++) {
    unsigned c = (unsigned char)p[i], digit = c - '0';
    if (digit > 9) {
      digit = (c | 0x20) - 'a' + 10;
      if (digit < 10 || digit > 15) return -1;
    }
    value = value << 4 | (int32_t)digit;
  }
  return value;
}

static char *bad_escape(trilha_json_run *run, const char *p) {
  return trilha_json_run_unexpected(run, p, "this is not one of JSON's escapes");
}

/* \uXXXX, or a pair of them for a code point above U+FFFF. */
static char *unescape_unicode(trilha_json_run *run, char *p, char **to, unsigned *flags, unsigned *high) {
  int32_t unit = hex4(p + 2);
  if (unit < 0) return bad_escape(run, p);
  uint32_t point = (uint32_t)unit;
  char *end = p + 6;
  if (point >= 0xD800 && point <= 0xDFFF) {
    int32_t low = point <= 0xDBFF && end[0] == '\\' && end[1] == 'u' ? hex4(end + 2) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
      return trilha_json_run_fault(run, p, TRILHA_INVALID, "JSON_SURROGATE", "an escaped surrogate has no partner");
    point = 0x10000 + ((point - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
    end += 6;
  }
  if (point == 0) *flags |= TRILHA_JSON_NUL;
  if (point >= 0x80) *high = 1;
  *to += trilha_utf8_put(*to, point);
  return end;
}

char *trilha_json_unescape(trilha_json_run *run, char *p, char **to, unsigned *flags, unsigned *high) {
  char c;
  switch (p[1]) {
    case '"':
    case '\\':
    case '/':
      c = p[1];
      break;
    case 'b':
      c = '\b';
      break;
    case 'f':
      c = '\f';
      break;
    case 'n':
      c = '\n';
      break;
    case 'r':
      c = '\r';
      break;
    case 't':
      c = '\t';
      break;
    case 'u':
      return unescape_unicode(run, p, to, flags, high);
    default:
      return bad_escape(run, p);
  }
  **to = c;
  *to += 1;
  return p + 2;
}

/* --- places --------------------------------------------------------------------------------------------- */

size_t trilha_json_utf8_fault(const char *data, size_t size) {
  /* Halving would be faster; this runs once, for a text that is refused. */
  size_t at = 0;
  while (at < size) {
    unsigned char c = (unsigned char)data[at];
    size_t need = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (need > size - at || !trilha_utf8_valid(data + at, need)) return at;
    at += need;
  }
  return size;
}

/* Lines end with a line feed; a column counts code points. Both from 1. */
static void place_of(trilha_text source, size_t offset, uint32_t *line, uint32_t *column) {
  if (offset > source.size) offset = source.size;
  *line = *column = 1;
  if (offset == 0) return; /* an absent text has no address to count from */
  size_t start = 0;
  uint32_t lines = 1;
  const char *p = source.data, *end = source.data + offset;
  while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
    lines++;
    p++;
    start = (size_t)(p - source.data);
  }
  *line = lines;
  *column = 1 + (uint32_t)trilha_utf8_length(source.data + start, offset - start);
}

/* Cut at a character with an ellipsis when too long. U+0000 would end the text early for a reader of C strings. */
static void copy_pointer(char *to, size_t room, trilha_text pointer) {
  static const char ellipsis[] = "\xE2\x80\xA6", replacement[] = "\xEF\xBF\xBD";
  size_t used = 0;
  for (size_t i = 0; i < pointer.size;) {
    size_t next = i;
    (void)trilha_utf8_next(pointer.data, pointer.size, &next);
    bool nul = pointer.data[i] == '\0';
    const char *bytes = nul ? replacement : pointer.data + i;
    size_t size = nul ? sizeof replacement - 1 : next - i;
    if (used + size + sizeof ellipsis > room) {
      memcpy(to + used, ellipsis, sizeof ellipsis - 1);
      used += sizeof ellipsis - 1;
      break;
    }
    memcpy(to + used, bytes, size);
    used += size;
    i = next;
  }
  to[used] = '\0';
}

trilha_status trilha_json_fault_set(trilha_json_fault *ret_fault, trilha_error *err, trilha_status status,
                                    const char *code, const char *message, trilha_text source, size_t offset,
                                    trilha_text pointer) {
  uint32_t line = 1, column = 1;
  place_of(source, offset, &line, &column);
  if (ret_fault != NULL) {
    *ret_fault = (trilha_json_fault){.offset = offset, .line = line, .column = column};
    snprintf(ret_fault->code, sizeof ret_fault->code, "%s", code);
    snprintf(ret_fault->text, sizeof ret_fault->text, "%s", message);
    copy_pointer(ret_fault->pointer, sizeof ret_fault->pointer, pointer);
  }
  return trilha_error_set(err, status, code, "line %u, column %u: %s", line, column, message);
}
