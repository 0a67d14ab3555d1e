/* redaction: what of a payload may be stored (docs/adr on redaction; specification 000, sections 2 and 4.7). Room:
 * redaction. Corridor. */
#ifndef TRILHA_REDACTION_REDACTION_H
#define TRILHA_REDACTION_REDACTION_H

#include "json/json.h"
#include "schema/schema.h"

#define TRILHA_REDACTION_KEYWORD "x-redacao"

/* --- keyring: root keys outside the database. Immutable once loaded; thread-safe. ------------------------ */

typedef struct trilha_keyring trilha_keyring;

/* source: "file:PATH" (refused unless mode & 077 == 0), "env:NAME", "credential:NAME" ($CREDENTIALS_DIRECTORY/NAME).
 * Text format, one key a line, the newest last: kid:base64-of-32-or-more-bytes      (kid: 1–16 of [a-z0-9-]; '#' begins
 * a comment) Errors: USAGE, NOT_FOUND, DENIED, INVALID; the text never shows key material. */
trilha_status trilha_keyring_load(trilha_text source, trilha_keyring **ret_keyring, trilha_error *err) TRILHA_MUST_USE;
void trilha_keyring_free(trilha_keyring *keyring);
/* Appends a fresh random key line under `kid` to the file (created 0600), keeping the others. */
trilha_status trilha_keyring_add(trilha_text path, trilha_text kid, trilha_error *err) TRILHA_MUST_USE;
/* Whether that would be refused because of the kid or of what the file holds; makes and writes nothing. */
trilha_status trilha_keyring_add_check(trilha_text path, trilha_text kid, trilha_error *err) TRILHA_MUST_USE;

/* The content digest of ruling R21 for the event log: "<kid>:<base64url of 32 bytes>" over the canonical value of the
 * payload plus the explicitly given fields
 * (`fields`: already joined by the caller, U+0000 between). Appends to out. Keyring NULL: appends nothing. */
trilha_status trilha_keyring_digest(const trilha_keyring *keyring, trilha_text kid_or_absent, trilha_text fields,
                                    const trilha_json_value *payload, trilha_buffer *out,
                                    trilha_error *err) TRILHA_MUST_USE;
bool trilha_keyring_has(const trilha_keyring *keyring, trilha_text kid);

/* --- rules ----------------------------------------------------------------------------------------------- */

/* Checks every x-redacao of a schema at registration: known rule values only; a schema without any rule is refused
 * (code REDACTION_NO_RULES); `manter` for a whole object or array only at the root; lat/lng pairs under the same rule
 * (code REDACTION_COORDINATES). *ret_needs_key: some rule is "hash". */
trilha_status trilha_redaction_check(const trilha_json_document *schema, bool *ret_needs_key,
                                     trilha_error *err) TRILHA_MUST_USE;

/* What one redaction did: counted, never shown. */
typedef struct trilha_redaction_counts {
  uint32_t kept, hashed, rounded, removed; /* leaves */
  uint32_t removed_without_rule;           /* of `removed`: no rule said so (deny by default) */
} trilha_redaction_counts;

/* Called for each leaf removed without a rule: pointer with names the schema does not list as "*", indexes as "*". */
typedef void (*trilha_redaction_unruled)(void *user, trilha_text pointer);

/* Appends the redacted payload as JSON text. The document must have been found valid by `schema` (compiled with
 * annotation x-redacao). INVALID code REDACTION_KEY_MISSING: a hash rule met without a key. LIMIT: schema budget.
 * Result at most TRILHA_REDACTED_BYTES_MAX. `scratch` is used up. */
#define TRILHA_REDACTED_BYTES_MAX ((size_t)8 << 20)
trilha_status trilha_redact(const trilha_schema *schema, const trilha_json_document *document,
                            const trilha_json_keys *keys, trilha_schema_scratch *scratch, trilha_text tipo,
                            const trilha_keyring *keyring, trilha_buffer *out, trilha_redaction_counts *ret_counts,
                            trilha_redaction_unruled unruled, void *user, trilha_error *err) TRILHA_MUST_USE;

#endif
