/* fuzz: a pattern and a subject, split at the first byte 0xFF: the shapes and automata answer what PCRE2 answers, and
 * every format stays within its text. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "schema/format.h"
#include "schema/pattern_internal.h"

enum { PATTERN_BYTES_MAX = 256, SUBJECT_BYTES_MAX = 1024, AGED = 0x250 };

/* libutf8proc and PCRE2 follow Unicode at their own pace: what \p says of young characters may differ. */
static bool may_differ(trilha_text pattern, trilha_text subject) {
  bool property = false;
  for (size_t i = 0; i + 1 < pattern.size; i++)
    property |= pattern.data[i] == '\\' && (pattern.data[i + 1] | 0x20) == 'p';
  for (size_t at = 0; property && at < subject.size;)
    if (trilha_utf8_next(subject.data, subject.size, &at) >= AGED) return true;
  return false;
}

static void compare(trilha_text text, trilha_text subject) {
  trilha_pattern *pattern = NULL, *engine = NULL;
  trilha_pattern_scratch *scratch = NULL;
  trilha_error err = {0};
  trilha_status status = trilha_pattern_compile(text, NULL, &pattern, &err);
  CHECK(status == TRILHA_OK || status == TRILHA_INVALID || status == TRILHA_LIMIT);
  CHECK(status != TRILHA_OK || trilha_pattern_is_valid(text));
  CHECK((status == TRILHA_OK) == (err.code[0] == '\0'));
  bool both = status == TRILHA_OK && trilha_pattern_compile_engine(text, &engine, NULL) == TRILHA_OK;
  if (status == TRILHA_OK && trilha_pattern_scratch_new(&scratch, NULL) == TRILHA_OK) {
    trilha_match ours = trilha_pattern_match(pattern, subject, scratch);
    trilha_match theirs = both ? trilha_pattern_match(engine, subject, scratch) : TRILHA_MATCH_UNDECIDED;
    CHECK(ours != TRILHA_MATCH_UNDECIDED || trilha_pattern_way_of(pattern) == TRILHA_WAY_ENGINE);
    CHECK(ours == theirs || theirs == TRILHA_MATCH_UNDECIDED || may_differ(text, subject));
  }
  trilha_pattern_scratch_free(scratch);
  trilha_pattern_free(engine);
  trilha_pattern_free(pattern);
}

static void try_formats(trilha_text text) {
  static const char *const names[] = {
      "date-time", "date",          "time", "duration",     "email",        "idn-email",
      "hostname",  "idn-hostname",  "ipv4", "ipv6",         "uri",          "uri-reference",
      "iri",       "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer",
      "regex"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) (void)trilha_format_find(trilha_text_of(names[i]))(text);
}

void trilha_fuzz(const char *data, size_t size) {
  const char *split = size == 0 ? NULL : memchr(data, 0xFF, size);
  trilha_text pattern = {data, split == NULL ? size : (size_t)(split - data)};
  trilha_text subject = {split == NULL ? "" : split + 1, split == NULL ? 0 : size - pattern.size - 1};
  if (pattern.size > PATTERN_BYTES_MAX || subject.size > SUBJECT_BYTES_MAX) return;
  if (!trilha_utf8_valid(subject.data, subject.size)) return;
  try_formats(subject);
  compare(pattern, subject);
}
