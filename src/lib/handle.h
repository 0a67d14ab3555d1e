/* lib: the open handle, put together. Room: lib, inside. */
#ifndef TRILHA_LIB_HANDLE_H
#define TRILHA_LIB_HANDLE_H

#include <sys/types.h>

#include "bus/deliver.h"
#include "consumer/service.h"
#include "otlp/otlp.h"
#include "trilha/trilha.h"

struct trilha {
  pid_t opened_by; /* handles do not survive fork(): sockets and file locks would be shared */
  trilha_store *store;
  trilha_keyring *keyring;
  trilha_registry *registry;
  trilha_eventlog *log;
  trilha_deadletter *deadletter;
  trilha_diagnostics diagnostics;
  trilha_bus *bus;
  char *user;                  /* NULL: unknown */
  trilha_service *service;     /* answers requests for the subscriptions made here */
  trilha_telemetry *telemetry; /* NULL: nothing is measured */
  trilha_otlp *otlp;           /* sends what telemetry holds */
};

/* Nothing without an endpoint. */
trilha_status trilha_handle_measure(trilha *handle, const trilha_otlp_options *options,
                                    trilha_error *err) TRILHA_MUST_USE;

/* USAGE when the handle is NULL or belongs to the parent process. */
trilha_status trilha_handle_check(const trilha *handle, trilha_error *err) TRILHA_MUST_USE;

typedef struct trilha_adapter {
  trilha_status (*open)(const trilha_store_options *options, trilha_store **ret_store, trilha_error *err);
  trilha_status (*migrations_sql)(trilha_buffer *out, trilha_error *err);
} trilha_adapter;

/* The adapter for a URL ("sqlite:…", "postgresql://…", "postgres://…") or a bare kind; NULL when none takes it. */
const trilha_adapter *trilha_adapter_find(trilha_text url_or_kind);

#endif
