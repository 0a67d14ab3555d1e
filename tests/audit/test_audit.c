/* audit: the vocabulary of actions (ruling R28) and the rows of the trail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/audit.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void action_of_the_vocabulary_passes(void **state) {
  (void)state;
  static const char *const good[] = {
      "nexio.approval.granted",
      "nexio.approval.revoked",
      "nexio.bank-account.authorized",
      "gryd-files.download-url.issued",
      "gryd-messaging.outbox.retried",
      "gryd-auth.user.impersonated",
      "trilha.event-type.registered",
      "trilha.event-type.deprecated",
      "trilha.event-type.reactivated",
      "trilha.event-type.described",
      "trilha.message.sent",
      "a.b.rolled-back",
      "a.b.force-closed",
      "a.b.overwritten",
      "a.b.laid-off",
      "a.b.understood",
      "a.b.rerun",
      "a.b.taught",
      "a.b.sent-back",
      "a.b.re-read",
      "a1.b2.overridden",
  };
  for (size_t i = 0; i < COUNT(good); i++) {
    trilha_error err = {0};
    if (trilha_audit_action_check(trilha_text_of(good[i]), &err) != TRILHA_OK) fail_msg("%s: %s", good[i], err.text);
  }
}

static void action_outside_the_vocabulary_is_refused(void **state) {
  (void)state;
  static const char *const bad[] = {
      "nexio.approval.grant",
      "",
      "a.b",
      "a.b.c.issued",
      "A.b.issued",
      "a..issued",
      "a.b.",
      ".b.issued",
      "a.b.issued.",
      "1a.b.issued",
      "a.-b.issued",
      "a.b c.issued",
      "a.b_c.issued",
      "a.b.proceed",
      "a.b.feed",
      "a.b.shred",
      "a.b.write",
      "a.b.send",
      "a.b.teach",
      "a.b.withdraw",
      "a.b.re-send",
      "a.b.ed",
      "a.b.red",
      "a.é.issued",
      "a.b.deleting",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.issued",
  };
  for (size_t i = 0; i < COUNT(bad); i++) {
    trilha_error err = {0};
    if (trilha_audit_action_check(trilha_text_of(bad[i]), &err) != TRILHA_INVALID) fail_msg("%s was accepted", bad[i]);
    assert_string_equal(err.code, "AUDIT_ACTION_INVALID");
  }
  char eighty[82];
  memset(eighty, 'a', sizeof eighty);
  memcpy(eighty, "a.b.", 4);
  memcpy(eighty + 78, "ed", 3);
  assert_int_equal(trilha_audit_action_check((trilha_text){eighty, 80}, NULL), TRILHA_OK);
  memcpy(eighty + 78, "aed", 3);
  assert_int_equal(trilha_audit_action_check((trilha_text){eighty, 81}, NULL), TRILHA_INVALID);
}

static void row_has_its_metadata_as_json(void **state) {
  (void)state;
  TRILHA_ARENA_SCOPED arena = {0};
  const trilha_audit_pair pairs[] = {{"a", TRILHA_TEXT("x\"\n")}, {"b", {NULL, 0}}, {"é", TRILHA_TEXT("")}};
  trilha_audit_entry entry = {.entity = TRILHA_TEXT("event-type"),
                              .entity_id = TRILHA_TEXT("t@1.0.0"),
                              .change_type = TRILHA_TEXT("Created"),
                              .action = TRILHA_TEXT("trilha.event-type.registered"),
                              .pairs = pairs,
                              .pair_count = COUNT(pairs)};
  trilha_audit_row row = {0};
  trilha_error err = {0};
  assert_int_equal(trilha_audit_row_build(&entry, &arena, &row, &err), TRILHA_OK);
  assert_string_equal(row.metadata.data, "{\"a\":\"x\\\"\\n\",\"b\":null,\"é\":\"\"}");
  assert_string_equal(row.user.data, "unknown");
  assert_string_equal(row.action.data, "trilha.event-type.registered");
  entry.pair_count = 0;
  entry.user = TRILHA_TEXT("maria");
  assert_int_equal(trilha_audit_row_build(&entry, &arena, &row, &err), TRILHA_OK);
  assert_string_equal(row.metadata.data, "{}");
  assert_string_equal(row.user.data, "maria");
}

static void row_that_says_too_little_or_the_unstorable_is_refused(void **state) {
  (void)state;
  const trilha_audit_entry good = {.entity = TRILHA_TEXT("e"),
                                   .entity_id = TRILHA_TEXT("1"),
                                   .change_type = TRILHA_TEXT("Updated"),
                                   .action = TRILHA_TEXT("a.b.issued")};
  trilha_audit_entry bad[5] = {good, good, good, good, good};
  const trilha_audit_pair broken = {"x", TRILHA_TEXT("\xff")};
  bad[0].entity = (trilha_text){NULL, 0};
  bad[1].change_type = TRILHA_TEXT("created");
  bad[2].action = TRILHA_TEXT("a.b.issue");
  bad[3].user = (trilha_text){"a\0b", 3};
  bad[4].pairs = &broken;
  bad[4].pair_count = 1;
  TRILHA_ARENA_SCOPED arena = {0};
  trilha_audit_row row = {0};
  assert_int_equal(trilha_audit_row_build(&good, &arena, &row, NULL), TRILHA_OK);
  for (size_t i = 0; i < COUNT(bad); i++)
    assert_int_equal(trilha_audit_row_build(&bad[i], &arena, &row, NULL), TRILHA_INVALID);
}

/* Verbs whose past no rule gives, each with its bare form, which says what is to be done and not what was. */
static void an_irregular_past_passes_and_its_bare_verb_does_not(void **state) {
  (void)state;
  static const struct {
    const char *past, *bare;
  } verbs[] = {
      {"begun", "begin"},      {"bought", "buy"},    {"broken", "break"},  {"brought", "bring"}, {"built", "build"},
      {"chosen", "choose"},    {"dealt", "deal"},    {"drawn", "draw"},    {"driven", "drive"},  {"fallen", "fall"},
      {"forgiven", "forgive"}, {"frozen", "freeze"}, {"given", "give"},    {"grown", "grow"},    {"heard", "hear"},
      {"held", "hold"},        {"kept", "keep"},     {"known", "know"},    {"led", "lead"},      {"lost", "lose"},
      {"made", "make"},        {"paid", "pay"},      {"proven", "prove"},  {"said", "say"},      {"sent", "send"},
      {"shown", "show"},       {"spoken", "speak"},  {"struck", "strike"}, {"sworn", "swear"},   {"taken", "take"},
      {"thrown", "throw"},     {"torn", "tear"},     {"undone", "undo"},   {"won", "win"},       {"written", "write"}};
  for (size_t i = 0; i < COUNT(verbs); i++) {
    char past[64] = "a.b.", bare[64] = "a.b.";
    strncat(past, verbs[i].past, 40);
    strncat(bare, verbs[i].bare, 40);
    if (trilha_audit_action_check(trilha_text_of(past), NULL) != TRILHA_OK) fail_msg("%s", past);
    if (trilha_audit_action_check(trilha_text_of(bare), NULL) != TRILHA_INVALID) fail_msg("%s", bare);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(action_of_the_vocabulary_passes),
      cmocka_unit_test(an_irregular_past_passes_and_its_bare_verb_does_not),
      cmocka_unit_test(action_outside_the_vocabulary_is_refused),
      cmocka_unit_test(row_has_its_metadata_as_json),
      cmocka_unit_test(row_that_says_too_little_or_the_unstorable_is_refused),
  };
  return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
