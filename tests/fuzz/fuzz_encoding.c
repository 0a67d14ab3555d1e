/* fuzz: UUIDs, base64 and UTF-8: what is accepted has one value and one spelling. */
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fuzz/fuzz.h"

static void uuid(trilha_text text) {
  unsigned char id[16], again[16];
  char out[TRILHA_UUID_TEXT_SIZE];
  if (!trilha_uuid_parse(text, id)) return;
  trilha_uuid_format(id, out);
  CHECK(trilha_uuid_parse(trilha_text_of(out), again) && memcmp(id, again, sizeof id) == 0);
  for (size_t i = 0; i < text.size; i++) CHECK((text.data[i] | 0x20) == (out[i] | 0x20));
}

static void base64(trilha_text text) {
  unsigned char *bytes = malloc(text.size * 3 / 4 + 1);
  char *out = malloc(text.size + 2);
  size_t size;
  if (bytes != NULL && out != NULL && trilha_base64_decode(text, bytes, &size)) {
    size_t length = trilha_base64url(bytes, size, out);
    CHECK(length <= text.size);
    for (size_t i = 0; i < length; i++) {
      char c = text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i];
      CHECK(c == out[i]);
    }
    for (size_t i = length; i < text.size; i++) CHECK(text.data[i] == '=');
  }
  free(out);
  free(bytes);
}

static void utf8(trilha_text text) {
  if (!trilha_utf8_valid(text.data, text.size)) return;
  size_t at = 0, count = 0;
  char put[4];
  while (at < text.size) {
    size_t from = at;
    uint32_t c = trilha_utf8_next(text.data, text.size, &at);
    CHECK(c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF));
    CHECK(trilha_utf8_put(put, c) == at - from && memcmp(put, text.data + from, at - from) == 0);
    CHECK(trilha_utf8_boundary(text.data, at) == at);
    for (size_t inside = from + 1; inside < at; inside++) CHECK(trilha_utf8_boundary(text.data, inside) == from);
    count++;
  }
  CHECK(at == text.size && count == trilha_utf8_length(text.data, text.size));
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_text text = {data, size};
  uuid(text);
  base64(text);
  utf8(text);
}
