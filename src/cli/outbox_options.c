/* cli/outbox_options: the options of outbox and worker (their verbs: outbox_verbs.h). */
#include "cli/outbox_internal.h"

/* clang-format off */
#define END {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}}
#define SCHEMA                                                                                                     \
  {"schema", 'S', TRILHA_CLI_TEXT, false, 0, "NAME",                                                               \
   {"the producer's schema; on SQLite a prefix of its tables, and may be left out",                                \
    "o schema do produtor; no SQLite um prefixo das suas tabelas, e pode ser omitido"}}
#define SOURCES                                                                                                    \
  {"source", 0, TRILHA_CLI_TEXT, true, 0, "NAME",                                                                  \
   {"an outbox that the configuration registers, with its windows, instead of --store and --schema; repeats",      \
    "um outbox que a configuração registra, com seus prazos, em vez de --store e --schema; repetível"}},           \
  {"all-sources", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"every outbox that the configuration registers", "todo outbox que a configuração registra"}}, \
  {"config", 'c', TRILHA_CLI_FILE, false, 0, "FILE",                                                               \
   {"the configuration; default: trilha.yaml, if it is there", "a configuração; padrão: trilha.yaml, se existir"}}
#define DESTINATION(en, pt) {"destination", 'd', TRILHA_CLI_TEXT, false, 0, "NAME", {en, pt}}
#define REASON {"reason", 'r', TRILHA_CLI_TEXT, false, 0, "TEXT", {"why, for the trail (needed)", "por quê, para a trilha (obrigatória)"}}

const trilha_cli_option trilha_cli_outbox_schema_options[] = {SCHEMA, END};
const trilha_cli_option trilha_cli_guarantees_options[] = {
    {"schema", 'S', TRILHA_CLI_TEXT, false, 0, "NAME",
     {"also the outbox of this schema, or of this prefix, in the store's own database", "também o outbox deste schema, ou deste prefixo, no próprio banco do armazenamento"}},
    {"all-sources", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"also every outbox that the configuration registers", "também todo outbox que a configuração registra"}},
    {"config", 'c', TRILHA_CLI_FILE, false, 0, "FILE",
     {"the configuration; default: trilha.yaml, if it is there", "a configuração; padrão: trilha.yaml, se existir"}},
    END};
const trilha_cli_option trilha_cli_outbox_install_options[] = {
    SCHEMA,
    {"print-sql", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"print the SQL instead, for the producer's own migrations", "mostrar o SQL em vez disso, para as migrações do próprio produtor"}},
    END};
const trilha_cli_option trilha_cli_outbox_grant_options[] = {
    SCHEMA,
    {"duty", 0, TRILHA_CLI_TEXT, false, 0, "DUTY",
     {"producer, relay, consumer or operator (needed)", "producer, relay, consumer ou operator (obrigatória)"}},
    END};
const trilha_cli_option trilha_cli_outbox_route_options[] = {
    SCHEMA, {"remove", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"take the route away", "remover a rota"}}, END};
const trilha_cli_option trilha_cli_outbox_status_options[] = {
    SCHEMA, {"tenants", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"lanes with messages of each tenant instead, the most first, at most 100", "em vez disso, faixas com mensagens de cada inquilino, as maiores primeiro, no máximo 100"}},
    END};
const trilha_cli_option trilha_cli_outbox_lanes_options[] = {
    SCHEMA,
    {"tenant", 't', TRILHA_CLI_TEXT, false, 0, "TENANT", {"only of this tenant", "só deste inquilino"}},
    DESTINATION("only to this destination", "só para este destino"),
    {"status", 0, TRILHA_CLI_TEXT, false, 0, "STATUS",
     {"only with a head that is Pending, Dispatching, Failed or DeadLettered", "só com a cabeça Pending, Dispatching, Failed ou DeadLettered"}},
    {"code", 0, TRILHA_CLI_TEXT, false, 0, "CODE",
     {"only with this code, of the head's last failure or of why it is held", "só com este código, da última falha da cabeça ou do motivo da retenção"}},
    {"after", 0, TRILHA_CLI_NUMBER, false, 0, "PLACE",
     {"in the order of places, which --json tells, those behind this one: the next page; 0 begins", "na ordem dos lugares, que --json mostra, as que vêm depois deste: a próxima página; 0 começa"}},
    {"limit", 'l', TRILHA_CLI_NUMBER, false, 1, "N", {"most rows; default 100, at most 1000", "máximo de linhas; padrão 100, no máximo 1000"}},
    END};
