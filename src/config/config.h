/* config: trilha.yaml, read, checked against docs/trilha.schema.json and completed: default, then file, then
 * environment, then flag. Room: config. Corridor.
 *
 * The schema says type, bounds, default and meaning of every setting; the table in settings.c gives each one its
 * number. A loaded configuration is immutable and may be shared by threads.
 */
#ifndef TRILHA_CONFIG_CONFIG_H
#define TRILHA_CONFIG_CONFIG_H

#include "base/text.h"

typedef enum trilha_setting {
  TRILHA_SETTING_STORE = 0,
  TRILHA_SETTING_DEAD_LETTERS_ALERT_AT,
  TRILHA_SETTING_ALERTS_COMMAND,
  TRILHA_SETTING_API_ADDRESS,
  TRILHA_SETTING_API_PORT,
  TRILHA_SETTING_API_CERTIFICATE,
  TRILHA_SETTING_API_CERTIFICATE_KEY,
  TRILHA_SETTING_API_ALLOW,
  TRILHA_SETTING_API_TRUSTED_PROXIES,
  TRILHA_SETTING_API_REQUESTS_PER_MINUTE,
  TRILHA_SETTING_API_BURST,
  TRILHA_SETTING_API_REPROCESS_WAIT_MS,
  TRILHA_SETTING_STATUS_ADDRESS,
  TRILHA_SETTING_STATUS_PORT,
  TRILHA_SETTING_STATUS_ALLOW,
  TRILHA_SETTING_STATUS_TENANT_METRICS,
  TRILHA_SETTING_ACCESS_KEYS,
  TRILHA_SETTING_ACCESS_JWKS_URL,
  TRILHA_SETTING_ACCESS_JWKS_CA,
  TRILHA_SETTING_ACCESS_ALGORITHMS,
  TRILHA_SETTING_ACCESS_ISSUER,
  TRILHA_SETTING_ACCESS_AUDIENCE,
  TRILHA_SETTING_ACCESS_ROLE_CLAIM,
  TRILHA_SETTING_ACCESS_ROLE,
  TRILHA_SETTING_ACCESS_TENANT_CLAIM,
  TRILHA_SETTING_ACCESS_CLOCK_SKEW_S,
  TRILHA_SETTING_LIMITS_CONNECTIONS,
  TRILHA_SETTING_LIMITS_WORKERS,
  TRILHA_SETTING_LIMITS_HEADER_BYTES,
  TRILHA_SETTING_LIMITS_BODY_BYTES,
  TRILHA_SETTING_LIMITS_REQUEST_MS,
  TRILHA_SETTING_LIMITS_RESPONSE_MS,
  TRILHA_SETTING_LIMITS_STOP_MS,
  TRILHA_SETTING_TELEMETRY_SERVICE_NAME,
  TRILHA_SETTING_OTLP_ENDPOINT,
  TRILHA_SETTING_OTLP_HEADERS,
  TRILHA_SETTING_OTLP_CERTIFICATE,
  TRILHA_SETTING_OTLP_INTERVAL_MS,
  TRILHA_SETTING_OTLP_TIMEOUT_MS,
  TRILHA_SETTING_OTLP_QUEUE_MAX,
  TRILHA_SETTING_OTLP_FLUSH_MS,
  TRILHA_SETTING_COUNT
} trilha_setting;

typedef enum trilha_setting_origin {
  TRILHA_ORIGIN_DEFAULT = 0,
  TRILHA_ORIGIN_FILE = 1,
  TRILHA_ORIGIN_ENVIRONMENT = 2,
  TRILHA_ORIGIN_FLAG = 3
} trilha_setting_origin;

typedef struct trilha_config trilha_config;

/* One thing that is wrong; borrowed for the call. `source` is the file's path or the variable's name; line 0: none. */
typedef struct trilha_config_problem {
  const char *source;
  uint32_t line, column;
  trilha_text pointer, text;
} trilha_config_problem;
typedef void (*trilha_config_report)(void *user, const trilha_config_problem *problem);

/* Where the values come from. Zero-initialise; everything is borrowed for the call. */
typedef struct trilha_config_sources {
  trilha_text yaml;                        /* the file's text; absent: no file */
  const char *path;                        /* its name, for messages */
  char *(*environment)(const char *name);  /* getenv, or a test's; NULL: none */
  const char *flags[TRILHA_SETTING_COUNT]; /* as on the command line; NULL: not given */
  const char *part; /* "telemetry": of the environment only settings below this name are looked at; NULL: all */
  trilha_config_report report; /* called for every problem; may be NULL */
  void *user;
} trilha_config_sources;

/* INVALID: CONFIG_INVALID with the first problem as text, or the codes of trilha_yaml_to_json(). Values are never
 * quoted: one of them may be a password. */
trilha_status trilha_config_load(const trilha_config_sources *sources, trilha_config **ret_config,
                                 trilha_error *err) TRILHA_MUST_USE;
void trilha_config_free(trilha_config *config);

/* --- values; texts are terminated and live as long as the configuration ----------------------------------- */

/* Absent when nothing and no default is set. */
trilha_text trilha_config_text(const trilha_config *config, trilha_setting setting);
int64_t trilha_config_number(const trilha_config *config, trilha_setting setting);
const trilha_text *trilha_config_list(const trilha_config *config, trilha_setting setting, size_t *ret_count);
trilha_setting_origin trilha_config_origin(const trilha_config *config, trilha_setting setting);

/* --- what is known of a setting; constant texts ------------------------------------------------------------ */

/* "serve.api.port" and its environment variable. */
const char *trilha_setting_name(trilha_setting setting);
const char *trilha_setting_variable(trilha_setting setting);
/* Appends the value as people may see it: a password in a URL, and all of a secret, reads "****". Nothing for an absent
 * value. */
void trilha_config_show(const trilha_config *config, trilha_setting setting, trilha_buffer *out);

/* --- registered outboxes ------------------------------------------------------------------------------------ */

/* A destination that may record receipts over HTTP. */
typedef struct trilha_config_callback {
  trilha_text destination, secret_file;
  const trilha_text *allow; /* addresses and networks */
  size_t allow_count;
} trilha_config_callback;

enum { TRILHA_CONFIG_SOURCES_MAX = 64 }; /* the schema says so, too */
/* One of `sources`; defaults are filled in. Texts are terminated. */
typedef struct trilha_config_source {
  trilha_text name, store, schema; /* schema may be absent */
  const trilha_text *destinations;
  size_t destination_count;
  const trilha_config_callback *callbacks;
  size_t callback_count;
  int64_t timeout_ms, margin_ms, lease_ms, attempts, backoff_ms, quota, weight, batch, run;
  int64_t scan_ms; /* 0: as the store needs */
  int64_t messages_days, inbox_days, retry_days, restore_days;
} trilha_config_source;
/* In the order of the file; names are unique. */
const trilha_config_source *trilha_config_outboxes(const trilha_config *config, size_t *ret_count);
/* NULL: there is none of this name. */
const trilha_config_source *trilha_config_outbox(const trilha_config *config, trilha_text name);
/* The i-th of its numbers by the name it has in the file: windows, counts and quotas. NULL: there are no more. */
const char *trilha_config_source_number(const trilha_config_source *source, size_t i, int64_t *ret_number);
/* Appends its store as people may see it. */
void trilha_config_source_show(const trilha_config_source *source, trilha_buffer *out);

/* The schema's text: docs/trilha.schema.json as it was when this was built. */
trilha_text trilha_config_schema(void);

#endif
