/* bus/prepare: steps 1 to 6 of a publish (specification 000, section 3.3).
 *
 * The type is looked up before the payload is read, so that the payload's names are matched against the schema's own
 * table while reading; what was found is reported in the specified order. If you change the order of the error returns
 * here you change the contract.
 */
#include "base/error.h"
#include "bus/bus_internal.h"

enum { REGISTRY_TIMEOUT_MS = 30000 };

/* --- step 1 ---------------------------------------------------------------------------------------- */

static trilha_status refuse_json(const trilha_json_fault *fault, trilha_error *err) {
  const char *where = fault->pointer[0] == '\0' ? "" : " at ";
  return trilha_error_set(err, TRILHA_INVALID, fault->code,
                          "the payload cannot be accepted: line %u, column %u%s%s: %s", fault->line, fault->column,
                          where, fault->pointer, fault->text);
}

static trilha_status read_payload(trilha_workbench *bench, trilha_text payload, const trilha_json_keys *keys,
                                  const trilha_json_document **ret_document, trilha_error *err) {
  static const trilha_text null_text = {"null", 4};
  if (payload.data == NULL) payload = null_text;
  if (payload.size > TRILHA_PAYLOAD_BYTES_MAX)
    return trilha_error_set(err, TRILHA_INVALID, "PAYLOAD_TOO_LARGE",
                            "the payload has %zu bytes; at most %zu are accepted. Send large content as a URL",
                            payload.size, TRILHA_PAYLOAD_BYTES_MAX);
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  limits.bytes_max = TRILHA_PAYLOAD_BYTES_MAX;
  trilha_json_fault fault = {0};
  trilha_error own = {0};
  trilha_status status = trilha_json_read(bench->reader, payload, &limits, keys, ret_document, &fault, &own);
  if (status == TRILHA_OK) {
    if ((*ret_document)->values[0].type != TRILHA_JSON_OBJECT)
      return trilha_error_set(err, TRILHA_INVALID, "PAYLOAD_NOT_OBJECT", "Payload deve ser um objeto não nulo");
    status = trilha_json_check_storable(*ret_document, payload, &fault, &own);
  }
  if (status == TRILHA_OK) return TRILHA_OK;
  if (fault.code[0] != '\0') return refuse_json(&fault, err);
  return trilha_error_copy(err, &own);
}

/* --- step 5 ---------------------------------------------------------------------------------------- */

static const char *copy(trilha_arena *arena, trilha_text text) {
  return trilha_arena_copy(arena, text.data == NULL ? TRILHA_TEXT("") : text);
}

static trilha_status copy_violations(const trilha_violations *found, trilha_publish_result *result, trilha_error *err) {
  trilha_arena *arena = &((trilha_result_memory *)result->memory)->arena;
  trilha_payload_error *errors = trilha_arena_array(arena, found->count, sizeof *errors);
  if (errors == NULL) return trilha_error_no_memory(err);
  for (size_t i = 0; i < found->count; i++) {
    const trilha_violation *v = &found->items[i];
    errors[i] = (trilha_payload_error){copy(arena, v->instance_pointer), copy(arena, v->schema_pointer),
                                       copy(arena, v->keyword), copy(arena, v->text)};
    if (errors[i].instance_pointer == NULL || errors[i].schema_pointer == NULL || errors[i].keyword == NULL ||
        errors[i].text == NULL)
      return trilha_error_no_memory(err);
  }
  result->payload_errors = errors;
  result->payload_error_count = found->count;
  return TRILHA_OK;
}

static trilha_status undecided(trilha_error *err) {
  return trilha_error_set(err, TRILHA_INVALID, "PAYLOAD_UNDECIDED",
                          "the payload could not be judged within the validation budget of its schema; it is refused");
}

static trilha_status list_errors(trilha_workbench *bench, const trilha_preparation *p,
                                 const trilha_json_document *document, trilha_error *err) {
  trilha_violations found = {0};
  const trilha_schema *schema = p->type->schema;
  trilha_status status =
      trilha_schema_report(schema, document, trilha_schema_keys(schema), true, bench->scratch, &found, err);
  if (status != TRILHA_OK) return status;
  if (found.verdict == TRILHA_VERDICT_UNDECIDED) return undecided(err);
  status = copy_violations(&found, p->result, err);
  if (status != TRILHA_OK) return status;
  return trilha_error_set(err, TRILHA_INVALID, "PAYLOAD_INVALID", "Payload inválido para %.*s@%.*s",
                          (int)p->type->tipo.size, p->type->tipo.data, (int)p->type->versao.size, p->type->versao.data);
}

