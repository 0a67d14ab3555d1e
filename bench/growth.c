/* bench: what one operation costs against the size of everything that may grow.
 *
 *   growth sizes|rows [--largest ROWS] STORE_URL
 *
 * The store is empty, on this machine, and thrown away: nothing waits for the disk, whose time would hide what grows.
 * What is measured is the lowest of a few rounds, in processor time: of this process, and on PostgreSQL of the server's
 * processes that it talks to as well, so that other work on the machine counts for little. sizes: payload, schema,
 * types and callers, in a log of 100,000 events. rows: the log, up to --largest (1,000,000) events. A curve
 * that should be flat has a bar: its last point against its first. Status 1: a bar was missed. */
#include <inttypes.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "judge.h"
#include "trilha/delivery.h"

enum {
  ROUNDS = 15,
  EVENTS = 1000, /* of a round */
  BATCH = 1000,  /* of a publish together */
  CALLERS_MAX = 64,
  CONSUMED_TYPES = 64,
  FEW_TYPES = 10, /* in the log that grows */
  PAGE = 100,
  PAGES = 50,
  REPLAYED = 20000, /* of a round; a replay is one call */
  POINTS_MAX = 8,
  NAME_SIZE = 32
};
#define FLAT_MAX  1.2
#define SMALL_LOG 10000
#define GROWN_LOG 100000

typedef struct growth {
  trilha *handle;
  const char *store; /* sqlite or postgresql */
  PGconn *watch;     /* knows the server's processes; NULL for SQLite */
  double asked_us;   /* what asking it took so far */
  bool missed;
  char *payload; /* of what is published */
  size_t payload_size;
  const char *family; /* types are called so and have a number */
  int64_t types;      /* of the family, taken in turn */
  int64_t callers, rows, turn;
  uint64_t seed;
} growth;

typedef struct curve {
  const char *what, *by;
  int64_t sizes[POINTS_MAX];
  double us[POINTS_MAX];
  size_t count;
} curve;

static void die(const trilha_error *err) {
  fprintf(stderr, "growth: %s: %s\n", err->code, err->text);
  exit(2);
}

static void *claim(size_t count, size_t size) {
  static const trilha_error none = {.code = "NO_MEMORY", .text = "out of memory"};
  void *memory = calloc(count, size);
  if (memory == NULL) die(&none);
  return memory;
}

/* --- measuring -------------------------------------------------------------------------------------------------- */

