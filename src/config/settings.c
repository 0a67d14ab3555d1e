/* config: the settings' table and how a setting is found in a document. */
#include "config/config_internal.h"

const trilha_setting_row trilha_settings[TRILHA_SETTING_COUNT] = {
    [TRILHA_SETTING_STORE] = {"store", "TRILHA_STORE"},
    [TRILHA_SETTING_DEAD_LETTERS_ALERT_AT] = {"dead_letters.alert_at", "TRILHA_DEAD_LETTERS_ALERT_AT"},
    [TRILHA_SETTING_ALERTS_COMMAND] = {"serve.alerts.command", "TRILHA_SERVE_ALERTS_COMMAND"},
    [TRILHA_SETTING_API_ADDRESS] = {"serve.api.address", "TRILHA_SERVE_API_ADDRESS"},
    [TRILHA_SETTING_API_PORT] = {"serve.api.port", "TRILHA_SERVE_API_PORT"},
    [TRILHA_SETTING_API_CERTIFICATE] = {"serve.api.certificate", "TRILHA_SERVE_API_CERTIFICATE"},
    [TRILHA_SETTING_API_CERTIFICATE_KEY] = {"serve.api.certificate_key", "TRILHA_SERVE_API_CERTIFICATE_KEY"},
    [TRILHA_SETTING_API_ALLOW] = {"serve.api.allow", "TRILHA_SERVE_API_ALLOW"},
    [TRILHA_SETTING_API_TRUSTED_PROXIES] = {"serve.api.trusted_proxies", "TRILHA_SERVE_API_TRUSTED_PROXIES"},
    [TRILHA_SETTING_API_REQUESTS_PER_MINUTE] = {"serve.api.requests_per_minute",
                                                "TRILHA_SERVE_API_REQUESTS_PER_MINUTE"},
    [TRILHA_SETTING_API_BURST] = {"serve.api.burst", "TRILHA_SERVE_API_BURST"},
    [TRILHA_SETTING_API_REPROCESS_WAIT_MS] = {"serve.api.reprocess_wait_ms", "TRILHA_SERVE_API_REPROCESS_WAIT_MS"},
    [TRILHA_SETTING_STATUS_ADDRESS] = {"serve.status.address", "TRILHA_SERVE_STATUS_ADDRESS"},
    [TRILHA_SETTING_STATUS_PORT] = {"serve.status.port", "TRILHA_SERVE_STATUS_PORT"},
    [TRILHA_SETTING_STATUS_ALLOW] = {"serve.status.allow", "TRILHA_SERVE_STATUS_ALLOW"},
    [TRILHA_SETTING_STATUS_TENANT_METRICS] = {"serve.status.tenant_metrics", "TRILHA_SERVE_STATUS_TENANT_METRICS"},
    [TRILHA_SETTING_ACCESS_KEYS] = {"serve.access.keys", "TRILHA_SERVE_ACCESS_KEYS"},
    [TRILHA_SETTING_ACCESS_JWKS_URL] = {"serve.access.jwks_url", "TRILHA_SERVE_ACCESS_JWKS_URL"},
    [TRILHA_SETTING_ACCESS_JWKS_CA] = {"serve.access.jwks_ca", "TRILHA_SERVE_ACCESS_JWKS_CA"},
    [TRILHA_SETTING_ACCESS_ALGORITHMS] = {"serve.access.algorithms", "TRILHA_SERVE_ACCESS_ALGORITHMS"},
    [TRILHA_SETTING_ACCESS_ISSUER] = {"serve.access.issuer", "TRILHA_SERVE_ACCESS_ISSUER"},
    [TRILHA_SETTING_ACCESS_AUDIENCE] = {"serve.access.audience", "TRILHA_SERVE_ACCESS_AUDIENCE"},
    [TRILHA_SETTING_ACCESS_ROLE_CLAIM] = {"serve.access.role_claim", "TRILHA_SERVE_ACCESS_ROLE_CLAIM"},
    [TRILHA_SETTING_ACCESS_ROLE] = {"serve.access.role", "TRILHA_SERVE_ACCESS_ROLE"},
    [TRILHA_SETTING_ACCESS_TENANT_CLAIM] = {"serve.access.tenant_claim", "TRILHA_SERVE_ACCESS_TENANT_CLAIM"},
    [TRILHA_SETTING_ACCESS_CLOCK_SKEW_S] = {"serve.access.clock_skew_s", "TRILHA_SERVE_ACCESS_CLOCK_SKEW_S"},
    [TRILHA_SETTING_LIMITS_CONNECTIONS] = {"serve.limits.connections", "TRILHA_SERVE_LIMITS_CONNECTIONS"},
    [TRILHA_SETTING_LIMITS_WORKERS] = {"serve.limits.workers", "TRILHA_SERVE_LIMITS_WORKERS"},
    [TRILHA_SETTING_LIMITS_HEADER_BYTES] = {"serve.limits.header_bytes", "TRILHA_SERVE_LIMITS_HEADER_BYTES"},
    [TRILHA_SETTING_LIMITS_BODY_BYTES] = {"serve.limits.body_bytes", "TRILHA_SERVE_LIMITS_BODY_BYTES"},
    [TRILHA_SETTING_LIMITS_REQUEST_MS] = {"serve.limits.request_ms", "TRILHA_SERVE_LIMITS_REQUEST_MS"},
    [TRILHA_SETTING_LIMITS_RESPONSE_MS] = {"serve.limits.response_ms", "TRILHA_SERVE_LIMITS_RESPONSE_MS"},
    [TRILHA_SETTING_LIMITS_STOP_MS] = {"serve.limits.stop_ms", "TRILHA_SERVE_LIMITS_STOP_MS"},
    [TRILHA_SETTING_TELEMETRY_SERVICE_NAME] = {"telemetry.service_name", "TRILHA_TELEMETRY_SERVICE_NAME",
                                               "OTEL_SERVICE_NAME"},
    [TRILHA_SETTING_OTLP_ENDPOINT] = {"telemetry.otlp.endpoint", "TRILHA_TELEMETRY_OTLP_ENDPOINT",
                                      "OTEL_EXPORTER_OTLP_ENDPOINT"},
    [TRILHA_SETTING_OTLP_HEADERS] = {"telemetry.otlp.headers", "TRILHA_TELEMETRY_OTLP_HEADERS",
                                     "OTEL_EXPORTER_OTLP_HEADERS"},
    [TRILHA_SETTING_OTLP_CERTIFICATE] = {"telemetry.otlp.certificate", "TRILHA_TELEMETRY_OTLP_CERTIFICATE",
                                         "OTEL_EXPORTER_OTLP_CERTIFICATE"},
    [TRILHA_SETTING_OTLP_INTERVAL_MS] = {"telemetry.otlp.interval_ms", "TRILHA_TELEMETRY_OTLP_INTERVAL_MS"},
    [TRILHA_SETTING_OTLP_TIMEOUT_MS] = {"telemetry.otlp.timeout_ms", "TRILHA_TELEMETRY_OTLP_TIMEOUT_MS"},
    [TRILHA_SETTING_OTLP_QUEUE_MAX] = {"telemetry.otlp.queue_max", "TRILHA_TELEMETRY_OTLP_QUEUE_MAX"},
    [TRILHA_SETTING_OTLP_FLUSH_MS] = {"telemetry.otlp.flush_ms", "TRILHA_TELEMETRY_OTLP_FLUSH_MS"},
};

const char *trilha_setting_name(trilha_setting setting) {
  return trilha_settings[setting].name;
}

const char *trilha_setting_variable(trilha_setting setting) {
  return trilha_settings[setting].variable;
}

/* Walks the name's parts; `through` stands between two of them in a schema ("properties"), or is NULL. */
static const trilha_json_value *walk(const trilha_json_value *at, const char *name, const char *through) {
  while (at != NULL && *name != '\0') {
    size_t size = strcspn(name, ".");
    if (through != NULL) at = trilha_json_member(at, through);
    at = trilha_json_member_text(at, (trilha_text){name, size});
    name += size;
    if (*name == '.') name++;
  }
  return at;
}

const trilha_json_value *trilha_setting_schema(const trilha_json_document *schema, trilha_setting setting) {
  return walk(schema->values, trilha_settings[setting].name, "properties");
}

const trilha_json_value *trilha_setting_find(const trilha_json_value *root, trilha_setting setting) {
  return walk(root, trilha_settings[setting].name, NULL);
}
