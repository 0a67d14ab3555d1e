/* errors: how a call says what went wrong, and what a program does about it.
 *
 *     errors [STORE_URL]            default: sqlite:example.db
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

/* Statuses are few and stable, so a program decides by them; codes and texts are for logs and people. */
static const char *what_to_do(const trilha_error *error) {
  switch (error->status) {
    case TRILHA_OK:
      return "go on";
    case TRILHA_INVALID:
    case TRILHA_LIMIT:
      return "do not send it again: it is wrong";
    case TRILHA_OUTCOME_UNKNOWN:
      return "send it again under the same event_id";
    default:
      return error->retriable ? "try again later" : "tell someone";
  }
}

static void publish(trilha *handle, const char *id, const char *type, const char *payload) {
  trilha_publication order = {.tipo = trilha_text_of(type),
                              .origem = trilha_text_of("loja"),
                              .event_id = trilha_text_of(id),
                              .payload = trilha_text_of(payload)};
  trilha_publish_result result = {0};
  trilha_error error = {0};
  if (trilha_publish(handle, &order, &result, &error) == TRILHA_OK) {
    printf("sequence %lld%s\n", (long long)result.event->sequence_number,
           !result.duplicate                            ? ""
           : result.content == TRILHA_CONTENT_DIFFERENT ? ", which was there already with other content"
                                                        : ", which was there already");
  } else {
    printf("%s [%s]: %s\n", error.text, error.code, what_to_do(&error));
    for (size_t i = 0; i < result.payload_error_count; i++) {
      printf("  %s: %s\n", result.payload_errors[i].instance_pointer, result.payload_errors[i].keyword);
    }
  }
  trilha_publish_result_done(&result);
}

int main(int argc, char **argv) {
  static const char id[] = "0d5e8f0a-1c2b-4d3e-8f4a-5b6c7d8e9f01";
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db"};
  trilha *handle = NULL;
  trilha_error error = {0};
  if (trilha_open(&options, &handle, &error) != TRILHA_OK) {
    printf("not yet there [%s]: %s\n", error.code, what_to_do(&error));
    options.create = true;
    error = (trilha_error){0};
  }
  if (handle == NULL && trilha_open(&options, &handle, &error) != TRILHA_OK) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    return 1;
  }
  if (!register_orders(handle, &error)) fprintf(stderr, "%s [%s]\n", error.text, error.code);

  publish(handle, id, "pedido.criado", "{\"pedido\":\"P-1\",\"total_centavos\":12990}");
  publish(handle, id, "pedido.criado", "{\"pedido\":\"P-1\",\"total_centavos\":12990}");
  publish(handle, NULL, "pedido.criado", "{\"total_centavos\":0,\"cpf\":\"000.000.000-00\"}");
  publish(handle, NULL, "pedido.pago", "{\"pedido\":\"P-1\"}");
  publish(handle, "not-an-id", "pedido.criado", "{\"pedido\":\"P-1\",\"total_centavos\":1}");
  publish(handle, NULL, "pedido.criado", "{\"pedido\":\"P-1\",");
  publish(handle, NULL, "pedido.criado", "null");
  trilha_close(handle);
  return 0;
}
