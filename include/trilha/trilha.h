/* trilha/trilha.h: the library's front door.
 *
 * A `trilha` handle is an open store with its registry, redaction keys and publish queue. All functions may be called
 * from any number of threads on one handle at once, except trilha_close(), which must be the last. Do not use a handle
 * in a child after fork() (refused with HANDLE_FORKED). Texts given are borrowed for the call; objects returned through
 * `ret_` are the caller's and freed by the function named beside them. `ret_` arguments are written only on success
 * unless said otherwise.
 *
 * Sources: specification 000 (event bus), sections 1 to 4. Contract words (tipo, origem, correlacao_id…) are the
 * specification's.
 */
#ifndef TRILHA_TRILHA_H
#define TRILHA_TRILHA_H

#include "trilha/diagnostics.h"
#include "trilha/error.h"
#include "trilha/text.h"
#include "trilha/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trilha trilha;

/* --- opening ------------------------------------------------------------------------------------------- */

/** Where spans and metrics of a handle go: an OpenTelemetry collector, over OTLP/HTTP with JSON. Sent in batches by a
 * thread of its own; a publish or a handler never waits for it: a span that finds the queue full is dropped and
 * counted. Zero-initialise. */
typedef struct trilha_otlp_options {
  const char *endpoint; /**< http or https URL to which "/v1/traces" and "/v1/metrics" are added, such as
                           "http://127.0.0.1:4318"; NULL: nothing is measured or sent */
  const char *headers;  /**< sent along, as the OTEL_EXPORTER_OTLP_HEADERS of OpenTelemetry: "name=value,name=value",
                           values  percent-encoded; never shown; NULL: none */
  const char *ca_file;  /**< PEM certificates that vouch for the endpoint; NULL: the system's */
  const char *service_name; /**< the resource's service.name; NULL: "trilha" */
  unsigned interval_ms;     /**< the longest that a span or a number waits to be sent; default 5000 */
  unsigned timeout_ms;      /**< of one request; default 10000 */
  unsigned queue_max;       /**< spans that may wait, at most 65536; default 2048 */
  unsigned flush_ms;        /**< how long trilha_close() may take to send what waits; default 2000 */
} trilha_otlp_options;

/** How to open. Zero-initialise, then set what you need; zero and NULL mean the documented default. */
typedef struct trilha_options {
  const char *store_url; /**< "sqlite:PATH" or "postgresql://…"; NULL: "sqlite:trilha.db" */
  const char *keyring; /**< where redaction keys live: "file:PATH" (mode 0600), "env:NAME", "credential:NAME" (systemd);
                          NULL: none, and types with a `hash` rule cannot be published */
  bool create;         /**< migrate the store when it is empty (never upgrades an existing one) */
  unsigned registry_refresh_ms;      /**< how stale the view of the registry may be; default 1000 */
  unsigned lock_timeout_ms;          /**< how long a publish waits for the log's lock; default 30000 */
  unsigned batch_max;                /**< most events of one group commit; default 1000 */
  unsigned dead_letter_attempts_max; /**< deliveries before a dead letter becomes failed_permanent; default 5 */
  unsigned dead_letter_alert_at; /**< open dead letters from which each further failure is warned about; default 100 */
  const char *user;     /**< who works through this handle: the audit rows of calls that name nobody; NULL: "unknown" */
  bool unsafe_no_fsync; /**< acknowledge before data is on disk; for tests and throw-away data only */
  trilha_diagnostics diagnostics;
  trilha_otlp_options otlp; /**< default: none */
} trilha_options;

/** Opens a store. NOT_FOUND (code STORE_NOT_INITIALIZED): no Trilha schema there and `create` is false; UNSUPPORTED
 * (STORE_NEWER): a newer Trilha migrated it; UNAVAILABLE: cannot be reached; USAGE: bad URL. The error never shows a
 * password. */
TRILHA_API trilha_status trilha_open(const trilha_options *options, trilha **ret_handle,
                                     trilha_error *error) TRILHA_MUST_USE;
/** Waits for calls under way on other threads' batches, sends what OTLP still holds within its flush_ms, then frees
 * everything. NULL is allowed. */
TRILHA_API void trilha_close(trilha *handle);

/* --- guarantees ----------------------------------------------------------------------------------------- */

/** What a handler promises about a message or an event that was handed to it (rulings R34, R37). `trilha guarantees`
 * lists it for every handler. A relay is refused whose transport does not declare it (GUARANTEE_INVALID); a durable
 * consumer that declares nothing is durable; a plain subscription is never more than best effort. */
typedef enum trilha_guarantee {
  TRILHA_GUARANTEE_UNDECLARED = 0,
  TRILHA_GUARANTEE_ATOMIC = 1,     /**< its effect commits with an inbox's acceptance or its cursor: once */
  TRILHA_GUARANTEE_DURABLE = 2,    /**< at least once: a repeat has the same id, by which it is known */
  TRILHA_GUARANTEE_BEST_EFFORT = 3 /**< a repeat may have its effect again, or what was accepted may be lost */
} trilha_guarantee;

