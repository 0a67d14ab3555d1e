/* query: pages through the events of a time window.
 *
 *     query [STORE_URL]            default: sqlite:example.db
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

/* Twelve orders, one a minute. */
static bool publish_orders(trilha *handle, trilha_error *error) {
  for (int i = 0; i < 12; i++) {
    char payload[64], when[32];
    snprintf(payload, sizeof payload, "{\"pedido\":\"P-%d\",\"total_centavos\":%d}", i + 1, 100 * (i + 1));
    snprintf(when, sizeof when, "2026-06-15T10:%02d:00Z", i);
    trilha_publication order = {.tipo = trilha_text_of("pedido.criado"),
                                .origem = trilha_text_of(i % 2 == 0 ? "loja" : "app"),
                                .timestamp = trilha_text_of(when),
                                .payload = trilha_text_of(payload)};
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

  /* Filters combine with AND, and both ends of the window belong to it. */
  trilha_events_filter filter = {.origem = trilha_text_of("app"),
                                 .timestamp_inicio = trilha_text_of("2026-06-15T10:01:00Z"),
                                 .timestamp_fim = trilha_text_of("2026-06-15T07:09:00-03:00"),
                                 .limite = 2};
  for (;;) {
    trilha_events_page *page = NULL;
    if (trilha_events_query(handle, &filter, &page, &error) != TRILHA_OK) break;
    printf("%lld to %lld of %lld\n", (long long)page->deslocamento + 1,
           (long long)page->deslocamento + (long long)page->count, (long long)page->total);
    for (size_t i = 0; i < page->count; i++) {
      printf("  %lld  %s  %s\n", (long long)page->linhas[i].sequence_number, page->linhas[i].timestamp,
             page->linhas[i].payload);
    }
    filter.deslocamento += (int64_t)page->count;
    bool more = filter.deslocamento < page->total;
    trilha_events_page_free(page);
    if (!more) break;
  }
  if (error.status != TRILHA_OK) fprintf(stderr, "%s [%s]\n", error.text, error.code);
  trilha_close(handle);
  return error.status == TRILHA_OK ? 0 : 1;
}
