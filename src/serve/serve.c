/* serve: putting the server together, reloading what may change, and ending it. */
#include "serve/serve.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/diagnostics.h"
#include "base/error.h"
#include "serve/serve_internal.h"
#include "trilha/audit.h"

static trilha_status gate_start(trilha_serve *serve, const trilha_config *config, trilha_error *err) {
  pthread_rwlock_init(&serve->gate.lock, NULL);
  trilha_status status = trilha_gate_rules_new(config, &serve->gate.rules, err);
  if (status == TRILHA_OK)
    status = trilha_rate_new(trilha_config_number(config, TRILHA_SETTING_API_REQUESTS_PER_MINUTE),
                             trilha_config_number(config, TRILHA_SETTING_API_BURST), &serve->gate.requests, err);
  if (status == TRILHA_OK) status = trilha_rate_new(1, 1, &serve->gate.reprocesses, err);
  trilha_text url = trilha_config_text(config, TRILHA_SETTING_ACCESS_JWKS_URL);
  if (status == TRILHA_OK && url.data != NULL)
    status = trilha_jwks_start(url, trilha_config_text(config, TRILHA_SETTING_ACCESS_JWKS_CA), &serve->diagnostics,
                               &serve->gate.jwks, err);
  return status;
}

static trilha_http_options listener(trilha_serve *serve, const trilha_config *config) {
  return (trilha_http_options){
      .workers = (unsigned)trilha_config_number(config, TRILHA_SETTING_LIMITS_WORKERS),
      .connections_max = (unsigned)trilha_config_number(config, TRILHA_SETTING_LIMITS_CONNECTIONS),
      .header_bytes_max = (size_t)trilha_config_number(config, TRILHA_SETTING_LIMITS_HEADER_BYTES),
      .body_bytes_max = (size_t)trilha_config_number(config, TRILHA_SETTING_LIMITS_BODY_BYTES),
      .request_ms = trilha_config_number(config, TRILHA_SETTING_LIMITS_REQUEST_MS),
      .response_ms = trilha_config_number(config, TRILHA_SETTING_LIMITS_RESPONSE_MS),
      .user = serve,
      .diagnostics = &serve->diagnostics};
}

static trilha_status start_api(trilha_serve *serve, const trilha_config *config, trilha_http_options *api,
                               trilha_error *err) {
  trilha_certificate_files files;
  trilha_status status = trilha_certificate_read(config, &files, err);
  api->certificate = files.pair;
  if (status == TRILHA_OK) status = trilha_http_start(api, &serve->api, err);
  trilha_certificate_done(&files);
  return status;
}

static trilha_status listen_on(trilha_serve *serve, const trilha_config *config, trilha_error *err) {
  trilha_http_options api = listener(serve, config), second = api;
  api.name = "api";
  api.address = trilha_config_text(config, TRILHA_SETTING_API_ADDRESS);
  api.port = (unsigned)trilha_config_number(config, TRILHA_SETTING_API_PORT);
  api.handler = trilha_serve_api_handle;
  second.name = "status";
  second.address = trilha_config_text(config, TRILHA_SETTING_STATUS_ADDRESS);
  second.port = (unsigned)trilha_config_number(config, TRILHA_SETTING_STATUS_PORT);
  second.handler = trilha_serve_status_handle;
  second.workers = 2; /* nothing there waits for the store */
  trilha_status status = start_api(serve, config, &api, err);
  return status == TRILHA_OK ? trilha_http_start(&second, &serve->status, err) : status;
}

static void say_started(trilha_serve *serve) {
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "api_port", trilha_http_port(serve->api));
  trilha_fields_i64(&fields, "status_port", trilha_http_port(serve->status));
  trilha_fields_i64(&fields, "keys", (int64_t)trilha_keys_count(serve->gate.rules->keys));
  trilha_emit(&serve->diagnostics, TRILHA_INFO, "serve.started", "the server listens", &fields);
}

trilha_status trilha_serve_start(const trilha_serve_options *options, trilha_serve **ret_serve, trilha_error *err) {
  trilha_serve *serve = calloc(1, sizeof *serve);
  if (serve == NULL) return trilha_error_no_memory(err);
  const trilha_config *config = options->config;
  unsigned workers = (unsigned)trilha_config_number(config, TRILHA_SETTING_LIMITS_WORKERS);
  serve->handle = options->handle;
  serve->diagnostics = options->diagnostics;
  serve->started_us = trilha_clock_wall_us();
  serve->stop_ms = trilha_config_number(config, TRILHA_SETTING_LIMITS_STOP_MS);
  serve->alert_at = trilha_config_number(config, TRILHA_SETTING_DEAD_LETTERS_ALERT_AT);
  serve->reprocess_wait_ms = (unsigned)trilha_config_number(config, TRILHA_SETTING_API_REPROCESS_WAIT_MS);
  serve->reprocess_most = workers < 2 ? 1 : workers / 2;
  trilha_status status = gate_start(serve, config, err);
  if (status == TRILHA_OK) status = trilha_error_map_new(&serve->errors, err);
  if (status == TRILHA_OK) status = trilha_sample_start(&serve->sample, serve->handle, err);
  if (status == TRILHA_OK)
    status = trilha_alerts_start(&serve->sample, config, &serve->diagnostics, &serve->alerts, err);
  if (status == TRILHA_OK) status = trilha_outboxes_start(config, &serve->outboxes, err);
  if (status == TRILHA_OK) status = trilha_sources_new(config, workers, &serve->sources, err);
  if (status == TRILHA_OK) status = listen_on(serve, config, err);
  if (status != TRILHA_OK) {
    trilha_serve_stop(serve);
    return status;
  }
  say_started(serve);
  *ret_serve = serve;
  return TRILHA_OK;
}

