/* replay: the bounded replay of the specification: everything after a sequence, gathered, at most 100,000 events at a
 * time.
 *
 *     replay [STORE_URL]            default: sqlite:example.db
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

/* Registers pedido.criado 1.0.0; doing it again changes nothing. */
static bool register_orders(trilha *handle, trilha_error *error) {
  trilha_type_version version = {.tipo = trilha_text_of("pedido.criado"),
                                 .versao = trilha_text_of("1.0.0"),
                                 .descricao = trilha_text_of("An order was placed"),
                                 .schema = trilha_text_of(orders_schema)};
  return trilha_registry_apply(handle, &version, 1, false, trilha_text_of("example"), NULL, error) == TRILHA_OK;
}

static bool publish_orders(trilha *handle, trilha_error *error) {
  for (int i = 0; i < 5; i++) {
    char payload[64];
    snprintf(payload, sizeof payload, "{\"pedido\":\"P-%d\",\"total_centavos\":%d}", i + 1, 100 * (i + 1));
    trilha_publication order = {
        .tipo = trilha_text_of("pedido.criado"), .origem = trilha_text_of("loja"), .payload = trilha_text_of(payload)};
    trilha_publish_result result = {0};
    trilha_status status = trilha_publish(handle, &order, &result, error);
    trilha_publish_result_done(&result);
    if (status != TRILHA_OK) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK || !register_orders(handle, &error) ||
      !publish_orders(handle, &error)) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    trilha_close(handle);
    return 1;
  }

  const trilha_text types[] = {trilha_text_of("pedido.criado")};
  int64_t cursor = 2; /* what this consumer saw last */
  for (bool more = true; more;) {
    trilha_replayed *replayed = NULL;
    if (trilha_replay(handle, cursor, types, 1, &replayed, &error) != TRILHA_OK) break;
    for (size_t i = 0; i < replayed->count; i++) {
      printf("%lld  %s\n", (long long)replayed->events[i].sequence_number, replayed->events[i].payload);
    }
    cursor = replayed->cursor;
    more = replayed->ceiling_reached; /* then there may be more after the cursor */
    trilha_replayed_free(replayed);
  }
  if (error.status != TRILHA_OK) fprintf(stderr, "%s [%s]\n", error.text, error.code);
  int64_t last = 0;
  char last_id[37];
  if (trilha_last_sequence(handle, &last, &error) == TRILHA_OK &&
      trilha_last_event_id(handle, last_id, &error) == TRILHA_OK) {
    printf("cursor %lld, largest sequence %lld\n", (long long)cursor, (long long)last);
  }
  trilha_close(handle);
  return error.status == TRILHA_OK ? 0 : 1;
}
