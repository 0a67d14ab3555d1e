/* json: key tables: names to numbers, built once, looked up for every member read. */
#include <stdlib.h>

#include "base/error.h"
#include "json/json_internal.h"

enum {
  NAMES_MAX = UINT16_MAX,
  SPREAD = 4,          /* buckets for each name, before rounding up to a power of two */
  FACTORS_TRIED = 64,  /* ways of mixing tried for one without a shared bucket */
  CHAIN_TOLERATED = 8, /* beyond this, heads and tails are too alike and names are hashed whole */
};

static void key_words(const char *name, size_t size, uint64_t *head, uint64_t *tail) {
  char bytes[8] = {0};
  if (size >= 8) {
    *head = trilha_json_load8(name);
    *tail = trilha_json_load8(name + size - 8);
    return;
  }
  if (size != 0) memcpy(bytes, name, size);
  *head = trilha_json_load8(bytes);
  *tail = size == 0 ? 0 : *head << (64 - 8 * size);
}

uint16_t trilha_json_keys_find(const trilha_json_keys *keys, const char *name, size_t size) {
  uint64_t head, tail;
  key_words(name, size, &head, &tail);
  return trilha_json_key_lookup(keys, head, tail, name, size);
}

static uint32_t bucket_of(const trilha_json_keys *keys, const trilha_json_key *e) {
  return trilha_json_key_bucket(keys, e->head, e->tail, e->name, e->size);
}

/* Chains every entry; returns the longest chain. */
static uint32_t fill(trilha_json_keys *keys, size_t bucket_count) {
  memset(keys->buckets, 0, bucket_count * sizeof keys->buckets[0]);
  for (uint32_t i = 1; i <= keys->count; i++) {
    trilha_json_key *e = &keys->entries[i];
    uint16_t *first = &keys->buckets[bucket_of(keys, e)];
    e->next = *first;
    *first = (uint16_t)i;
  }
  uint32_t longest = 0;
  for (size_t b = 0; b < bucket_count; b++) {
    uint32_t chain = 0;
    for (uint16_t i = keys->buckets[b]; i != 0; i = keys->entries[i].next) chain++;
    if (chain > longest) longest = chain;
  }
  return longest;
}

/* Chooses the factor: a bucket for each name alone when that can be found soon, else the shortest chains. */
static void choose(trilha_json_keys *keys, size_t bucket_count) {
  uint64_t seed = UINT64_C(0x9E3779B97F4A7C15), best = seed | 1;
  uint32_t shortest = UINT32_MAX;
  /* A large table never gets by without shared buckets; do not look for what is not there. */
  int tries = keys->count > 1024 ? 4 : FACTORS_TRIED;
  for (int i = 0; i < tries && shortest > 1; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    keys->factor = (seed ^ seed >> 29) | 1;
    uint32_t longest = fill(keys, bucket_count);
    if (longest > CHAIN_TOLERATED && keys->whole == 0) keys->whole = 1;
    if (longest < shortest) {
      shortest = longest;
      best = keys->factor;
    }
  }
  keys->factor = best;
  fill(keys, bucket_count);
}

static bool same_key(const trilha_json_key *a, const trilha_json_key *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->name, b->name, a->size) == 0);
}

/* Names that are equal share a bucket, so only chains need a look. */
static bool has_duplicate(const trilha_json_keys *keys) {
  for (uint32_t i = 1; i <= keys->count; i++)
    for (uint16_t j = keys->entries[i].next; j != 0; j = keys->entries[j].next)
      if (same_key(&keys->entries[i], &keys->entries[j])) return true;
  return false;
}

static void add_names(trilha_json_keys *keys, const trilha_text *names) {
  char *at = keys->names;
  for (uint32_t i = 1; i <= keys->count; i++) {
    const trilha_text *name = &names[i - 1];
    trilha_json_key *e = &keys->entries[i];
    if (name->size != 0) memcpy(at, name->data, name->size);
    *e = (trilha_json_key){.size = (uint32_t)name->size, .number = (uint16_t)i, .name = at};
    key_words(at, name->size, &e->head, &e->tail);
    at += name->size;
  }
}

trilha_status trilha_json_keys_new(const trilha_text *names, size_t count, trilha_json_keys **ret_keys,
                                   trilha_error *err) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += names[i].size;
  if (count > NAMES_MAX || bytes > TRILHA_JSON_BYTES_MAX)
    return trilha_error_set(err, TRILHA_LIMIT, "JSON_KEYS", "a key table holds at most %d names and %zu bytes",
                            NAMES_MAX, TRILHA_JSON_BYTES_MAX);
  uint32_t bits = 4;
  while (((size_t)1 << bits) < count * SPREAD) bits++;
  size_t bucket_count = (size_t)1 << bits;
  trilha_json_keys *keys = calloc(1, sizeof *keys + bucket_count * sizeof keys->buckets[0]);
  if (keys == NULL) return trilha_error_no_memory(err);
  keys->shift = 64 - bits;
  keys->count = (uint32_t)count;
  keys->entries = calloc(count + 1, sizeof *keys->entries);
  keys->names = malloc(bytes + 1);
  trilha_status status = TRILHA_OK;
  if (keys->entries == NULL || keys->names == NULL) {
    status = trilha_error_no_memory(err);
  } else {
    add_names(keys, names);
    choose(keys, bucket_count);
    if (has_duplicate(keys))
      status = trilha_error_set(err, TRILHA_CONFLICT, "JSON_KEYS", "a name is in the key table twice");
  }
  if (status != TRILHA_OK) {
    trilha_json_keys_free(keys);
    return status;
  }
  *ret_keys = keys;
  return TRILHA_OK;
}

void trilha_json_keys_free(trilha_json_keys *keys) {
  if (keys == NULL) return;
  free(keys->entries);
  free(keys->names);
  free(keys);
}
