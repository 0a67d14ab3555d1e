/* consumer: a durable consumer. It follows the log from its colony's own cursor, goes on where it stopped, and a
 * failure never holds up what comes after it.
 *
 *     consumer [STORE_URL]            default: sqlite:example.db
 */
#include <stdio.h>
#include <trilha/delivery.h>

/* A JSON Schema whose x-redacao rules say, beside each field, what of it may be stored. */
static const char orders_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\",\"required\":[\"pedido\"],\"additionalProperties\":false,\"properties\":{"
    "\"pedido\":{\"type\":\"integer\",\"x-redacao\":\"manter\"},"
    "\"cliente\":{\"type\":\"string\",\"x-redacao\":\"remover\"}}}";

/* Registers pedido.criado 1.0.0; doing it again changes nothing. */
static bool register_orders(trilha *handle, trilha_error *error) {
  trilha_type_version version = {.tipo = trilha_text_of("pedido.criado"),
                                 .versao = trilha_text_of("1.0.0"),
                                 .descricao = trilha_text_of("An order was placed"),
                                 .schema = trilha_text_of(orders_schema)};
  return trilha_registry_apply(handle, &version, 1, false, trilha_text_of("example"), NULL, error) == TRILHA_OK;
}

static bool publish_orders(trilha *handle, int first, int last, trilha_error *error) {
  for (int i = first; i <= last; i++) {
    char payload[64];
    snprintf(payload, sizeof payload, "{\"pedido\":%d,\"cliente\":\"Ana\"}", i);
    trilha_publication order = {
        .tipo = trilha_text_of("pedido.criado"), .origem = trilha_text_of("loja"), .payload = trilha_text_of(payload)};
    trilha_publish_result result = {0};
    trilha_status status = trilha_publish(handle, &order, &result, error);
    trilha_publish_result_done(&result);
    if (status != TRILHA_OK) return false;
  }
  return true;
}

/* Called one event at a time, in the order of the log. The same event can come again after a crash: an effect that must
 * happen once shares a transaction with the cursor, see trilha_delivery_advance_in(). */
static trilha_status bill(void *user, const trilha_event *event, trilha_delivery *delivery) {
  const int64_t *stuck = user;
  if (event->sequence_number == *stuck) return trilha_delivery_fail(delivery, "no price for this order");
  printf("  %lld  %s\n", (long long)event->sequence_number, event->payload);
  return TRILHA_OK;
}

/* Handles what is due and returns; without `once` it would follow the log until trilha_consumer_stop(). */
static bool consume(trilha *handle, int64_t *stuck, trilha_error *error) {
  const trilha_text types[] = {trilha_text_of("pedido.criado")};
  trilha_consumer_options options = {.colonia = trilha_text_of("D-4"),
                                     .types = types,
                                     .type_count = 1,
                                     .handler = bill,
                                     .handler_nome = trilha_text_of("bill"),
                                     .user = stuck,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  printf("consuming\n");
  if (trilha_consumer_new(handle, &options, &consumer, error) != TRILHA_OK) return false;
  trilha_status status = trilha_consumer_run(consumer, error);
  trilha_consumer_free(consumer);
  return status == TRILHA_OK;
}

static bool show_cursors(trilha *handle, trilha_error *error) {
  trilha_consumer_states *states = NULL;
  if (trilha_consumers_list(handle, trilha_text_of("D-4"), &states, error) != TRILHA_OK) return false;
  for (size_t i = 0; i < states->count; i++)
    printf("cursor of %s for %s: %lld, behind by %lld\n", states->items[i].colonia, states->items[i].tipo,
           (long long)states->items[i].last_sequence, (long long)states->items[i].lag_events);
  trilha_consumer_states_free(states);
  return true;
}

static bool show_statistics(trilha *handle, trilha_error *error) {
  trilha_dead_letter_statistics *statistics = NULL;
  if (trilha_dead_letter_stats(handle, &statistics, error) != TRILHA_OK) return false;
  printf("dead letters waiting: %lld\n", (long long)statistics->total_pendentes);
  trilha_dead_letter_statistics_free(statistics);
  return true;
}

static bool run(trilha *handle, trilha_error *error) {
  int64_t stuck = 2; /* the handler fails for this sequence number */
  if (!register_orders(handle, error) || !publish_orders(handle, 1, 4, error) || !consume(handle, &stuck, error) ||
      !show_cursors(handle, error) || !show_statistics(handle, error) || !publish_orders(handle, 5, 6, error))
    return false;

  stuck = 0; /* repaired */
  trilha_reprocessed again = {0};
  printf("reprocessing\n");
  if (trilha_reprocess_with(handle, trilha_text_of("D-4"), NULL, 0, trilha_text_of("bill"), bill, &stuck, &again,
                            error) != TRILHA_OK)
    return false;
  return consume(handle, &stuck, error) && show_cursors(handle, error) && show_statistics(handle, error);
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
