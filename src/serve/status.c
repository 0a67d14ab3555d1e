/* serve: the second listener. /livez says that the process answers and /readyz that the store does, both without detail
 * and open; /metrics and /statusz are for the allowlist. What integration lags behind is told in /statusz and never
 * makes the process look dead. */
#include "base/clock.h"
#include "json/json.h"
#include "serve/serve_internal.h"

static void plain(trilha_http_answer *answer, unsigned status, const char *text) {
  answer->status = status;
  answer->content_type = "text/plain; charset=utf-8";
  trilha_buffer_add_string(&answer->body, text);
}

static void write_consumers(const trilha_consumer_states *states, trilha_buffer *out) {
  trilha_buffer_add_string(out, ",\"consumers\":[");
  for (size_t i = 0; states != NULL && i < states->count; i++) {
    const trilha_consumer_state *state = &states->items[i];
    trilha_buffer_add_string(out, i == 0 ? "{" : ",{");
    trilha_add_member(out, true, "colonia", state->colonia);
    trilha_add_member(out, false, "grupo", state->grupo);
    trilha_add_member(out, false, "tipo", state->tipo);
    trilha_add_member(out, false, "state", state->state);
    trilha_buffer_add_format(out, ",\"last_sequence\":\"%lld\",\"lag_events\":%lld,\"lag_seconds\":%lld}",
                             (long long)state->last_sequence, (long long)state->lag_events,
                             (long long)state->lag_seconds);
  }
  trilha_buffer_add_char(out, ']');
}

void trilha_statusz_write(trilha_serve *serve, trilha_buffer *out) {
  trilha_sample *sample = &serve->sample;
  char started[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(serve->started_us / 1000000 * 1000000, started);
  pthread_mutex_lock(&sample->mutex);
  bool up = trilha_sample_is_up(sample), ready = trilha_sample_is_ready(sample);
  trilha_buffer_add_char(out, '{');
  trilha_add_member(out, true, "version", trilha_version());
  trilha_add_member(out, false, "started", started);
  trilha_buffer_add_format(out, ",\"ready\":%s", ready ? "true" : "false");
  trilha_add_member(out, false, "store_error", sample->up || sample->code[0] == '\0' ? NULL : sample->code);
  trilha_add_member(out, false, "audit_error", sample->trail_code[0] == '\0' ? NULL : sample->trail_code);
  if (up) {
    trilha_buffer_add_format(out,
                             ",\"last_sequence\":\"%lld\",\"dead_letters\":{\"total_pendentes\":%lld,\"alert\":%s,",
                             (long long)sample->last_sequence, (long long)sample->pending_total,
                             sample->pending_total >= serve->alert_at ? "true" : "false");
    trilha_buffer_add_string(out, "\"pendentes_por_colonia\":{");
    for (size_t i = 0; i < sample->colony_count; i++) {
      if (i != 0) trilha_buffer_add_char(out, ',');
      trilha_json_write_string(out, trilha_text_of(sample->colonies[i].name));
      trilha_buffer_add_format(out, ":%lld", (long long)sample->colonies[i].pending);
    }
    trilha_buffer_add_string(out, "}}");
    write_consumers(sample->consumers, out);
  }
  pthread_mutex_unlock(&sample->mutex);
  trilha_outboxes_write_status(serve->outboxes, out);
  trilha_buffer_add_string(out, "}\n");
}

static bool is_ready(trilha_serve *serve) {
  pthread_mutex_lock(&serve->sample.mutex);
  bool ready = trilha_sample_is_ready(&serve->sample);
  pthread_mutex_unlock(&serve->sample.mutex);
  return ready;
}

static void for_the_allowed(trilha_serve *serve, const trilha_http_request *request, trilha_http_answer *answer) {
  if (!trilha_gate_check_status(&serve->gate, request)) {
    trilha_answer_problem(answer, 403, NULL, NULL);
    return;
  }
  answer->status = 200;
  if (trilha_text_is(request->path, "/metrics")) {
    answer->content_type = "text/plain; version=0.0.4; charset=utf-8";
    trilha_metrics_write(serve, &answer->body);
  } else {
    answer->content_type = "application/json";
    trilha_statusz_write(serve, &answer->body);
  }
}

void trilha_serve_status_handle(void *user, const trilha_http_request *request, trilha_http_answer *answer) {
  trilha_serve *serve = user;
  trilha_text path = request->path;
  if (!trilha_text_is(request->method, "GET") && !trilha_text_is(request->method, "HEAD")) {
    trilha_answer_problem(answer, 405, NULL, NULL);
    trilha_http_answer_header_add(answer, "Allow", "GET, HEAD");
  } else if (trilha_text_is(path, "/livez")) {
    plain(answer, 200, "ok\n");
  } else if (trilha_text_is(path, "/readyz")) {
    bool ready = is_ready(serve);
    plain(answer, ready ? 200 : 503, ready ? "ok\n" : "not ready\n");
  } else if (trilha_text_is(path, "/metrics") || trilha_text_is(path, "/statusz")) {
    for_the_allowed(serve, request, answer);
  } else {
    trilha_answer_problem(answer, 404, NULL, NULL);
  }
  trilha_answer_as_data(answer);
}
