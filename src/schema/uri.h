/* schema/uri: resolving URI references (RFC 3986, section 5). Room: schema, inside. Thread-safe. */
#ifndef TRILHA_SCHEMA_URI_H
#define TRILHA_SCHEMA_URI_H

#include "base/text.h"

/* Parts without their delimiters; an absent part has data NULL, except path, which is always there. */
typedef struct schema_uri {
  trilha_text scheme, authority, path, query, fragment;
} schema_uri;

schema_uri trilha_schema_uri_split(trilha_text text);
/* Appends `reference` resolved against `base`, without its fragment. With a base that is absent or relative the
 * result may be relative. */
void trilha_schema_uri_resolve(trilha_buffer *out, trilha_text base, trilha_text reference);
/* Appends `text` with %XX decoded; a malformed escape stays as it is. */
void trilha_schema_uri_decode(trilha_buffer *out, trilha_text text);

#endif
