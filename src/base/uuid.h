/* base/uuid: ids (ruling R4). Room: base. Thread-safe. */
#ifndef TRILHA_BASE_UUID_H
#define TRILHA_BASE_UUID_H

#include "base/text.h"

enum { TRILHA_UUID_TEXT_SIZE = 37 };
/* 8-4-4-4-12 hexadecimal in any letter case, whatever version and variant; nothing else. */
bool trilha_uuid_parse(trilha_text text, unsigned char out[16]);
/* Lower case, terminated. */
void trilha_uuid_format(const unsigned char id[16], char out[TRILHA_UUID_TEXT_SIZE]);
/* From the system's random source; false only when that fails. */
bool trilha_uuid_v4(unsigned char out[16]);
bool trilha_uuid_v7(unsigned char out[16], int64_t wall_us);
bool trilha_random_bytes(void *out, size_t size);

#endif
