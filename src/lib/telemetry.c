/* lib/telemetry: what a handle measures, and its exporter. */
#include "base/error.h"
#include "lib/handle.h"

trilha_status trilha_handle_measure(trilha *handle, const trilha_otlp_options *options, trilha_error *err) {
  size_t spans_max;
  if (options->endpoint == NULL) return TRILHA_OK;
  trilha_status status = trilha_otlp_queue_size(options, &spans_max, err);
  if (status == TRILHA_OK) status = trilha_telemetry_new(spans_max, &handle->telemetry, err);
  if (status == TRILHA_OK)
    status = trilha_otlp_start(options, handle->telemetry, &handle->diagnostics, &handle->otlp, err);
  return status;
}

trilha_status trilha_otlp_count(trilha *handle, trilha_otlp_counts *ret_counts, trilha_error *error) {
  trilha_status status = trilha_handle_check(handle, error);
  if (status != TRILHA_OK) return status;
  if (ret_counts == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the place for the counts must not be NULL");
  if (handle->otlp == NULL)
    return trilha_error_set(error, TRILHA_UNSUPPORTED, "OTLP_OFF",
                            "this handle exports nothing: open it with options.otlp.endpoint");
  trilha_otlp_counted(handle->otlp, ret_counts);
  return TRILHA_OK;
}
