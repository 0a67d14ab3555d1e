/* base/uuid: ids (ruling R4). */
#include "base/uuid.h"

#include <errno.h>
#include <sys/random.h>

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static bool dash_at(size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

bool trilha_uuid_parse(trilha_text text, unsigned char out[16]) {
  if (text.size != TRILHA_UUID_TEXT_SIZE - 1) return false;
  unsigned char id[16];
  size_t n = 0;
  for (size_t i = 0; i < text.size;) {
    if (dash_at(i)) {
      if (text.data[i++] != '-') return false;
      continue;
    }
    int high = hex_value(text.data[i]), low = hex_value(text.data[i + 1]);
    if (high < 0 || low < 0) return false;
    id[n++] = (unsigned char)(high * 16 + low);
    i += 2;
  }
  memcpy(out, id, sizeof id);
  return true;
}

void trilha_uuid_format(const unsigned char id[16], char out[TRILHA_UUID_TEXT_SIZE]) {
  static const char hex[] = "0123456789abcdef";
  size_t at = 0;
  for (size_t i = 0; i < 16; i++) {
    if (dash_at(at)) out[at++] = '-';
    out[at++] = hex[id[i] >> 4];
    out[at++] = hex[id[i] & 15];
  }
  out[at] = '\0';
}

bool trilha_random_bytes(void *out, size_t size) {
  unsigned char *at = out;
  while (size > 0) {
    ssize_t n = getrandom(at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

static void stamp(unsigned char id[16], unsigned version) {
  id[6] = (unsigned char)((id[6] & 0x0F) | (version << 4));
  id[8] = (unsigned char)((id[8] & 0x3F) | 0x80);
}

bool trilha_uuid_v4(unsigned char out[16]) {
  if (!trilha_random_bytes(out, 16)) return false;
  stamp(out, 4);
  return true;
}

bool trilha_uuid_v7(unsigned char out[16], int64_t wall_us) {
  if (!trilha_random_bytes(out + 8, 8)) return false;
  if (wall_us < 0) wall_us = 0;
  uint64_t ms = (uint64_t)wall_us / 1000;
  /* RFC 9562, method 3: the 12 bits after the milliseconds hold the part below one, so that ids of one process sort by
   * time within it too. */
  unsigned below = (unsigned)((uint64_t)wall_us % 1000 * 4096 / 1000);
  for (unsigned i = 0; i < 6; i++) out[i] = (unsigned char)(ms >> (40 - 8 * i));
  out[6] = (unsigned char)(below >> 8);
  out[7] = (unsigned char)below;
  stamp(out, 7);
  return true;
}