static double ran_us(const char *pid) {
  char path[64];
  uint64_t ran_ns = 0;
  snprintf(path, sizeof path, "/proc/%s/schedstat", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0; /* its connection has been closed since it was named */
  if (fscanf(file, "%" SCNu64, &ran_ns) != 1) ran_ns = 0;
  fclose(file);
  return (double)ran_ns / 1e3;
}

static double server_us(const growth *g) {
  double us = 0;
  PGresult *r = PQexec(g->watch,
                       "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
                       "backend_type = 'client backend' AND pid <> pg_backend_pid()");
  if (PQresultStatus(r) != PGRES_TUPLES_OK) {
    fprintf(stderr, "growth: %s", PQerrorMessage(g->watch));
    exit(2);
  }
  for (int i = 0; i < PQntuples(r); i++) us += ran_us(PQgetvalue(r, i, 0));
  PQclear(r);
  return us;
}

static double own_us(void) {
  struct timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

/* What asking the server takes is not counted. */
static double now_us(growth *g) {
  double own = own_us() - g->asked_us;
  if (g->watch == NULL) return own;
  double begin = own_us(), of_server = server_us(g);
  g->asked_us += own_us() - begin;
  return own + of_server;
}

/* A place to read from, the same ones in every run. */
static int64_t draw(growth *g, int64_t below) {
  g->seed = g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((g->seed >> 33) % (uint64_t)below);
}

static void measure(growth *g, curve *c, int64_t size, double (*round)(growth *g)) {
  double lowest = round(g); /* whatever is made at the first use is made here */
  for (int i = 0; i < ROUNDS; i++) {
    double us = round(g);
    if (i == 0 || us < lowest) lowest = us;
  }
  char name[96];
  c->sizes[c->count] = size;
  c->us[c->count++] = lowest;
  snprintf(name, sizeof name, "%s: %s, by %s, %lld", g->store, c->what, c->by, (long long)size);
  trilha_judge_told(name, lowest, "us of processor time");
}

/* What a unit of size costs, from point `from` on; per_size: it is the cost divided by the size that is flat. */
static void judge_flat(growth *g, const curve *c, size_t from, bool per_size, const char *detail) {
  char name[96];
  size_t last = c->count - 1;
  double first_us = c->us[from], last_us = c->us[last];
  if (per_size) {
    first_us /= (double)c->sizes[from];
    last_us /= (double)c->sizes[last];
  }
  snprintf(name, sizeof name, "%s: %s, by %s, is flat", g->store, c->what, c->by);
  trilha_judge_figure(&g->missed, name, last_us / first_us, FLAT_MAX, true, "%lld against %lld%s",
                      (long long)c->sizes[last], (long long)c->sizes[from], detail);
}

/* --- publishing ------------------------------------------------------------------------------------------------- */

static trilha_publication next_publication(growth *g, int64_t turn, char name[NAME_SIZE]) {
  snprintf(name, NAME_SIZE, "growth.%s%lld", g->family,
           (long long)(turn * 7919 % g->types)); /* a prime: no neighbours */
  return (trilha_publication){
      .tipo = trilha_text_of(name), .origem = TRILHA_TEXT("bench"), .payload = {g->payload, g->payload_size}};
}

static void publish_some(growth *g, int64_t first, int64_t count) {
  char name[NAME_SIZE];
  for (int64_t i = first; i < first + count; i++) {
    trilha_publication p = next_publication(g, i, name);
    trilha_publish_result r;
    trilha_error err = {0};
    if (trilha_publish(g->handle, &p, &r, &err) != TRILHA_OK) die(&err);
    trilha_publish_result_done(&r);
  }
}

static double publish_round(growth *g) {
  int64_t events = 400000 / (int64_t)g->payload_size;
  if (events > EVENTS) events = EVENTS;
  if (events < 4) events = 4;
  double begin = now_us(g);
  publish_some(g, g->turn, events);
  double us = (now_us(g) - begin) / (double)events;
  g->turn += events;
  g->rows += events;
  return us;
}

typedef struct caller {
  growth *g;
  int64_t first, count;
} caller;

static void *call(void *user) {
  const caller *c = user;
  publish_some(c->g, c->first, c->count);
  return NULL;
}

static double callers_round(growth *g) {
  pthread_t threads[CALLERS_MAX];
  caller callers[CALLERS_MAX];
  int64_t each = 2 * EVENTS / g->callers;
  double begin = now_us(g);
  for (int64_t i = 0; i < g->callers; i++) {
    callers[i] = (caller){g, g->turn + i * each, each};
    if (pthread_create(&threads[i], NULL, call, &callers[i]) != 0) exit(2);
  }
  for (int64_t i = 0; i < g->callers; i++) pthread_join(threads[i], NULL);
  double us = (now_us(g) - begin) / (double)(each * g->callers);
  g->turn += each * g->callers;
  return us;
}

static void publish_together(growth *g, int64_t count) {
  char(*names)[NAME_SIZE] = claim(BATCH, sizeof *names);
  trilha_publication *publications = claim(BATCH, sizeof *publications);
  trilha_publish_result *results = claim(BATCH, sizeof *results);
  for (int64_t done = 0; done < count;) {
    size_t n = count - done < BATCH ? (size_t)(count - done) : BATCH;
    trilha_error err = {0};
    for (size_t i = 0; i < n; i++) publications[i] = next_publication(g, g->turn++, names[i]);
    if (trilha_publish_many(g->handle, publications, n, results, &err) != TRILHA_OK) die(&err);
    for (size_t i = 0; i < n; i++) trilha_publish_result_done(&results[i]);
    done += (int64_t)n;
  }
  g->rows += count;
  free(names);
  free(publications);
  free(results);
}

/* --- types and payloads ------------------------------------------------------------------------------------------ */

/* Numbers `from` to `to` of the family, each with so many properties. */
static void register_types(growth *g, int64_t from, int64_t to, int properties) {
  enum { TOGETHER = 500 };
  TRILHA_BUFFER_SCOPED schema;
  trilha_buffer_init(&schema, 0);
  trilha_buffer_add_string(&schema, "{\"type\":\"object\",\"x-redacao\":\"manter\",\"properties\":{");
  for (int i = 0; i < properties; i++)
    trilha_buffer_add_format(&schema, "%s\"p%d\":{\"type\":\"string\",\"maxLength\":100}", i == 0 ? "" : ",", i);
  trilha_buffer_add_string(&schema, "}}");
  char(*names)[NAME_SIZE] = claim(TOGETHER, sizeof *names);
  trilha_type_version *versions = claim(TOGETHER, sizeof *versions);
  while (from < to) {
    size_t n = 0;
    trilha_error err = {0};
    for (; n < TOGETHER && from < to; n++, from++) {
      snprintf(names[n], NAME_SIZE, "growth.%s%lld", g->family, (long long)from);
      versions[n] = (trilha_type_version){
          .tipo = trilha_text_of(names[n]), .versao = TRILHA_TEXT("1.0.0"), .schema = trilha_buffer_text(&schema)};
    }
    if (trilha_registry_apply(g->handle, versions, n, false, TRILHA_TEXT("bench"), NULL, &err) != TRILHA_OK) die(&err);
  }
  free(names);
  free(versions);
}

/* Every schema of the family is compiled. */
static void use_types(growth *g) {
  char name[NAME_SIZE];
  for (int64_t i = 0; i < g->types; i++) {
    trilha_publication p = next_publication(g, i, name);
    trilha_publish_result r;
    trilha_error err = {0};
    if (trilha_publish_check(g->handle, &p, &r, &err) != TRILHA_OK) die(&err);
    trilha_publish_result_done(&r);
  }
}

/* Eight short texts, and as many small objects as make up the size. */
static void make_payload(growth *g, size_t size) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_buffer_add_char(&text, '{');
  for (int i = 0; i < 8; i++) trilha_buffer_add_format(&text, "%s\"p%d\":\"texto %d\"", i == 0 ? "" : ",", i, i);
  trilha_buffer_add_string(&text, ",\"itens\":[");
  for (int i = 0; text.size + 62 < size; i++)
    trilha_buffer_add_format(&text, "%s{\"n\":%d,\"rua\":\"Rua das Flores\",\"aberta\":true}", i == 0 ? "" : ",", i);
  trilha_buffer_add_string(&text, "]}");
  free(g->payload);
  g->payload = claim(text.size + 1, 1);
  memcpy(g->payload, text.data, text.size);
  g->payload_size = text.size;
}

static void begin_family(growth *g, const char *family, int64_t types, int properties) {
  g->family = family;
  g->types = types;
  register_types(g, 0, types, properties);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void read_pages(growth *g, trilha_text tipo) {
  for (int i = 0; i < PAGES; i++) {
    const trilha_events_filter filter = {.tipo = tipo,
                                         .sequence_inicio = 1 + draw(g, g->rows - PAGE * FEW_TYPES),
                                         .limite = PAGE,
                                         .without_total = true};
    trilha_events_page *page = NULL;
    trilha_error err = {0};
    if (trilha_events_query(g->handle, &filter, &page, &err) != TRILHA_OK) die(&err);
    trilha_events_page_free(page);
  }
}

static double page_round(growth *g) {
  double begin = now_us(g);
  read_pages(g, (trilha_text){0});
  return (now_us(g) - begin) / PAGES;
}

static double page_of_type_round(growth *g) {
  char name[NAME_SIZE];
  snprintf(name, sizeof name, "growth.%s3", g->family);
  double begin = now_us(g);
  read_pages(g, trilha_text_of(name));
  return (now_us(g) - begin) / PAGES;
}

static trilha_status take(void *user, const trilha_event *event, trilha_error *err) {
  int64_t *count = user;
  (void)event, (void)err;
  (*count)++;
  return TRILHA_OK;
}

static double replay_round(growth *g) {
  int64_t count = 0, many = g->rows < REPLAYED ? g->rows / 2 : REPLAYED, after = draw(g, g->rows - many);
  const trilha_stream_options options = {.after = after, .until = after + many};
  trilha_error err = {0};
  double begin = now_us(g);
  if (trilha_replay_stream(g->handle, &options, take, &count, NULL, &err) != TRILHA_OK) die(&err);
  return (now_us(g) - begin) / (double)count;
}

/* --- consuming --------------------------------------------------------------------------------------------------- */

static trilha_status consume(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  int64_t *sum = user;
  (void)events, (void)delivery;
  *sum += (int64_t)count;
  return TRILHA_OK;
}

static int64_t consumed_once(growth *g) {
  char names[CONSUMED_TYPES][NAME_SIZE], colony[NAME_SIZE];
  trilha_text types[CONSUMED_TYPES];
  trilha_consumer *consumer = NULL;
  trilha_error err = {0};
  int64_t count = 0;
  for (int64_t i = 0; i < g->types; i++) {
    snprintf(names[i], NAME_SIZE, "growth.%s%lld", g->family, (long long)i);
    types[i] = trilha_text_of(names[i]);
  }
  snprintf(colony, sizeof colony, "of_%s%lld", g->family, (long long)g->types);
  const trilha_consumer_options options = {.colonia = trilha_text_of(colony),
                                           .types = types,
                                           .type_count = (size_t)g->types,
                                           .batch_handler = consume,
                                           .user = &count,
                                           .once = true};
  if (trilha_consumer_new(g->handle, &options, &consumer, &err) != TRILHA_OK ||
      trilha_consumer_run(consumer, &err) != TRILHA_OK)
    die(&err);
  trilha_consumer_free(consumer);
  return count;
}

/* The first round of a colony makes its cursors, at the end of the log, and has nothing to consume. */
static double consume_round(growth *g) {
  publish_together(g, 2 * EVENTS);
  double begin = now_us(g);
  int64_t count = consumed_once(g);
  return (now_us(g) - begin) / (double)(count > 0 ? count : 1);
}

/* --- the curves --------------------------------------------------------------------------------------------------- */

static void by_payload(growth *g) {
  static const size_t sizes[] = {200, 2000, 20000, 200000, 1000000};
  curve c = {.what = "publish", .by = "bytes of payload"};
  begin_family(g, "p", 1, 8);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    make_payload(g, sizes[i]);
    measure(g, &c, (int64_t)sizes[i], publish_round);
  }
  judge_flat(g, &c, 2, true, " bytes, what a byte costs");
}

static void by_schema(growth *g) {
  static const int sizes[] = {10, 100, 1000};
  static const char *const families[] = {"s10-", "s100-", "s1000-"};
  curve c = {.what = "publish", .by = "properties of the schema"};
  make_payload(g, 200);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    begin_family(g, families[i], 1, sizes[i]);
    measure(g, &c, sizes[i], publish_round);
  }
  judge_flat(g, &c, 0, false, " properties, of which the payload has eight");
}

