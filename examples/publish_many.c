/* publish_many: stores many events in shared transactions; a refused one does not stop the rest.
 *
 *     publish_many [STORE_URL]            default: sqlite:example.db
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

enum { ORDERS = 1000 };

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK || !register_orders(handle, &error)) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    trilha_close(handle);
    return 1;
  }

  static char payloads[ORDERS][64];
  static trilha_publication orders[ORDERS];
  static trilha_publish_result results[ORDERS];
  for (int i = 0; i < ORDERS; i++) {
    /* Every hundredth order has a total of 0, which the schema does not allow. */
    snprintf(payloads[i], sizeof payloads[i], "{\"pedido\":\"P-%d\",\"total_centavos\":%d}", i + 1, (i + 1) % 100);
    orders[i] = (trilha_publication){.tipo = trilha_text_of("pedido.criado"),
                                     .origem = trilha_text_of("loja"),
                                     .payload = trilha_text_of(payloads[i])};
  }
  trilha_status status = trilha_publish_many(handle, orders, ORDERS, results, &error);
  printf("the first failure: %s [%s]\n", trilha_status_name(status), error.code);

  int stored = 0, refused = 0;
  for (int i = 0; i < ORDERS; i++) {
    if (results[i].status == TRILHA_OK) {
      stored++;
    } else if (++refused == 1) {
      printf("order %d: %s %s\n", i + 1, results[i].payload_errors[0].instance_pointer,
             results[i].payload_errors[0].keyword);
    }
    trilha_publish_result_done(&results[i]);
  }
  printf("%d stored, %d refused\n", stored, refused);
  trilha_close(handle);
  return 0;
}
