/* registry: the Nth allocation fails while publishers acquire, versions are judged, keys are read and payloads
 * redacted: every N answers NO_MEMORY and nothing leaks. */
#include "redaction/redaction.h"
#include "registry_test.h"
#include "support/failing_heap.h"

#define SCHEMA                                                                                                \
  "{\"$defs\":{\"h\":{\"x-redacao\":\"hash\"}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/"                    \
  "h\"},\"lat\":{\"x-redacao\":{"                                                                             \
  "\"arredondar\":2}},\"lng\":{\"x-redacao\":{\"arredondar\":2}},\"l\":{\"items\":{\"pattern\":\"^a+$\",\"x-" \
  "redacao\":\"manter\"}}}}"

/* A validator without memory says "undecided" (schema/schema.h), which is as good an answer. */
static trilha_status want_of_memory(trilha_status status, trilha_error *err) {
  if (status != TRILHA_LIMIT || strcmp(err->code, "SCHEMA_UNDECIDED") != 0) return status;
  err->status = TRILHA_NO_MEMORY;
  return TRILHA_NO_MEMORY;
}

static trilha_status acquire_once(void *user, trilha_error *err) {
  memory_registry *memory = user;
  trilha_registry *registry = NULL;
  const trilha_registry_type *type = NULL;
  trilha_status status = trilha_registry_new(&memory->store, SLOW_MS, NULL, &registry, err);
  if (status != TRILHA_OK) return status;
  status = trilha_registry_acquire(registry, T("t"), T("1.0.0"), TRILHA_NO_DEADLINE, &type, err);
  if (status == TRILHA_OK) trilha_registry_release(registry, type);
  trilha_registry_free(registry);
  return want_of_memory(status, err);
}

static void acquiring_survives_every_failing_allocation(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", SCHEMA);
  assert_true(failing_heap_exhaust(acquire_once, &b->memory) > 10);
  bench_free(b);
}

typedef struct retrying {
  memory_registry *memory;
  unsigned recovered;
} retrying;

/* One registry, asked again after it had no memory. */
static trilha_status acquire_again(void *user, trilha_error *err) {
  retrying *r = user;
  trilha_registry *registry = NULL;
  const trilha_registry_type *type = NULL;
  trilha_status status = trilha_registry_new(&r->memory->store, SLOW_MS, NULL, &registry, err);
  if (status != TRILHA_OK) return status;
  status = trilha_registry_acquire(registry, T("t"), T("1.0.0"), TRILHA_NO_DEADLINE, &type, err);
  if (want_of_memory(status, err) == TRILHA_NO_MEMORY) {
    *err = (trilha_error){0};
    status = trilha_registry_acquire(registry, T("t"), T("1.0.0"), TRILHA_NO_DEADLINE, &type, err);
    r->recovered += status == TRILHA_OK;
  }
  if (status == TRILHA_OK) trilha_registry_release(registry, type);
  trilha_registry_free(registry);
  return want_of_memory(status, err);
}

static void want_of_memory_is_never_kept_as_the_schemas_fault(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", SCHEMA);
  retrying r = {.memory = &b->memory};
  failing_heap_exhaust(acquire_again, &r);
  assert_true(r.recovered > 10);
  bench_free(b);
}

static trilha_status judge(void *user, trilha_error *err) {
  bench *b = user;
  trilha_type_version versions[] = {version_of("t", "1.0.0", " " SCHEMA), version_of("t", "1.1.0", SCHEMA)};
  trilha_registry_result results[2];
  return want_of_memory(trilha_registry_apply_versions(b->registry, versions, 2, true, T("m"), results, err), err);
}

static trilha_status list(void *user, trilha_error *err) {
  bench *b = user;
  trilha_registered_types *types = NULL;
  trilha_status status = trilha_registry_list_types(b->registry, (trilha_text){NULL, 0}, &types, err);
  if (status == TRILHA_OK) trilha_registered_types_free(types);
  return status;
}

static void judging_and_listing_survive_every_failing_allocation(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", SCHEMA);
  assert_true(failing_heap_exhaust(judge, b) > 10);
  assert_true(failing_heap_exhaust(list, b) > 1);
  bench_free(b);
}

typedef struct redaction_bench {
  trilha_schema *schema;
  trilha_json_document *document;
} redaction_bench;

static trilha_status redact_once(void *user, trilha_error *err) {
  redaction_bench *b = user;
  trilha_keyring *keyring = NULL;
  trilha_schema_scratch *scratch = NULL;
  trilha_buffer out = {0};
  trilha_status status = trilha_keyring_load(T("env:TRILHA_TEST_KEYRING"), &keyring, err);
  if (status == TRILHA_OK) status = trilha_schema_scratch_new(&scratch, err);
  if (status == TRILHA_OK)
    status = trilha_redact(b->schema, b->document, NULL, scratch, T("t"), keyring, &out, NULL, NULL, NULL, err);
  if (status == TRILHA_OK)
    status = trilha_keyring_digest(keyring, (trilha_text){NULL, 0}, T("f"), b->document->values, &out, err);
  trilha_buffer_done(&out);
  trilha_schema_scratch_free(scratch);
  trilha_keyring_free(keyring);
  return want_of_memory(status, err);
}

static void redacting_survives_every_failing_allocation(void **state) {
  (void)state;
  setenv("TRILHA_TEST_KEYRING", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", 1);
  redaction_bench b = {0};
  trilha_json_document *schema = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_schema_options options = {.annotation = T(TRILHA_REDACTION_KEYWORD)};
  assert_int_equal(trilha_json_parse(T(SCHEMA), &limits, &schema, NULL, NULL), TRILHA_OK);
  assert_int_equal(trilha_schema_compile(schema, &options, &b.schema, NULL), TRILHA_OK);
  assert_int_equal(
      trilha_json_parse(T("{\"a\":\"e\xcc\x81\",\"lat\":1.234,\"lng\":2.345,\"l\":[\"a\",\"aa\"],\"z\":{\"y\":1}}"),
                        &limits, &b.document, NULL, NULL),
      TRILHA_OK);
  assert_true(failing_heap_exhaust(redact_once, &b) > 5);
  trilha_json_document_free(b.document);
  trilha_json_document_free(schema);
  trilha_schema_free(b.schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(acquiring_survives_every_failing_allocation),
      cmocka_unit_test(want_of_memory_is_never_kept_as_the_schemas_fault),
      cmocka_unit_test(judging_and_listing_survive_every_failing_allocation),
      cmocka_unit_test(redacting_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests_name("registry memory", tests, NULL, NULL);
}
