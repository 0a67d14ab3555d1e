/* fuzz: query strings: pairs lie inside the query, and what decodes is UTF-8 without U+0000 and no longer than it was.
 */
#include "fuzz/fuzz.h"
#include "http/http.h"

static void decode(trilha_text text, bool is_query) {
  trilha_buffer out = {0};
  if (trilha_http_decode(text, is_query, &out)) {
    trilha_text decoded = trilha_buffer_text(&out);
    CHECK(decoded.size <= text.size);
    CHECK(trilha_utf8_valid(decoded.data, decoded.size));
    CHECK(decoded.size == 0 || memchr(decoded.data, '\0', decoded.size) == NULL);
  }
  trilha_buffer_done(&out);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_text query = {data, size}, name, value;
  size_t at = 0, total = 0;
  while (trilha_http_query_next(query, &at, &name, &value)) {
    CHECK(name.size + value.size > 0 || memchr(data, '=', size) != NULL);
    CHECK(name.data >= data && name.data + name.size <= data + size);
    CHECK(value.data >= data && value.data + value.size <= data + size);
    total += name.size + value.size;
    decode(name, true);
    decode(value, true);
  }
  CHECK(total <= size);
  decode(query, false);
}
