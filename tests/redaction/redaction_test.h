/* redaction tests: small helpers shared by the files of this folder. */
#ifndef TRILHA_TESTS_REDACTION_TEST_H
#define TRILHA_TESTS_REDACTION_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "redaction/redaction.h"

/* Root keys of 32 bytes: 0x00…0x1f and 0x20…0x3f. */
#define KEY_A "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define KEY_B "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"

static inline trilha_json_document *document_of(const char *text) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  trilha_error err = {0};
  if (trilha_json_parse(trilha_text_of(text), &limits, &document, NULL, &err) != TRILHA_OK)
    fail_msg("%s: %s", text, err.text);
  return document;
}

/* A keyring from the text format, through the environment. */
static inline trilha_keyring *keyring_of(const char *lines) {
  trilha_keyring *keyring = NULL;
  trilha_error err = {0};
  setenv("TRILHA_TEST_KEYRING", lines, 1);
  if (trilha_keyring_load(TRILHA_TEXT("env:TRILHA_TEST_KEYRING"), &keyring, &err) != TRILHA_OK)
    fail_msg("%s", err.text);
  unsetenv("TRILHA_TEST_KEYRING");
  return keyring;
}

#endif
