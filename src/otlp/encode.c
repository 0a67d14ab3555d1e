/* otlp/encode: what every request is made of. Names of members are those of the JSON mapping of Protocol Buffers
 * (lowerCamelCase); 64-bit numbers are strings there. */
#include "json/json.h"
#include "otlp/otlp_internal.h"

void trilha_otlp_write_text(trilha_buffer *out, bool *first, const char *key, trilha_text value) {
  if (value.data == NULL) return;
  trilha_buffer_add_format(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", *first ? "" : ",", key);
  trilha_json_write_string(out, value);
  trilha_buffer_add_string(out, "}}");
  *first = false;
}

void trilha_otlp_write_number(trilha_buffer *out, bool *first, const char *key, int64_t value) {
  trilha_buffer_add_format(out, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}", *first ? "" : ",", key,
                           (long long)value);
  *first = false;
}

void trilha_otlp_write_time(trilha_buffer *out, const char *name, int64_t us, int64_t more_ns) {
  trilha_buffer_add_format(out, ",\"%s\":\"%lld\"", name, (long long)(us * 1000 + more_ns));
}

void trilha_otlp_write_resource(const trilha_otlp_resource *resource, trilha_buffer *out) {
  bool first = true;
  trilha_buffer_add_string(out, "\"resource\":{\"attributes\":[");
  trilha_otlp_write_text(out, &first, "service.name", trilha_text_of(resource->service_name));
  trilha_otlp_write_text(out, &first, "service.instance.id", trilha_text_of(resource->instance_id));
  trilha_otlp_write_text(out, &first, "telemetry.sdk.name", TRILHA_TEXT("trilha"));
  trilha_otlp_write_text(out, &first, "telemetry.sdk.language", TRILHA_TEXT("c"));
  trilha_otlp_write_text(out, &first, "telemetry.sdk.version", trilha_text_of(TRILHA_VERSION));
  trilha_buffer_add_string(out, "]}");
}

void trilha_otlp_write_scope(trilha_buffer *out) {
  trilha_buffer_add_string(out, "\"scope\":{\"name\":\"trilha\",\"version\":\"" TRILHA_VERSION "\"}");
}