#define SELECTION                                                                                                  \
  {"code", 0, TRILHA_CLI_TEXT, false, 0, "CODE", {"all that are dead with this error code", "todas as mortas com este código de erro"}}, \
  {"before", 0, TRILHA_CLI_TEXT, false, 0, "TIME",                                                                 \
   {"all that died before this ISO-8601 time", "todas as que morreram antes deste momento ISO-8601"}},             \
  {"yes", 0, TRILHA_CLI_FLAG, false, 0, NULL,                                                                      \
   {"with a selection: do it; otherwise it is only told", "com uma seleção: fazê-lo; senão apenas se mostra"}}
#define REVISION(en, pt) {"revision", 0, TRILHA_CLI_NUMBER, false, 1, "N", {en, pt}}
#define STATED                                                                                                     \
  {"at", 0, TRILHA_CLI_TEXT, false, 0, "TIME", {"since when, ISO-8601; default now", "desde quando, ISO-8601; padrão agora"}}, \
  {"operation", 0, TRILHA_CLI_TEXT, false, 0, "ID",                                                                \
   {"the destination's own name for what it did", "o nome que o próprio destino dá ao que fez"}},                  \
  REVISION("of which revision; default the last", "de qual revisão; padrão a última"),                             \
  {"note", 0, TRILHA_CLI_TEXT, false, 0, "TEXT", {"more about it; nothing of the payload", "mais sobre isso; nada do payload"}}

const trilha_cli_option trilha_cli_outbox_retry_options[] = {
    SCHEMA, DESTINATION("where it goes (needed)", "para onde vai (obrigatória)"), REASON, SELECTION, END};
const trilha_cli_option trilha_cli_outbox_discard_options[] = {
    SCHEMA, DESTINATION("for which destination (needed)", "para qual destino (obrigatória)"), REASON,
    {"reconciliation", 0, TRILHA_CLI_TEXT, false, 0, "TEXT",
     {"what the destination says about it; default: what was recorded since it failed", "o que o destino diz sobre ela; padrão: o registrado desde a falha"}},
    {"override", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"give it up although nothing says what the destination knows", "descartar embora nada diga o que o destino sabe"}},
    SELECTION, END};
const trilha_cli_option trilha_cli_outbox_show_options[] = {
    SCHEMA,
    {"revisions", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"its revisions, with who, why and diff", "suas revisões, com quem, por quê e diff"}},
    {"receipts", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"what destinations say about it", "o que os destinos dizem sobre ela"}},
    {"reveal", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"its payload; needs --reason, and the trail keeps it", "seu payload; exige --reason, e a trilha o guarda"}},
    REVISION("which revision to reveal; default the last", "qual revisão revelar; padrão a última"),
    {"reason", 'r', TRILHA_CLI_TEXT, false, 0, "TEXT", {"with --reveal: why, for the trail", "com --reveal: por quê, para a trilha"}},
    END};
const trilha_cli_option trilha_cli_outbox_correct_options[] = {
    SCHEMA, REASON, REVISION("the revision that was looked at: refused when there is another by now", "a revisão que foi vista: recusada se já houver outra"),
    END};
const trilha_cli_option trilha_cli_outbox_reconcile_options[] = {
    SCHEMA, DESTINATION("which destination was asked (needed)", "qual destino foi consultado (obrigatória)"),
    {"says", 0, TRILHA_CLI_TEXT, false, 0, "FACT",
     {"Received, Applied, Refused, Unknown or Conflict", "Received, Applied, Refused, Unknown ou Conflict"}},
    {"exec", 'x', TRILHA_CLI_COMMAND, false, 0, "CMD ARG…",
     {"or run a program that asks it: everything up to the end or to --; a JSON line on its input says which message, "
      "one on its output what the destination says",
      "ou executar um programa que o consulta: tudo até o fim ou até --; uma linha JSON na entrada diz qual mensagem, uma "
      "na saída o que o destino diz"}},
    {"timeout", 0, TRILHA_CLI_NUMBER, false, 1, "SECONDS",
     {"with --exec: for one answer; default 10, at most 3600", "com --exec: para uma resposta; padrão 10, no máximo 3600"}},
    {"code", 0, TRILHA_CLI_TEXT, false, 0, "CODE",
     {"with --exec: all that are dead with this error code", "com --exec: todas as mortas com este código de erro"}},
    {"before", 0, TRILHA_CLI_TEXT, false, 0, "TIME",
     {"with --exec: all that died before this ISO-8601 time", "com --exec: todas as que morreram antes deste momento ISO-8601"}},
    STATED, END};
