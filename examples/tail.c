/* tail: follows the log while another thread publishes: no ceiling, constant memory.
 *
 *     tail [STORE_URL]            default: sqlite:example.db
 */
#include <pthread.h>
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

enum { ORDERS = 5 };

typedef struct follower {
  int seen;
  volatile bool stop;
} follower;

/* Runs in order, one event at a time; the event is only borrowed. Anything but TRILHA_OK would end the stream. */
static trilha_status on_event(void *user, const trilha_event *event, trilha_error *error) {
  (void)error;
  follower *f = user;
  printf("%lld  %s\n", (long long)event->sequence_number, event->payload);
  if (++f->seen == ORDERS) f->stop = true;
  return TRILHA_OK;
}

static void *publish_orders(void *user) {
  trilha *handle = user; /* one handle, any number of threads */
  for (int i = 0; i < ORDERS; i++) {
    char payload[64];
    snprintf(payload, sizeof payload, "{\"pedido\":\"P-%d\",\"total_centavos\":%d}", i + 1, 100 * (i + 1));
    trilha_publication order = {
        .tipo = trilha_text_of("pedido.criado"), .origem = trilha_text_of("loja"), .payload = trilha_text_of(payload)};
    trilha_publish_result result = {0};
    trilha_error error = {0};
    if (trilha_publish(handle, &order, &result, &error) != TRILHA_OK) {
      fprintf(stderr, "%s [%s]\n", error.text, error.code);
    }
    trilha_publish_result_done(&result);
  }
  return NULL;
}

int main(int argc, char **argv) {
  trilha_options options = {.store_url = argc > 1 ? argv[1] : "sqlite:example.db", .create = true};
  trilha *handle = NULL;
  trilha_error error = {0};
  int64_t cursor = 0;
  if (trilha_open(&options, &handle, &error) != TRILHA_OK || !register_orders(handle, &error) ||
      trilha_last_sequence(handle, &cursor, &error) != TRILHA_OK) {
    fprintf(stderr, "%s [%s]\n", error.text, error.code);
    trilha_close(handle);
    return 1;
  }

  pthread_t publisher;
  if (pthread_create(&publisher, NULL, publish_orders, handle) != 0) {
    trilha_close(handle);
    return 1;
  }
  follower f = {0};
  trilha_stream_options stream = {.after = cursor, .follow = true, .stop = &f.stop, .wait_ms = 100};
  trilha_status status = trilha_replay_stream(handle, &stream, on_event, &f, &cursor, &error);
  pthread_join(publisher, NULL);
  printf("stopped at %lld\n", (long long)cursor); /* what to give as `after` next time */
  trilha_close(handle);
  return status == TRILHA_OK || status == TRILHA_CANCELLED ? 0 : 1;
}
