/* fuzz: the headers and the body of a signed callback (Standard Webhooks 1.0.0), and files of secrets. Whoever sends
 * them chooses every byte: nothing is let in without the secret, what is signed is let in at its own time and with its
 * own bytes only, and what is refused of a secret names nothing of it.
 *
 * An input is four parts with a line feed between: webhook-id, webhook-timestamp, webhook-signature, the body. */
#include <string.h>

#include "access/signature.h"
#include "fuzz/fuzz.h"

static const char *const SECRETS[] = {"whsec_bm9ib2R5LWtub3dzLXRoaXMtc2VjcmV0LW9mLW91cnM=",
                                      "whsec_YW5kLW5vYm9keS1rbm93cy10aGlzLW9uZS1laXRoZXI="};
enum { NOW_S = 1790000000 };

static trilha_text next_part(trilha_text *rest) {
  const char *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
  trilha_text part = {rest->data, end == NULL ? rest->size : (size_t)(end - rest->data)};
  size_t skip = end == NULL ? part.size : part.size + 1;
  *rest = (trilha_text){rest->data + skip, rest->size - skip};
  return part;
}

/* Ours behind theirs, as a receiver sees it while secrets are changed over. */
static void check_own(const trilha_signer *signer, trilha_text id, trilha_text theirs, trilha_text body) {
  TRILHA_BUFFER_SCOPED ours, both, other;
  trilha_buffer_init(&ours, 0);
  trilha_buffer_init(&both, 0);
  trilha_buffer_init(&other, 0);
  trilha_signer_sign(signer, id, NOW_S, body, &ours);
  trilha_text at = TRILHA_TEXT("1790000000"), late = TRILHA_TEXT("1790000001"), zero = TRILHA_TEXT("01790000000");
  trilha_text signatures = trilha_buffer_text(&ours);
  bool named = id.size > 0 && id.size <= TRILHA_SIGNATURE_ID_BYTES_MAX;
  CHECK(trilha_signer_accepts(signer, id, at, signatures, body, NOW_S) == named);
  CHECK(trilha_signer_accepts(signer, id, at, signatures, body, NOW_S + TRILHA_SIGNATURE_TOLERANCE_S) == named);
  CHECK(!trilha_signer_accepts(signer, id, at, signatures, body, NOW_S + TRILHA_SIGNATURE_TOLERANCE_S + 1));
  CHECK(!trilha_signer_accepts(signer, id, at, signatures, body, NOW_S - TRILHA_SIGNATURE_TOLERANCE_S - 1));
  CHECK(!trilha_signer_accepts(signer, id, late, signatures, body, NOW_S));
  CHECK(!trilha_signer_accepts(signer, id, zero, signatures, body, NOW_S)); /* one spelling of each time */
  trilha_buffer_add_text(&other, body);
  trilha_buffer_add_char(&other, '!');
  CHECK(!trilha_signer_accepts(signer, id, at, signatures, trilha_buffer_text(&other), NOW_S));
  trilha_buffer_add_text(&both, theirs);
  trilha_buffer_add_char(&both, ' ');
  trilha_buffer_add_text(&both, signatures);
  size_t words = 1;
  for (size_t i = 0; i < theirs.size; i++) words += theirs.data[i] == ' ';
  if (words + 2 <= TRILHA_SIGNATURES_MAX)
    CHECK(trilha_signer_accepts(signer, id, at, trilha_buffer_text(&both), body, NOW_S) == named);
}

static void check_secrets(trilha_text input) {
  const char *words[TRILHA_WEBHOOK_SECRETS_MAX + 1];
  trilha_signer signer;
  trilha_error err = {0};
  char *text = malloc(input.size + 1);
  CHECK(text != NULL);
  if (input.size > 0) memcpy(text, input.data, input.size);
  text[input.size] = '\0';
  size_t count = trilha_signer_words(text, words);
  CHECK(count <= TRILHA_WEBHOOK_SECRETS_MAX + 1);
  trilha_status status = trilha_signer_init(&signer, words, count, &err);
  CHECK(status == TRILHA_OK || (err.code[0] != '\0' && err.text[0] != '\0'));
  for (size_t i = 0; status != TRILHA_OK && i < count; i++) /* longer ones are no words of the message by chance */
    CHECK(strlen(words[i]) < 20 || strstr(err.text, words[i]) == NULL);
  trilha_signer_done(&signer);
  free(text);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_text rest = {data, size};
  trilha_signer signer;
  check_secrets(rest);
  CHECK(trilha_signer_init(&signer, SECRETS, 2, NULL) == TRILHA_OK);
  trilha_text id = next_part(&rest), at = next_part(&rest), signatures = next_part(&rest);
  CHECK(!trilha_signer_accepts(&signer, id, at, signatures, rest, NOW_S));
  check_own(&signer, id, signatures, rest);
  trilha_signer_done(&signer);
}
