/* cli/demo: `trilha demo`: the main job, step by step, for someone who sees it for the first time. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/demo_internal.h"
#include "cli/demo_messages.h"
#include "cli/messages.h"
#include "cli/publish_internal.h"
#include "cli/registry_files.h"
#include "demo_types.h"
#include "redaction/redaction.h"

enum { FURTHER_EVENTS = 300, FURTHER_EVENTS_MAX = 100000, SEED = 1, TRIED_REQUESTS = 30, TRIED_SEED = 20260615 };

/* --- telling -------------------------------------------------------------------------------------------- */

void trilha_demo_begin(trilha_demo *d, const char *name, trilha_cli_words title, trilha_cli_words explains,
                       const char *command) {
  trilha_cli *cli = d->cli;
  d->steps++;
  d->name = name;
  trilha_buffer_clear(&d->facts);
  if (cli->json) return;
  trilha_cli_puts(&cli->out, "\n");
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_BOLD);
  trilha_cli_putf(&cli->out, "%d. %s\n", d->steps, trilha_cli_choose(cli, title));
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(&cli->out, "   ");
  trilha_cli_wrap(cli, &cli->out, trilha_cli_choose(cli, explains), 3);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  trilha_cli_putf(&cli->out, "   $ %s\n", command);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_flush(&cli->out);
}

void trilha_demo_fact(trilha_demo *d, const char *name, int64_t number) {
  trilha_buffer_add_format(&d->facts, ",\"%s\":%lld", name, (long long)number);
}

void trilha_demo_end(trilha_demo *d) {
  trilha_cli_output *out = &d->cli->out;
  if (d->cli->json) {
    trilha_cli_putf(out, "{\"step\":%d,\"name\":\"%s\"", d->steps, d->name);
    trilha_cli_put(out, trilha_buffer_text(&d->facts));
    trilha_cli_puts(out, "}\n");
  }
  trilha_cli_flush(out);
}

/* What the demo shows is also what it checks. */
void trilha_demo_expect(trilha_demo *d, bool holds) {
  if (holds || d->failed) return;
  d->failed = true;
  trilha_cli_say(d->cli, DEMO_FAILED);
}

/* --- the steps ------------------------------------------------------------------------------------------ */

static trilha_status make_keyring(trilha_demo *d, trilha_error *error) {
  trilha_status status = TRILHA_OK;
  trilha_demo_begin(d, "keyring", (trilha_cli_words){DEMO_KEYRING_TITLE}, (trilha_cli_words){DEMO_KEYRING},
                    "trilha keyring add trilha.keyring --kid demo");
  if (access("trilha.keyring", F_OK) != 0) {
    status = trilha_keyring_add(TRILHA_TEXT("trilha.keyring"), TRILHA_TEXT("demo"), error);
  }
  if (status == TRILHA_OK && !d->cli->json) {
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, SAY_KEY_ADDED, "demo", "trilha.keyring");
    trilha_cli_puts(&d->cli->out, "\n");
  }
  trilha_demo_end(d);
  return status;
}

static void on_migration(void *user, const char *name, const char *what) {
  trilha_demo *d = user;
  if (!d->cli->json)
    trilha_cli_putf(&d->cli->out, "   %s: %s\n", name, trilha_cli_choose(d->cli, trilha_cli_migration_words(what)));
}

static trilha_status make_store(trilha_demo *d, trilha_error *error) {
  trilha_demo_begin(d, "init", (trilha_cli_words){DEMO_INIT_TITLE}, (trilha_cli_words){DEMO_INIT}, "trilha init");
  trilha_options options = trilha_cli_options(d->cli);
  trilha_status status = trilha_migrate(&options, false, on_migration, d, error);
  if (status == TRILHA_OK) status = trilha_open(&options, &d->handle, error);
  trilha_demo_end(d);
  return status;
}

/* A file of that name that is there already is left alone. */
static trilha_status write_file(const char *path, trilha_text text, trilha_error *error) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) return TRILHA_OK;
  if (fd < 0) return trilha_error_set_errno(error, TRILHA_IO, "FILE_WRITE", errno, "cannot write %s", path);
  trilha_cli_output file = {.fd = fd};
  trilha_buffer_init(&file.buffer, 0);
  trilha_cli_put(&file, text);
  trilha_cli_flush(&file);
  if (close(fd) != 0 && file.os_errno == 0) file.os_errno = errno;
  trilha_cli_output_done(&file);
  if (file.os_errno == 0) return TRILHA_OK;
  return trilha_error_set_errno(error, TRILHA_IO, "FILE_WRITE", file.os_errno, "cannot write %s", path);
}

