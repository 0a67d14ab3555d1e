/* deadletter/scrub: what may be kept of an error text.
 *
 * An error text is written by whoever wrote the handler and may repeat any part of the payload. Whole values are seldom
 * repeated, words are: so the text is cut into words, and each word that the payload holds and its redacted copy does
 * not is masked. Words are runs of letters and digits of any script; case does not count. Short words without digits
 * ("na", "rua") say nothing about a person and stay.
 */
#include <stdlib.h>

#include <utf8proc.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/uuid.h"
#include "deadletter/deadletter.h"

enum { WORD_LEAST = 4, DIGITS_LEAST = 3 };
static const char mask[] = "[…]";
static const char replacement[] = "\xEF\xBF\xBD";

struct trilha_masked_words {
  uint64_t seed;
  bool everything; /* the payload could not be read: mask every word */
  uint64_t *slots; /* hashes, 0 for empty; open addressing */
  size_t slot_count, used;
};

/* --- words ---------------------------------------------------------------------------------------------- */

/* Letters, marks and digits of any script. The text is valid UTF-8. */
static bool is_word_character(uint32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

/* The next word at or after *at; false at the end. */
static bool next_word(trilha_text text, size_t *at, trilha_text *ret_word) {
  size_t from = text.size, next = *at;
  while (next < text.size) {
    size_t here = next;
    bool inside = is_word_character(trilha_utf8_next(text.data, text.size, &next));
    if (inside && from == text.size) from = here;
    if (!inside && from != text.size) {
      next = here;
      break;
    }
  }
  *at = next;
  *ret_word = (trilha_text){text.data + from, from == text.size ? 0 : next - from};
  return ret_word->size != 0;
}

static bool is_telling(trilha_text word) {
  size_t digits = 0, characters = 0;
  for (size_t i = 0; i < word.size; i++) {
    unsigned char c = (unsigned char)word.data[i];
    digits += c >= '0' && c <= '9';
    characters += (c & 0xC0) != 0x80;
  }
  return characters >= WORD_LEAST || digits >= DIGITS_LEAST;
}

static uint64_t hash_word(const trilha_masked_words *words, trilha_text word) {
  uint64_t hash = words->seed;
  for (size_t at = 0; at < word.size;) {
    uint32_t folded[64];
    size_t n = 0;
    for (; n < sizeof folded / sizeof folded[0] && at < word.size; n++)
      folded[n] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)trilha_utf8_next(word.data, word.size, &at));
    hash = trilha_hash_bytes(folded, n * sizeof folded[0], hash);
  }
  return hash == 0 ? 1 : hash;
}

/* --- the set -------------------------------------------------------------------------------------------- */

static bool contains(const trilha_masked_words *words, uint64_t hash) {
  if (words->slot_count == 0) return false;
  for (size_t i = hash & (words->slot_count - 1); words->slots[i] != 0; i = (i + 1) & (words->slot_count - 1))
    if (words->slots[i] == hash) return true;
  return false;
}

static void put(uint64_t *slots, size_t slot_count, uint64_t hash) {
  size_t i = hash & (slot_count - 1);
  while (slots[i] != 0) i = (i + 1) & (slot_count - 1);
  slots[i] = hash;
}

static bool grow(trilha_masked_words *words) {
  size_t slot_count = words->slot_count == 0 ? 64 : words->slot_count * 2;
  uint64_t *slots = calloc(slot_count, sizeof *slots);
  if (slots == NULL) return false;
  for (size_t i = 0; i < words->slot_count; i++)
    if (words->slots[i] != 0) put(slots, slot_count, words->slots[i]);
  free(words->slots);
  words->slots = slots;
  words->slot_count = slot_count;
  return true;
}

static bool add(trilha_masked_words *words, uint64_t hash) {
  if (contains(words, hash)) return true;
  if (words->used * 2 >= words->slot_count && !grow(words)) return false;
  put(words->slots, words->slot_count, hash);
  words->used++;
  return true;
}

