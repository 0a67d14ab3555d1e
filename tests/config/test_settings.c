/* config: settings from the schema's defaults, the file, the environment and flags, and what is said of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/config_internal.h"

typedef struct heard {
  size_t count;
  char source[64], pointer[128], text[256];
  uint32_t line;
} heard;

static void hear(void *user, const trilha_config_problem *problem) {
  heard *h = user;
  if (h->count++ != 0) return;
  h->line = problem->line;
  strncpy(h->source, problem->source, sizeof h->source - 1);
  memcpy(h->pointer, problem->pointer.size == 0 ? "" : problem->pointer.data, problem->pointer.size);
  memcpy(h->text, problem->text.data, problem->text.size < sizeof h->text ? problem->text.size : sizeof h->text - 1);
}

static char *one_variable(const char *name) {
  static const char port[] = "9000", allow[] = "10.0.0.0/8, ::1";
  if (strcmp(name, "TRILHA_SERVE_API_PORT") == 0) return (char *)(uintptr_t)port;
  if (strcmp(name, "TRILHA_SERVE_API_ALLOW") == 0) return (char *)(uintptr_t)allow;
  return NULL;
}

static char *wrong_variable(const char *name) {
  static const char wrong[] = "many";
  return strcmp(name, "TRILHA_SERVE_LIMITS_WORKERS") == 0 ? (char *)(uintptr_t)wrong : NULL;
}

static trilha_config *loaded(const trilha_config_sources *sources) {
  trilha_config *config = NULL;
  trilha_error error = {0};
  if (trilha_config_load(sources, &config, &error) != TRILHA_OK) fail_msg("%s", error.text);
  return config;
}

static heard refused(const char *yaml) {
  heard h = {0};
  trilha_config *config = NULL;
  trilha_error error = {0};
  trilha_config_sources sources = {.yaml = trilha_text_of(yaml), .path = "t.yaml", .report = hear, .user = &h};
  assert_int_equal(trilha_config_load(&sources, &config, &error), TRILHA_INVALID);
  assert_null(config);
  assert_true(h.count > 0);
  return h;
}

static void every_setting_is_in_the_schema_and_every_leaf_of_it_in_the_table(void **state) {
  (void)state;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *schema = NULL;
  assert_int_equal(trilha_json_parse(trilha_config_schema(), &limits, &schema, NULL, NULL), TRILHA_OK);
  for (trilha_setting s = 0; s < TRILHA_SETTING_COUNT; s++) {
    const trilha_json_value *rules = trilha_setting_schema(schema, s);
    if (rules == NULL) fail_msg("%s is not in the schema", trilha_setting_name(s));
    assert_non_null(trilha_json_member(rules, "description"));
    assert_memory_equal(trilha_setting_variable(s), "TRILHA_", 7);
  }
  size_t leaves = 0;
  const trilha_json_value *end = trilha_json_next(schema->values);
  const trilha_json_value *sources = trilha_json_member(trilha_json_member(schema->values, "properties"), "sources");
  assert_non_null(sources);
  for (const trilha_json_value *v = schema->values; v < end; v++) {
    if (v >= sources && v < trilha_json_next(sources)) continue; /* sources.c */
    const trilha_json_value *type = trilha_json_member(v, "type");
    bool leaf = type != NULL && trilha_json_member(v, "description") != NULL && !trilha_json_is(type, "object");
    leaves += leaf ? 1 : 0;
  }
  assert_int_equal(leaves, TRILHA_SETTING_COUNT);
  trilha_json_document_free(schema);
}

