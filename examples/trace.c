/* trace: follows one correlation id through the events that carry it.
 *
 *     trace [STORE_URL]            default: sqlite:example.db
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

static const char first_id[] = "0d5e8f0a-1c2b-4d3e-8f4a-5b6c7d8e9f01";

/* The second event names the first as its cause and keeps its correlation id. */
static bool publish_chain(trilha *handle, trilha_error *error) {
  trilha_publication chain[2] = {
      {.tipo = trilha_text_of("pedido.criado"),
       .origem = trilha_text_of("loja"),
       .event_id = trilha_text_of(first_id),
       .payload = trilha_text_of("{\"pedido\":\"P-1\",\"total_centavos\":12990}")},
      {.tipo = trilha_text_of("pedido.criado"),
       .origem = trilha_text_of("fornecedor"),
       .correlacao_id = trilha_text_of(first_id),
       .causation_id = trilha_text_of(first_id),
       .payload = trilha_text_of("{\"pedido\":\"F-77\",\"total_centavos\":8000}")},
  };
  trilha_publish_result results[2] = {{0}};
  trilha_status status = trilha_publish_many(handle, chain, 2, results, error);
  for (int i = 0; i < 2; i++) trilha_publish_result_done(&results[i]);
  return status == TRILHA_OK;
}

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_events_page *page = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) == TRILHA_OK && register_orders(handle, &error) &&
      publish_chain(handle, &error) &&
      trilha_events_trace(handle, trilha_text_of(first_id), &page, &error) == TRILHA_OK) {
    for (size_t i = 0; i < page->count; i++) {
      const trilha_event *event = &page->linhas[i];
      printf("%lld  %s from %s%s%s\n", (long long)event->sequence_number, event->tipo, event->origem,
             event->causation_id == NULL ? "" : ", caused by ", event->causation_id == NULL ? "" : event->causation_id);
    }
  }
  if (error.status != TRILHA_OK) fprintf(stderr, "%s [%s]\n", error.text, error.code);
  trilha_events_page_free(page);
  trilha_close(handle);
  return error.status == TRILHA_OK ? 0 : 1;
}
