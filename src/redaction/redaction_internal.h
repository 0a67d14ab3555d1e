/* redaction/redaction_internal: keys, tokens and rules shared by the files of this room. Room: redaction. Inside. */
#ifndef TRILHA_REDACTION_INTERNAL_H
#define TRILHA_REDACTION_INTERNAL_H

#include "base/hash.h"
#include "redaction/redaction.h"

/* --- keys ------------------------------------------------------------------------------------------------ */

enum {
  TRILHA_KID_SIZE_MAX = 16,            /* bytes of a key id */
  TRILHA_ROOT_KEY_SIZE_MIN = 32,       /* bytes of a root key, decoded */
  TRILHA_ROOT_KEY_SIZE_MAX = 1024,     /* nobody needs more; bounds the line */
  TRILHA_KEYRING_KEYS_MAX = 64,        /* live keys */
  TRILHA_KEYRING_BYTES_MAX = 64 * 1024 /* of the text */
};

/* What is derived from one root key; the root key itself is forgotten once this is made. */
typedef struct trilha_key {
  char kid[TRILHA_KID_SIZE_MAX];
  size_t kid_size;
  trilha_hmac_key *redaction; /* HKDF "trilha redaction v1": tokens */
  trilha_hmac_key *digest;    /* HKDF "trilha digest v1": content digests (ruling R21) */
} trilha_key;

struct trilha_keyring {
  size_t count;                             /* at least 1 */
  trilha_key keys[TRILHA_KEYRING_KEYS_MAX]; /* oldest first: the last one writes */
};

static inline trilha_text trilha_key_kid(const trilha_key *key) {
  return (trilha_text){key->kid, key->kid_size};
}
static inline const trilha_key *trilha_keyring_newest(const trilha_keyring *keyring) {
  return &keyring->keys[keyring->count - 1];
}
/* NULL when there is none of that id. */
const trilha_key *trilha_keyring_find(const trilha_keyring *keyring, trilha_text kid);
bool trilha_kid_valid(trilha_text kid);
/* Parses the text format. The error names the line, never its content. `allow_empty`: no key at all is fine. */
trilha_status trilha_keyring_parse(trilha_text content, bool allow_empty, trilha_keyring *keyring,
                                   trilha_error *err) TRILHA_MUST_USE;
/* Reads an open file to its end, bounded by TRILHA_KEYRING_BYTES_MAX. `shown` names it in errors. */
trilha_status trilha_keyring_read_fd(int fd, const char *shown, trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;
/* DENIED (KEYRING_MODE) unless a regular file that only its owner may touch. */
trilha_status trilha_keyring_check_mode(int fd, const char *shown, trilha_error *err) TRILHA_MUST_USE;
/* Frees a buffer that held key material, wiped. */
void trilha_keyring_wipe(trilha_buffer *buffer);

/* --- NFC ------------------------------------------------------------------------------------------------- */

/* Whether a valid UTF-8 text is certain to be its own NFC; false: it may be all the same. */
bool trilha_nfc_is_certain(trilha_text text);
/* Appends a valid UTF-8 text in NFC; `points` is room for its code points, wiped by whoever owns it. */
trilha_status trilha_nfc_append(trilha_text text, trilha_buffer *points, trilha_buffer *out,
                                trilha_error *err) TRILHA_MUST_USE;

/* --- tokens ---------------------------------------------------------------------------------------------- */

enum { TRILHA_TOKEN_DIGITS = 22 }; /* base64url characters of the MAC that are kept: 132 bits */

/* "h1:<kid>:<22 base64url>", whatever key made it. */
bool trilha_token_is(trilha_text text);

/* Memory that the tokens of one redaction share, so that a leaf allocates nothing once it is warm. */
typedef struct trilha_token_work {
  trilha_buffer message; /* what is signed: "trilha", tipo and pointer, then the text of the leaf */
  trilha_buffer points;  /* code points while a text is brought to NFC */
  size_t prefix_size;    /* bytes of message up to and with U+0000 after tipo */
} trilha_token_work;

void trilha_token_work_init(trilha_token_work *work, trilha_text tipo);
void trilha_token_work_done(trilha_token_work *work);
/* Appends the token (without quotes) of one leaf at `pointer`: NFC and trimmed text, canonical decimal, "true",
 * "false", "null". */
trilha_status trilha_token_write(trilha_token_work *work, const trilha_key *key, trilha_text pointer,
                                 const trilha_json_value *leaf, trilha_buffer *out, trilha_error *err) TRILHA_MUST_USE;

/* --- rules ----------------------------------------------------------------------------------------------- */

enum {
  TRILHA_RULE_NONE = 0,
  TRILHA_RULE_KEEP = 1,
  TRILHA_RULE_HASH = 2,
  TRILHA_RULE_REMOVE = 3,
  TRILHA_RULE_ROUND = 16, /* + decimal places, 0 to TRILHA_RULE_PLACES_MAX */
  TRILHA_RULE_PLACES_MAX = 15
};

/* The rule that a value of x-redacao states, or TRILHA_RULE_NONE when it states none. */
uint8_t trilha_rule_of(const trilha_json_value *value);
static inline bool trilha_rule_rounds(uint8_t rule) {
  return rule >= TRILHA_RULE_ROUND;
}

/* The other name of a coordinate pair ("lat" → "lng" or "lon" or "long", "latitude" → "longitude"), any letter case, in
 * the order of preference; an absent text when `name` is no coordinate or has no further partner. n counts from 0. */
trilha_text trilha_coordinate_partner(trilha_text name, size_t n);
bool trilha_coordinate_names_equal(trilha_text a, trilha_text b);

#endif
