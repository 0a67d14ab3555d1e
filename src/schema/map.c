/* Open addressing with a seed of its own per map: names come from people. */
#include "base/hash.h"
#include "schema/compile.h"

typedef struct schema_map_slot {
  trilha_text key; /* data NULL: free */
  uint64_t hash;
  uint32_t value;
} schema_map_slot;

static schema_map_slot *slot_of(const schema_map *map, trilha_text key, uint64_t hash) {
  uint32_t mask = map->capacity - 1;
  for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
    schema_map_slot *slot = &map->slots[i];
    if (slot->key.data == NULL || (slot->hash == hash && trilha_text_equal(slot->key, key))) return slot;
  }
}

static bool enlarge(schema_map *map) {
  schema_map larger = *map;
  larger.capacity = map->capacity == 0 ? 64 : map->capacity * 2;
  larger.slots = trilha_arena_array(map->arena, larger.capacity, sizeof(schema_map_slot));
  if (larger.slots == NULL) return false;
  for (uint32_t i = 0; i < map->capacity; i++) {
    const schema_map_slot *old = &map->slots[i];
    if (old->key.data != NULL) *slot_of(&larger, old->key, old->hash) = *old;
  }
  *map = larger;
  return true;
}

bool trilha_schema_map_put(schema_map *map, trilha_text key, uint32_t value) {
  if (map->count * 2 >= map->capacity && !enlarge(map)) return false;
  uint64_t hash = trilha_hash_bytes(key.data, key.size, map->seed);
  schema_map_slot *slot = slot_of(map, key, hash);
  if (slot->key.data == NULL) map->count++;
  *slot = (schema_map_slot){key, hash, value};
  return true;
}

uint32_t trilha_schema_map_get(const schema_map *map, trilha_text key) {
  if (map->count == 0) return UINT32_MAX;
  const schema_map_slot *slot = slot_of(map, key, trilha_hash_bytes(key.data, key.size, map->seed));
  return slot->key.data == NULL ? UINT32_MAX : slot->value;
}