static trilha_status make_folder(const char *path, trilha_error *error) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return TRILHA_OK;
  return trilha_error_set_errno(error, TRILHA_IO, "FILE_WRITE", errno, "cannot make the folder %s", path);
}

static trilha_status register_types(trilha_demo *d, trilha_error *error) {
  trilha_cli_type_files files = {0};
  trilha_demo_begin(d, "register", (trilha_cli_words){DEMO_TYPES_TITLE}, (trilha_cli_words){DEMO_TYPES},
                    "trilha registry apply types/");
  trilha_status status = make_folder("types", error);
  for (size_t i = 0; i < TRILHA_DEMO_TYPE_FILE_COUNT && status == TRILHA_OK; i++) {
    const trilha_embedded_file *file = &trilha_demo_type_files[i];
    char path[256];
    snprintf(path, sizeof path, "types/%s", file->name);
    status = write_file(path, (trilha_text){file->data, file->size}, error);
    if (status == TRILHA_OK)
      status = trilha_cli_type_files_take(&files, path, (trilha_text){file->data, file->size}, error);
  }
  if (status == TRILHA_OK) {
    status = trilha_registry_apply(d->handle, files.versions, files.count, false, TRILHA_TEXT("demo"), NULL, error);
  }
  for (size_t i = 0; status == TRILHA_OK && !d->cli->json && i < files.count; i++) {
    trilha_cli_putf(&d->cli->out, "   %s@%s\n", files.versions[i].tipo.data, files.versions[i].versao.data);
  }
  trilha_demo_fact(d, "types", (int64_t)files.count);
  trilha_cli_type_files_done(&files);
  trilha_demo_end(d);
  return status;
}

/* Publishes one and tells what became of it. */
static trilha_status publish(trilha_demo *d, const trilha_publication *publication, trilha_publish_result *ret_result,
                             trilha_error *error) {
  trilha_status status = trilha_publish(d->handle, publication, ret_result, error);
  if (d->cli->json) return status;
  trilha_cli_puts(&d->cli->out, "   ");
  if (status == TRILHA_OK) trilha_cli_outcome_ok(d->cli, 0, ret_result);
  return status;
}

static trilha_status publish_seeds(trilha_demo *d, trilha_error *error) {
  trilha_status status = TRILHA_OK;
  trilha_demo_begin(d, "seeds", (trilha_cli_words){DEMO_SEEDS_TITLE}, (trilha_cli_words){DEMO_SEEDS},
                    "trilha publish --type demanda.recebida --origin D-1a payloads/recebida.json");
  for (size_t i = 0; i < TRILHA_DEMO_SEEDS && status == TRILHA_OK; i++) {
    trilha_publish_result result = {0};
    status = publish(d, &trilha_demo_seeds[i], &result, error);
    trilha_publish_result_done(&result);
  }
  trilha_demo_fact(d, "events", TRILHA_DEMO_SEEDS);
  trilha_demo_end(d);
  return status;
}

static trilha_status publish_further(trilha_demo *d, trilha_error *error) {
  trilha_publish_result *results = calloc(d->data.count + 1, sizeof *results);
  if (results == NULL) return trilha_error_no_memory(error);
  trilha_demo_begin(d, "stream", (trilha_cli_words){DEMO_MANY_TITLE}, (trilha_cli_words){DEMO_MANY},
                    "trilha publish --ndjson stream.ndjson");
  int64_t started = trilha_clock_monotonic_ns();
  trilha_status status = trilha_publish_many(d->handle, d->data.publications, d->data.count, results, error);
  int64_t ms = (trilha_clock_monotonic_ns() - started) / 1000000 + 1;
  for (size_t i = 0; i < d->data.count; i++) trilha_publish_result_done(&results[i]);
  free(results);
  if (!d->cli->json && status == TRILHA_OK) {
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_MANY_DONE, d->data.count, (long long)ms,
                    (long long)((int64_t)d->data.count * 1000 / ms));
  }
  trilha_demo_fact(d, "events", (int64_t)d->data.count);
  trilha_demo_fact(d, "milliseconds", ms);
  trilha_demo_end(d);
  return status;
}

