/* store/colony: the name of a colony's schema (ruling R12). */
#include "store/colony.h"

#include "base/error.h"

static bool belongs_to_others(const char *name) {
  static const char *const names[] = {"core", "public", "main", "temp", "information_schema"};
  static const char *const beginnings[] = {"pg_", "sqlite_", "trilha", "core_"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0) return true;
  for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
    if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
  return false;
}

trilha_status trilha_colony_schema_name(trilha_text colonia, char out[TRILHA_COLONY_SCHEMA_SIZE], trilha_error *err) {
  size_t n = 0;
  bool ok = true;
  for (size_t i = 0; i < colonia.size && ok; i++) {
    char c = colonia.data[i];
    if (c == '-') continue;
    if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
    ok = ((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9')) && n + 1 < TRILHA_COLONY_SCHEMA_SIZE;
    if (ok) out[n++] = c;
  }
  out[n] = '\0';
  ok = ok && n > 0 && out[0] >= 'a' && out[0] <= 'z' && !belongs_to_others(out);
  if (ok) return TRILHA_OK;
  return trilha_error_set(
      err, TRILHA_INVALID, "COLONY_NAME",
      "a colony that consumes needs a name of ASCII letters, digits, hyphens and underscores, such as "
      "D-4, that begins with a letter and is not a name of the database's own");
}
