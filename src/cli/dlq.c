/* cli/dlq: `trilha dlq stats|list|show|retry`: the dead letters as an operator sees them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/delivery_messages.h"
#include "cli/dlq_internal.h"
#include "cli/messages.h"

/* --- stats -------------------------------------------------------------------------------------------------- */

static void stats_json(trilha_cli *cli, const trilha_dead_letter_statistics *stats) {
  trilha_cli_output *out = &cli->out;
  trilha_cli_puts(out, "{\"pendentes_por_colonia\":{");
  for (size_t i = 0; i < stats->count; i++) {
    if (i > 0) trilha_cli_puts(out, ",");
    trilha_cli_put_json_string(out, trilha_text_of(stats->pendentes_por_colonia[i].colonia));
    trilha_cli_putf(out, ":%lld", (long long)stats->pendentes_por_colonia[i].pendentes);
  }
  trilha_cli_putf(out, "},\"total_pendentes\":%lld}\n", (long long)stats->total_pendentes);
}

static void stats_table(trilha_cli *cli, const trilha_dead_letter_statistics *stats) {
  trilha_cli_table table;
  char number[24];
  trilha_cli_table_init(&table, 2);
  table.right[1] = true;
  trilha_cli_table_add(&table, TRILHA_TEXT("COLONIA"));
  trilha_cli_table_add(&table, TRILHA_TEXT("PENDENTES"));
  for (size_t i = 0; i < stats->count; i++) {
    trilha_cli_table_add(&table, trilha_text_of(stats->pendentes_por_colonia[i].colonia));
    snprintf(number, sizeof number, "%lld", (long long)stats->pendentes_por_colonia[i].pendentes);
    trilha_cli_table_add(&table, trilha_text_of(number));
  }
  if (stats->count > 0) trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
  trilha_cli_tell(cli, SAY_LETTERS_TOTAL, (long long)stats->total_pendentes);
  trilha_cli_puts(&cli->out, "\n");
}

