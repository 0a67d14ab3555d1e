/* URI references, split by hand after RFC 3986's appendix B and put together after its section 5.2. */
#include "schema/uri.h"

static trilha_text part(const char *from, const char *to) {
  return (trilha_text){from, (size_t)(to - from)};
}

static const char *find_any(const char *at, const char *end, const char *stops) {
  while (at < end && strchr(stops, *at) == NULL) at++;
  return at;
}

static bool is_scheme(trilha_text text) {
  if (text.size == 0) return false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (i == 0 || !other)) return false;
  }
  return true;
}

schema_uri trilha_schema_uri_split(trilha_text text) {
  schema_uri uri = {0};
  const char *at = text.data == NULL ? "" : text.data, *end = at + text.size;
  const char *stop = find_any(at, end, ":/?#");
  if (stop < end && *stop == ':' && is_scheme(part(at, stop))) {
    uri.scheme = part(at, stop);
    at = stop + 1;
  }
  if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
    stop = find_any(at + 2, end, "/?#");
    uri.authority = part(at + 2, stop);
    at = stop;
  }
  stop = find_any(at, end, "?#");
  uri.path = part(at, stop);
  at = stop;
  if (at < end && *at == '?') {
    stop = find_any(at + 1, end, "#");
    uri.query = part(at + 1, stop);
    at = stop;
  }
  if (at < end && *at == '#') uri.fragment = part(at + 1, end);
  return uri;
}

/* Section 5.2.4, on the path appended at `start`. */
static void remove_dot_segments(trilha_buffer *out, size_t start) {
  if (out->failed != TRILHA_OK || out->size == start) return;
  char *path = out->data + start;
  size_t size = out->size - start, write = 0;
  bool rooted = path[0] == '/';
  for (size_t read = 0; read <= size;) {
    size_t end = read;
    while (end < size && path[end] != '/') end++;
    size_t length = end - read;
    bool last = end == size, dot = length == 1 && path[read] == '.';
    bool dots = length == 2 && path[read] == '.' && path[read + 1] == '.';
    if (dots && write > (rooted ? 1U : 0U)) {
      write--; /* the slash after the segment that goes */
      while (write > 0 && path[write - 1] != '/') write--;
    }
    if (!dot && !dots) {
      memmove(path + write, path + read, length);
      write += length;
      if (!last) path[write++] = '/';
    }
    read = end + 1;
  }
  out->size = start + write;
  out->data[out->size] = '\0';
}

static void add_merged_path(trilha_buffer *out, const schema_uri *base, trilha_text path) {
  if (base->authority.data != NULL && base->path.size == 0) {
    trilha_buffer_add_char(out, '/');
  } else {
    size_t keep = base->path.size;
    while (keep > 0 && base->path.data[keep - 1] != '/') keep--;
    trilha_buffer_append(out, base->path.data, keep);
  }
  trilha_buffer_add_text(out, path);
}

void trilha_schema_uri_resolve(trilha_buffer *out, trilha_text base_text, trilha_text reference_text) {
  schema_uri base = trilha_schema_uri_split(base_text), reference = trilha_schema_uri_split(reference_text);
  bool own_scheme = reference.scheme.data != NULL, own_authority = own_scheme || reference.authority.data != NULL;
  trilha_text scheme = own_scheme ? reference.scheme : base.scheme;
  trilha_text authority = own_authority ? reference.authority : base.authority;
  if (scheme.data != NULL) {
    trilha_buffer_add_text(out, scheme);
    trilha_buffer_add_char(out, ':');
  }
  if (authority.data != NULL) {
    trilha_buffer_add_string(out, "//");
    trilha_buffer_add_text(out, authority);
  }
  size_t start = out->size;
  trilha_text query = reference.query;
  if (!own_authority && reference.path.size == 0) {
    trilha_buffer_add_text(out, base.path);
    if (query.data == NULL) query = base.query;
  } else {
    if (own_authority || reference.path.data[0] == '/')
      trilha_buffer_add_text(out, reference.path);
    else
      add_merged_path(out, &base, reference.path);
    remove_dot_segments(out, start);
  }
  if (query.data != NULL) {
    trilha_buffer_add_char(out, '?');
    trilha_buffer_add_text(out, query);
  }
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void trilha_schema_uri_decode(trilha_buffer *out, trilha_text text) {
  for (size_t i = 0; i < text.size; i++) {
    int high = -1, low = -1;
    if (text.data[i] == '%' && i + 2 < text.size) {
      high = hex_digit(text.data[i + 1]);
      low = hex_digit(text.data[i + 2]);
    }
    if (high >= 0 && low >= 0) {
      trilha_buffer_add_char(out, (char)(high * 16 + low));
      i += 2;
    } else {
      trilha_buffer_add_char(out, text.data[i]);
    }
  }
}