const trilha_cli_option trilha_cli_outbox_applied_options[] = {
    SCHEMA, DESTINATION("by which destination (needed)", "por qual destino (obrigatória)"),
    {"received", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"it says it has received it only", "ele diz apenas tê-la recebido"}},
    STATED, END};
const trilha_cli_option trilha_cli_outbox_hold_options[] = {
    SCHEMA,
    {"holder", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {"what you call the other dispatcher (needed)", "como se chama o outro despachante (obrigatória)"}},
    REASON, END};
const trilha_cli_option trilha_cli_outbox_take_options[] = {
    SCHEMA, REASON,
    {"override", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"although its backlog is not imported, or changed since", "embora seu acúmulo não esteja importado, ou tenha mudado desde então"}},
    END};
const trilha_cli_option trilha_cli_outbox_import_options[] = {
    SCHEMA, REASON,
    {"batch", 0, TRILHA_CLI_NUMBER, false, 1, "N",
     {"rows of one transaction; default 500, at most 10000", "linhas de uma transação; padrão 500, no máximo 10000"}},
    {"yes", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"do it; otherwise it is only told", "fazê-lo; senão apenas se mostra"}},
    END};
const trilha_cli_option trilha_cli_worker_options[] = {
    SCHEMA,
    SOURCES,
    DESTINATION("whose messages are sent (needed)", "de quem são as mensagens enviadas (obrigatória)"),
    {"bus", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"publish them into the event log", "publicá-las no registro de eventos"}},
    {"log", 0, TRILHA_CLI_TEXT, false, 0, "URL",
     {"with --bus: the store of that log; default: the same as --store, with sources the configuration's store",
      "com --bus: o armazenamento desse registro; padrão: o mesmo de --store, com fontes o store da configuração"}},
    {"stdout", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"write each as a JSON line", "escrever cada uma como uma linha JSON"}},
    {"webhook", 0, TRILHA_CLI_TEXT, false, 0, "URL",
     {"POST each as a CloudEvent; only 2xx accepts it", "enviar cada uma por POST como CloudEvent; só 2xx a aceita"}},
    {"secret-file", 0, TRILHA_CLI_TEXT, false, 0, "FILE",
     {"with --webhook: whsec_ secrets that sign, newest first; or TRILHA_WEBHOOK_SECRETS",
      "com --webhook: segredos whsec_ que assinam, o mais novo primeiro; ou TRILHA_WEBHOOK_SECRETS"}},
    {"structured", 0, TRILHA_CLI_FLAG, false, 0, NULL,
     {"with --webhook: the event as one JSON object", "com --webhook: o evento como um objeto JSON"}},
    {"allow-network", 0, TRILHA_CLI_TEXT, true, 0, "CIDR",
     {"with --webhook: may be reached although it is private or the like; repeats",
      "com --webhook: pode ser alcançada embora seja privada ou semelhante; repetível"}},
    {"ca-file", 0, TRILHA_CLI_TEXT, false, 0, "FILE",
     {"with --webhook: certificates to trust instead of the system's", "com --webhook: certificados confiáveis em vez dos do sistema"}},
    {"exec", 'x', TRILHA_CLI_COMMAND, false, 0, "CMD ARG…",
     {"run a program for each, with the message as a JSON line on its input: everything up to the end or to --",
      "executar um programa para cada uma, com a mensagem como linha JSON na sua entrada: tudo até o fim ou até --"}},
    {"timeout", 0, TRILHA_CLI_NUMBER, false, 1, "SECONDS", {"of one send; default 10", "de um envio; padrão 10"}},
    {"lease", 0, TRILHA_CLI_NUMBER, false, 1, "SECONDS",
     {"default 30; must exceed --timeout by more than 5", "padrão 30; deve passar de --timeout em mais de 5"}},
    {"attempts", 0, TRILHA_CLI_NUMBER, false, 1, "N", {"then a message is dead-lettered; default 10", "depois a mensagem é morta; padrão 10"}},
    {"backoff", 0, TRILHA_CLI_NUMBER, false, 1, "SECONDS",
     {"longest pause between attempts; default 300", "maior pausa entre tentativas; padrão 300"}},
    {"quota", 0, TRILHA_CLI_NUMBER, false, 1, "N",
     {"most lanes of one tenant in flight; default 8", "máximo de faixas de um inquilino em voo; padrão 8"}},
    {"weight", 0, TRILHA_CLI_NUMBER, false, 1, "N",
     {"threads that take lanes, each with a connection; default 1", "threads que tomam faixas, cada uma com uma conexão; padrão 1"}},
    {"service", 0, TRILHA_CLI_TEXT, false, 0, "CREDENTIAL",
     {"in whose name, where the outbox asks for a grant; default on PostgreSQL the login", "em nome de quem, onde o outbox exige concessão; padrão no PostgreSQL o login"}},
    {"once", 0, TRILHA_CLI_FLAG, false, 0, NULL, {"end when nothing is due", "terminar quando nada estiver vencido"}},
    END};
