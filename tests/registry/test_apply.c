/* registry: registering, deprecating and listing versions. */
#include <stdio.h>

#include "base/error.h"
#include "registry_test.h"

static trilha_status apply_one(bench *b, trilha_type_version version, bool dry_run, trilha_registry_result *ret_result,
                               trilha_error *err) {
  *err = (trilha_error){0};
  return trilha_registry_apply_versions(b->registry, &version, 1, dry_run, T("maria"), ret_result, err);
}

static void new_version_is_stored_audited_and_usable_at_once(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err;
  trilha_registry_result result;
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  trilha_type_version version = version_of("t", "1.0.0", HASHED);
  version.descricao = T("um tipo");
  assert_int_equal(apply_one(b, version, true, &result, &err), TRILHA_OK);
  assert_int_equal(result.change, TRILHA_REGISTRY_ADDED);
  assert_int_equal(b->memory.apply_calls, 0); /* a dry run only says */
  assert_int_equal(apply_one(b, version, false, &result, &err), TRILHA_OK);
  assert_int_equal(result.change, TRILHA_REGISTRY_ADDED);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  assert_true(trilha_text_is(b->memory.rows[0].schema, HASHED));
  assert_true(trilha_text_is(b->memory.rows[0].status, "ativo"));
  assert_int_equal(b->memory.audit_count, 1);
  const trilha_audit_row *audit = &b->memory.audits[0];
  assert_true(trilha_text_is(audit->action, "trilha.event-type.registered"));
  assert_true(trilha_text_is(audit->entity, "event-type") && trilha_text_is(audit->entity_id, "t@1.0.0"));
  assert_true(trilha_text_is(audit->change_type, "Created") && trilha_text_is(audit->user, "maria"));
  assert_non_null(strstr(audit->metadata.data, "\"schema_sha256\":\""));
  bench_free(b);
}

static void same_content_in_another_spelling_is_no_change(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err;
  trilha_registry_result result;
  assert_int_equal(
      apply_one(b, version_of("t", "1.0.0", "{\"x-redacao\":\"manter\",\"maxProperties\":10}"), false, &result, &err),
      TRILHA_OK);
  static const char *const same[] = {"{\"x-redacao\":\"manter\",\"maxProperties\":10}",
                                     "{ \"maxProperties\" : 1e1, \"x-redacao\" : \"m\\u0061nter\" }\n"};
  for (size_t i = 0; i < COUNT(same); i++) {
    assert_int_equal(apply_one(b, version_of("t", "1.0.0", same[i]), false, &result, &err), TRILHA_OK);
    assert_int_equal(result.change, TRILHA_REGISTRY_UNCHANGED);
  }
  assert_int_equal(b->memory.apply_calls, 1);
  bench_free(b);
}

