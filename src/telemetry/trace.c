/* telemetry/trace: the traceparent header (W3C Trace Context, section 3.2). */
#include "telemetry/telemetry.h"

enum { VERSION_AT = 0, TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, KNOWN_SIZE = 55, SAMPLED = 1 };

/* One more than the digit's value; upper case is not allowed. A context is read for every call of a handler. */
static const unsigned char digit_of[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};

static bool read_hex(const char *at, unsigned char *out, size_t size) {
  bool ok = true;
  for (size_t i = 0; i < size; i++) {
    unsigned high = digit_of[(unsigned char)at[2 * i]], low = digit_of[(unsigned char)at[2 * i + 1]];
    ok = ok && high != 0 && low != 0;
    out[i] = (unsigned char)((high - 1) << 4 | ((low - 1) & 15));
  }
  return ok;
}

static bool is_zero(const unsigned char *bytes, size_t size) {
  unsigned char any = 0;
  for (size_t i = 0; i < size; i++) any |= bytes[i];
  return any == 0;
}

bool trilha_trace_parse(trilha_text t, trilha_trace *ret_trace) {
  trilha_trace trace = {0};
  unsigned char version, flags;
  if (t.size < KNOWN_SIZE || t.data[TRACE_AT - 1] != '-' || t.data[SPAN_AT - 1] != '-' || t.data[FLAGS_AT - 1] != '-')
    return false;
  if (!read_hex(t.data + VERSION_AT, &version, 1) || !read_hex(t.data + TRACE_AT, trace.trace_id, 16) ||
      !read_hex(t.data + SPAN_AT, trace.span_id, 8) || !read_hex(t.data + FLAGS_AT, &flags, 1))
    return false;
  if (version == 0xFF || is_zero(trace.trace_id, 16) || is_zero(trace.span_id, 8)) return false;
  /* A later version may add fields after another dash; this one has none. */
  if (t.size != KNOWN_SIZE && (version == 0 || t.data[KNOWN_SIZE] != '-')) return false;
  trace.sampled = (flags & SAMPLED) != 0;
  if (ret_trace != NULL) *ret_trace = trace;
  return true;
}

static char *write_hex(char *out, const unsigned char *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    *out++ = digits[bytes[i] >> 4];
    *out++ = digits[bytes[i] & 15];
  }
  return out;
}

void trilha_trace_format(const trilha_trace *trace, char out[TRILHA_TRACEPARENT_SIZE]) {
  memcpy(out, "00-", 3);
  char *at = write_hex(out + TRACE_AT, trace->trace_id, 16);
  *at++ = '-';
  at = write_hex(at, trace->span_id, 8);
  memcpy(at, trace->sampled ? "-01" : "-00", 4);
}
