/* The metaschemas of draft 2020-12, built in as published. */
#include "base/error.h"
#include "metaschemas.h"
#include "schema/compile.h"

trilha_text trilha_schema_metaschema(trilha_text uri) {
  static const char prefix[] = "https://json-schema.org/draft/2020-12/";
  size_t prefix_size = sizeof(prefix) - 1;
  if (uri.size <= prefix_size || memcmp(uri.data, prefix, prefix_size) != 0) return (trilha_text){0};
  trilha_text name = {uri.data + prefix_size, uri.size - prefix_size};
  for (int i = 0; i < TRILHA_METASCHEMA_FILE_COUNT; i++) {
    const trilha_embedded_file *file = &trilha_metaschema_files[i];
    trilha_text file_name = trilha_text_of(file->name);
    file_name.size -= sizeof(".json") - 1;
    if (trilha_text_equal(name, file_name)) return (trilha_text){file->data, file->size};
  }
  return (trilha_text){0};
}

/* The metaschema a document names by $schema: its text is built in or the resolver has the document. */
static trilha_status compile_metaschema(trilha_text uri, const trilha_schema_options *options,
                                        trilha_schema **ret_schema, trilha_error *err) {
  trilha_schema_options plain = {.base_uri = uri, .resolve = options->resolve, .resolve_user = options->resolve_user};
  trilha_text text = trilha_schema_metaschema(uri);
  if (text.data == NULL) {
    const trilha_json_document *document =
        options->resolve == NULL ? NULL : options->resolve(options->resolve_user, uri);
    if (document == NULL) {
      return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_DIALECT",
                              "at #/$schema: only draft 2020-12 and metaschemas the registry knows are supported");
    }
    return trilha_schema_compile(document, &plain, ret_schema, err);
  }
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_status status = trilha_json_parse(text, &limits, &document, NULL, err);
  if (status == TRILHA_OK) status = trilha_schema_compile(document, &plain, ret_schema, err);
  trilha_json_document_free(document);
  return status;
}

/* The first failure that is a cause, not a combinator's summary of its branches. */
static trilha_status explain(const trilha_schema *metaschema, const trilha_json_document *document,
                             trilha_schema_scratch *scratch, trilha_error *err) {
  trilha_violations violations = {0};
  trilha_status status = trilha_schema_report(metaschema, document, NULL, false, scratch, &violations, err);
  if (status != TRILHA_OK) return status;
  if (violations.verdict == TRILHA_VERDICT_UNDECIDED || violations.count == 0) {
    return trilha_error_set(err, TRILHA_LIMIT, "SCHEMA_UNDECIDED",
                            "the metaschema could not be decided within its limits");
  }
  const trilha_violation *first = &violations.items[0];
  return trilha_error_set(err, TRILHA_INVALID, "SCHEMA_INVALID", "at #%.*s: %.*s", (int)first->instance_pointer.size,
                          first->instance_pointer.data, (int)first->text.size, first->text.data);
}

trilha_status trilha_schema_check_document(const trilha_json_document *document, const trilha_schema_options *options,
                                           trilha_error *err) {
  trilha_text uri = trilha_json_member_string(document->values, "$schema");
  if (uri.data == NULL) uri = TRILHA_TEXT("https://json-schema.org/draft/2020-12/schema");
  if (uri.size > 0 && uri.data[uri.size - 1] == '#') uri.size--;
  trilha_schema *metaschema = NULL;
  trilha_schema_scratch *scratch = NULL;
  trilha_status status = compile_metaschema(uri, options, &metaschema, err);
  if (status == TRILHA_OK) status = trilha_schema_scratch_new(&scratch, err);
  if (status == TRILHA_OK && trilha_schema_validate(metaschema, document, NULL, scratch) != TRILHA_VERDICT_VALID) {
    status = explain(metaschema, document, scratch, err);
  }
  trilha_schema_scratch_free(scratch);
  trilha_schema_free(metaschema);
  return status;
}