/* An unknown channel, a latitude beyond the pole, no citizen. */
static const trilha_publication wrong = {
    .tipo = TRILHA_CLI_LITERAL("demanda.recebida"),
    .origem = TRILHA_CLI_LITERAL("D-1a"),
    .payload = TRILHA_CLI_LITERAL(
        "{\"demanda_id\": \"a1b2c3d4-e5f6-7890-abcd-ef1234567890\", \"texto_bruto\": \"Poste apagado\", "
        "\"localizacao_bruta\": {\"lat\": -97.5, \"lng\": -46.6}, \"canal\": \"fax\"}")};

/* Under the id of the third seed. */
static const trilha_text other_payload = TRILHA_CLI_LITERAL(
    "{\"demanda_id\": \"a1b2c3d4-e5f6-7890-abcd-ef1234567890\", \"categoria_id\": \"9.9\", "
    "\"nivel_precedencia\": 5, \"score_horizontal\": 1, \"confianca_categorizacao\": 0.5, "
    "\"metodo\": \"hibrido\"}");

static trilha_status refuse_one(trilha_demo *d, trilha_error *error) {
  trilha_publish_result result = {0};
  trilha_error refusal = {0};
  trilha_demo_begin(d, "refused", (trilha_cli_words){DEMO_REFUSED_TITLE}, (trilha_cli_words){DEMO_REFUSED},
                    "trilha publish --type demanda.recebida --origin D-1a payloads/wrong.json");
  trilha_status status = publish(d, &wrong, &result, &refusal);
  if (status == TRILHA_INVALID && !d->cli->json) trilha_cli_show_refusal(d->cli, &d->cli->out, &refusal, &result);
  trilha_demo_fact(d, "errors", (int64_t)result.payload_error_count);
  trilha_demo_expect(d, status != TRILHA_OK && (status != TRILHA_INVALID || result.payload_error_count == 3));
  trilha_publish_result_done(&result);
  trilha_demo_end(d);
  return status == TRILHA_OK || status == TRILHA_INVALID ? TRILHA_OK : trilha_error_copy(error, &refusal);
}

static trilha_status repeat(trilha_demo *d, const trilha_publication *publication, trilha_content content,
                            trilha_error *error) {
  trilha_publish_result result = {0};
  trilha_status status = publish(d, publication, &result, error);
  if (status == TRILHA_OK) trilha_demo_expect(d, result.duplicate && result.content == content);
  trilha_demo_fact(d, "duplicate", result.duplicate);
  trilha_publish_result_done(&result);
  trilha_demo_end(d);
  return status;
}

