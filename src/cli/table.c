/* cli/table: rows for people, sized to the terminal. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli_internal.h"

enum { GAP = 2, CUT_LEAST = 12 }; /* columns between cells; below this a cut cell says too little */

void trilha_cli_table_init(trilha_cli_table *table, size_t columns) {
  *table = (trilha_cli_table){.columns = columns};
  trilha_buffer_init(&table->cells, 0);
}

void trilha_cli_table_done(trilha_cli_table *table) {
  trilha_buffer_done(&table->cells);
}

void trilha_cli_table_add(trilha_cli_table *table, trilha_text text) {
  if (text.data == NULL) text = TRILHA_TEXT("-");
  trilha_cli_escape(&table->cells, text);
  trilha_buffer_add_char(&table->cells, '\0');
  table->added++;
}

static const char *next_cell(const char *cell) {
  return cell + strlen(cell) + 1;
}

/* Columns of a row; with `least` of one whose cells are cut as far as they may be. A width of 0 is a column left out.
 */
static size_t row_width(const trilha_cli_table *table, const size_t *widths, bool least) {
  size_t total = 0;
  for (size_t i = 0; i < table->columns; i++) {
    size_t width = least && !table->firm[i] && widths[i] > CUT_LEAST ? CUT_LEAST : widths[i];
    if (width > 0) total += width + (total > 0 ? GAP : 0);
  }
  return total;
}

static void measure(const trilha_cli_table *table, size_t cells, size_t *widths) {
  const char *cell = table->cells.data;
  for (size_t i = 0; i < cells; i++, cell = next_cell(cell)) {
    size_t columns = trilha_cli_columns(trilha_text_of(cell));
    if (columns > widths[i % table->columns]) widths[i % table->columns] = columns;
  }
}

/* Leaves out what can be spared, last columns first, while even cut cells are too wide. */
static void spare(const trilha_cli_table *table, size_t *widths, size_t room) {
  for (size_t i = table->columns; i-- > 0 && row_width(table, widths, true) > room;) {
    if (table->spare[i]) widths[i] = 0;
  }
}

/* Takes columns from the widest cell that may be cut until the row fits or nothing more can be cut. */
static void fit(const trilha_cli_table *table, size_t *widths, size_t room) {
  spare(table, widths, room);
  while (row_width(table, widths, false) > room) {
    size_t widest = table->columns;
    for (size_t i = 0; i < table->columns; i++) {
      if (table->firm[i] || widths[i] <= CUT_LEAST) continue;
      if (widest == table->columns || widths[i] > widths[widest]) widest = i;
    }
    if (widest == table->columns) return;
    widths[widest]--;
  }
}

size_t trilha_cli_cut(trilha_text cell, size_t columns) {
  size_t at = 0, end = 0;
  while (at < cell.size) {
    size_t next = at;
    trilha_utf8_next(cell.data, cell.size, &next);
    if (trilha_cli_columns((trilha_text){cell.data, next}) > columns) break;
    end = at = next;
  }
  return end;
}

static void print_cell(trilha_cli_output *o, trilha_text cell, size_t width, bool right, bool first, bool last) {
  size_t columns = trilha_cli_columns(cell);
  bool is_cut = columns > width;
  if (is_cut) {
    cell.size = trilha_cli_cut(cell, width - 1);
    columns = trilha_cli_columns(cell) + 1;
  }
  size_t padding = columns < width ? width - columns : 0;
  trilha_cli_putf(o, "%*s", (int)((first ? 0 : GAP) + (right ? padding : 0)), "");
  trilha_cli_put(o, cell);
  if (is_cut) trilha_cli_puts(o, "…");
  if (!last && !right) trilha_cli_putf(o, "%*s", (int)padding, "");
}

static size_t last_shown(const trilha_cli_table *table, const size_t *widths) {
  size_t last = table->columns - 1;
  while (last > 0 && widths[last] == 0) last--;
  return last;
}

void trilha_cli_table_print(trilha_cli *cli, const trilha_cli_table *table) {
  size_t widths[TRILHA_CLI_COLUMNS_MAX] = {0};
  if (table->added == 0) return;
  if (table->cells.failed != TRILHA_OK) {
    cli->out.os_errno = ENOMEM;
    return;
  }
  measure(table, table->added, widths);
  if (cli->out.terminal) fit(table, widths, cli->width);
  size_t last = last_shown(table, widths);
  const char *cell = table->cells.data;
  for (size_t i = 0; i < table->added; i++, cell = next_cell(cell)) {
    size_t column = i % table->columns;
    bool heading = i < table->columns;
    if (heading && column == 0) trilha_cli_style_set(&cli->out, TRILHA_STYLE_BOLD);
    if (widths[column] > 0) {
      print_cell(&cli->out, trilha_text_of(cell), widths[column], table->right[column], column == 0, column == last);
    }
    if (column + 1 < table->columns) continue;
    if (heading) trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
    trilha_cli_puts(&cli->out, "\n");
  }
}

void trilha_cli_table_add_number(trilha_cli_table *table, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  trilha_cli_table_add(table, trilha_text_of(text));
}

/* --- lists ------------------------------------------------------------------------------------------------------- */

void trilha_cli_rows_begin(trilha_cli_rows *rows, trilha_cli *cli, const char *const *headings, size_t columns) {
  *rows = (trilha_cli_rows){.cli = cli};
  trilha_cli_table_init(&rows->table, columns);
  for (size_t i = 0; i < columns; i++) trilha_cli_table_add(&rows->table, trilha_text_of(headings[i]));
}

void trilha_cli_rows_put(trilha_cli_rows *rows, const char *const *members, const trilha_text *texts, size_t count) {
  trilha_cli_output *out = &rows->cli->out;
  rows->count++;
  if (rows->cli->json) trilha_cli_puts(out, "{");
  for (size_t i = 0; i < count; i++) {
    if (rows->cli->json)
      trilha_cli_put_json_member(out, i == 0, members[i], texts[i]);
    else
      trilha_cli_table_add(&rows->table, texts[i]);
  }
  if (rows->cli->json) trilha_cli_puts(out, "}\n");
}

void trilha_cli_rows_end(trilha_cli_rows *rows, trilha_status status, trilha_cli_words none) {
  trilha_cli *cli = rows->cli;
  if (status == TRILHA_OK && !cli->json && rows->count > 0) trilha_cli_table_print(cli, &rows->table);
  if (status == TRILHA_OK && !cli->json && rows->count == 0)
    trilha_cli_putf(&cli->out, "%s\n", trilha_cli_choose(cli, none));
  trilha_cli_table_done(&rows->table);
}
