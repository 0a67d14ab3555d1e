/* registry: a published version never changes; a new one is registered beside it, and the old one retired.
 *
 *     registry [STORE_URL]            default: sqlite:example.db
 */
#include <stdio.h>
#include <trilha/trilha.h>

/* A JSON Schema whose x-redacao rules say, beside each field, what of it may be stored. */
static const char orders_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\",\"required\":[\"pedido\",\"total_centavos\"],\"additionalProperties\":false,\"properties\":{"
    "\"pedido\":{\"type\":\"string\",\"minLength\":1,\"x-redacao\":\"manter\"},"
    "\"total_centavos\":{\"type\":\"integer\",\"minimum\":1,\"x-redacao\":\"manter\"},"
    "\"cliente\":{\"type\":\"string\",\"x-redacao\":\"remover\"}}}";

static trilha_status apply(trilha *handle, const char *version, const char *schema) {
  static const char *const changes[] = {"unchanged", "added", "status changed", "refused"};
  trilha_type_version item = {.tipo = trilha_text_of("pedido.criado"),
                              .versao = trilha_text_of(version),
                              .descricao = trilha_text_of("An order was placed"),
                              .schema = trilha_text_of(schema)};
  trilha_registry_result result = {.change = TRILHA_REGISTRY_UNCHANGED};
  trilha_error error = {0};
  trilha_status status = trilha_registry_apply(handle, &item, 1, false, trilha_text_of("example"), &result, &error);
  printf("%s: %s%s%s\n", version, changes[result.change], status == TRILHA_OK ? "" : ", because ", result.error.code);
  return status;
}

int main(int argc, char **argv) {
  static const char wider[] =
      "{\"type\":\"object\",\"required\":[\"pedido\"],\"additionalProperties\":false,\"properties\":{"
      "\"pedido\":{\"type\":\"string\",\"x-redacao\":\"manter\"},"
      "\"moeda\":{\"enum\":[\"BRL\",\"USD\"],\"x-redacao\":\"manter\"}}}";
  static const char not_a_schema[] = "{\"type\":\"objekt\",\"x-redacao\":\"manter\"}";
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_registered_types *types = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    return 1;
  }
  /* Added, then the same again, then other content under the same version, then a new version, then nonsense. */
  bool as_expected = apply(handle, "1.0.0", orders_schema) == TRILHA_OK &&
                     apply(handle, "1.0.0", orders_schema) == TRILHA_OK &&
                     apply(handle, "1.0.0", wider) == TRILHA_CONFLICT && apply(handle, "2.0.0", wider) == TRILHA_OK &&
                     apply(handle, "3.0.0", not_a_schema) == TRILHA_INVALID;

  as_expected =
      as_expected && trilha_registry_deprecate(handle, trilha_text_of("pedido.criado"), trilha_text_of("1.0.0"), false,
                                               trilha_text_of("example"), &error) == TRILHA_OK;
  if (trilha_registry_list(handle, trilha_text_of("pedido.criado"), &types, &error) == TRILHA_OK) {
    for (size_t i = 0; i < types->count; i++) {
      printf("%s %s is %s\n", types->items[i].tipo, types->items[i].versao, types->items[i].status);
    }
    trilha_registered_types_free(types);
  }
  trilha_close(handle);
  return as_expected ? 0 : 1;
}
