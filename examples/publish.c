/* publish: stores one event and shows what was kept of it.
 *
 *     publish [STORE_URL]            default: sqlite:example.db
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

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK || !register_orders(handle, &error)) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    trilha_close(handle);
    return 1;
  }

  trilha_publication order = {
      .tipo = trilha_text_of("pedido.criado"),
      .origem = trilha_text_of("loja"),
      .event_id = trilha_text_of("0d5e8f0a-1c2b-4d3e-8f4a-5b6c7d8e9f01"),
      .timestamp = trilha_text_of("2026-06-15T10:30:00-03:00"),
      .payload = trilha_text_of("{\"pedido\":\"P-1\",\"total_centavos\":12990,\"cliente\":\"Maria da Silva\"}"),
  };
  trilha_publish_result result = {0};
  if (trilha_publish(handle, &order, &result, &error) == TRILHA_OK) {
    printf("on disk as sequence %lld, at %s\n", (long long)result.event->sequence_number, result.event->timestamp);
    printf("the publisher still sees everything: %s\n", result.event->payload);
  } else {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
  }
  trilha_publish_result_done(&result);

  /* Everyone else reads what the type's rules left: the name of the customer was never stored. */
  trilha_event *stored = NULL;
  if (trilha_event_get(handle, order.event_id, &stored, &error) == TRILHA_OK) {
    printf("the log holds: %s\n", stored->payload);
  } else {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
  }
  trilha_event_free(stored);
  trilha_close(handle);
  return error.status == TRILHA_OK ? 0 : 1;
}