/* --- reloading -----------------------------------------------------------------------------------------------------
 */

/* What a reload brings in: all of it is ready before anything of it takes effect. */
typedef struct renewal {
  trilha_gate_rules *rules;
  trilha_http_engine *engine; /* NULL: the certificate is the same */
} renewal;

static trilha_status renewal_prepare(trilha_serve *serve, const trilha_config *config, renewal *r, trilha_error *err) {
  trilha_certificate_files files;
  trilha_status status = trilha_gate_rules_new(config, &r->rules, err);
  if (status != TRILHA_OK) return status;
  status = trilha_certificate_read(config, &files, err);
  bool had = trilha_http_certificate_expires_s(serve->api) != 0;
  if (status == TRILHA_OK && had != (files.pair.chain != NULL))
    status = trilha_error_set(err, TRILHA_INVALID, "CERTIFICATE_SWITCHED",
                              "a listener does not change between TLS and plain HTTP while it runs: restart it");
  if (status == TRILHA_OK && had) status = trilha_http_renewal_prepare(serve->api, &files.pair, &r->engine, err);
  trilha_certificate_done(&files);
  return status;
}

static void renewal_use(trilha_serve *serve, renewal *r) {
  pthread_rwlock_wrlock(&serve->gate.lock);
  trilha_gate_rules *old = serve->gate.rules;
  serve->gate.rules = r->rules;
  pthread_rwlock_unlock(&serve->gate.lock);
  r->rules = old;
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "certificate", r->engine == NULL ? "same" : "renewed");
  trilha_http_renewal_use(serve->api, r->engine);
  r->engine = NULL;
  trilha_emit(&serve->diagnostics, TRILHA_INFO, "serve.reloaded",
              "allowlists, keys, token rules, callbacks and the certificate were read anew", &fields);
}

trilha_status trilha_serve_reload(trilha_serve *serve, const trilha_config *config, trilha_text user,
                                  trilha_error *err) {
  renewal fresh = {NULL, NULL};
  trilha_error own = {0};
  if (err == NULL) err = &own;
  trilha_audit_entry entry = {.entity = TRILHA_TEXT("configuration"),
                              .entity_id = TRILHA_TEXT("serve"),
                              .change_type = TRILHA_TEXT("Updated"),
                              .action = TRILHA_TEXT("trilha.configuration.reloaded"),
                              .user = user};
  trilha_status status = renewal_prepare(serve, config, &fresh, err);
  if (status == TRILHA_OK) status = trilha_audit_write(serve->handle, &entry, err);
  if (status == TRILHA_OK) {
    renewal_use(serve, &fresh);
    trilha_jwks_refresh(serve->gate.jwks);
  } else {
    trilha_fields fields = {0};
    trilha_sample_heard(&serve->sample, err);
    trilha_fields_error(&fields, err);
    trilha_emit(&serve->diagnostics, TRILHA_ERROR, "serve.reload_failed",
                "the old allowlists, keys, rules, callbacks and certificate stay", &fields);
  }
  trilha_http_renewal_abandon(fresh.engine);
  trilha_gate_rules_free(fresh.rules);
  return status;
}

unsigned trilha_serve_api_port(const trilha_serve *serve) {
  return trilha_http_port(serve->api);
}

unsigned trilha_serve_status_port(const trilha_serve *serve) {
  return trilha_http_port(serve->status);
}

void trilha_serve_stop(trilha_serve *serve) {
  if (serve == NULL) return;
  trilha_http_stop(serve->api, serve->stop_ms);
  trilha_http_stop(serve->status, 0);
  trilha_alerts_stop(serve->alerts);
  trilha_outboxes_stop(serve->outboxes);
  trilha_sources_free(serve->sources);
  trilha_sample_stop(&serve->sample);
  trilha_jwks_stop(serve->gate.jwks);
  trilha_rate_free(serve->gate.requests);
  trilha_rate_free(serve->gate.reprocesses);
  trilha_gate_rules_free(serve->gate.rules);
  trilha_error_map_free(serve->errors);
  pthread_rwlock_destroy(&serve->gate.lock);
  free(serve);
}