static void a_source_has_its_values_and_the_schema_s_defaults(void **state) {
  (void)state;
  size_t count = 0;
  trilha_config_sources sources = {
      .path = "t.yaml",
      .yaml = TRILHA_TEXT("sources:\n  - name: billing\n    store: 'postgresql://u:secret@h/app?x=y'\n"
                          "    schema: billing\n    destinations: [erp, log]\n    lease_ms: 45000\n"
                          "  - {name: stock, store: 'sqlite:stock.db'}\n")};
  trilha_config *config = loaded(&sources);
  const trilha_config_source *all = trilha_config_outboxes(config, &count);
  assert_int_equal(count, 2);
  assert_true(trilha_text_is(all[0].schema, "billing") && all[1].schema.data == NULL);
  assert_int_equal(all[0].destination_count, 2);
  assert_true(trilha_text_is(all[0].destinations[1], "log"));
  assert_int_equal(all[0].lease_ms, 45000);
  assert_int_equal(all[1].lease_ms, 30000);
  assert_int_equal(all[1].inbox_days, 60);
  assert_ptr_equal(trilha_config_outbox(config, TRILHA_TEXT("stock")), &all[1]);
  assert_null(trilha_config_outbox(config, TRILHA_TEXT("none")));
  trilha_buffer shown = {0};
  trilha_config_source_show(&all[0], &shown);
  assert_string_equal(trilha_buffer_text(&shown).data, "postgresql://u:****@h/app?****");
  trilha_buffer_done(&shown);
  trilha_config_free(config);
  trilha_config_sources none = {0};
  config = loaded(&none);
  trilha_config_outboxes(config, &count);
  assert_int_equal(count, 0);
  trilha_config_free(config);
}

static void a_source_that_is_wrong_or_there_twice_is_refused(void **state) {
  (void)state;
  heard h = refused("sources:\n  - name: billing\n    store: sqlite:a\n  - name: billing\n    store: sqlite:b\n");
  assert_string_equal(h.pointer, "/sources");
  assert_non_null(strstr(h.text, "billing"));
  h = refused("sources:\n  - name: Billing\n    store: sqlite:a\n");
  assert_string_equal(h.pointer, "/sources/0/name");
  assert_int_equal(h.line, 2);
  h = refused("sources:\n  - name: billing\n    store: sqlite:a\n    lease: 5\n");
  assert_int_equal(h.line, 4);
}

static void values_come_from_default_then_file_then_environment_then_flag(void **state) {
  (void)state;
  trilha_config_sources sources = {
      .yaml = TRILHA_TEXT("store: sqlite:a.db\nserve:\n  api:\n    port: 8081\n    burst: 7\n"),
      .path = "t.yaml",
      .environment = one_variable,
      .flags = {[TRILHA_SETTING_STORE] = "sqlite:b.db"}};
  trilha_config *config = loaded(&sources);
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_STORE).data, "sqlite:b.db");
  assert_int_equal(trilha_config_origin(config, TRILHA_SETTING_STORE), TRILHA_ORIGIN_FLAG);
  assert_int_equal(trilha_config_number(config, TRILHA_SETTING_API_PORT), 9000);
  assert_int_equal(trilha_config_origin(config, TRILHA_SETTING_API_PORT), TRILHA_ORIGIN_ENVIRONMENT);
  assert_int_equal(trilha_config_number(config, TRILHA_SETTING_API_BURST), 7);
  assert_int_equal(trilha_config_origin(config, TRILHA_SETTING_API_BURST), TRILHA_ORIGIN_FILE);
  assert_int_equal(trilha_config_number(config, TRILHA_SETTING_STATUS_PORT), 9464);
  size_t count = 0;
  const trilha_text *allow = trilha_config_list(config, TRILHA_SETTING_API_ALLOW, &count);
  assert_int_equal(count, 2);
  assert_string_equal(allow[0].data, "10.0.0.0/8");
  assert_true(trilha_text_is(allow[1], "::1"));
  trilha_config_free(config);
}

static void without_anything_the_server_is_closed_and_on_loopback(void **state) {
  (void)state;
  trilha_config_sources sources = {.yaml = TRILHA_TEXT("# nothing yet\n"), .path = "t.yaml"};
  trilha_config *config = loaded(&sources);
  size_t count = 1;
  trilha_config_list(config, TRILHA_SETTING_API_ALLOW, &count);
  assert_int_equal(count, 0);
  trilha_config_list(config, TRILHA_SETTING_ACCESS_KEYS, &count);
  assert_int_equal(count, 0);
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_API_ADDRESS).data, "127.0.0.1");
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_STATUS_ADDRESS).data, "127.0.0.1");
  assert_null(trilha_config_text(config, TRILHA_SETTING_ACCESS_ISSUER).data);
  trilha_config_free(config);
}