static trilha_status repeat_both(trilha_demo *d, trilha_error *error) {
  trilha_publication other = trilha_demo_seeds[2];
  other.payload = other_payload;
  trilha_demo_begin(
      d, "repeated", (trilha_cli_words){DEMO_SAME_TITLE}, (trilha_cli_words){DEMO_SAME},
      "trilha publish --type demanda.categorizada --origin D-3 --event-id c3d4e5f6-a7b8-9012-cdef-123456789012 "
      "payloads/categorizada.json");
  trilha_status status = repeat(d, &trilha_demo_seeds[2], TRILHA_CONTENT_SAME, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_begin(
      d, "repeated_other", (trilha_cli_words){DEMO_OTHER_TITLE}, (trilha_cli_words){DEMO_OTHER},
      "trilha publish --type demanda.categorizada --origin D-3 --event-id c3d4e5f6-a7b8-9012-cdef-123456789012 "
      "payloads/other.json");
  return repeat(d, &other, TRILHA_CONTENT_DIFFERENT, error);
}

static trilha_status show_trace(trilha_demo *d, trilha_error *error) {
  trilha_events_page *page = NULL;
  trilha_demo_begin(d, "trace", (trilha_cli_words){DEMO_TRACE_TITLE}, (trilha_cli_words){DEMO_TRACE},
                    "trilha events trace a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  trilha_status status = trilha_events_trace(d->handle, trilha_demo_seeds[0].correlacao_id, &page, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, page->count == TRILHA_DEMO_SEEDS);
  if (!d->cli->json) (void)trilha_cli_show_page(d->cli, page);
  trilha_demo_fact(d, "events", (int64_t)page->count);
  trilha_events_page_free(page);
  trilha_demo_end(d);
  return TRILHA_OK;
}

static trilha_status show_stored(trilha_demo *d, trilha_error *error) {
  trilha_event *event = NULL;
  trilha_demo_begin(d, "stored", (trilha_cli_words){DEMO_STORED_TITLE}, (trilha_cli_words){DEMO_STORED},
                    "trilha events show a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  trilha_status status = trilha_event_get(d->handle, trilha_demo_seeds[0].event_id, &event, error);
  if (status != TRILHA_OK) return status;
  trilha_cli_output *out = &d->cli->out;
  if (!d->cli->json) {
    trilha_cli_putf(out, "   %s\n   ", trilha_cli_choose(d->cli, (trilha_cli_words){DEMO_SENT}));
    trilha_cli_put_indented(d->cli, trilha_demo_seeds[0].payload, 3);
    trilha_cli_putf(out, "\n   %s\n   ", trilha_cli_choose(d->cli, (trilha_cli_words){DEMO_STORED_AS}));
    trilha_cli_put_indented(d->cli, (trilha_text){event->payload, event->payload_size}, 3);
    trilha_cli_puts(out, "\n");
  } else {
    trilha_buffer_add_string(&d->facts, ",\"payload\":");
    trilha_buffer_append(&d->facts, event->payload, event->payload_size);
  }
  trilha_event_free(event);
  trilha_demo_end(d);
  return TRILHA_OK;
}

typedef struct replayed {
  int64_t count, first, last;
  bool rising;
} replayed;

static trilha_status on_replayed(void *user, const trilha_event *event, trilha_error *error) {
  replayed *r = user;
  (void)error;
  if (r->count == 0) r->first = event->sequence_number;
  r->rising = r->rising && (r->count == 0 || event->sequence_number == r->last + 1);
  r->last = event->sequence_number;
  r->count++;
  return TRILHA_OK;
}

static trilha_status replay_some(trilha_demo *d, trilha_error *error) {
  replayed r = {.rising = true};
  trilha_stream_options options = {.after = TRILHA_DEMO_SEEDS};
  trilha_demo_begin(d, "replay", (trilha_cli_words){DEMO_REPLAY_TITLE}, (trilha_cli_words){DEMO_REPLAY},
                    "trilha events replay --after 3");
  trilha_status status = trilha_replay_stream(d->handle, &options, on_replayed, &r, NULL, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, r.rising && r.count == (int64_t)d->data.count);
  if (!d->cli->json) {
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_REPLAY_DONE, (long long)r.count, (long long)r.first, (long long)r.last,
                    trilha_cli_choose(d->cli, r.rising ? (trilha_cli_words){DEMO_YES} : (trilha_cli_words){DEMO_NO}));
  }
  trilha_demo_fact(d, "events", r.count);
  trilha_demo_fact(d, "last_sequence", r.last);
  trilha_demo_end(d);
  return TRILHA_OK;
}

static trilha_status scan_ids(trilha_demo *d, size_t *ret_found, trilha_error *error) {
  uint64_t bytes = 0;
  trilha_text *ids = calloc(d->data.count + 1, sizeof *ids);
  if (ids == NULL) return trilha_error_no_memory(error);
  for (size_t i = 0; i < d->data.count; i++) ids[i] = d->data.publications[i].event_id;
  trilha_status status = trilha_demo_scan("trilha.db", ids, d->data.count, ret_found, &bytes, error);
  free(ids);
  return status;
}

static trilha_status search_file(trilha_demo *d, trilha_error *error) {
  static const trilha_text of_seeds[] = {TRILHA_CLI_LITERAL("Rua das Flores"), TRILHA_CLI_LITERAL("-23.5505"),
                                         TRILHA_CLI_LITERAL("-46.6333"), TRILHA_CLI_LITERAL("Falta d'água"),
                                         TRILHA_CLI_LITERAL("Falta de água")};
  enum { OF_SEEDS = sizeof of_seeds / sizeof of_seeds[0] };
  size_t found = 0, found_of_seeds = 0, ids = 0;
  uint64_t bytes = 0;
  trilha_demo_begin(d, "search", (trilha_cli_words){DEMO_SCAN_TITLE}, (trilha_cli_words){DEMO_SCAN},
                    "grep -a -c 'Rua das Flores' trilha.db*");
  trilha_status status = trilha_demo_scan("trilha.db", d->data.markers, d->data.marker_count, &found, &bytes, error);
  if (status == TRILHA_OK) status = trilha_demo_scan("trilha.db", of_seeds, OF_SEEDS, &found_of_seeds, &bytes, error);
  if (status == TRILHA_OK) status = scan_ids(d, &ids, error);
  if (status != TRILHA_OK) return status;
  size_t searched = d->data.marker_count + OF_SEEDS;
  found += found_of_seeds;
  trilha_demo_expect(d, found == 0 && ids == d->data.count);
  if (!d->cli->json) {
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_SCAN_PERSONAL, found, searched);
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_SCAN_IDS, ids, d->data.count);
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_SCAN_BYTES, (unsigned long long)bytes);
  }
  trilha_demo_fact(d, "personal_texts", (int64_t)searched);
  trilha_demo_fact(d, "personal_texts_found", (int64_t)found);
  trilha_demo_fact(d, "event_ids", (int64_t)d->data.count);
  trilha_demo_fact(d, "event_ids_found", (int64_t)ids);
  trilha_demo_end(d);
  return TRILHA_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

