/* audit: building rows. */
#include "audit/audit.h"
#include "base/error.h"
#include "json/json.h"

static bool change_type_valid(trilha_text change) {
  return trilha_text_is(change, "Created") || trilha_text_is(change, "Updated") || trilha_text_is(change, "Deleted") ||
         trilha_text_is(change, "Accessed");
}

static void write_metadata(const trilha_audit_entry *entry, trilha_buffer *out) {
  trilha_buffer_add_char(out, '{');
  for (size_t i = 0; i < entry->pair_count; i++) {
    if (i != 0) trilha_buffer_add_char(out, ',');
    trilha_json_write_string(out, trilha_text_of(entry->pairs[i].name));
    trilha_buffer_add_char(out, ':');
    if (entry->pairs[i].value.data == NULL)
      trilha_buffer_add_string(out, "null");
    else
      trilha_json_write_string(out, entry->pairs[i].value);
  }
  trilha_buffer_add_char(out, '}');
}

static bool storable(trilha_text text) {
  return trilha_utf8_valid(text.data, text.size) && trilha_text_find(text, '\0') == NULL;
}

static trilha_status check(const trilha_audit_entry *entry, trilha_error *err) {
  trilha_status status = trilha_audit_action_check(entry->action, err);
  if (status != TRILHA_OK) return status;
  if (entry->entity.size == 0 || entry->entity_id.size == 0 || !change_type_valid(entry->change_type))
    return trilha_error_set(err, TRILHA_INVALID, "AUDIT_ENTRY_INVALID",
                            "an audit entry names entity, id and change type (Created, Updated, Deleted, Accessed)");
  bool fine =
      storable(entry->entity) && storable(entry->entity_id) && (entry->user.data == NULL || storable(entry->user));
  for (size_t i = 0; fine && i < entry->pair_count; i++)
    fine = entry->pairs[i].value.data == NULL || storable(entry->pairs[i].value);
  if (!fine)
    return trilha_error_set(err, TRILHA_INVALID, "AUDIT_ENTRY_INVALID",
                            "texts of an audit entry are UTF-8 without U+0000");
  return TRILHA_OK;
}

static bool copy(trilha_arena *arena, trilha_text from, trilha_text *to) {
  char *data = trilha_arena_copy(arena, from);
  *to = (trilha_text){data, from.size};
  return data != NULL;
}

trilha_status trilha_audit_row_build(const trilha_audit_entry *entry, trilha_arena *arena, trilha_audit_row *ret_row,
                                     trilha_error *err) {
  trilha_status status = check(entry, err);
  if (status != TRILHA_OK) return status;
  TRILHA_BUFFER_SCOPED metadata = {0};
  write_metadata(entry, &metadata);
  status = trilha_buffer_check(&metadata, err);
  if (status != TRILHA_OK) return status;
  trilha_audit_row row = {0};
  trilha_text user = entry->user.data == NULL ? TRILHA_TEXT("unknown") : entry->user;
  if (!copy(arena, entry->entity, &row.entity) || !copy(arena, entry->entity_id, &row.entity_id) ||
      !copy(arena, entry->change_type, &row.change_type) || !copy(arena, entry->action, &row.action) ||
      !copy(arena, user, &row.user) || !copy(arena, trilha_buffer_text(&metadata), &row.metadata))
    return trilha_error_no_memory(err);
  *ret_row = row;
  return TRILHA_OK;
}
