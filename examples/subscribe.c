/* subscribe: handlers inside the publishing process, and what becomes of one that fails: a dead letter, which is
 * reprocessed after the repair.
 *
 *     subscribe [STORE_URL]            default: sqlite:example.db
 */
#include <stdio.h>
#include <trilha/delivery.h>

/* A JSON Schema whose x-redacao rules say, beside each field, what of it may be stored. */
static const char orders_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\",\"required\":[\"pedido\"],\"additionalProperties\":false,\"properties\":{"
    "\"pedido\":{\"type\":\"string\",\"minLength\":1,\"x-redacao\":\"manter\"},"
    "\"cliente\":{\"type\":\"string\",\"x-redacao\":\"remover\"}}}";

/* Registers pedido.criado 1.0.0; doing it again changes nothing. */
static bool register_orders(trilha *handle, trilha_error *error) {
  trilha_type_version version = {.tipo = trilha_text_of("pedido.criado"),
                                 .versao = trilha_text_of("1.0.0"),
                                 .descricao = trilha_text_of("An order was placed"),
                                 .schema = trilha_text_of(orders_schema)};
  return trilha_registry_apply(handle, &version, 1, false, trilha_text_of("example"), NULL, error) == TRILHA_OK;
}

static const char *state_of(const trilha_event *event) {
  return event->payload_estado == TRILHA_PAYLOAD_COMPLETO ? "completo" : "redigido";
}

/* One colony greets the customer: live it gets the full payload. */
static trilha_status greet(void *user, const trilha_event *event, trilha_delivery *delivery) {
  (void)user;
  printf("%s greets, %s: %s\n", trilha_delivery_colonia(delivery), state_of(event), event->payload);
  return TRILHA_OK;
}

/* Another one sends an invoice, while its printer works. A failure stops neither the publisher nor the other colony. */
static trilha_status invoice(void *user, const trilha_event *event, trilha_delivery *delivery) {
  const bool *printer_works = user;
  if (!*printer_works) return trilha_delivery_fail(delivery, "the printer is out of paper");
  printf("%s invoices at attempt %lld, %s: %s\n", trilha_delivery_colonia(delivery),
         (long long)trilha_delivery_attempt(delivery), state_of(event), event->payload);
  return TRILHA_OK;
}

static bool subscribe(trilha *handle, const char *colony, trilha_handler handler, void *user, trilha_error *error) {
  trilha_subscription subscription = {.tipo = trilha_text_of("pedido.criado"),
                                      .colonia = trilha_text_of(colony),
                                      .handler_nome = trilha_text_of(colony),
                                      .handler = handler,
                                      .user = user};
  int64_t id = 0; /* for trilha_unsubscribe(); closing the handle ends it too */
  return trilha_subscribe(handle, &subscription, &id, error) == TRILHA_OK;
}

static bool publish(trilha *handle, trilha_error *error) {
  trilha_publication order = {.tipo = trilha_text_of("pedido.criado"),
                              .origem = trilha_text_of("loja"),
                              .payload = trilha_text_of("{\"pedido\":\"P-1\",\"cliente\":\"Ana\"}")};
  trilha_publish_result result = {0};
  trilha_status status = trilha_publish(handle, &order, &result, error);
  trilha_publish_result_done(&result);
  return status == TRILHA_OK;
}

static bool show_dead_letters(trilha *handle, trilha_error *error) {
  trilha_dead_letters *letters = NULL;
  if (trilha_dead_letters_query(handle, NULL, &letters, error) != TRILHA_OK) return false;
  for (size_t i = 0; i < letters->count; i++) {
    const trilha_dead_letter *letter = &letters->items[i];
    printf("dead letter of %s, sequence %lld: %s, attempts %lld: %s\n", letter->colonia,
           (long long)letter->sequence_number, letter->status, (long long)letter->tentativas, letter->mensagem_erro);
  }
  trilha_dead_letters_free(letters);
  return true;
}

static bool run(trilha *handle, trilha_error *error) {
  bool printer_works = false;
  if (!register_orders(handle, error) || !subscribe(handle, "D-3", greet, NULL, error) ||
      !subscribe(handle, "D-4", invoice, &printer_works, error) || !publish(handle, error) ||
      !show_dead_letters(handle, error))
    return false;

  printer_works = true; /* repaired */
  trilha_reprocessed again = {0};
  if (trilha_reprocess(handle, trilha_text_of("D-4"), trilha_text_of("example"), 0, &again, error) != TRILHA_OK)
    return false;
  printf("reprocessed %lld\n", (long long)again.reprocessados);
  return show_dead_letters(handle, error);
}

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_error error = {0};
  bool done = trilha_open(&options, &handle, &error) == TRILHA_OK && run(handle, &error);
  if (!done) fprintf(stderr, "%s [%s]\n", error.text, error.code);
  trilha_close(handle);
  return done ? 0 : 1;
}