static trilha_status run_steps(trilha_demo *d, trilha_error *error) {
  static trilha_status (*const steps[])(trilha_demo * d, trilha_error * error) = {
      make_keyring,        make_store,         register_types,     publish_seeds, publish_further,
      refuse_one,          repeat_both,        show_trace,         show_stored,   replay_some,
      trilha_demo_deliver, trilha_demo_repair, trilha_demo_resume, search_file};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TRILHA_OK && d->cli->out.os_errno == 0; i++) {
    status = steps[i](d, error);
  }
  return status;
}

static trilha_status write_payloads(trilha_error *error) {
  static const struct {
    const char *path;
    const trilha_text *text;
  } payloads[] = {{"payloads/recebida.json", &trilha_demo_seeds[0].payload},
                  {"payloads/normalizada.json", &trilha_demo_seeds[1].payload},
                  {"payloads/categorizada.json", &trilha_demo_seeds[2].payload},
                  {"payloads/wrong.json", &wrong.payload},
                  {"payloads/other.json", &other_payload}};
  trilha_status status = make_folder("payloads", error);
  for (size_t i = 0; i < sizeof payloads / sizeof payloads[0] && status == TRILHA_OK; i++) {
    status = write_file(payloads[i].path, *payloads[i].text, error);
  }
  return status;
}

static trilha_status write_requests(const char *path, const trilha_demo_data *data, trilha_error *error) {
  TRILHA_BUFFER_SCOPED lines;
  trilha_buffer_init(&lines, 0);
  for (size_t i = 0; i < data->count; i++) trilha_demo_request_line(&lines, &data->publications[i]);
  trilha_status status = trilha_buffer_check(&lines, error);
  return status != TRILHA_OK ? status : write_file(path, trilha_buffer_text(&lines), error);
}

/* What the commands shown can be tried with: the payloads, the stream just published and requests that are not
 * published yet. */
static trilha_status write_files(trilha_demo *d, trilha_error *error) {
  trilha_demo_data more;
  trilha_status status = write_payloads(error);
  if (status == TRILHA_OK) status = write_requests("stream.ndjson", &d->data, error);
  bool made = trilha_demo_data_make(&more, TRIED_REQUESTS, TRIED_SEED);
  if (status == TRILHA_OK) {
    status = made ? write_requests("requests.ndjson", &more, error) : trilha_error_no_memory(error);
  }
  trilha_demo_data_done(&more);
  return status;
}

static void suggest(trilha_demo *d, const char *command, trilha_cli_words says) {
  trilha_cli_putf(&d->cli->out, "   $ %-58s # %s\n", command, trilha_cli_choose(d->cli, says));
}

static bool is_on_path(const char *program) {
  const char *path = getenv("PATH");
  for (size_t size; path != NULL && *path != '\0'; path += size + (path[size] == ':' ? 1 : 0)) {
    TRILHA_BUFFER_SCOPED name;
    size = strcspn(path, ":");
    trilha_buffer_init(&name, 0);
    trilha_buffer_add_format(&name, "%.*s/%s", (int)size, path, program);
    if (name.data != NULL && access(name.data, X_OK) == 0) return true;
  }
  return false;
}