static void by_types(growth *g) {
  curve c = {.what = "publish", .by = "registered types"};
  make_payload(g, 200);
  g->family = "t";
  for (int64_t types = 1, known = 0; types <= 10000; known = types, types *= 10) {
    register_types(g, known, types, 8);
    g->types = types;
    use_types(g);
    measure(g, &c, types, publish_round);
  }
  judge_flat(g, &c, 0, false, " types, all of them published to in turn");
}

static void by_callers(growth *g) {
  curve c = {.what = "publish", .by = "callers"};
  g->types = 1;
  for (g->callers = 1; g->callers <= CALLERS_MAX; g->callers *= 4) measure(g, &c, g->callers, callers_round);
  judge_flat(g, &c, 0, false, " callers of one handle, what an event costs");
}

/* The index of ids is as wide as it gets: in a small log several publishes share a page of it, and what is measured
 * next would look dearer the later it is measured. */
static void grow_log(growth *g) {
  make_payload(g, 200);
  begin_family(g, "g", FEW_TYPES, 8);
  publish_together(g, GROWN_LOG);
}

/* No bar: a batch moves the cursor of each type that it holds. */
static void by_consumed_types(growth *g) {
  curve c = {.what = "consume", .by = "types of the consumer"};
  for (g->types = 1; g->types <= CONSUMED_TYPES; g->types *= 4) measure(g, &c, g->types, consume_round);
}

