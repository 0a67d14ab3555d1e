/* redaction: what the value of x-redacao says, and which names are coordinates. */
#include "json/number.h"
#include "redaction/redaction_internal.h"

uint8_t trilha_rule_of(const trilha_json_value *value) {
  if (value->type == TRILHA_JSON_STRING) {
    trilha_text text = trilha_json_text(value);
    if (trilha_text_is(text, "manter")) return TRILHA_RULE_KEEP;
    if (trilha_text_is(text, "hash")) return TRILHA_RULE_HASH;
    if (trilha_text_is(text, "remover")) return TRILHA_RULE_REMOVE;
    return TRILHA_RULE_NONE;
  }
  if (value->type != TRILHA_JSON_OBJECT || value->size != 1) return TRILHA_RULE_NONE;
  const trilha_json_value *places = trilha_json_member(value, "arredondar");
  int64_t n = 0;
  if (places == NULL || places->type != TRILHA_JSON_NUMBER || !trilha_number_to_i64(trilha_json_text(places), &n) ||
      n < 0 || n > TRILHA_RULE_PLACES_MAX)
    return TRILHA_RULE_NONE;
  return (uint8_t)(TRILHA_RULE_ROUND + n);
}

bool trilha_coordinate_names_equal(trilha_text a, trilha_text b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; i++) {
    /* ASCII letters only: these names have no others, and tolower() would ask the locale. */
    unsigned char x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];
    if (x >= 'A' && x <= 'Z') x = (unsigned char)(x + 32);
    if (y >= 'A' && y <= 'Z') y = (unsigned char)(y + 32);
    if (x != y) return false;
  }
  return true;
}

/* Each row: a name and those that may stand beside it. */
static const struct {
  const char *name;
  const char *partners[4];
} COORDINATES[] = {
    {"lat", {"lng", "lon", "long", "longitude"}},
    {"latitude", {"longitude", "lng", "lon", "long"}},
    {"lng", {"lat", "latitude"}},
    {"lon", {"lat", "latitude"}},
    {"long", {"lat", "latitude"}},
    {"longitude", {"latitude", "lat"}},
};

trilha_text trilha_coordinate_partner(trilha_text name, size_t n) {
  for (size_t i = 0; n < 4 && i < sizeof COORDINATES / sizeof COORDINATES[0]; i++)
    if (trilha_coordinate_names_equal(name, trilha_text_of(COORDINATES[i].name)))
      return trilha_text_of(COORDINATES[i].partners[n]);
  return (trilha_text){NULL, 0};
}