static void a_wrong_value_is_told_with_its_line_and_never_quoted(void **state) {
  (void)state;
  heard h = refused("store: sqlite:a.db\nserve:\n  api:\n    port: secret-word\n");
  assert_int_equal(h.line, 4);
  assert_string_equal(h.pointer, "/serve/api/port");
  assert_null(strstr(h.text, "secret-word"));
  h = refused("serve:\n  api:\n    port: 70000\n");
  assert_int_equal(h.line, 3);
  h = refused("serve:\n  limits:\n    workers: 1e1\n");
  assert_non_null(strstr(h.text, "digits"));
}

static void a_name_that_is_no_setting_is_refused_where_it_stands(void **state) {
  (void)state;
  heard h = refused("serve:\n  api:\n    prot: 8080\n");
  assert_int_equal(h.line, 3);
  assert_string_equal(h.pointer, "/serve/api/prot");
  assert_string_equal(h.text, "is no setting");
}

static void several_mistakes_are_told_at_once(void **state) {
  (void)state;
  heard h = refused("serve:\n  api:\n    port: x\n    burst: 0\n  access:\n    algorithms: [none]\n");
  assert_true(h.count >= 3);
}

static void broken_yaml_is_told_with_its_place(void **state) {
  (void)state;
  heard h = refused("serve: [\n");
  assert_non_null(strstr(h.text, "line"));
  refused("store: a\nstore: b\n");
  refused("- list\n");
}

static void a_wrong_variable_is_told_by_its_name(void **state) {
  (void)state;
  heard h = {0};
  trilha_config *config = NULL;
  trilha_config_sources sources = {.environment = wrong_variable, .report = hear, .user = &h};
  assert_int_equal(trilha_config_load(&sources, &config, NULL), TRILHA_INVALID);
  assert_string_equal(h.source, "TRILHA_SERVE_LIMITS_WORKERS");
}

static void shown_as(trilha_setting setting, const char *value, const char *expected) {
  trilha_config_sources sources = {0};
  sources.flags[setting] = value;
  trilha_config *config = loaded(&sources);
  trilha_buffer out = {0};
  trilha_config_show(config, setting, &out);
  assert_string_equal(trilha_buffer_text(&out).data, expected);
  trilha_buffer_done(&out);
  trilha_config_free(config);
}

static void shown(const char *url, const char *expected) {
  shown_as(TRILHA_SETTING_STORE, url, expected);
}

static void what_is_sent_to_a_collector_along_with_the_rest_is_never_shown(void **state) {
  (void)state;
  shown_as(TRILHA_SETTING_OTLP_HEADERS, "api-key=geheim", "****");
  shown_as(TRILHA_SETTING_OTLP_ENDPOINT, "https://u:geheim@host:4318/in", "https://u:****@host:4318/in");
  shown_as(TRILHA_SETTING_OTLP_ENDPOINT, "http://127.0.0.1:4318", "http://127.0.0.1:4318");
  trilha_config_sources none = {0};
  trilha_config *config = loaded(&none);
  trilha_buffer out = {0};
  trilha_config_show(config, TRILHA_SETTING_OTLP_HEADERS, &out);
  assert_int_equal(out.size, 0);
  trilha_buffer_done(&out);
  trilha_config_free(config);
}

static char *telemetry_variables(const char *name) {
  static const struct {
    const char *name, *value;
  } all[] = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://shared:4318"},
             {"OTEL_SERVICE_NAME", "shared"},
             {"TRILHA_TELEMETRY_SERVICE_NAME", "own"},
             {"OTEL_EXPORTER_OTLP_HEADERS", ""},
             {"TRILHA_SERVE_API_PORT", "wrong"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].name, name) == 0) return (char *)(uintptr_t)all[i].value;
  return NULL;
}