int trilha_cli_run_dlq_stats(trilha_cli *cli, const trilha_cli_args *args) {
  (void)args;
  trilha *handle = NULL;
  trilha_dead_letter_statistics *stats = NULL;
  trilha_error error = {0};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_dead_letter_stats(handle, &stats, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (cli->json) {
    stats_json(cli, stats);
  } else {
    stats_table(cli, stats);
  }
  trilha_dead_letter_statistics_free(stats);
  trilha_close(handle);
  return status;
}

/* --- list ------------------------------------------------------------------------------------------------------- */

/* The columns of core.dead_letter_queue in their order, and the event's type. 64-bit numbers that grow for ever are
 * strings, as sequence numbers are everywhere. */
static void letter_json(trilha_cli *cli, const trilha_dead_letter *letter) {
  trilha_cli_output *out = &cli->out;
  trilha_cli_putf(out, "{\"id\":\"%lld\"", (long long)letter->id);
  trilha_cli_put_json_member(out, false, "event_id", trilha_text_of(letter->event_id));
  trilha_cli_putf(out, ",\"sequence_number\":\"%lld\"", (long long)letter->sequence_number);
  trilha_cli_put_json_member(out, false, "tipo", trilha_text_of(letter->tipo));
  trilha_cli_put_json_member(out, false, "colonia", trilha_text_of(letter->colonia));
  trilha_cli_put_json_member(out, false, "handler_nome", trilha_text_of(letter->handler_nome));
  trilha_cli_put_json_member(out, false, "mensagem_erro", trilha_text_of(letter->mensagem_erro));
  trilha_cli_put_json_member(out, false, "pilha_erro", trilha_text_of(letter->pilha_erro));
  trilha_cli_putf(out, ",\"tentativas\":%lld", (long long)letter->tentativas);
  trilha_cli_put_json_member(out, false, "ultima_tentativa", trilha_text_of(letter->ultima_tentativa));
  trilha_cli_put_json_member(out, false, "status", trilha_text_of(letter->status));
  trilha_cli_put_json_member(out, false, "criado_em", trilha_text_of(letter->criado_em));
  trilha_cli_put_json_member(out, false, "resolvido_em", trilha_text_of(letter->resolvido_em));
  trilha_cli_puts(out, "}\n");
}

static void letters_table(trilha_cli *cli, const trilha_dead_letters *letters) {
  static const char *const headings[] = {"ID",     "SEQ",        "COLONIA",          "TIPO",
                                         "STATUS", "TENTATIVAS", "ULTIMA_TENTATIVA", "MENSAGEM_ERRO"};
  enum { COLUMNS = sizeof headings / sizeof headings[0] };
  trilha_cli_table table;
  char number[24];
  trilha_cli_table_init(&table, COLUMNS);
  table.right[0] = table.right[1] = table.right[5] = table.firm[0] = true;
  for (size_t i = 0; i < COLUMNS; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (size_t i = 0; i < letters->count; i++) {
    const trilha_dead_letter *letter = &letters->items[i];
    const int64_t numbers[] = {letter->id, letter->sequence_number};
    for (size_t k = 0; k < 2; k++) {
      snprintf(number, sizeof number, "%lld", (long long)numbers[k]);
      trilha_cli_table_add(&table, trilha_text_of(number));
    }
    trilha_cli_table_add(&table, trilha_text_of(letter->colonia));
    trilha_cli_table_add(&table, trilha_text_of(letter->tipo));
    trilha_cli_table_add(&table, trilha_text_of(letter->status));
    snprintf(number, sizeof number, "%lld", (long long)letter->tentativas);
    trilha_cli_table_add(&table, trilha_text_of(number));
    trilha_cli_table_add(&table, trilha_text_of(letter->ultima_tentativa));
    trilha_cli_table_add(&table, trilha_text_of(letter->mensagem_erro));
  }
  trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
}

void trilha_cli_show_letters(trilha_cli *cli, const trilha_dead_letters *letters) {
  for (size_t i = 0; cli->json && i < letters->count; i++) letter_json(cli, &letters->items[i]);
  if (!cli->json && letters->count > 0) letters_table(cli, letters);
}

int trilha_cli_run_dlq_list(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_dead_letters *letters = NULL;
  trilha_error error = {0};
  trilha_dead_letters_filter filter = {.colonia = trilha_cli_text(args, "colony"),
                                       .tipo = trilha_cli_text(args, "type"),
                                       .status = trilha_cli_text(args, "status"),
                                       .event_id = trilha_cli_text(args, "event-id"),
                                       .after_id = trilha_cli_number(args, "after", 0),
                                       .limite = trilha_cli_number(args, "limit", 0)};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_dead_letters_query(handle, &filter, &letters, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else {
    trilha_cli_show_letters(cli, letters);
    if (!cli->json && letters->count == 0) {
      trilha_cli_tell(cli, SAY_NO_LETTERS);
      trilha_cli_puts(&cli->out, "\n");
    }
    trilha_cli_flush(&cli->out);
    if (letters->next_after != 0) trilha_cli_hint(cli, SAY_LETTERS_MORE, (long long)letters->next_after);
  }
  trilha_dead_letters_free(letters);
  trilha_close(handle);
  return status;
}

/* --- one of them ---------------------------------------------------------------------------------------------------
 */

/* The one with the number that the operand names; *ret_letters then has one item. */
static int find_letter(trilha_cli *cli, trilha *handle, const char *operand, trilha_dead_letters **ret_letters) {
  trilha_dead_letters_filter filter = {.limite = 1};
  trilha_error error = {0};
  if (!trilha_cli_whole_number(operand, &filter.id) || filter.id < 1)
    return trilha_cli_usage(cli, SAY_ID_INVALID, operand);
  if (trilha_dead_letters_query(handle, &filter, ret_letters, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  if ((*ret_letters)->count != 0) return TRILHA_EXIT_OK;
  trilha_cli_say(cli, SAY_LETTER_NOT_FOUND, (long long)filter.id);
  trilha_cli_hint(cli, REMEDY_FIND_LETTER);
  return TRILHA_EXIT_FAILED;
}

static void put_field(trilha_cli *cli, const char *name, const char *value) {
  if (value == NULL) return;
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  trilha_cli_putf(&cli->out, "%-18s", name);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  for (const char *line = value;;) { /* a message has lines of its own; the rest of each is escaped */
    size_t size = strcspn(line, "\n");
    trilha_cli_put_safe(&cli->out, (trilha_text){line, size});
    trilha_cli_puts(&cli->out, "\n");
    if (line[size] == '\0') return;
    trilha_cli_putf(&cli->out, "%18s", "");
    line += size + 1;
  }
}

static void put_number_field(trilha_cli *cli, const char *name, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  put_field(cli, name, text);
}

static void show_letter(trilha_cli *cli, const trilha_dead_letter *letter) {
  put_number_field(cli, "id", letter->id);
  put_field(cli, "event_id", letter->event_id);
  put_number_field(cli, "sequence_number", letter->sequence_number);
  put_field(cli, "tipo", letter->tipo);
  put_field(cli, "colonia", letter->colonia);
  put_field(cli, "handler_nome", letter->handler_nome);
  put_field(cli, "status", letter->status);
  put_number_field(cli, "tentativas", letter->tentativas);
  put_field(cli, "criado_em", letter->criado_em);
  put_field(cli, "ultima_tentativa", letter->ultima_tentativa);
  put_field(cli, "resolvido_em", letter->resolvido_em);
  put_field(cli, "mensagem_erro", letter->mensagem_erro);
  put_field(cli, "pilha_erro", letter->pilha_erro);
}

int trilha_cli_run_dlq_show(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_dead_letters *letters = NULL;
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  status = find_letter(cli, handle, args->operands[0], &letters);
  if (status == TRILHA_EXIT_OK && cli->json) letter_json(cli, &letters->items[0]);
  if (status == TRILHA_EXIT_OK && !cli->json) show_letter(cli, &letters->items[0]);
  trilha_dead_letters_free(letters);
  trilha_close(handle);
  return status;
}

/* --- an operator's second chance
 * -------------------------------------------------------------------------------------- */

static int retry_letter(trilha_cli *cli, trilha *handle, const trilha_dead_letter *letter, trilha_text reason) {
  char user[256];
  trilha_error error = {0};
  if (strcmp(letter->status, "failed_permanent") != 0) {
    trilha_cli_say(cli, SAY_LETTER_NOT_GIVEN_UP, (long long)letter->id, letter->status);
    return TRILHA_EXIT_FAILED;
  }
  if (!cli->dry_run &&
      trilha_dead_letter_retry(handle, letter->id, trilha_cli_user(user, sizeof user), reason, &error) != TRILHA_OK)
    return trilha_cli_fail(cli, &error);
  if (cli->json) {
    trilha_cli_putf(&cli->out, "{\"id\":\"%lld\",\"status\":\"%s\",\"dry_run\":%s}\n", (long long)letter->id,
                    cli->dry_run ? letter->status : "pendente", cli->dry_run ? "true" : "false");
    return TRILHA_EXIT_OK;
  }
  if (cli->dry_run)
    trilha_cli_tell(cli, SAY_LETTER_WOULD_REOPEN, (long long)letter->id, letter->status);
  else
    trilha_cli_tell(cli, SAY_LETTER_REOPENED, (long long)letter->id);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_EXIT_OK;
}

int trilha_cli_run_dlq_retry(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_dead_letters *letters = NULL;
  trilha_text reason = trilha_cli_text(args, "reason");
  if (reason.size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  status = find_letter(cli, handle, args->operands[0], &letters);
  if (status == TRILHA_EXIT_OK) status = retry_letter(cli, handle, &letters->items[0], reason);
  trilha_dead_letters_free(letters);
  trilha_close(handle);
  return status;
}
