/* store/postgres: opening and closing the store. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "delivery.h"
#include "postgres_internal.h"

static void close_store(trilha_store *store) {
  if (store == NULL) return;
  trilha_pg_store *s = trilha_pg_of(store);
  trilha_pg_signals_free(s->signals);
  trilha_pg_disconnect(&s->writer);
  for (unsigned i = 0; i < s->reader_count; i++) trilha_pg_disconnect(&s->readers[i]);
  pthread_cond_destroy(&s->freed);
  pthread_mutex_destroy(&s->lock);
  if (s->target.password != NULL) {
    explicit_bzero(s->target.password, strlen(s->target.password));
    explicit_bzero(s->target.url, strlen(s->target.url));
  }
  free(s->target.password);
  free(s->target.url);
  free(s->display_url);
  free(s);
}

static const char *kind(const trilha_store *store) {
  (void)store;
  return "postgresql";
}

static const char *display_url(const trilha_store *store) {
  return ((const trilha_pg_store *)store)->display_url;
}

static const trilha_store_operations operations = {
    .close = close_store,
    .append = trilha_pg_append,
    .event_by_id = trilha_pg_event_by_id,
    .events_query = trilha_pg_events_query,
    .events_after = trilha_pg_events_after,
    .last_event = trilha_pg_last_event,
    .wait = trilha_pg_wait,
    .registry_revision = trilha_pg_registry_revision,
    .types_list = trilha_pg_types_list,
    .types_apply = trilha_pg_types_apply,
    .audit_insert = trilha_pg_audit_insert,
    .audit_list = trilha_pg_audit_list,
    .migrate = trilha_pg_migrate,
    .kind = kind,
    .display_url = display_url,
};

static int64_t or_default(int64_t value, int64_t otherwise) {
  return value > 0 ? value : otherwise;
}

static void init_shared(trilha_pg_store *s) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->freed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&s->lock, NULL);
}

static trilha_pg_store *new_store(const trilha_store_options *o) {
  enum { LOCK_MS = 30000, CONNECT_MS = 10000, READERS = 4 };
  trilha_pg_store *s = calloc(1, sizeof *s);
  if (s == NULL) return NULL;
  init_shared(s);
  s->port.op = &operations;
  s->port.delivery = &trilha_postgres_delivery;
  s->target.connect_timeout_ms = or_default(o->connect_timeout_ms, CONNECT_MS);
  s->lock_timeout_ms = or_default(o->lock_timeout_ms, LOCK_MS);
  s->scan_interval_ms = or_default(o->scan_interval_ms, TRILHA_STORE_SCAN_MS_POSTGRES);
  s->durable = !o->unsafe_no_fsync;
  s->diagnostics = o->diagnostics;
  s->reader_count = o->readers_max == 0 ? READERS : o->readers_max;
  if (s->reader_count > TRILHA_PG_READERS_MAX) s->reader_count = TRILHA_PG_READERS_MAX;
  s->page_rows = TRILHA_PG_PAGE_ROWS_START;
  return s;
}

static trilha_status keep_password(trilha_pg_target *target, trilha_error *err) {
  PQconninfoOption *options = PQconninfoParse(target->url, NULL);
  if (options == NULL) return trilha_error_no_memory(err); /* it was parsed a moment ago */
  bool failed = false;
  for (PQconninfoOption *o = options; o->keyword != NULL; o++)
    if (strcmp(o->keyword, "password") == 0 && o->val != NULL) failed = (target->password = strdup(o->val)) == NULL;
  PQconninfoFree(options);
  return failed ? trilha_error_no_memory(err) : TRILHA_OK;
}

static trilha_status take_url(trilha_pg_store *s, trilha_text url, trilha_error *err) {
  trilha_status status = trilha_pg_url_check(url, err);
  if (status == TRILHA_OK) status = trilha_libpq_load(err);
  if (status != TRILHA_OK) return status;
  s->target.url = strndup(url.data, url.size);
  if (s->target.url == NULL) return trilha_error_no_memory(err);
  status = trilha_pg_url_display(s->target.url, &s->display_url, err);
  return status == TRILHA_OK ? keep_password(&s->target, err) : status;
}

trilha_status trilha_pg_open_bare(const trilha_store_options *options, trilha_pg_store **ret_store, trilha_error *err) {
  trilha_pg_store *s = new_store(options);
  if (s == NULL) return trilha_error_no_memory(err);
  trilha_status status = take_url(s, options->url, err);
  if (status == TRILHA_OK)
    *ret_store = s;
  else
    close_store(&s->port);
  return status;
}

void trilha_pg_close(trilha_pg_store *take_store) {
  if (take_store != NULL) close_store(&take_store->port);
}

trilha_status trilha_postgres_open(const trilha_store_options *options, trilha_store **ret_store, trilha_error *err) {
  trilha_pg_store *s = new_store(options);
  if (s == NULL) return trilha_error_no_memory(err);
  trilha_status status = take_url(s, options->url, err);
  if (status == TRILHA_OK) status = trilha_pg_signals_new(s, &s->signals, err);
  if (status == TRILHA_OK) {
    trilha_deadline deadline = trilha_deadline_in_ms(s->target.connect_timeout_ms);
    status = trilha_pg_check_schema(s, options->allow_unmigrated, deadline, err);
    if (status != TRILHA_OK) trilha_error_while(err, "opening %s", s->display_url);
  }
  if (status != TRILHA_OK) {
    close_store(&s->port);
    return status;
  }
  *ret_store = &s->port;
  return TRILHA_OK;
}
