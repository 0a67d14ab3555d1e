/* cli/demo_internal: the pieces of `trilha demo`. Room: cli. */
#ifndef TRILHA_CLI_DEMO_INTERNAL_H
#define TRILHA_CLI_DEMO_INTERNAL_H

#include "base/arena.h"
#include "cli/cli_internal.h"

/* --- data (demo_data.c): made up by a seeded generator; no person, telephone or document in it exists ---- */

/* The three events of the specification's section 7.3 (ruling R10). */
enum { TRILHA_DEMO_SEEDS = 3 };
extern const trilha_publication trilha_demo_seeds[TRILHA_DEMO_SEEDS];

/* Publications and the personal texts that went into them; everything lives in the arena. */
typedef struct trilha_demo_data {
  trilha_arena arena;
  trilha_publication *publications;
  trilha_text *markers; /* names, telephones, e-mails, documents, addresses, ids, whole texts */
  size_t count, marker_count;
} trilha_demo_data;

/* `count` further events: demands that are received, normalized and categorized, three events each. False: out of
 * memory. */
bool trilha_demo_data_make(trilha_demo_data *data, size_t count, uint64_t seed);
void trilha_demo_data_done(trilha_demo_data *data);
/* Appends the publication as one line of --ndjson. */
void trilha_demo_request_line(trilha_buffer *out, const trilha_publication *publication);

/* --- the demo under way (demo.c) ------------------------------------------------------------------------------ */

typedef struct trilha_demo {
  trilha_cli *cli;
  const char *folder;
  int steps;
  const char *name;    /* of the step under way */
  trilha_buffer facts; /* its members for --json */
  bool failed;         /* something was not as promised */
  trilha *handle;
  trilha_demo_data data;
} trilha_demo;

void trilha_demo_begin(trilha_demo *d, const char *name, trilha_cli_words title, trilha_cli_words explains,
                       const char *command);
void trilha_demo_fact(trilha_demo *d, const char *name, int64_t number);
void trilha_demo_end(trilha_demo *d);
/* What the demo shows is also what it checks. */
void trilha_demo_expect(trilha_demo *d, bool holds);

/* demo_delivery.c: a handler that fails beside one that does not; its repair; a consumer that is killed. */
trilha_status trilha_demo_deliver(trilha_demo *d, trilha_error *error);
trilha_status trilha_demo_repair(trilha_demo *d, trilha_error *error);
trilha_status trilha_demo_resume(trilha_demo *d, trilha_error *error);

/* --- searching the database's files (demo_scan.c) ---------------------------------------------------------- */

/* How many of the texts, each of at least 8 bytes, occur somewhere in the bytes of `path`, its -wal and its -shm. */
trilha_status trilha_demo_scan(const char *path, const trilha_text *texts, size_t count, size_t *ret_found,
                               uint64_t *ret_bytes, trilha_error *error);

#endif