const trilha_cli_option trilha_cli_worker_drain_options[] = {SCHEMA, REASON, END};
const trilha_cli_option trilha_cli_service_options[] = {
    SCHEMA, DESTINATION("to which destination (needed)", "para qual destino (obrigatória)"),
    {"tenant", 't', TRILHA_CLI_TEXT, false, 0, "TENANT", {"of which tenant (needed)", "de qual inquilino (obrigatória)"}},
    {"company", 0, TRILHA_CLI_TEXT, false, 0, "COMPANY",
     {"of which company; default: messages that name none", "de qual empresa; padrão: mensagens que não nomeiam nenhuma"}},
    {"operation", 0, TRILHA_CLI_TEXT, false, 0, "TYPE", {"the message type that is dispatched (needed)", "o tipo de mensagem despachado (obrigatória)"}},
    REASON, END};
const trilha_cli_option trilha_cli_inbox_options[] = {
    SCHEMA,
    {"tenant", 't', TRILHA_CLI_TEXT, false, 0, "TENANT", {"only of this tenant", "só deste inquilino"}},
    {"consumer", 0, TRILHA_CLI_TEXT, false, 0, "NAME", {"only of this consumer", "só deste consumidor"}},
    {"message", 0, TRILHA_CLI_TEXT, false, 0, "MESSAGE-ID", {"only this message", "só esta mensagem"}},
    {"limit", 'l', TRILHA_CLI_NUMBER, false, 1, "N", {"most rows; default 100, at most 1000", "máximo de linhas; padrão 100, no máximo 1000"}},
    {"after", 0, TRILHA_CLI_TEXT, false, 0, "PLACE",
     {"only what is behind the row with this place, which --json tells: the next page", "só o que vem depois da linha com este lugar, que --json mostra: a próxima página"}},
    END};
#define PURGE_WINDOWS                                                                                              \
  {"messages", 0, TRILHA_CLI_TEXT, false, 0, "AGE",                                                                \
   {"messages that were settled longer ago, as 30d, 12h, 90m or 45s", "mensagens concluídas há mais tempo, como 30d, 12h, 90m ou 45s"}}, \
  {"inbox", 0, TRILHA_CLI_TEXT, false, 0, "AGE",                                                                   \
   {"rows of the inbox that were accepted longer ago", "linhas do inbox aceitas há mais tempo"}},                  \
  {"retry", 0, TRILHA_CLI_TEXT, false, 0, "AGE",                                                                   \
   {"how long after its first send a message may be sent again, an operator's retry included (needed with --inbox)", \
    "até quando, após o primeiro envio, uma mensagem pode ser reenviada, também por um operador (obrigatória com --inbox)"}}, \
  {"restore", 0, TRILHA_CLI_TEXT, false, 0, "AGE",                                                                 \
   {"how far back a restored backup may be (needed)", "quão antigo pode ser um backup restaurado (obrigatória)"}},  \
  {"batch", 0, TRILHA_CLI_NUMBER, false, 1, "N",                                                                   \
   {"rows of one transaction; default 1000, at most 10000", "linhas de uma transação; padrão 1000, no máximo 10000"}}
const trilha_cli_option trilha_cli_purge_plan_options[] = {SCHEMA, SOURCES, PURGE_WINDOWS, END};
const trilha_cli_option trilha_cli_purge_run_options[] = {SCHEMA, SOURCES, PURGE_WINDOWS, REASON, END};
/* clang-format on */
