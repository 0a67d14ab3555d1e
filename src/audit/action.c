/* audit: the vocabulary of actions (ruling R28). */
#include "audit/audit.h"
#include "base/error.h"

enum { SEGMENTS = 3 };

/* Past tenses that do not end in -ed. Sorted; add what your module needs, with a line in the test. */
static const char *const IRREGULAR[] = {
    "arisen",    "awoken",    "beaten",     "became",    "become",    "befallen",   "begun",      "bent",
    "beset",     "bet",       "bid",        "bitten",    "bled",      "blown",      "born",       "borne",
    "bought",    "bound",     "bred",       "broadcast", "broken",    "brought",    "built",      "burnt",
    "burst",     "cast",      "caught",     "chosen",    "clung",     "come",       "cost",       "crept",
    "cut",       "dealt",     "done",       "drawn",     "driven",    "drunk",      "dug",        "dwelt",
    "eaten",     "fallen",    "fed",        "felt",      "fled",      "flown",      "flung",      "forbidden",
    "foregone",  "foreseen",  "forgiven",   "forgotten", "forsaken",  "fought",     "found",      "frozen",
    "given",     "gone",      "got",        "gotten",    "ground",    "grown",      "heard",      "held",
    "hidden",    "hit",       "hung",       "hurt",      "inset",     "kept",       "kneelt",     "known",
    "laid",      "lain",      "leant",      "learnt",    "led",       "left",       "lent",       "let",
    "lit",       "lost",      "made",       "meant",     "met",       "misled",     "misread",    "mistaken",
    "mown",      "offset",    "outdone",    "output",    "outrun",    "overcome",   "overdone",   "overdrawn",
    "overheard", "overlaid",  "overridden", "overrun",   "overseen",  "overtaken",  "overthrown", "overwritten",
    "paid",      "proven",    "put",        "quit",      "read",      "rebound",    "rebuilt",    "recast",
    "redone",    "redrawn",   "regrown",    "remade",    "repaid",    "reran",      "rerun",      "resent",
    "reset",     "resold",    "retaken",    "rethought", "retold",    "rewound",    "rewritten",  "ridden",
    "risen",     "run",       "rung",       "said",      "sawn",      "seen",       "sent",       "set",
    "sewn",      "shaken",    "shed",       "shone",     "shot",      "shown",      "shrunk",     "shut",
    "slain",     "slept",     "slid",       "slit",      "slung",     "smelt",      "sold",       "sought",
    "sown",      "sped",      "spelt",      "spent",     "spilt",     "split",      "spoilt",     "spoken",
    "spread",    "sprung",    "spun",       "stolen",    "stood",     "strewn",     "struck",     "strung",
    "stuck",     "stung",     "sublet",     "sung",      "sunk",      "swept",      "swollen",    "sworn",
    "swum",      "swung",     "taken",      "taught",    "thought",   "thrown",     "thrust",     "told",
    "torn",      "trodden",   "unbound",    "undergone", "underpaid", "understood", "undertaken", "underwritten",
    "undone",    "undrawn",   "unsent",     "unset",     "unwound",   "upheld",     "upset",      "wed",
    "wept",      "withdrawn", "withheld",   "withstood", "woken",     "won",        "worn",       "wound",
    "woven",     "written",   "wrung",
};

/* Bare verbs and nouns that end in -ed: not a past tense. */
static const char *const NOT_PAST[] = {"bed",     "bleed", "breed", "embed", "exceed", "feed",  "heed",    "need",
                                       "proceed", "reed",  "red",   "seed",  "shred",  "speed", "succeed", "weed"};

static bool in_list(trilha_text word, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_is(word, list[i])) return true;
  return false;
}

static bool past_word(trilha_text word) {
  if (in_list(word, IRREGULAR, sizeof IRREGULAR / sizeof IRREGULAR[0])) return true;
  if (in_list(word, NOT_PAST, sizeof NOT_PAST / sizeof NOT_PAST[0])) return false;
  return word.size >= 4 && memcmp(word.data + word.size - 2, "ed", 2) == 0;
}

static bool past_tense(trilha_text verb) {
  size_t from = 0;
  for (size_t i = 0; i <= verb.size; i++) {
    if (i < verb.size && verb.data[i] != '-') continue;
    if (past_word((trilha_text){verb.data + from, i - from})) return true;
    from = i + 1;
  }
  return false;
}

static bool segment_valid(trilha_text segment) {
  if (segment.size == 0 || segment.data[0] < 'a' || segment.data[0] > 'z') return false;
  for (size_t i = 1; i < segment.size; i++) {
    char c = segment.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

static trilha_status refuse(trilha_error *err, const char *why) {
  return trilha_error_set(err, TRILHA_INVALID, "AUDIT_ACTION_INVALID",
                          "an action is {module}.{aggregate}.{past-verb}: %s", why);
}

trilha_status trilha_audit_action_check(trilha_text action, trilha_error *err) {
  if (action.size > TRILHA_AUDIT_ACTION_SIZE_MAX) return refuse(err, "longer than 80 characters");
  trilha_text segments[SEGMENTS];
  size_t count = 0, from = 0;
  for (size_t i = 0; i <= action.size; i++) {
    if (i < action.size && action.data[i] != '.') continue;
    if (count == SEGMENTS) return refuse(err, "more than three segments");
    segments[count++] = (trilha_text){action.data + from, i - from};
    from = i + 1;
  }
  if (count != SEGMENTS) return refuse(err, "fewer than three segments");
  for (size_t i = 0; i < SEGMENTS; i++)
    if (!segment_valid(segments[i])) return refuse(err, "a segment is a letter a-z, then a-z, 0-9 and '-'");
  if (!past_tense(segments[SEGMENTS - 1])) return refuse(err, "the verb is not in the past tense");
  return TRILHA_OK;
}