static void published_version_is_immutable_and_its_differences_are_named(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
#define SCHEMA(p) "{\"x-redacao\":\"manter\",\"properties\":{" p "},\"required\":[\"a\",\"b\"]}"
  trilha_error err;
  trilha_registry_result result;
  assert_int_equal(apply_one(b, version_of("t", "1.0.0", SCHEMA("\"a\":{\"const\":\"secretmarker\"},\"b/~\":{}")),
                             false, &result, &err),
                   TRILHA_OK);
  static const struct {
    const char *schema, *where;
  } cases[] = {
      {SCHEMA("\"a\":{\"const\":\"othermarker\"},\"b/~\":{}"), "at \"/properties/a/const\": changed"},
      {SCHEMA("\"b/~\":{},\"a\":{\"const\":7}"), "at \"/properties/a/const\": changed"},
      {SCHEMA("\"a\":{\"const\":\"secretmarker\"}"), "at \"/properties/b~1~0\": removed"},
      {SCHEMA("\"a\":{\"const\":\"secretmarker\"},\"b/~\":{},\"c\":{}"), "at \"/properties/c\": added"},
      {SCHEMA("\"a\":{\"const\":\"secretmarker\"},\"b/~\":true"), "at \"/properties/b~1~0\": changed"},
      {"{\"x-redacao\":\"manter\",\"properties\":{\"a\":{\"const\":\"secretmarker\"},\"b/~\":{}},\"required\":[\"a\"]}",
       "at \"/required/1\": removed"},
      {"{\"x-redacao\":\"manter\",\"properties\":{\"a\":{\"const\":\"secretmarker\"},\"b/"
       "~\":{}},\"required\":[\"a\",\"b\",\"c\"]}",
       "at \"/required/2\": added"},
      {"{\"x-redacao\":\"remover\"}",
       "at \"/x-redacao\": changed, at \"/properties\": removed, at \"/required\": removed; register"},
      {SCHEMA("\"a\":{\"const\":[]}"),
       "at \"/properties/b~1~0\": removed, at \"/properties/a/const\": changed; register"},
      {SCHEMA("\"a\":{\"const\":7},\"b/~\":{},\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1"), "at \"/properties/f\": added"},
      {SCHEMA("\"a\":{\"const\":7},\"b/~\":{},\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1"),
       "at \"/properties/g\": added, and more; register"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    assert_int_equal(apply_one(b, version_of("t", "1.0.0", cases[i].schema), i % 2 == 0, &result, &err),
                     TRILHA_CONFLICT);
    assert_string_equal(err.code, "EVENT_TYPE_VERSION_CONFLICT");
    if (strstr(err.text, cases[i].where) == NULL) fail_msg("%s", err.text);
    assert_null(strstr(err.text, "secretmarker"));
    assert_null(strstr(err.text, "othermarker"));
    assert_non_null(strstr(err.text, "t@1.0.0"));
    assert_int_equal(result.change, TRILHA_REGISTRY_REFUSED);
  }
  assert_int_equal(apply_one(b, version_of("t", "1.0.0", NULL), false, &result, &err), TRILHA_CONFLICT);
  assert_int_equal(b->memory.apply_calls, 1);
  bench_free(b);
}

static void status_goes_both_ways_and_an_absent_one_leaves_it(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err;
  trilha_registry_result result;
  trilha_type_version version = version_of("t", "1.0.0", KEPT);
  assert_int_equal(apply_one(b, version, false, &result, &err), TRILHA_OK);
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("t"), T("1.0.0"), true, T("ana"), &err),
                   TRILHA_OK);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("t"), T("1.0.0"), false, T("ana"), &err),
                   TRILHA_OK);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_INVALID);
  /* applying the folder again does not undo what an operator did */
  assert_int_equal(apply_one(b, version, false, &result, &err), TRILHA_OK);
  assert_int_equal(result.change, TRILHA_REGISTRY_UNCHANGED);
  version.status = T("ativo");
  assert_int_equal(apply_one(b, version, false, &result, &err), TRILHA_OK);
  assert_int_equal(result.change, TRILHA_REGISTRY_STATUS_CHANGED);
  assert_int_equal(look_for(b, "t", "1.0.0", &err), TRILHA_OK);
  version.descricao = T("agora com texto");
  assert_int_equal(apply_one(b, version, false, &result, &err), TRILHA_OK);
  assert_int_equal(result.change, TRILHA_REGISTRY_STATUS_CHANGED);
  static const char *const actions[] = {"trilha.event-type.registered", "trilha.event-type.deprecated",
                                        "trilha.event-type.reactivated", "trilha.event-type.described"};
  assert_int_equal(b->memory.audit_count, COUNT(actions));
  for (size_t i = 0; i < COUNT(actions); i++) assert_true(trilha_text_is(b->memory.audits[i].action, actions[i]));
  assert_true(trilha_text_is(b->memory.audits[1].user, "ana"));
  bench_free(b);
}