/* --- events -------------------------------------------------------------------------------------------- */

/** Whether a payload is the one published or what redaction left of it (design: privacy). */
typedef enum trilha_payload_state { TRILHA_PAYLOAD_COMPLETO = 0, TRILHA_PAYLOAD_REDIGIDO = 1 } trilha_payload_state;

/** An event as read or published (EventoConsultado, specification 000 section 3.2). All texts are terminated UTF-8,
 * live as long as the object they came in, and are NULL where absent. */
typedef struct trilha_event {
  int64_t sequence_number; /**< from 1; the canonical order */
  const char *event_id;    /**< lower-case 8-4-4-4-12 */
  const char *tipo;
  const char *versao_schema;
  const char *timestamp; /**< RFC 3339, UTC, 1/100 s */
  const char *origem;
  const char *correlacao_id; /**< may be NULL when read */
  const char *payload;       /**< JSON text */
  size_t payload_size;       /**< bytes */
  trilha_payload_state payload_estado;
  const char *criado_em; /**< RFC 3339, UTC, 1/100 s */
  /* Trilha's own, NULL or 0 where not given at publish */
  const char *tenant_id, *company_id, *aggregate_type, *aggregate_key;
  int64_t aggregate_sequence;
  const char *causation_id, *traceparent, *tracestate;
} trilha_event;

/** Appends the event as one JSON object with the specification's names (sequence_number as a string) to a new
 * terminated string: the caller's, freed with trilha_free(). */