/* How to come to the folder and, when the program was not found by the shell itself, how it will be. */
static void suggest_start(trilha_demo *d) {
  trilha_cli_output *out = &d->cli->out;
  char program[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  program[size < 0 ? 0 : size] = '\0';
  char *slash = strrchr(program, '/');
  trilha_cli_puts(out, "   $ cd ");
  trilha_cli_put_safe(out, trilha_text_of(d->folder));
  trilha_cli_puts(out, "\n   $ export TRILHA_KEYRING=file:trilha.keyring");
  if (slash != NULL && !is_on_path(slash + 1)) {
    *slash = '\0';
    trilha_cli_puts(out, " PATH=\"");
    trilha_cli_put_safe(out, trilha_text_of(program));
    trilha_cli_puts(out, ":$PATH\"");
  }
  trilha_cli_puts(out, "\n");
}

static void say_farewell(trilha_demo *d) {
  trilha_cli *cli = d->cli;
  if (cli->json) {
    trilha_cli_puts(&cli->out, "{");
    trilha_cli_put_json_member(&cli->out, true, "folder", trilha_text_of(d->folder));
    trilha_cli_putf(&cli->out, ",\"as_promised\":%s}\n", d->failed ? "false" : "true");
    return;
  }
  trilha_cli_puts(&cli->out, "\n");
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_BOLD);
  trilha_cli_tell(cli, DEMO_END, d->folder);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(&cli->out, "\n");
  trilha_cli_tell(cli, DEMO_NEXT);
  trilha_cli_puts(&cli->out, "\n");
  suggest_start(d);
  suggest(d, "trilha events list --type demanda.categorizada --limit 5", (trilha_cli_words){DEMO_NEXT_LIST});
  suggest(d, "trilha publish --ndjson requests.ndjson", (trilha_cli_words){DEMO_NEXT_PUBLISH});
  suggest(d, "trilha events tail", (trilha_cli_words){DEMO_NEXT_TAIL});
  suggest(d, "trilha registry show demanda.recebida 1.1.0", (trilha_cli_words){DEMO_NEXT_TYPE});
}

/* Makes and enters the folder; the room takes the name of a temporary one. */
static int enter_folder(trilha_cli *cli, const char *wanted, char *room, size_t size) {
  const char *below = getenv("TMPDIR");
  if (wanted == NULL) {
    snprintf(room, size, "%s/trilha-demo-XXXXXX", below == NULL || below[0] == '\0' ? "/tmp" : below);
    if (mkdtemp(room) == NULL || chdir(room) != 0) {
      trilha_cli_say(cli, DEMO_FOLDER_FAILED, room, strerror(errno));
      return TRILHA_EXIT_FAILED;
    }
    return TRILHA_EXIT_OK;
  }
  snprintf(room, size, "%s", wanted);
  if ((mkdir(wanted, 0777) != 0 && errno != EEXIST) || chdir(wanted) != 0) {
    trilha_cli_say(cli, DEMO_FOLDER_FAILED, wanted, strerror(errno));
    return TRILHA_EXIT_FAILED;
  }
  if (access("trilha.db", F_OK) != 0) return TRILHA_EXIT_OK;
  trilha_cli_say(cli, DEMO_FOLDER_USED, wanted);
  return TRILHA_EXIT_FAILED;
}

int trilha_cli_run_demo(trilha_cli *cli, const trilha_cli_args *args) {
  char folder[PATH_MAX];
  trilha_error error = {0};
  int64_t count = trilha_cli_number(args, "events", FURTHER_EVENTS);
  if (count > FURTHER_EVENTS_MAX) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, "events", FURTHER_EVENTS_MAX);
  int status = enter_folder(cli, trilha_cli_value(args, "dir"), folder, sizeof folder);
  if (status != TRILHA_EXIT_OK) return status;
  if (getcwd(folder, sizeof folder) == NULL) { /* in full, to be found from anywhere */
    trilha_cli_say(cli, DEMO_FOLDER_FAILED, ".", strerror(errno));
    return TRILHA_EXIT_FAILED;
  }
  trilha_demo d = {.cli = cli, .folder = folder};
  trilha_buffer_init(&d.facts, 0);
  cli->store_url = "sqlite:trilha.db";
  cli->keyring = "file:trilha.keyring";
  if (!cli->json) trilha_cli_wrap(cli, &cli->out, trilha_cli_choose(cli, (trilha_cli_words){DEMO_WELCOME}), 0);
  bool made = trilha_demo_data_make(&d.data, (size_t)count, (uint64_t)trilha_cli_number(args, "seed", SEED));
  trilha_status outcome = made ? run_steps(&d, &error) : trilha_error_no_memory(&error);
  if (outcome == TRILHA_OK) outcome = write_files(&d, &error);
  if (outcome == TRILHA_OK) say_farewell(&d);
  status = outcome != TRILHA_OK ? trilha_cli_fail(cli, &error) : d.failed ? TRILHA_EXIT_FAILED : TRILHA_EXIT_OK;
  trilha_close(d.handle);
  trilha_demo_data_done(&d.data);
  trilha_buffer_done(&d.facts);
  return status;
}
