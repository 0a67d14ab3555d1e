/* cli/delivery_options: the options of consume, consumers and dlq (their verbs: verbs.c). */
#include "cli/cli_internal.h"

#define END                                     \
  {                                             \
    NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, { \
      NULL, NULL                                \
    }                                           \
  }

/* How a program is told to handle events: consume and dlq reprocess. */
#define HANDLER_OPTIONS                                                                                               \
  {"exec",                                                                                                            \
   'x',                                                                                                               \
   TRILHA_CLI_COMMAND,                                                                                                \
   false,                                                                                                             \
   0,                                                                                                                 \
   "CMD ARG…",                                                                                                        \
   {"the program that handles the events, with its arguments: everything up to the end or to --",                     \
    "o programa que trata os eventos, com seus argumentos: tudo até o fim ou até --"}},                               \
      {"shell",                                                                                                       \
       0,                                                                                                             \
       TRILHA_CLI_TEXT,                                                                                               \
       false,                                                                                                         \
       0,                                                                                                             \
       "LINE",                                                                                                        \
       {"the same as a line for /bin/sh", "o mesmo como uma linha para /bin/sh"}},                                    \
      {"each",                                                                                                        \
       'e',                                                                                                           \
       TRILHA_CLI_FLAG,                                                                                               \
       false,                                                                                                         \
       0,                                                                                                             \
       NULL,                                                                                                          \
       {"a process for each event: event on standard input, exit status decides, standard error is the error",        \
        "um processo para cada evento: evento na entrada padrão, o código de saída decide, a saída de erro é o " \
        "erro"}},                                                                                                     \
      {"timeout",                                                                                                     \
       0,                                                                                                             \
       TRILHA_CLI_NUMBER,                                                                                             \
       false,                                                                                                         \
       1,                                                                                                             \
       "SECONDS",                                                                                                     \
       {"how long one event may take; default 30", "quanto um evento pode demorar; padrão 30"}},                      \
  {                                                                                                                   \
    "name", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {                                                                   \
      "the handler's name in a dead letter; default: the program's",                                                  \
          "nome do manipulador na DLQ; padrão: o do programa"                                                        \
    }                                                                                                                 \
  }

const trilha_cli_option trilha_cli_consume_options[] = {
    {"colony",
     'c',
     TRILHA_CLI_TEXT,
     false,
     0,
     "COLONY",
     {"the colony that consumes, e.g. D-4 (needed)", "a colônia que consome, p. ex. D-4 (obrigatório)"}},
    {"type",
     't',
     TRILHA_CLI_TEXT,
     true,
     0,
     "TYPE",
     {"a type to consume (needed); may be given several times",
      "um tipo a consumir (obrigatório); pode ser dada várias vezes"}},
    {"group",
     'g',
     TRILHA_CLI_TEXT,
     false,
     0,
     "NAME",
     {"a part of the colony's types with a holder of its own", "uma parte dos tipos da colônia com detentor próprio"}},
    HANDLER_OPTIONS,
    {"from",
     0,
     TRILHA_CLI_TEXT,
     false,
     0,
     "SEQUENCE|start|end",
     {"where a type without a cursor begins; default end: new events only",
      "onde começa um tipo sem cursor; padrão end: só eventos novos"}},
    {"batch",
     0,
     TRILHA_CLI_NUMBER,
     false,
     1,
     "N",
     {"successes that share one move of the cursor; default 1", "sucessos que dividem um avanço do cursor; padrão 1"}},
    {"once",
     0,
     TRILHA_CLI_FLAG,
     false,
     0,
     NULL,
     {"end when nothing is left to do", "terminar quando não houver mais nada"}},
    {"lease",
     0,
     TRILHA_CLI_NUMBER,
     false,
     1,
     "SECONDS",
     {"after how long another process takes over from one that died; default 15",
      "após quanto outro processo assume o lugar de um que morreu; padrão 15"}},
    END,
};

const trilha_cli_option trilha_cli_consumers_options[] = {
    {"colony", 'c', TRILHA_CLI_TEXT, false, 0, "COLONY", {"only this colony", "só esta colônia"}},
    END,
};

const trilha_cli_option trilha_cli_dlq_list_options[] = {
    {"colony", 'c', TRILHA_CLI_TEXT, false, 0, "COLONY", {"of this colony", "desta colônia"}},
    {"type", 't', TRILHA_CLI_TEXT, false, 0, "TYPE", {"of events of this type", "de eventos deste tipo"}},
    {"status",
     0,
     TRILHA_CLI_TEXT,
     false,
     0,
     "STATUS",
     {"pendente, retrying, resolved or failed_permanent", "pendente, retrying, resolved ou failed_permanent"}},
    {"event-id", 0, TRILHA_CLI_TEXT, false, 0, "UUID", {"of this event", "deste evento"}},
    {"limit",
     'l',
     TRILHA_CLI_NUMBER,
     false,
     1,
     "N",
     {"most rows; default 100, at most 500", "máximo de linhas; padrão 100, no máximo 500"}},
    {"after",
     'a',
     TRILHA_CLI_NUMBER,
     false,
     0,
     "ID",
     {"only larger ids: the next page", "só ids maiores: a próxima página"}},
    END,
};

const trilha_cli_option trilha_cli_dlq_reprocess_options[] = {
    {"colony", 'c', TRILHA_CLI_TEXT, false, 0, "COLONY", {"of this colony (needed)", "desta colônia (obrigatório)"}},
    HANDLER_OPTIONS,
    {"id",
     0,
     TRILHA_CLI_NUMBER,
     true,
     1,
     "ID",
     {"only this one; may be given several times", "só esta; pode ser dada várias vezes"}},
    {"type", 't', TRILHA_CLI_TEXT, false, 0, "TYPE", {"only of this type", "só deste tipo"}},
    {"event-id", 0, TRILHA_CLI_TEXT, false, 0, "UUID", {"only of this event", "só deste evento"}},
    {"wait",
     0,
     TRILHA_CLI_NUMBER,
     false,
     1,
     "SECONDS",
     {"how long to wait for the colony's consumer; default 30",
      "quanto esperar pelo consumidor da colônia; padrão 30"}},
    END,
};

const trilha_cli_option trilha_cli_dlq_retry_options[] = {
    {"reason",
     'r',
     TRILHA_CLI_TEXT,
     false,
     0,
     "TEXT",
     {"why, for the audit trail (needed)", "por quê, para a trilha de auditoria (obrigatório)"}},
    END,
};