TRILHA_API trilha_status trilha_event_to_json(const trilha_event *event, char **ret_json, size_t *ret_size,
                                              trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_free(void *memory);

/** What a colony asks to publish (PublicarEventoDto, section 3.1). Zero-initialise; absent texts have data NULL. */
typedef struct trilha_publication {
  trilha_text tipo;          /**< obligatory, 1–255 characters */
  trilha_text origem;        /**< obligatory, 1–100 characters */
  trilha_text payload;       /**< obligatory: JSON text of an object, at most 1,048,576 bytes */
  trilha_text event_id;      /**< optional UUID; default: a new UUIDv4 */
  trilha_text versao_schema; /**< optional, default "1.0.0" */
  trilha_text timestamp;     /**< optional ISO-8601 with Z or offset; default: now */
  trilha_text correlacao_id; /**< optional UUID; default: event_id */
  trilha_text tenant_id, company_id, aggregate_type, aggregate_key; /**< optional, at most 255 characters each */
  int64_t aggregate_sequence;                                       /**< optional, from 1; 0: none */
  trilha_text causation_id;                                         /**< optional UUID */
  /** Optional, W3C Trace Context. A handle that exports spans stores the context of its own span `event.publish`, a
   * child of this one, or of the handler that runs on this thread; any other stores what is given. */
  trilha_text traceparent, tracestate;
} trilha_publication;

/** One reason why a payload was refused. Never carries a value of the payload. */
typedef struct trilha_payload_error {
  const char *instance_pointer; /**< JSON Pointer into the payload; names the schema does not list read "*" */
  const char *schema_pointer;   /**< JSON Pointer into the schema */
  const char *keyword;          /**< e.g. "required" */
  const char *text;             /**< for people */
} trilha_payload_error;

/** Whether a repeated id came with the same content as the stored one (ruling R21). */
typedef enum trilha_content {
  TRILHA_CONTENT_NEW = 0, /**< stored by this call */
  TRILHA_CONTENT_SAME = 1,
  TRILHA_CONTENT_DIFFERENT = 2, /**< the stored record came back; it is not what you sent */
  TRILHA_CONTENT_UNKNOWN = 3    /**< cannot tell: the key that signed the stored row is gone, or raw SQL wrote it */
} trilha_content;

/** What became of one publication. Release with trilha_publish_result_done(). */
typedef struct trilha_publish_result {
  trilha_status status;
  trilha_error error;        /**< set when status is not OK */
  const trilha_event *event; /**< on OK: the stored record, payload complete; of a duplicate: as stored, redacted */
  bool duplicate;            /**< the event_id was there already; nothing was delivered again */
  trilha_content content;
  const trilha_payload_error *payload_errors; /**< on INVALID because of the payload: every error, in order */
  size_t payload_error_count;
  void *memory; /**< owns the above */
} trilha_publish_result;

/** Publishes one event: the nine steps of section 3.3 in their order. When it returns OK the event is on disk.
 * Concurrent calls share transactions. ret_result is filled whatever the outcome (status, error and payload_errors on
 * failure). Errors: INVALID (format, type, payload), LIMIT, UNAVAILABLE (nothing stored), OUTCOME_UNKNOWN (repeat with
 * the same event_id to find out), TIMEOUT. */
TRILHA_API trilha_status trilha_publish(trilha *handle, const trilha_publication *publication,
                                        trilha_publish_result *ret_result, trilha_error *error) TRILHA_MUST_USE;
/** Publishes many in their order, each on its own merits: a refused one does not stop the rest. Returns OK when every
 * one is OK, else the first failure. ret_results has `count` places, all filled whatever the outcome. Not one
 * transaction: batches of at most options.batch_max. */
TRILHA_API trilha_status trilha_publish_many(trilha *handle, const trilha_publication *publications, size_t count,
                                             trilha_publish_result *ret_results, trilha_error *error) TRILHA_MUST_USE;
/** Whether the publication would be accepted, and what would be stored of it: steps 1 to 6 of section 3.3 and nothing
 *  more. On OK event has the redacted payload, sequence_number 0 and no criado_em. Nothing is written, and a repeated
 *  id is not looked up. ret_result is filled whatever the outcome, as by trilha_publish(). */
TRILHA_API trilha_status trilha_publish_check(trilha *handle, const trilha_publication *publication,
                                              trilha_publish_result *ret_result, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_publish_result_done(trilha_publish_result *result);

/* --- reading ------------------------------------------------------------------------------------------- */

/** Filters of a query (section 4.3), combined with AND; ranges are inclusive at both ends. Zero-initialise. */
typedef struct trilha_events_filter {
  trilha_text tipo, origem, correlacao_id;
  trilha_text timestamp_inicio, timestamp_fim; /**< ISO-8601 with Z or offset, full precision */
  int64_t sequence_inicio, sequence_fim;       /**< from 1; 0: open */
  int64_t limite;                              /**< 0: 100; above 500: lowered to 500 */
  int64_t deslocamento;                        /**< rows to skip */
  bool without_total; /**< the page does not count what matches: with sequence_inicio behind the last row that was seen,
                         a page costs what it holds, however long the log */
} trilha_events_filter;

typedef struct trilha_events_page {
  const trilha_event *linhas; /**< by sequence ascending */
  size_t count;
  int64_t total; /**< what matches, of the same snapshot; -1: without_total */
  int64_t limite, deslocamento;
  bool more; /**< rows follow the last one of this page */
  void *memory;
} trilha_events_page;

TRILHA_API trilha_status trilha_events_query(trilha *handle, const trilha_events_filter *filter,
                                             trilha_events_page **ret_page, trilha_error *error) TRILHA_MUST_USE;
/** Events of one correlation id, at most 500 (section 5.4). */
TRILHA_API trilha_status trilha_events_trace(trilha *handle, trilha_text correlacao_id, trilha_events_page **ret_page,
                                             trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_events_page_free(trilha_events_page *page);

/** NOT_FOUND ("Evento não encontrado") when there is none. Free with trilha_event_free(). */
TRILHA_API trilha_status trilha_event_get(trilha *handle, trilha_text event_id, trilha_event **ret_event,
                                          trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_event_free(trilha_event *event);

/** The specified replay (section 4.4): all events after a sequence, of the given types (count 0: all), gathered in
 * pages of 1,000, at most 100 pages. */
typedef struct trilha_replayed {
  const trilha_event *events;
  size_t count;
  bool ceiling_reached; /**< more may exist: continue from `cursor` */
  int64_t cursor;       /**< the last sequence gathered, or the one asked for */
  void *memory;
} trilha_replayed;
TRILHA_API trilha_status trilha_replay(trilha *handle, int64_t after, const trilha_text *types, size_t type_count,
                                       trilha_replayed **ret_replayed, trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_replayed_free(trilha_replayed *replayed);

/** Called for each event, in order; borrowed for the call. Anything but OK stops the replay and is returned. The
 * callback may call Trilha. */
typedef trilha_status (*trilha_event_handler)(void *user, const trilha_event *event, trilha_error *error);

/** Streaming replay: no ceiling, constant memory, short reads (no snapshot is held while the handler runs). */
typedef struct trilha_stream_options {
  int64_t after; /**< sequence to start after; 0: the beginning */
  const trilha_text *types;
  size_t type_count;         /**< 0: all types */
  bool follow;               /**< true: never ends by itself, waits for new events (tail) */
  const volatile bool *stop; /**< optional: set it to end cleanly within `wait_ms`; plainly from a signal handler, from
                                another thread by an atomic store (`__atomic_store_n`): it is read atomically */
  unsigned wait_ms;          /**< longest wait between looks at `stop` while following; default 250 */
  int64_t until;             /**< last sequence to deliver; 0: none */
} trilha_stream_options;
/** *ret_cursor (may be NULL) is the sequence up to which everything was delivered or is of another type; set on failure
 * too. */
TRILHA_API trilha_status trilha_replay_stream(trilha *handle, const trilha_stream_options *options,
                                              trilha_event_handler handler, void *user, int64_t *ret_cursor,
                                              trilha_error *error) TRILHA_MUST_USE;

/** Largest sequence over committed rows; 0 only for an empty log. */
TRILHA_API trilha_status trilha_last_sequence(trilha *handle, int64_t *ret_sequence,
                                              trilha_error *error) TRILHA_MUST_USE;
/** Id of the event with the largest sequence; NOT_FOUND for an empty log. out has at least 37 bytes. */
TRILHA_API trilha_status trilha_last_event_id(trilha *handle, char *out, trilha_error *error) TRILHA_MUST_USE;

/* --- registry ------------------------------------------------------------------------------------------ */

/** One version of an event type, to register. */
typedef struct trilha_type_version {
  trilha_text tipo;      /**< 1–255 characters */
  trilha_text versao;    /**< semver, at most 20 characters */
  trilha_text descricao; /**< optional */
  trilha_text status;    /**< "ativo" (default) or "deprecated" */
  trilha_text schema;    /**< JSON Schema 2020-12 with x-redacao rules, as JSON text */
} trilha_type_version;

typedef enum trilha_registry_change {
  TRILHA_REGISTRY_UNCHANGED = 0,
  TRILHA_REGISTRY_ADDED = 1,
  TRILHA_REGISTRY_STATUS_CHANGED = 2, /**< status or description */
  TRILHA_REGISTRY_REFUSED = 3
} trilha_registry_change;

typedef struct trilha_registry_result {
  trilha_registry_change change;
  trilha_error
      error; /**< why it was refused: schema errors, or CONFLICT with the first difference of a published version */
} trilha_registry_result;

/** Registers versions, all or none. A published version is immutable: the same content is a no-op, other content is
 * refused. dry_run: only says what would happen. ret_results (may be NULL) has `count` places and is filled whatever
 * the outcome. `user` names who did it in the audit trail. */
TRILHA_API trilha_status trilha_registry_apply(trilha *handle, const trilha_type_version *versions, size_t count,
                                               bool dry_run, trilha_text user, trilha_registry_result *ret_results,
                                               trilha_error *error) TRILHA_MUST_USE;
/** Marks a version (or, with versao absent, every version of the type) deprecated: it is no longer published, still
 * read and replayed. */
TRILHA_API trilha_status trilha_registry_deprecate(trilha *handle, trilha_text tipo, trilha_text versao, bool dry_run,
                                                   trilha_text user, trilha_error *error) TRILHA_MUST_USE;

typedef struct trilha_registered_type {
  const char *tipo, *versao, *descricao, *status, *schema,
      *criado_em; /**< schema: JSON text, NULL for a version without one */
} trilha_registered_type;
typedef struct trilha_registered_types {
  const trilha_registered_type *items; /**< by type, then by registration */
  size_t count;
  void *memory;
} trilha_registered_types;
/** tipo absent: all types. */
TRILHA_API trilha_status trilha_registry_list(trilha *handle, trilha_text tipo, trilha_registered_types **ret_types,
                                              trilha_error *error) TRILHA_MUST_USE;
TRILHA_API void trilha_registered_types_free(trilha_registered_types *types);

/* --- telemetry ------------------------------------------------------------------------------------------ */

/** What became of spans so far, and of requests to the collector. */
typedef struct trilha_otlp_counts {
  int64_t spans_waiting;
  int64_t spans_sent;      /**< the collector took them */
  int64_t spans_dropped;   /**< the queue was full, or the collector did not take them */
  int64_t requests_failed; /**< each try counts */
} trilha_otlp_counts;
/** UNSUPPORTED (OTLP_OFF) on a handle that was opened without options.otlp.endpoint. */
TRILHA_API trilha_status trilha_otlp_count(trilha *handle, trilha_otlp_counts *ret_counts,
                                           trilha_error *error) TRILHA_MUST_USE;

/* --- installing ---------------------------------------------------------------------------------------- */

/** Called for each migration: its name and "applied", "present", "adopted" or "pending" (dry run). */
typedef void (*trilha_migration_report)(void *user, const char *name, const char *what);
/** Creates or upgrades the schema of the store, under a lock, each migration once (`trilha init`). */
TRILHA_API trilha_status trilha_migrate(const trilha_options *options, bool dry_run, trilha_migration_report report,
                                        void *user, trilha_error *error) TRILHA_MUST_USE;
/** The SQL that trilha_migrate() would run, for "sqlite" or "postgresql", with roles and grants: the caller's, freed
 * with trilha_free(). */
TRILHA_API trilha_status trilha_migrations_sql(const char *kind, char **ret_sql, trilha_error *error) TRILHA_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
