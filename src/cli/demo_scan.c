/* cli/demo_scan: which texts a database file holds, looked up in its bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "cli/demo_internal.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

/* One pass over the bytes finds all texts: at every place the next PREFIX bytes are looked up among the texts' own
 * beginnings, after a filter that tells most places apart at once. */
enum { PREFIX = 8, FILTER_BITS = 1 << 20 };

typedef struct wanted {
  uint64_t prefix;
  size_t text; /* its number */
} wanted;

typedef struct search {
  const trilha_text *texts;
  wanted *wanted; /* by prefix */
  size_t count;
  unsigned char *filter; /* FILTER_BITS bits */
  bool *seen;
  uint64_t bytes;
} search;

static uint64_t prefix_of(const char *data) {
  uint64_t prefix;
  memcpy(&prefix, data, PREFIX);
  return prefix;
}

static size_t filter_bit(uint64_t prefix) {
  return (size_t)((prefix * UINT64_C(0x9E3779B97F4A7C15)) >> 44);
}

static int by_prefix(const void *a, const void *b) {
  uint64_t x = ((const wanted *)a)->prefix, y = ((const wanted *)b)->prefix;
  return (x > y) - (x < y);
}

static bool search_init(search *s, const trilha_text *texts, size_t count) {
  *s = (search){.texts = texts,
                .wanted = calloc(count + 1, sizeof *s->wanted),
                .filter = calloc(FILTER_BITS / 8, 1),
                .seen = calloc(count + 1, sizeof *s->seen)};
  if (s->wanted == NULL || s->filter == NULL || s->seen == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    TRILHA_ASSERT(texts[i].size >= PREFIX);
    s->wanted[i] = (wanted){prefix_of(texts[i].data), i};
    size_t bit = filter_bit(s->wanted[i].prefix);
    s->filter[bit / 8] |= (unsigned char)(1U << (bit % 8));
  }
  s->count = count;
  qsort(s->wanted, count, sizeof *s->wanted, by_prefix);
  return true;
}

static void search_done(search *s) {
  free(s->wanted);
  free(s->filter);
  free(s->seen);
}

/* The first entry of that prefix, or s->count. */
static size_t find_prefix(const search *s, uint64_t prefix) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->wanted[middle].prefix < prefix) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void look_at(search *s, trilha_text rest) {
  uint64_t prefix = prefix_of(rest.data);
  size_t bit = filter_bit(prefix);
  if ((s->filter[bit / 8] >> (bit % 8) & 1U) == 0) return;
  for (size_t i = find_prefix(s, prefix); i < s->count && s->wanted[i].prefix == prefix; i++) {
    trilha_text text = s->texts[s->wanted[i].text];
    bool here = text.size <= rest.size && memcmp(text.data, rest.data, text.size) == 0;
    if (here) s->seen[s->wanted[i].text] = true;
  }
}

static trilha_status scan_one(const char *path, search *s, trilha_error *error) {
  TRILHA_BUFFER_SCOPED content;
  trilha_error own = {0};
  trilha_status status = trilha_cli_read_file(path, FILE_BYTES_MAX, &content, &own);
  if (status != TRILHA_OK && own.os_errno == ENOENT) return TRILHA_OK; /* no WAL just now */
  if (status != TRILHA_OK) return trilha_error_copy(error, &own);
  for (size_t at = 0; at + PREFIX <= content.size; at++) {
    look_at(s, (trilha_text){content.data + at, content.size - at});
  }
  s->bytes += content.size;
  return TRILHA_OK;
}

trilha_status trilha_demo_scan(const char *path, const trilha_text *texts, size_t count, size_t *ret_found,
                               uint64_t *ret_bytes, trilha_error *error) {
  static const char *const endings[] = {"", "-wal", "-shm"};
  search s;
  trilha_status status = search_init(&s, texts, count) ? TRILHA_OK : trilha_error_no_memory(error);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0] && status == TRILHA_OK; i++) {
    TRILHA_BUFFER_SCOPED name;
    trilha_buffer_init(&name, 0);
    trilha_buffer_add_format(&name, "%s%s", path, endings[i]);
    status = trilha_buffer_check(&name, error);
    if (status == TRILHA_OK) status = scan_one(name.data, &s, error);
  }
  *ret_found = 0;
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) *ret_found += s.seen[i] ? 1 : 0;
  *ret_bytes = s.bytes;
  search_done(&s);
  return status;
}
