/* costs: what a publish costs besides the database: the nine steps over a store that keeps nothing.
 *
 *   publish_cost plain|redacted COUNT KEYRING
 *
 * plain: every value is kept. redacted: rules keep, hash and remove in turn; KEYRING is a key file. The last line
 * printed is JSON: allocations of a publish (counted after the first ones, which fill what is kept between publishes),
 * and what the build is, since instructions can only be compared between builds of one kind. test_publish.py counts the
 * instructions, as the difference between two COUNTs under callgrind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "bus/bus.h"

enum { WARM = 32, REFRESH_MS = 3600000 };

/* --- counting allocations ------------------------------------------------------------------------------------ */

/* The linker sends the program's allocations here (--wrap); those of shared libraries are not seen. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

static long allocations;

void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  allocations++;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size) {
  allocations++;
  return __real_realloc(p, size);
}

/* --- a store that keeps nothing -------------------------------------------------------------------------------- */

typedef struct stub {
  trilha_store store; /* first */
  int64_t next;
  const char *schema;
} stub;

static trilha_status append(trilha_store *store, const trilha_event_row *rows, size_t count, trilha_deadline deadline,
                            trilha_arena *arena, trilha_append_result *results, int64_t *ret_revision,
                            trilha_error *err) {
  (void)deadline, (void)arena, (void)err;
  stub *s = (stub *)(void *)store;
  for (size_t i = 0; i < count; i++) {
    results[i] = (trilha_append_result){.stored = true, .row = rows[i]};
    results[i].row.sequence_number = ++s->next;
    results[i].row.criado_em_us = rows[i].timestamp_us;
  }
  *ret_revision = 1;
  return TRILHA_OK;
}

static trilha_status registry_revision(trilha_store *store, trilha_deadline deadline, int64_t *ret_revision,
                                       trilha_error *err) {
  (void)store, (void)deadline, (void)err;
  *ret_revision = 1;
  return TRILHA_OK;
}

static trilha_status types_list(trilha_store *store, trilha_text tipo, trilha_deadline deadline,
                                trilha_type_visit visit, void *user, trilha_error *err) {
  (void)tipo, (void)deadline;
  const trilha_type_row row = {.tipo = TRILHA_TEXT("demanda.recebida"),
                               .versao = TRILHA_TEXT("1.0.0"),
                               .status = TRILHA_TEXT("ativo"),
                               .schema = trilha_text_of(((stub *)(void *)store)->schema)};
  return visit(user, &row, err);
}

static const trilha_store_operations operations = {
    .append = append, .registry_revision = registry_revision, .types_list = types_list};

/* --- the message ------------------------------------------------------------------------------------------------- */

#define FIELDS(first, second, third)                                                                                   \
  "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"demanda_id\",\"texto\",\"canal\"],"             \
  "\"properties\":{\"demanda_id\":{\"type\":\"string\",\"format\":\"uuid\",\"x-redacao\":\"manter\"},"                 \
  "\"texto\":{\"type\":\"string\",\"minLength\":1,\"x-redacao\":\"" first                                              \
  "\"},\"cidadao_id\":{\"type\":\"string\",\"x-redacao\":\"" second                                                    \
  "\"},\"local\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"bairro\":{\"type\":\"string\"," \
  "\"x-redacao\":\"" third                                                                                             \
  "\"},\"numero\":{\"type\":\"integer\",\"minimum\":1,\"x-redacao\":\"manter\"}}},\"canal\":{\"enum\":[\"app\","       \
  "\"site\",\"telefone\"],\"x-redacao\":\"manter\"}}}"

static const char kept[] = FIELDS("manter", "manter", "manter");
static const char redacted[] = FIELDS("remover", "hash", "hash");

static const char payload[] =
    "{\"demanda_id\": \"a1b2c3d4-e5f6-4890-abcd-ef1234567890\", \"texto\": \"Buraco na rua das Flores, em frente ao "
    "número 120, perto da escola.\", \"cidadao_id\": \"cidadao-4711\", \"local\": {\"bairro\": \"Centro\", \"numero\": "
    "120}, \"canal\": \"app\"}";

static void die(const trilha_error *err) {
  fprintf(stderr, "publish_cost: %s: %s\n", err->code, err->text);
  exit(1);
}

/* The id and the time are given: random ones would cost now more, now less. */
static void publish(trilha_bus *bus, long number) {
  char id[TRILHA_UUID_TEXT_SIZE];
  unsigned char raw[16] = {[6] = 0x40, [8] = 0x80};
  memcpy(raw + 10, &number, 6);
  trilha_uuid_format(raw, id);
  const trilha_publication p = {.event_id = trilha_text_of(id),
                                .tipo = TRILHA_TEXT("demanda.recebida"),
                                .versao_schema = TRILHA_TEXT("1.0.0"),
                                .timestamp = TRILHA_TEXT("2026-06-15T10:30:00Z"),
                                .origem = TRILHA_TEXT("D-1a"),
                                .correlacao_id = TRILHA_TEXT("a8767a61-82e6-4978-b826-563ee88b6727"),
                                .payload = {payload, sizeof payload - 1}};
  trilha_publish_result result;
  trilha_error err = {0};
  if (trilha_bus_publish(bus, &p, 1, &result, &err) != TRILHA_OK) die(&err);
  trilha_bus_result_done(&result);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const bool redacts = strcmp(argv[1], "redacted") == 0;
  const trilha_diagnostics silent = {0};
  stub store = {.store = {&operations, NULL}, .schema = redacts ? redacted : kept};
  trilha_registry *registry = NULL;
  trilha_eventlog *log = NULL;
  trilha_deadletter *deadletter = NULL;
  trilha_telemetry *telemetry = NULL;
  trilha_keyring *keyring = NULL;
  trilha_bus *bus = NULL;
  trilha_error err = {0};
  char source[512];
  snprintf(source, sizeof source, "file:%s", argv[3]);
  if (trilha_keyring_load(trilha_text_of(source), &keyring, &err) != TRILHA_OK ||
      trilha_registry_new(&store.store, REFRESH_MS, &silent, &registry, &err) != TRILHA_OK ||
      trilha_eventlog_new(&store.store, 0, REFRESH_MS, &silent, &log, &err) != TRILHA_OK ||
      trilha_deadletter_new(&store.store, &silent, 0, 0, &deadletter, &err) != TRILHA_OK ||
      trilha_telemetry_new(0, &telemetry, &err) != TRILHA_OK ||
      trilha_bus_new(log, registry, keyring, deadletter, telemetry, &silent, &bus, &err) != TRILHA_OK)
    die(&err);
  const long count = strtol(argv[2], NULL, 10);
  for (long i = 0; i < WARM; i++) publish(bus, i);
  const long before = allocations;
  for (long i = 0; i < count; i++) publish(bus, WARM + i);
  printf("{\"allocations\": %.3f, \"compiler\": \"%s\", \"build\": \"%s\", \"reader\": \"%s\"}\n",
         (double)(allocations - before) / (double)count, __VERSION__, TRILHA_BUILD,
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") ? "avx2"
                                                                                                           : "sse2");
  trilha_bus_free(bus);
  trilha_telemetry_free(telemetry);
  trilha_deadletter_free(deadletter);
  trilha_eventlog_free(log);
  trilha_registry_free(registry);
  trilha_keyring_free(keyring);
  return 0;
}