/* Adds the telling words of every name, string and number of the document, except those in `allowed` (may be NULL). */
static bool add_document(trilha_masked_words *words, const trilha_json_document *document,
                         const trilha_masked_words *allowed) {
  for (size_t i = 0; i < document->count; i++) {
    const trilha_json_value *v = &document->values[i];
    if (v->type != TRILHA_JSON_STRING && v->type != TRILHA_JSON_NUMBER) continue;
    size_t at = 0;
    trilha_text word;
    while (next_word(trilha_json_text(v), &at, &word)) {
      if (!is_telling(word)) continue;
      uint64_t hash = hash_word(words, word);
      if (allowed != NULL && contains(allowed, hash)) continue;
      if (!add(words, hash)) return false;
    }
  }
  return true;
}

static trilha_status add_text(trilha_masked_words *words, trilha_text json, const trilha_masked_words *allowed,
                              bool *ret_read, trilha_error *err) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  trilha_error own = {0};
  trilha_status status = trilha_json_parse(json, &limits, &document, NULL, &own);
  *ret_read = status == TRILHA_OK;
  if (status == TRILHA_NO_MEMORY) return trilha_error_copy(err, &own);
  if (status != TRILHA_OK) return TRILHA_OK;
  bool ok = add_document(words, document, allowed);
  trilha_json_document_free(document);
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

trilha_status trilha_masked_words_new(trilha_text delivered, trilha_text stored, trilha_masked_words **ret_words,
                                      trilha_error *err) {
  trilha_masked_words allowed = {0};
  trilha_masked_words *words = calloc(1, sizeof *words);
  if (words == NULL) return trilha_error_no_memory(err);
  if (!trilha_random_bytes(&words->seed, sizeof words->seed)) words->seed = (uintptr_t)words;
  allowed.seed = words->seed;
  trilha_status status = TRILHA_OK;
  bool read = true;
  if (stored.data != NULL) status = add_text(&allowed, stored, NULL, &read, err);
  if (status == TRILHA_OK) status = add_text(words, delivered, &allowed, &read, err);
  words->everything = !read;
  free(allowed.slots);
  if (status == TRILHA_OK)
    *ret_words = words;
  else
    trilha_masked_words_free(words);
  return status;
}

void trilha_masked_words_free(trilha_masked_words *words) {
  if (words == NULL) return;
  free(words->slots);
  free(words);
}

/* --- scrubbing ------------------------------------------------------------------------------------------ */

/* Invalid UTF-8 and control characters replaced; works on at most `max` bytes of input. */
static void clean(trilha_buffer *out, trilha_text text, size_t max) {
  if (text.size > max) text.size = max;
  for (size_t i = 0; i < text.size;) {
    size_t n = text.size - i < 4 ? text.size - i : 4, used = 0;
    for (size_t take = 1; take <= n && used == 0; take++)
      if (trilha_utf8_valid(text.data + i, take)) used = take;
    unsigned char c = (unsigned char)text.data[i];
    bool control = used == 1 && (c < 0x20 || c == 0x7F) && c != '\n' && c != '\t';
    bool c1 = used == 2 && c == 0xC2 && (unsigned char)text.data[i + 1] < 0xA0;
    if (used == 0 || control || c1)
      trilha_buffer_add_string(out, replacement);
    else
      trilha_buffer_append(out, text.data + i, used);
    i += used == 0 ? 1 : used;
  }
}

static bool is_masked(const trilha_masked_words *words, trilha_text word) {
  if (words == NULL || !is_telling(word)) return false;
  return words->everything || contains(words, hash_word(words, word));
}

void trilha_scrub(trilha_buffer *out, trilha_text text, const trilha_masked_words *words, size_t max) {
  TRILHA_BUFFER_SCOPED cleaned;
  trilha_buffer_init(&cleaned, 0);
  /* A word cut by the limit could pass as another one: one word more than fits is looked at. */
  clean(&cleaned, text, 2 * max);
  trilha_text left = trilha_buffer_text(&cleaned);
  size_t from = out->size, at = 0;
  while (at < left.size && out->size - from <= max) {
    size_t before = at;
    trilha_text word;
    if (!next_word(left, &at, &word)) word = (trilha_text){left.data + left.size, 0};
    trilha_buffer_append(out, left.data + before, (size_t)(word.data - (left.data + before)));
    if (is_masked(words, word))
      trilha_buffer_add_string(out, mask);
    else
      trilha_buffer_add_text(out, word);
    if (word.size == 0) break;
  }
  if (out->failed == TRILHA_OK && out->size - from > max)
    out->size = from + trilha_utf8_boundary(out->data + from, max);
  if (out->data != NULL) out->data[out->size] = '\0';
}