static void by_rows(growth *g, int64_t largest) {
  static const struct {
    const char *what;
    double (*round)(growth *g);
  } ways[] = {{"publish", publish_round},
              {"a page of 100", page_round},
              {"a page of one type", page_of_type_round},
              {"replay", replay_round},
              {"consume", consume_round}};
  enum { WAYS = sizeof ways / sizeof ways[0] };
  curve curves[WAYS] = {0};
  make_payload(g, 200);
  begin_family(g, "r", FEW_TYPES, 8);
  for (int64_t rows = SMALL_LOG; rows <= largest; rows *= 10) {
    publish_together(g, rows - g->rows);
    for (size_t i = 0; i < WAYS; i++) {
      curves[i].what = ways[i].what;
      curves[i].by = "rows of the log";
      measure(g, &curves[i], rows, ways[i].round);
    }
  }
  for (size_t i = 0; i < WAYS; i++) judge_flat(g, &curves[i], 0, false, " rows");
}

int main(int argc, char **argv) {
  int64_t largest = 1000000;
  bool options_given = argc == 5 && strcmp(argv[2], "--largest") == 0;
  if (argc != 3 && !options_given) return 2;
  if (options_given) largest = atoll(argv[3]);
  const char *url = argv[argc - 1];
  bool sqlite = strncmp(url, "sqlite:", 7) == 0;
  growth g = {.store = sqlite ? "sqlite" : "postgresql", .callers = 1, .types = 1, .seed = 1};
  const trilha_options options = {.store_url = url, .create = true, .unsafe_no_fsync = true};
  trilha_error err = {0};
  if (trilha_open(&options, &g.handle, &err) != TRILHA_OK) die(&err);
  if (!sqlite) g.watch = PQconnectdb(url);
  if (strcmp(argv[1], "rows") == 0) {
    by_rows(&g, largest);
  } else {
    grow_log(&g);
    by_payload(&g);
    by_schema(&g);
    by_types(&g);
    by_consumed_types(&g);
    by_callers(&g);
  }
  trilha_close(g.handle);
  PQfinish(g.watch);
  free(g.payload);
  return g.missed ? 1 : 0;
}
