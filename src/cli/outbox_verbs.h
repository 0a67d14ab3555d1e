/* cli/outbox_verbs: the rows of the verbs' table for outbox and worker; included by verbs.c alone. Room: cli. */
#ifndef TRILHA_CLI_OUTBOX_VERBS_H
#define TRILHA_CLI_OUTBOX_VERBS_H

#include "cli/outbox_internal.h"

/* clang-format off */
#define TRILHA_CLI_OUTBOX_VERBS                                                                                         \
  {.noun = "outbox",                                                                                                    \
   .name = "install",                                                                                                   \
   .summary = {"create or upgrade a producer's outbox and inbox", "criar ou atualizar outbox e inbox de um produtor"},  \
   .explains = {"Creates the tables, and on PostgreSQL the functions, in the producer's own schema, in one transaction. " \
                "Running it again does no harm. --store names the producer's database, which need hold no Trilha store.", \
                "Cria as tabelas, e no PostgreSQL as funções, no schema do próprio produtor, em uma transação. Rodar de " \
                "novo não faz mal. --store nomeia o banco do produtor, que não precisa ter uma Trilha."},               \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON | TRILHA_CLI_DRY_RUN,                                                   \
   .options = trilha_cli_outbox_install_options,                                                                        \
   .examples = {{"trilha outbox install --store postgresql://billing@localhost/app --schema billing",                   \
                 {"in the schema billing", "no schema billing"}},                                                       \
                {"trilha outbox install --store postgresql: --schema billing --print-sql > outbox.sql",                 \
                 {"for billing's own migrations", "para as migrações do próprio billing"}}},                            \
   .run = trilha_cli_run_outbox_install},                                                                               \
  {.noun = "outbox",                                                                                                    \
   .name = "grant",                                                                                                     \
   .summary = {"let a database role do one duty", "deixar um papel do banco cumprir uma função"},                       \
   .explains = {"PostgreSQL: gives ROLE what one duty needs and nothing else. A producer enqueues; a relay claims and " \
                "settles, and can never enqueue; a consumer accepts into the inbox; an operator looks, retries, "       \
                "discards. Nobody gets a right on a table.",                                                            \
                "PostgreSQL: dá a ROLE o que uma função exige e nada mais. Um producer enfileira; um relay retira e "   \
                "conclui, e nunca enfileira; um consumer aceita no inbox; um operator olha, repete, descarta. Ninguém " \
                "ganha direito sobre uma tabela."},                                                                     \
   .operands = "ROLE",                                                                                                  \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_grant_options,                                                                          \
   .examples = {{"trilha outbox grant billing_app --store postgresql://owner@localhost/app --schema billing --duty producer", \
                 {"the business program", "o programa de negócio"}}},                                                   \
   .run = trilha_cli_run_outbox_grant},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "route",                                                                                                     \
   .summary = {"say which types go to which destination", "dizer quais tipos vão para qual destino"},                   \
   .explains = {"PATTERN is a type, the beginning of one followed by *, or *. A type that no route takes is refused at " \
                "enqueue. Messages that are in the outbox keep the destinations they have.",                            \
                "PATTERN é um tipo, o começo de um seguido de *, ou *. Um tipo que nenhuma rota aceita é recusado ao "  \
                "enfileirar. Mensagens que já estão no outbox mantêm seus destinos."},                                  \
   .operands = "PATTERN DESTINATION",                                                                                   \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 2,                                                                                                   \
   .operands_max = 2,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_route_options,                                                                          \
   .examples = {{"trilha outbox route 'invoice.*' erp --schema billing",                                                \
                 {"all types of invoices to erp", "todos os tipos de faturas para erp"}}},                              \
   .run = trilha_cli_run_outbox_route},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "routes",                                                                                                    \
   .summary = {"list the routes", "listar as rotas"},                                                                   \
   .explains = {"Lists which types go to which destination.", "Lista quais tipos vão para qual destino."},              \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .run = trilha_cli_run_outbox_routes},                                                                                \
  {.noun = "outbox",                                                                                                    \
   .name = "status",                                                                                                    \
   .summary = {"how each destination stands", "como está cada destino"},                                                \
   .explains = {"For each destination: lanes that are ready, that wait for their next attempt, that are being sent, and " \
                "that are dead, and the age of the oldest head. A lane is one aggregate with messages for it.",         \
                "Para cada destino: faixas prontas, à espera da próxima tentativa, em envio e mortas, e a cabeça mais " \
                "antiga. Uma faixa é um agregado com mensagens para ele."},                                             \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .run = trilha_cli_run_outbox_status},                                                                                \
  {.noun = "outbox",                                                                                                    \
   .name = "lanes",                                                                                                     \
   .summary = {"what waits, and why", "o que espera, e por quê"},                                                       \
   .explains = {"Lists lanes with work: dead ones first, then failing ones. The head of a lane blocks what is behind "  \
                "it; nothing passes a dead head but a retry that succeeds, or a discard.",                              \
                "Lista faixas com trabalho: primeiro as mortas, depois as que falham. A cabeça de uma faixa bloqueia o " \
                "que está atrás; nada passa por uma cabeça morta, só uma repetição com sucesso ou um descarte."},       \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_lanes_options,                                                                          \
   .examples = {{"trilha outbox lanes --schema billing --status DeadLettered",                                          \
                 {"what needs an operator", "o que precisa de um operador"}}},                                          \
   .run = trilha_cli_run_outbox_lanes},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "show",                                                                                                      \
   .summary = {"one message and its status for each destination", "uma mensagem e seu estado em cada destino"},         \
   .explains = {"Shows everything but the payload, which is the producer's own data: of that, size and SHA-256.",       \
                "Mostra tudo menos o payload, que é dado do próprio produtor: dele, tamanho e SHA-256."},               \
   .operands = "MESSAGE-ID",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_show_options,                                                                         \
   .run = trilha_cli_run_outbox_show},                                                                                  \
  {.noun = "outbox",                                                                                                    \
   .name = "retry",                                                                                                     \
   .summary = {"send a dead message again", "enviar de novo uma mensagem morta"},                                       \
   .explains = {"Gives the dead message at the head of its lane a second chance, under the same identity, its attempts " \
                "counted anew. Who and why are kept in the same transaction.",                                          \
                "Dá outra chance à mensagem morta na cabeça da sua faixa, com a mesma identidade e as tentativas "      \
                "contadas de novo. Quem e por quê ficam guardados na mesma transação."},                                \
   .operands = "[MESSAGE-ID]",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 0,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_DRY_RUN,                                                                     \
   .options = trilha_cli_outbox_retry_options,                                                                          \
   .run = trilha_cli_run_outbox_retry},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "discard",                                                                                                   \
   .summary = {"give a dead message up", "descartar uma mensagem morta"},                                               \
   .explains = {"Gives the dead message at the head of its lane up for one destination, so that what is behind it goes " \
                "on. Look at the destination first and say what it knows of the message.",                              \
                "Descarta para um destino a mensagem morta na cabeça da sua faixa, para que o que está atrás siga. "    \
                "Olhe antes o destino e diga o que ele sabe da mensagem."},                                             \
   .operands = "[MESSAGE-ID]",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 0,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_DRY_RUN,                                                                     \
   .options = trilha_cli_outbox_discard_options,                                                                        \
   .run = trilha_cli_run_outbox_discard},                                                                               \
  {.noun = "outbox",                                                                                                    \
   .name = "correct",                                                                                                   \
   .summary = {"give a message other content, under its id and in its place", "dar outro conteúdo a uma mensagem, com seu id e no seu lugar"},\
   .explains = {"Stores the JSON object of FILE (- is standard input) as the next revision of the message; the last revision is what is sent. Earlier "\
                "ones stay, with who, why and a diff that holds no value. Refused while a worker has the message under its lease. Looking at the "\
                "content to compare it is noted in the trail, with --dry-run too.",                                     \
                "Guarda o objeto JSON de FILE (- é a entrada padrão) como próxima revisão da mensagem; a última revisão é a que se envia. As anteriores "\
                "ficam, com quem, por quê e um diff sem valores. Recusado enquanto um worker tem a mensagem sob arrendamento. Olhar o conteúdo para "\
                "comparar fica na trilha, também com --dry-run."},                                                      \
   .operands = "MESSAGE-ID FILE",                                                                                       \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 2,                                                                                                   \
   .operands_max = 2,                                                                                                   \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_DRY_RUN | TRILHA_CLI_JSON,                                                   \
   .options = trilha_cli_outbox_correct_options,                                                                        \
   .run = trilha_cli_run_outbox_correct},                                                                               \
  {.noun = "outbox",                                                                                                    \
   .name = "reconcile",                                                                                                 \
   .summary = {"record what a destination, asked, says about a message", "registrar o que um destino, consultado, diz sobre uma mensagem"},\
   .explains = {"Received, Applied, Refused, Unknown (it does not know the message) or Conflict (it holds other content under this id). A discard "\
                "rests on what was recorded after the message failed.",                                                 \
                "Received, Applied, Refused, Unknown (não conhece a mensagem) ou Conflict (tem outro conteúdo sob este id). Um descarte se apoia no "\
                "que foi registrado depois da falha."},                                                                 \
   .operands = "MESSAGE-ID",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_reconcile_options,                                                                      \
   .run = trilha_cli_run_outbox_reconcile},                                                                             \
  {.noun = "outbox",                                                                                                    \
   .name = "applied",                                                                                                   \
   .summary = {"record that a destination has applied a message", "registrar que um destino aplicou uma mensagem"},     \
   .explains = {"That a destination acknowledged a message says that it has the bytes. That it has received and that it has applied it are facts of its "\
                "own, each kept once for a revision, with the time it states.",                                         \
                "Que um destino aceitou uma mensagem diz que ele tem os bytes. Que a recebeu e que a aplicou são fatos dele, cada um guardado uma vez "\
                "por revisão, com o momento que ele declara."},                                                         \
   .operands = "MESSAGE-ID",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_applied_options,                                                                        \
   .run = trilha_cli_run_outbox_applied},                                                                               \
  {.noun = "worker",                                                                                                    \
   .name = "run",                                                                                                       \
   .summary = {"deliver an outbox's messages to a destination", "entregar as mensagens de um outbox a um destino"},     \
   .explains = {"Sends each message at least once, in order within its aggregate. A program of --exec accepts a message " \
                "by exit status 0 and refuses it for good by 65; anything else, and no end within --timeout, is tried " \
                "again after a pause. The last line of its standard error is kept as the reason, so it must hold "      \
                "nothing of the payload. A webhook accepts by 2xx and refuses for good by 400, 413, 415 or 422; what "  \
                "its URL resolves to must be public or in --allow-network; secrets and TRILHA_WEBHOOK_AUTHORIZATION "   \
                "never stand in the command line. Any number of workers may share an outbox. The first SIGTERM lets "  \
                "what is under way end.",                                                                                       \
                "Envia cada mensagem ao menos uma vez, em ordem dentro do seu agregado. Um programa de --exec aceita "  \
                "uma mensagem com código de saída 0 e a recusa de vez com 65; qualquer outro, ou não terminar dentro "  \
                "de --timeout, é tentado de novo após uma pausa. A última linha da sua saída de erros fica como "       \
                "motivo, logo não pode conter nada do payload. Um webhook aceita com 2xx e recusa de vez com 400, 413, " \
                "415 ou 422; o endereço da URL deve ser público ou estar em --allow-network; segredos e "               \
                "TRILHA_WEBHOOK_AUTHORIZATION nunca ficam na linha de comando. Vários workers podem dividir um outbox. O primeiro "     \
                "SIGTERM deixa terminar o que está em andamento."},                                                     \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_KEYRING,                                                                     \
   .options = trilha_cli_worker_options,                                                                                \
   .examples = {{"trilha worker run --schema billing --destination log --bus", {"into the event log", "para o registro de eventos"}}, \
                {"trilha worker run --schema billing --destination shop --webhook https://shop.example/hook --secret-file hook.secret", \
                 {"to somebody's server, signed", "para o servidor de alguém, assinadas"}},                             \
                {"trilha worker run --schema billing --destination erp --exec ./send-to-erp",                           \
                 {"by a program of yours", "por um programa seu"}}},                                                    \
   .run = trilha_cli_run_worker}
/* clang-format on */

#endif