static void deprecating_a_type_takes_all_its_versions_and_only_those(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_error err = {0};
  memory_registry_put(&b->memory, "t", "1.0.0", "ativo", KEPT);
  memory_registry_put(&b->memory, "t", "1.1.0", "deprecated", KEPT);
  memory_registry_put(&b->memory, "t", "2.0.0", "ativo", KEPT);
  memory_registry_put(&b->memory, "tt", "1.0.0", "ativo", KEPT);
  trilha_text every = {NULL, 0};
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("t"), every, false, every, &err), TRILHA_OK);
  assert_int_equal(b->memory.audit_count, 2); /* the deprecated one did not change */
  assert_int_equal(look_for(b, "tt", "1.0.0", &err), TRILHA_OK);
  assert_int_equal(look_for(b, "t", "2.0.0", &err), TRILHA_INVALID);
  err = (trilha_error){0};
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("t"), every, false, every, &err), TRILHA_OK);
  assert_int_equal(b->memory.apply_calls, 1);
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("x"), every, false, every, &err),
                   TRILHA_NOT_FOUND);
  err = (trilha_error){0};
  assert_int_equal(trilha_registry_deprecate_versions(b->registry, T("t"), T("9.0.0"), false, every, &err),
                   TRILHA_NOT_FOUND);
  bench_free(b);
}

static void one_refused_version_keeps_all_out(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_type_version versions[] = {version_of("t", "1.0.0", KEPT), version_of("t", "1.1.0", "{\"type\":\"object\"}"),
                                    version_of("t", "1.2.0", KEPT)};
  trilha_registry_result results[3];
  trilha_error err = {0};
  assert_int_equal(trilha_registry_apply_versions(b->registry, versions, 3, false, T("m"), results, &err),
                   TRILHA_INVALID);
  assert_string_equal(err.code, "REDACTION_NO_RULES");
  assert_non_null(strstr(err.text, "t@1.1.0"));
  assert_int_equal(results[0].change, TRILHA_REGISTRY_ADDED);
  assert_int_equal(results[1].change, TRILHA_REGISTRY_REFUSED);
  assert_int_equal(results[2].change, TRILHA_REGISTRY_ADDED);
  assert_int_equal(b->memory.row_count, 0);
  assert_int_equal(b->memory.audit_count, 0);
  bench_free(b);
}