static void variables_that_other_programs_share_stand_between_the_file_and_our_own(void **state) {
  (void)state;
  trilha_config_sources sources = {
      .yaml = TRILHA_TEXT(
          "telemetry: {service_name: file, otlp: {endpoint: 'http://file:1', headers: a=b, queue_max: 7}}\n"),
      .path = "t.yaml",
      .environment = telemetry_variables,
      .part = "telemetry"}; /* the wrong port is none of our business */
  trilha_config *config = loaded(&sources);
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_TELEMETRY_SERVICE_NAME).data, "own");
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_OTLP_ENDPOINT).data, "http://shared:4318");
  assert_int_equal(trilha_config_origin(config, TRILHA_SETTING_OTLP_ENDPOINT), TRILHA_ORIGIN_ENVIRONMENT);
  assert_string_equal(trilha_config_text(config, TRILHA_SETTING_OTLP_HEADERS).data, "a=b");
  assert_int_equal(trilha_config_number(config, TRILHA_SETTING_OTLP_QUEUE_MAX), 7);
  assert_int_equal(trilha_config_number(config, TRILHA_SETTING_OTLP_FLUSH_MS), 2000);
  trilha_config_free(config);
  sources.part = NULL;
  assert_int_equal(trilha_config_load(&sources, &config, NULL), TRILHA_INVALID);
}

static void an_endpoint_that_is_no_url_is_refused_where_it_stands(void **state) {
  (void)state;
  static const char *const wrong[] = {"collector:4318", "ftp://h",    "http://",
                                      "http://h/?q",    "http://h#f", "http://h i"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char yaml[128];
    snprintf(yaml, sizeof yaml, "telemetry:\n  otlp:\n    endpoint: '%s'\n", wrong[i]);
    heard h = refused(yaml);
    assert_string_equal(h.pointer, "/telemetry/otlp/endpoint");
    assert_int_equal(h.line, 3);
  }
}

static void a_password_in_the_url_of_the_store_is_never_shown(void **state) {
  (void)state;
  shown("postgresql://u:geheim@host/db", "postgresql://u:****@host/db");
  shown("postgresql://u:ge@he?im@host/db", "postgresql://u:****@host/db");
  shown("postgresql://u@host/db?password=geheim", "postgresql://u@host/db?****");
  shown("postgresql://u:a@host/db?password=geheim", "postgresql://u:****@host/db?****");
  shown("sqlite:a?b.db", "sqlite:a?b.db");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_setting_is_in_the_schema_and_every_leaf_of_it_in_the_table),
      cmocka_unit_test(a_source_has_its_values_and_the_schema_s_defaults),
      cmocka_unit_test(a_source_that_is_wrong_or_there_twice_is_refused),
      cmocka_unit_test(values_come_from_default_then_file_then_environment_then_flag),
      cmocka_unit_test(without_anything_the_server_is_closed_and_on_loopback),
      cmocka_unit_test(a_wrong_value_is_told_with_its_line_and_never_quoted),
      cmocka_unit_test(a_name_that_is_no_setting_is_refused_where_it_stands),
      cmocka_unit_test(several_mistakes_are_told_at_once),
      cmocka_unit_test(broken_yaml_is_told_with_its_place),
      cmocka_unit_test(a_wrong_variable_is_told_by_its_name),
      cmocka_unit_test(a_password_in_the_url_of_the_store_is_never_shown),
      cmocka_unit_test(what_is_sent_to_a_collector_along_with_the_rest_is_never_shown),
      cmocka_unit_test(variables_that_other_programs_share_stand_between_the_file_and_our_own),
      cmocka_unit_test(an_endpoint_that_is_no_url_is_refused_where_it_stands),
  };
  return cmocka_run_group_tests_name("config settings", tests, NULL, NULL);
}
