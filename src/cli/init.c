/* cli/init: `trilha init`: the store's schema, created or upgraded. */
#include "cli/cli_internal.h"
#include "cli/messages.h"

trilha_cli_words trilha_cli_migration_words(const char *what) {
  static const struct {
    const char *what;
    trilha_cli_words words;
  } all[] = {{"applied", {SAY_MIGRATION_APPLIED}},
             {"present", {SAY_MIGRATION_PRESENT}},
             {"adopted", {SAY_MIGRATION_ADOPTED}},
             {"pending", {SAY_MIGRATION_PENDING}}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(all[i].what, what) == 0) return all[i].words;
  }
  return (trilha_cli_words){what, what};
}

static void on_migration(void *user, const char *name, const char *what) {
  trilha_cli *cli = user;
  if (cli->json) {
    trilha_cli_puts(&cli->out, "{\"migration\":");
    trilha_cli_put_json_string(&cli->out, trilha_text_of(name));
    trilha_cli_puts(&cli->out, ",\"what\":");
    trilha_cli_put_json_string(&cli->out, trilha_text_of(what));
    trilha_cli_puts(&cli->out, "}\n");
  } else {
    trilha_cli_putf(&cli->out, "%s: %s\n", name, trilha_cli_choose(cli, trilha_cli_migration_words(what)));
  }
}

static bool is_postgres(const char *url) {
  return url != NULL && (strncmp(url, "postgresql:", 11) == 0 || strncmp(url, "postgres:", 9) == 0);
}

static int print_sql(trilha_cli *cli) {
  char *sql = NULL;
  trilha_error error = {0};
  const char *kind = is_postgres(cli->store_url) ? "postgresql" : "sqlite";
  if (trilha_migrations_sql(kind, &sql, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  trilha_cli_puts(&cli->out, sql);
  trilha_free(sql);
  return TRILHA_EXIT_OK;
}

int trilha_cli_run_init(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_options options = trilha_cli_options(cli);
  trilha_error error = {0};
  if (trilha_cli_has(args, "print-sql")) return print_sql(cli);
  if (trilha_migrate(&options, cli->dry_run, on_migration, cli, &error) != TRILHA_OK) {
    return trilha_cli_fail(cli, &error);
  }
  return trilha_cli_has(args, "dev") && !cli->dry_run ? trilha_cli_fill_for_development(cli) : TRILHA_EXIT_OK;
}
