/* fuzz: one line of `trilha publish --ndjson`, read, checked, published and read back. What is refused leaves the log
 * as it was and says why; what is accepted is there once, redacted, also after it was published again. */
#include <string.h>

#include "cli/publish_internal.h"
#include "fuzz/fuzz.h"
#include "fuzz/store.h"

static int64_t last(trilha *handle) {
  int64_t sequence = -1;
  CHECK(trilha_last_sequence(handle, &sequence, NULL) == TRILHA_OK);
  return sequence;
}

static trilha_json_document *parse(const char *text, size_t size) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  CHECK(trilha_json_parse((trilha_text){text, size}, &limits, &document, NULL, NULL) == TRILHA_OK);
  return document;
}

static void check_refused(const trilha_publish_result *result, trilha_status status, const trilha_error *err) {
  CHECK(result->status == status && result->event == NULL);
  CHECK(err->status == status && err->code[0] != '\0' && err->text[0] != '\0');
  CHECK(trilha_utf8_valid(err->text, strlen(err->text)));
  for (size_t i = 0; i < result->payload_error_count; i++)
    CHECK(result->payload_errors[i].keyword != NULL && result->payload_errors[i].text[0] != '\0');
}

/* Of the type "t": what is to be removed is gone, what is to be hashed is a token. */
static void check_redacted(const trilha_event *event) {
  trilha_json_document *document = parse(event->payload, event->payload_size);
  CHECK(event->payload_estado == TRILHA_PAYLOAD_REDIGIDO);
  if (strcmp(event->tipo, "t") == 0) {
    CHECK(trilha_json_member(document->values, "nome") == NULL);
    trilha_text cpf = trilha_json_member_string(document->values, "cpf");
    CHECK(cpf.data == NULL || (cpf.size > 3 && memcmp(cpf.data, "h1:", 3) == 0));
  }
  trilha_json_document_free(document);
}

static void check_stored(trilha *handle, const trilha_publication *p, const trilha_event *published) {
  trilha_event *stored = NULL;
  trilha_publish_result again;
  char *json = NULL;
  size_t size = 0;
  CHECK(trilha_event_get(handle, trilha_text_of(published->event_id), &stored, NULL) == TRILHA_OK);
  CHECK(stored->sequence_number == published->sequence_number && strcmp(stored->tipo, published->tipo) == 0);
  CHECK(strcmp(stored->timestamp, published->timestamp) == 0 && strcmp(stored->origem, published->origem) == 0);
  check_redacted(stored);
  CHECK(trilha_event_to_json(stored, &json, &size, NULL) == TRILHA_OK);
  trilha_json_document_free(parse(json, size));
  trilha_free(json);
  trilha_publication repeated = *p;
  repeated.event_id = trilha_text_of(published->event_id);
  trilha_error err = {0};
  trilha_status status = trilha_publish(handle, &repeated, &again, &err);
  if (status != TRILHA_OK) fprintf(stderr, "again: %s %s\n", err.code, err.text);
  CHECK(status == TRILHA_OK && again.duplicate && again.content == TRILHA_CONTENT_SAME);
  CHECK(again.event->sequence_number == published->sequence_number);
  trilha_publish_result_done(&again);
  trilha_event_free(stored);
}

static void publish(trilha *handle, const trilha_publication *p) {
  trilha_publish_result checked, result;
  trilha_error check_error = {0}, err = {0};
  int64_t before = last(handle);
  trilha_status check = trilha_publish_check(handle, p, &checked, &check_error);
  if (check != TRILHA_OK) check_refused(&checked, check, &check_error);
  CHECK(last(handle) == before);
  trilha_status status = trilha_publish(handle, p, &result, &err);
  CHECK(check == status && strcmp(check_error.code, err.code) == 0);
  if (status != TRILHA_OK) {
    check_refused(&result, status, &err);
    CHECK(last(handle) == before);
  } else if (!result.duplicate) {
    CHECK(result.content == TRILHA_CONTENT_NEW && result.event->sequence_number == before + 1);
    check_stored(handle, p, result.event);
  } else {
    CHECK(last(handle) == before && result.event->sequence_number <= before);
  }
  trilha_publish_result_done(&result);
  trilha_publish_result_done(&checked);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha *handle = fuzz_store_open();
  trilha_cli_request request;
  if (size > TRILHA_CLI_LINE_MAX || (size > 0 && memchr(data, '\n', size) != NULL)) return;
  trilha_cli_request_read(1, (trilha_text){data, size}, &request);
  if (request.error.status == TRILHA_OK)
    publish(handle, &request.publication);
  else
    CHECK(request.error.code[0] != '\0' && request.error.text[0] != '\0');
  trilha_cli_request_done(&request);
}
