/* registry: the shipped demanda.* types (examples/types) are accepted, the seed payloads of specification 000,
 * section 7.3, fit them, and what they leave in the log tells the process and not the person. */
#include <stdio.h>

#include "redaction/redaction.h"
#include "registry_test.h"

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail_msg("cannot open %s", path);
  static char content[1 << 16];
  size_t size = fread(content, 1, sizeof content - 1, file);
  fclose(file);
  content[size] = '\0';
  return content;
}

static void register_file(bench *b, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.json", getenv("TRILHA_EXAMPLE_TYPES"), name);
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  trilha_error err = {0};
  assert_int_equal(trilha_json_parse(trilha_text_of(read_file(path)), &limits, &document, NULL, &err), TRILHA_OK);
  trilha_buffer schema = {0};
  trilha_json_write(&schema, trilha_json_member(document->values, "schema"));
  trilha_type_version version = {.tipo = trilha_json_member_string(document->values, "tipo"),
                                 .versao = trilha_json_member_string(document->values, "versao"),
                                 .descricao = trilha_json_member_string(document->values, "descricao"),
                                 .status = trilha_json_member_string(document->values, "status"),
                                 .schema = trilha_buffer_text(&schema)};
  if (trilha_registry_apply_versions(b->registry, &version, 1, false, T("test"), NULL, &err) != TRILHA_OK)
    fail_msg("%s: %s", name, err.text);
  trilha_buffer_done(&schema);
  trilha_json_document_free(document);
}

static bench *with_shipped_types(void) {
  bench *b = bench_new(SLOW_MS);
  static const char *const names[] = {"demanda.recebida-1.0.0", "demanda.recebida-1.1.0", "demanda.normalizada-1.0.0",
                                      "demanda.categorizada-1.0.0"};
  for (size_t i = 0; i < COUNT(names); i++) register_file(b, names[i]);
  return b;
}

/* What is stored of a payload; a token reads "h1". */
static void stored(bench *b, const char *tipo, const char *versao, const char *payload, trilha_buffer *out) {
  trilha_error err;
  const trilha_registry_type *type = NULL;
  trilha_keyring *keyring = NULL;
  trilha_schema_scratch *scratch = NULL;
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  setenv("TRILHA_TEST_KEYRING", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", 1);
  assert_int_equal(trilha_keyring_load(T("env:TRILHA_TEST_KEYRING"), &keyring, NULL), TRILHA_OK);
  assert_int_equal(trilha_schema_scratch_new(&scratch, NULL), TRILHA_OK);
  assert_int_equal(acquire(b, tipo, versao, &type, &err), TRILHA_OK);
  assert_int_equal(trilha_json_parse(trilha_text_of(payload), &limits, &document, NULL, NULL), TRILHA_OK);
  assert_int_equal(trilha_schema_validate(type->schema, document, NULL, scratch), TRILHA_VERDICT_VALID);
  trilha_redaction_counts counts = {0};
  if (trilha_redact(type->schema, document, NULL, scratch, type->tipo, keyring, out, &counts, NULL, NULL, &err) !=
      TRILHA_OK)
    fail_msg("%s", err.text);
  assert_int_equal(counts.removed_without_rule, 0); /* every shipped field has its rule */
  for (char *token; (token = strstr(out->data, "h1:k1:")) != NULL;) {
    char *end = strchr(token, '"');
    memmove(token + 2, end, strlen(end) + 1);
  }
  trilha_json_document_free(document);
  trilha_registry_release(b->registry, type);
  trilha_schema_scratch_free(scratch);
  trilha_keyring_free(keyring);
}

#define ID "\"demanda_id\":\"a1b2c3d4-e5f6-7890-abcd-ef1234567890\""

static void seed_payloads_fit_and_leave_no_person(void **state) {
  (void)state;
  static const struct {
    const char *tipo, *versao, *payload, *left;
  } cases[] = {
      {"demanda.recebida", "1.0.0",
       "{" ID ", \"texto_bruto\": \"Falta d'água na Rua das Flores\", \"localizacao_bruta\": {\"lat\": -23.5505, "
       "\"lng\": -46.6333}, "
       "\"cidadao_id\": \"u1\", \"canal\": \"app\"}",
       "{" ID ",\"texto_bruto\":\"h1\",\"localizacao_bruta\":{\"lat\":-23.55,\"lng\":-46.63},\"canal\":\"app\"}"},
      {"demanda.recebida", "1.1.0",
       "{" ID ", \"texto_bruto\": \"x\", \"localizacao_bruta\": {\"lat\": 0.004, \"lng\": -0.004, \"fonte\": \"gps\", "
       "\"endereco_informado\": \"Rua A, 1\"}, \"cidadao_id\": \"u1\", \"canal\": \"telefone\", \"urgente\": true, "
       "\"contato\": "
       "{\"nome\": \"Maria\", \"telefone\": \"+5511987654321\"}}",
       "{" ID ",\"texto_bruto\":\"h1\",\"localizacao_bruta\":{\"lat\":0,\"lng\":0,\"fonte\":\"gps\"},\"canal\":"
       "\"telefone\",\"urgente\":true}"},
      {"demanda.normalizada", "1.0.0",
       "{" ID
       ", \"titulo\": \"Falta de água na Rua das Flores\", \"descricao_limpa\": \"Falta dágua na Rua das Flores\", "
       "\"confianca_normalizacao\": 0.95}",
       "{" ID ",\"titulo\":\"h1\",\"descricao_limpa\":\"h1\",\"confianca_normalizacao\":0.95}"},
      {"demanda.categorizada", "1.0.0",
       "{" ID ", \"categoria_id\": \"1.1\", \"nivel_precedencia\": 1, \"score_horizontal\": 95, "
       "\"confianca_categorizacao\": 0.88, "
       "\"metodo\": \"automatico\"}",
       "{" ID
       ",\"categoria_id\":\"1.1\",\"nivel_precedencia\":1,\"score_horizontal\":95,\"confianca_categorizacao\":0.88,"
       "\"metodo\":\"automatico\"}"},
  };
  bench *b = with_shipped_types();
  for (size_t i = 0; i < COUNT(cases); i++) {
    trilha_buffer out = {0};
    stored(b, cases[i].tipo, cases[i].versao, cases[i].payload, &out);
    assert_string_equal(out.data, cases[i].left);
    trilha_buffer_done(&out);
  }
  bench_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seed_payloads_fit_and_leave_no_person),
  };
  return cmocka_run_group_tests_name("shipped types", tests, NULL, NULL);
}