static trilha_status validate(trilha_workbench *bench, const trilha_preparation *p,
                              const trilha_json_document *document, trilha_error *err) {
  const trilha_schema *schema = p->type->schema;
  switch (trilha_schema_validate(schema, document, trilha_schema_keys(schema), bench->scratch)) {
    case TRILHA_VERDICT_VALID:
      return TRILHA_OK;
    case TRILHA_VERDICT_INVALID:
      return list_errors(bench, p, document, err);
    default:
      return undecided(err);
  }
}

/* --- step 6 ---------------------------------------------------------------------------------------- */

typedef struct unruled {
  const trilha_bus *bus;
  const trilha_preparation *p;
} unruled;

static void say_unruled(void *user, trilha_text pointer) {
  const unruled *u = user;
  trilha_fields fields = {0};
  trilha_measure_redaction_drop(u->bus->telemetry);
  trilha_fields_text(&fields, "tipo", u->p->type->tipo);
  trilha_fields_text(&fields, "versao_schema", u->p->type->versao);
  trilha_fields_text(&fields, "pointer", pointer);
  trilha_emit(&u->bus->diagnostics, TRILHA_DEBUG, "redaction.unruled", "a value without a rule was not stored",
              &fields);
}

static trilha_status redact(trilha_bus *bus, trilha_workbench *bench, const trilha_preparation *p,
                            const trilha_json_document *document, trilha_error *err) {
  const trilha_schema *schema = p->type->schema;
  trilha_redaction_counts counts = {0};
  unruled user = {bus, p};
  trilha_buffer_clear(&bench->text);
  trilha_status status = trilha_redact(schema, document, trilha_schema_keys(schema), bench->scratch, p->type->tipo,
                                       bus->keyring, &bench->text, &counts, say_unruled, &user, err);
  if (status != TRILHA_OK) return status;
  trilha_arena *arena = &((trilha_result_memory *)p->result->memory)->arena;
  char *text = trilha_arena_copy(arena, trilha_buffer_text(&bench->text));
  if (text == NULL) return trilha_error_no_memory(err);
  p->item->row.payload = (trilha_text){text, bench->text.size};
  return TRILHA_OK;
}

/* --- all ------------------------------------------------------------------------------------------- */

trilha_status trilha_prepare(trilha_bus *bus, trilha_workbench *bench, trilha_preparation *p, trilha_error *err) {
  const trilha_publication *publication = p->publication;
  p->versao = publication->versao_schema.data == NULL ? TRILHA_TEXT("1.0.0") : publication->versao_schema;
  trilha_error format_error = {0}, registry_error = {0};
  trilha_status formats = trilha_prepare_columns(publication, p->versao, &p->item->row, &format_error);
  trilha_status found = TRILHA_OK;
  if (formats == TRILHA_OK && publication->payload.data != NULL)
    found = trilha_registry_acquire(bus->registry, publication->tipo, p->versao,
                                    trilha_deadline_in_ms(REGISTRY_TIMEOUT_MS), &p->type, &registry_error);
  const trilha_json_keys *keys = p->type == NULL ? NULL : trilha_schema_keys(p->type->schema);
  const trilha_json_document *document = NULL;
  trilha_status status = read_payload(bench, publication->payload, keys, &document, err);
  if (status != TRILHA_OK) return status;
  if (formats != TRILHA_OK) return trilha_error_copy(err, &format_error);
  if (found != TRILHA_OK) return trilha_error_copy(err, &registry_error);
  status = validate(bench, p, document, err);
  if (status == TRILHA_OK) status = redact(bus, bench, p, document, err);
  if (status != TRILHA_OK) return status;
  trilha_arena *arena = &((trilha_result_memory *)p->result->memory)->arena;
  return trilha_digest(bus, publication, &p->item->row, document->values, (trilha_text){0}, arena, &p->item->row.digest,
                       err);
}
