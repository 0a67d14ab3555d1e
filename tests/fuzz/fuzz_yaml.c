/* fuzz: YAML that is accepted becomes JSON that our reader takes, without duplicate keys, and its places are in order.
 */
#include "config/yaml.h"
#include "fuzz/fuzz.h"
#include "json/json.h"

void trilha_fuzz(const char *data, size_t size) {
  trilha_buffer out = {0};
  trilha_yaml_map map = {0};
  trilha_error err = {0};
  trilha_status status = trilha_yaml_to_json((trilha_text){data, size}, &out, &map, &err);
  if (status == TRILHA_OK) {
    trilha_json_limits limits = {TRILHA_YAML_JSON_BYTES_MAX, 100000, 1 << 23};
    trilha_json_document *document = NULL;
    trilha_json_fault fault = {0};
    status = trilha_json_parse(trilha_buffer_text(&out), &limits, &document, &fault, NULL);
    CHECK(status == TRILHA_OK);
    trilha_json_fault kept = {0};
    if (trilha_json_check_storable(document, trilha_buffer_text(&out), &kept, NULL) != TRILHA_OK)
      CHECK(!trilha_text_is(trilha_text_of(kept.code), "JSON_DUPLICATE_KEY"));
    trilha_json_document_free(document);
    for (size_t i = 1; i < map.count; i++) CHECK(map.places[i - 1].offset <= map.places[i].offset);
  } else {
    CHECK(err.code[0] != '\0' && err.text[0] != '\0');
  }
  trilha_yaml_map_done(&map);
  trilha_buffer_done(&out);
}