static void what_no_version_may_be_is_refused_before_any_write(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  char long_tipo[257];
  memset(long_tipo, 't', 256);
  long_tipo[256] = '\0';
  const struct {
    trilha_type_version version;
    const char *code;
  } cases[] = {
      {version_of("", "1.0.0", KEPT), "EVENT_TYPE_NAME_INVALID"},
      {version_of(long_tipo, "1.0.0", KEPT), "EVENT_TYPE_NAME_INVALID"},
      {version_of("a\nb", "1.0.0", KEPT), "EVENT_TYPE_NAME_INVALID"},
      {version_of("a\xc2\x85", "1.0.0", KEPT), "EVENT_TYPE_NAME_INVALID"},
      {version_of("\xff", "1.0.0", KEPT), "EVENT_TYPE_NAME_INVALID"},
      {version_of("t", "", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "v1.0.0", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "01.0.0", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0.0-", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0.0-01", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0.0+", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0.0-a..b", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1.0.0 ", KEPT), "EVENT_TYPE_VERSION_INVALID"},
      {version_of("t", "1000000.1000000.10000", KEPT), "EVENT_TYPE_VERSION_INVALID"}, /* 21 characters */
      {{.tipo = T("t"), .versao = T("1.0.0"), .status = T("active"), .schema = T(KEPT)}, "EVENT_TYPE_STATUS_INVALID"},
      {{.tipo = T("t"), .versao = T("1.0.0"), .descricao = T("\xff"), .schema = T(KEPT)},
       "EVENT_TYPE_DESCRIPTION_INVALID"},
      {version_of("t", "1.0.0", "{"), "JSON_SYNTAX"},
      {version_of("t", "1.0.0", "{\"x-redacao\":\"manter\",\"a\":1,\"a\":1}"), "JSON_DUPLICATE_KEY"},
      {version_of("t", "1.0.0", "{\"x-redacao\":\"manter\",\"description\":\"\\u0000\"}"), "JSON_NUL"},
      {version_of("t", "1.0.0", "{\"x-redacao\":\"manter\",\"type\":7}"), "SCHEMA_INVALID"},
      {version_of("t", "1.0.0", "{\"x-redacao\":\"manter\",\"$ref\":\"https://elsewhere.example/x\"}"),
       "SCHEMA_REF_UNRESOLVED"},
      {version_of("t", "1.0.0", "{\"x-redacao\":\"keep\"}"), "REDACTION_RULE_UNKNOWN"},
      {version_of("t", "1.0.0", "{}"), "REDACTION_NO_RULES"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    trilha_registry_result result;
    trilha_error err;
    trilha_status status = apply_one(b, cases[i].version, false, &result, &err);
    if (status != TRILHA_INVALID || strcmp(err.code, cases[i].code) != 0 ||
        strcmp(result.error.code, cases[i].code) != 0)
      fail_msg("case %zu: status %d, %s %s", i, status, err.code, err.text);
    assert_int_equal(result.change, TRILHA_REGISTRY_REFUSED);
  }
  assert_int_equal(b->memory.apply_calls, 0);
  static const char *const versions[] = {"0.0.0", "1.0.0-alpha.1", "1.0.0+001", "1.0.0-a-b.0+x-y",
                                         "99999.99999.99999999"};
  for (size_t i = 0; i < COUNT(versions); i++) {
    trilha_error err;
    if (apply_one(b, version_of("t \"\\\xc3\xa9", versions[i], KEPT), false, NULL, &err) != TRILHA_OK)
      fail_msg("%s: %s", versions[i], err.text);
  }
  bench_free(b);
}

static void version_given_twice_must_say_the_same(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_type_version versions[] = {version_of("t", "1.0.0", KEPT), version_of("t", "1.0.0", KEPT)};
  trilha_registry_result results[2];
  trilha_error err = {0};
  assert_int_equal(trilha_registry_apply_versions(b->registry, versions, 2, false, T("m"), results, &err), TRILHA_OK);
  assert_int_equal(results[1].change, TRILHA_REGISTRY_UNCHANGED);
  assert_int_equal(b->memory.row_count, 1);
  versions[0].versao = versions[1].versao = T("2.0.0");
  versions[1].schema = T(HASHED);
  assert_int_equal(trilha_registry_apply_versions(b->registry, versions, 2, false, T("m"), results, &err),
                   TRILHA_CONFLICT);
  assert_int_equal(b->memory.row_count, 1);
  bench_free(b);
}

static void reference_reaches_other_versions_registered_before_or_with_it(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
#define ADDRESS \
  "{\"type\":\"object\",\"properties\":{\"rua\":{\"type\":\"string\",\"x-redacao\":\"hash\"}},\"required\":[\"rua\"]}"
#define USES "{\"properties\":{\"e\":{\"$ref\":\"urn:trilha:endereco:1.0.0\"},\"z\":{\"x-redacao\":\"manter\"}}}"
  trilha_type_version versions[] = {version_of("uso", "1.0.0", USES), version_of("endereco", "1.0.0", ADDRESS)};
  trilha_error err = {0};
  assert_int_equal(apply_one(b, versions[0], false, NULL, &err), TRILHA_INVALID); /* not there yet */
  err = (trilha_error){0};
  if (trilha_registry_apply_versions(b->registry, versions, 2, false, T("m"), NULL, &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  const trilha_registry_type *type = NULL;
  assert_int_equal(acquire(b, "uso", "1.0.0", &type, &err), TRILHA_OK);
  assert_true(type->needs_key); /* the rule is in the schema it refers to */
  trilha_registry_release(b->registry, type);
  bench_free(b);
}

/* --- others at the same time ----------------------------------------------------------------------------------- */

static void other_registers_the_same(memory_registry *memory) {
  memory_registry_put(memory, "t", "1.0.0", "ativo", KEPT);
}
static void other_registers_more(memory_registry *memory) {
  memory_registry_put(memory, "t", "1.0.0", "ativo", "{\"x-redacao\":\"manter\"}");
}
static void other_spells_it_otherwise(memory_registry *memory) {
  memory_registry_put(memory, "t", "1.0.0", "ativo", " " KEPT);
}

static void race_with_another_process_ends_in_one_truth(void **state) {
  (void)state;
  static const struct {
    void (*other)(memory_registry *);
    trilha_status status;
    trilha_registry_change change;
  } cases[] = {
      {other_registers_the_same, TRILHA_OK, TRILHA_REGISTRY_ADDED}, /* the store saw the same text: nothing to tell */
      {other_spells_it_otherwise, TRILHA_OK, TRILHA_REGISTRY_UNCHANGED},
      {other_registers_more, TRILHA_CONFLICT, TRILHA_REGISTRY_REFUSED}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    bench *b = bench_new(SLOW_MS);
    trilha_registry_result result;
    trilha_error err;
    b->memory.before_apply = cases[i].other;
    assert_int_equal(apply_one(b, version_of("t", "1.0.0", KEPT), false, &result, &err), cases[i].status);
    assert_int_equal(result.change, cases[i].change);
    assert_int_equal(b->memory.row_count, 1);
    bench_free(b);
  }
}

static void failing_store_is_told_and_every_result_says_so(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  trilha_registry_result result;
  trilha_error err;
  b->memory.fail_next = TRILHA_UNAVAILABLE;
  assert_int_equal(apply_one(b, version_of("t", "1.0.0", KEPT), false, &result, &err), TRILHA_UNAVAILABLE);
  assert_int_equal(result.change, TRILHA_REGISTRY_REFUSED);
  assert_int_equal(result.error.status, TRILHA_UNAVAILABLE);
  bench_free(b);
}

static void listing_is_by_type_then_registration(void **state) {
  (void)state;
  bench *b = bench_new(SLOW_MS);
  memory_registry_put(&b->memory, "t", "1.0.0", "deprecated", KEPT);
  memory_registry_put(&b->memory, "t", "2.0.0", "ativo", NULL);
  memory_registry_put(&b->memory, "u", "1.0.0", "ativo", KEPT);
  trilha_registered_types *types = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_registry_list_types(b->registry, T("t"), &types, &err), TRILHA_OK);
  assert_int_equal(types->count, 2);
  assert_string_equal(types->items[0].versao, "1.0.0");
  assert_string_equal(types->items[0].status, "deprecated");
  assert_string_equal(types->items[0].schema, KEPT);
  assert_string_equal(types->items[0].criado_em, "2026-06-15T10:30:00.000001Z");
  assert_null(types->items[1].schema);
  trilha_registered_types_free(types);
  assert_int_equal(trilha_registry_list_types(b->registry, (trilha_text){NULL, 0}, &types, &err), TRILHA_OK);
  assert_int_equal(types->count, 3);
  trilha_registered_types_free(types);
  trilha_registered_types_free(NULL);
  bench_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(new_version_is_stored_audited_and_usable_at_once),
      cmocka_unit_test(same_content_in_another_spelling_is_no_change),
      cmocka_unit_test(published_version_is_immutable_and_its_differences_are_named),
      cmocka_unit_test(status_goes_both_ways_and_an_absent_one_leaves_it),
      cmocka_unit_test(deprecating_a_type_takes_all_its_versions_and_only_those),
      cmocka_unit_test(one_refused_version_keeps_all_out),
      cmocka_unit_test(what_no_version_may_be_is_refused_before_any_write),
      cmocka_unit_test(version_given_twice_must_say_the_same),
      cmocka_unit_test(reference_reaches_other_versions_registered_before_or_with_it),
      cmocka_unit_test(race_with_another_process_ends_in_one_truth),
      cmocka_unit_test(failing_store_is_told_and_every_result_says_so),
      cmocka_unit_test(listing_is_by_type_then_registration),
  };
  return cmocka_run_group_tests_name("registry apply", tests, NULL, NULL);
}
