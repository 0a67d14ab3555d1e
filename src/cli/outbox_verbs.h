/* cli/outbox_verbs: the rows of the verbs' table for outbox and worker; included by verbs.c alone. Room: cli. */
#ifndef TRILHA_CLI_OUTBOX_VERBS_H
#define TRILHA_CLI_OUTBOX_VERBS_H

#include "cli/outbox_internal.h"
#include "cli/serve_internal.h"

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
   .options = trilha_cli_outbox_status_options,                                                                         \
   .run = trilha_cli_run_outbox_status},                                                                                \
  {.noun = "outbox",                                                                                                    \
   .name = "lanes",                                                                                                     \
   .summary = {"what waits, and why", "o que espera, e por quê"},                                                       \
   .explains = {"Lists lanes with work: dead ones first, then failing ones. The head of a lane blocks what is behind "  \
                "it; nothing passes a dead head but a retry that succeeds (`trilha outbox retry`, after `correct` if "  \
                "need be), or a discard. HELD says why nobody sends a lane now, as its workers said within the last 5 " \
                "seconds; how each hold ends is told below.",                                                           \
                "Lista faixas com trabalho: primeiro as mortas, depois as que falham. A cabeça de uma faixa bloqueia o " \
                "que está atrás; nada passa por uma cabeça morta, só uma repetição com sucesso (`trilha outbox retry`, " \
                "depois de `correct` se preciso) ou um descarte. HELD diz por que ninguém envia a faixa agora, como "   \
                "seus workers disseram nos últimos 5 segundos; embaixo se diz como cada retenção termina."},            \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_lanes_options,                                                                          \
   .examples = {{"trilha outbox lanes --schema billing --status DeadLettered",                                          \
                 {"what needs an operator", "o que precisa de um operador"}}},                                          \
   .run = trilha_cli_run_outbox_lanes},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "guarantees",                                                                                                \
   .summary = {"what each destination's handler guarantees", "o que garante quem atende cada destino"},                 \
   .explains = {"Lists every destination with what the relay that serves it said of its handler. Atomic: the effect commits with an inbox's acceptance, once. "\
                "Durable: at least once, and a repeat has the id by which the destination knows it. Best effort: a repeat may have its effect again, or "\
                "what was accepted may be lost; with why.",                                                              \
                "Lista cada destino com o que o relay que o atende disse de quem recebe. Atomic: o efeito é confirmado junto com a aceitação de um inbox, uma "\
                "vez. Durable: ao menos uma vez, e uma repetição tem o id pelo qual o destino a reconhece. Best effort: uma repetição pode ter efeito de novo, "\
                "ou o aceito pode se perder; com o motivo."},                                                           \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .examples = {{"trilha outbox guarantees --schema billing", {"before a restore, say", "antes de uma restauração, digamos"}}}, \
   .run = trilha_cli_run_outbox_guarantees},                                                                            \
  {.name = "guarantees",                                                                                                \
   .summary = {"what each handler of events or messages guarantees", "o que garante cada um que trata eventos ou mensagens"}, \
   .explains = {"Lists every handler with what it promises. Consumers are durable, at least once, and a repeat has the event's id; or they declare atomic: the cursor "\
                "moves in the transaction of the effect, once. Subscriptions of a process that runs now are best effort: what it had not delivered is lost when it "\
                "ends. Relays, with --schema or --all-sources, say it of each destination, as `trilha outbox guarantees` tells.", \
                "Lista todos que tratam algo, com o que prometem. Consumidores são durable, ao menos uma vez, e uma repetição tem o id do evento; ou declaram atomic: "\
                "o cursor avança na transação do efeito, uma vez. Inscrições de um processo em execução são best effort: o que ele não tinha entregue se perde quando "\
                "termina. Relays, com --schema ou --all-sources, o dizem de cada destino, como mostra `trilha outbox guarantees`."}, \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_guarantees_options,                                                                            \
   .examples = {{"trilha guarantees", {"who handles this store's events", "quem trata os eventos deste armazenamento"}}, \
                {"trilha guarantees --all-sources --json | jq 'select(.guarantee == \"best effort\")'",                  \
                 {"what a crash may lose, of registered outboxes, too", "o que uma queda pode perder, também de outboxes registrados"}}}, \
   .run = trilha_cli_run_guarantees},                                                                                   \
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
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON | TRILHA_CLI_DRY_RUN,                                                   \
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
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON | TRILHA_CLI_DRY_RUN,                                                   \
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
                "rests on what was recorded after the message failed. --exec asks for one message, or for all dead ones of a selection, and records each answer.",                                                \
                "Received, Applied, Refused, Unknown (não conhece a mensagem) ou Conflict (tem outro conteúdo sob este id). Um descarte se apoia no "\
                "que foi registrado depois da falha. --exec pergunta por uma mensagem, ou por todas as mortas de uma seleção, e registra cada resposta."},                                                                 \
   .operands = "[MESSAGE-ID]",                                                                                           \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 0,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .examples = {{"trilha outbox reconcile --destination erp --schema billing --code HTTP_422 --exec ./ask-erp",             \
                 {"whatever it refused", "tudo o que ele recusou"}}},                                                    \
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
  {.noun = "outbox",                                                                                                    \
   .name = "hold",                                                                                                      \
   .summary = {"leave types to another dispatcher", "deixar tipos com outro despachante"},                              \
   .explains = {"Says that another dispatcher delivers the types of PATTERN (a type, the beginning of one followed by *, or *). From now on this outbox "\
                "accepts none of them and its workers send none: two live paths would repeat an effect. 'trilha outbox take' ends it.",\
                "Diz que outro despachante entrega os tipos de PATTERN (um tipo, o começo de um seguido de *, ou *). A partir de agora este outbox não aceita "\
                "nenhum deles e seus workers não enviam nenhum: dois caminhos vivos repetiriam um efeito. 'trilha outbox take' o encerra."},\
   .operands = "PATTERN",                                                                                               \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_hold_options,                                                                           \
   .examples = {{"trilha outbox hold 'invoice.*' --holder old-relay --schema billing --reason 'moving over'", {"before its backlog is imported", "antes de importar seu acúmulo"}}},\
   .run = trilha_cli_run_outbox_hold},                                                                                  \
  {.noun = "outbox",                                                                                                    \
   .name = "paths",                                                                                                     \
   .summary = {"types that another dispatcher holds", "tipos que outro despachante detém"},                             \
   .explains = {"Lists the types that this outbox neither accepts nor sends, with who delivers them, since when and why.",\
                "Lista os tipos que este outbox não aceita nem envia, com quem os entrega, desde quando e por quê."},   \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .run = trilha_cli_run_outbox_paths},                                                                                 \
  {.noun = "outbox",                                                                                                    \
   .name = "import",                                                                                                    \
   .summary = {"copy another dispatcher's backlog, once", "copiar o acúmulo de outro despachante, uma vez"},            \
   .explains = {"Copies the rows that FILE describes (YAML or JSON; docs/moving.md) from a table of the same database into the outbox, in their order, with "\
                "their ids and payloads, while their dispatcher holds the path of their types. Without --yes it only counts and checks. What is interrupted "\
                "or killed goes on when it is run again, without a repeat or a gap. As the owner of the schema.",       \
                "Copia as linhas que FILE descreve (YAML ou JSON; docs/moving.md) de uma tabela do mesmo banco para o outbox, na sua ordem, com seus ids e "\
                "payloads, enquanto seu despachante detém o caminho dos seus tipos. Sem --yes apenas conta e confere. O que é interrompido ou morto continua "\
                "quando é rodado de novo, sem repetição nem lacuna. Como dono do schema."},                             \
   .operands = "FILE",                                                                                                  \
   .operand_kind = TRILHA_CLI_FILE,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON | TRILHA_CLI_DRY_RUN,                                                   \
   .options = trilha_cli_outbox_import_options,                                                                         \
   .examples = {{"trilha outbox import old-outbox.yaml --schema billing", {"what would be copied", "o que seria copiado"}},\
                {"trilha outbox import old-outbox.yaml --schema billing --yes --reason 'moving over'", {"copy it", "copiá-lo"}}},\
   .run = trilha_cli_run_outbox_import},                                                                                \
  {.noun = "outbox",                                                                                                    \
   .name = "take",                                                                                                      \
   .summary = {"deliver types that another dispatcher held", "entregar tipos que outro despachante detinha"},           \
   .explains = {"From now on this outbox accepts and sends the types of PATTERN, and nothing can be imported for them any more. Refused while the backlog of "\
                "who held them is being imported, or when its table changed since. Lanes that were put aside go on. As the owner of the schema.",\
                "A partir de agora este outbox aceita e envia os tipos de PATTERN, e nada mais pode ser importado para eles. Recusado enquanto o acúmulo de quem "\
                "os detinha está sendo importado, ou se sua tabela mudou desde então. Faixas que estavam de lado seguem. Como dono do schema."},\
   .operands = "PATTERN",                                                                                               \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_outbox_take_options,                                                                           \
   .examples = {{"trilha outbox take 'invoice.*' --schema billing --reason 'old relay is off'", {"after the import", "depois da importação"}}},\
   .run = trilha_cli_run_outbox_take},                                                                                  \
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
   .run = trilha_cli_run_worker},                                                                                      \
  {.noun = "worker",                                                                                                    \
   .name = "list",                                                                                                      \
   .summary = {"who delivers an outbox's messages", "quem entrega as mensagens de um outbox"},                          \
   .explains = {"Lists the workers that are registered in the outbox: since when they run, when they were heard of last, what they deliver and how many "\
                "lanes they hold. A worker says every 5 seconds that it is there; one that is silent has ended without a word or cannot reach the "\
                "database, and its leases run out by themselves.",                                                      \
                "Lista os workers registrados no outbox: desde quando rodam, quando deram notícia pela última vez, o que entregam e quantas faixas têm em "\
                "mãos. Um worker dá notícia a cada 5 segundos; um silencioso terminou sem avisar ou não alcança o banco, e seus arrendamentos "\
                "expiram sozinhos."},                                                                                   \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .examples = {{"trilha worker list --schema billing", {"since when, and with how many leases", "desde quando, e com quantos arrendamentos"}}}, \
   .run = trilha_cli_run_worker_list},                                                                                  \
  {.noun = "worker",                                                                                                    \
   .name = "drain",                                                                                                     \
   .summary = {"have a worker finish what it holds, and end", "fazer um worker terminar o que tem em mãos e encerrar"}, \
   .explains = {"Asks a worker, wherever it runs, to take no more lanes, to finish those it holds and to end. It hears of it within 5 seconds. Who asked and "\
                "why are kept in the trail.",                                                                           \
                "Pede a um worker, onde quer que rode, que não pegue mais faixas, termine as que tem e encerre. Ele fica sabendo em até 5 segundos. Quem "\
                "pediu e por quê ficam na trilha."},                                                                    \
   .operands = "WORKER",                                                                                                \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_worker_drain_options,                                                                          \
   .examples = {{"trilha worker drain app1:4711:0badcafe --schema billing --reason 'new release'",                      \
                 {"before its machine is taken away", "antes de retirar a máquina"}}},                                  \
   .run = trilha_cli_run_worker_drain},                                                                                 \
  {.noun = "service",                                                                                                   \
   .name = "grant",                                                                                                     \
   .summary = {"let workers dispatch a message type in a service's name", "deixar workers despachar um tipo de mensagem em nome de um serviço"}, \
   .explains = {"CREDENTIAL may dispatch one message type of one tenant, and of one company where messages name one, to one destination: nothing else, and "\
                "there are no wildcards. With the first grant the outbox is closed for good: from then on a message without a grant is dead-lettered "\
                "(SERVICE_FORBIDDEN) and never sent. On PostgreSQL a credential is a role of the database that workers log in as or are members of, "\
                "and only the owner of the outbox grants; on SQLite it is the name of 'worker run --service'. Rights in the database are another matter: "\
                "'outbox grant'. Who and why are kept for good.",                                                       \
                "CREDENTIAL pode despachar um tipo de mensagem de um inquilino, e de uma empresa quando as mensagens a nomeiam, para um destino: nada mais, e "\
                "não há curingas. Com a primeira concessão o outbox se fecha de vez: daí em diante uma mensagem sem concessão é morta "\
                "(SERVICE_FORBIDDEN) e nunca enviada. No PostgreSQL uma credencial é um papel do banco com que os workers entram ou de que são membros, "\
                "e só o dono do outbox concede; no SQLite é o nome de 'worker run --service'. Direitos no banco são outra coisa: 'outbox grant'. Quem e "\
                "por quê ficam guardados para sempre."},                                                                \
   .operands = "CREDENTIAL",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_service_options,                                                                               \
   .examples = {{"trilha service grant billing_relay --schema billing --destination erp --tenant acme --operation invoice.issued --reason 'contract 7'", \
                 {"one type of one tenant", "um tipo de um inquilino"}}},                                               \
   .run = trilha_cli_run_service_grant},                                                                                \
  {.noun = "service",                                                                                                   \
   .name = "revoke",                                                                                                    \
   .summary = {"take such a grant back, from the next message on", "retirar essa concessão, a partir da próxima mensagem"}, \
   .explains = {"Takes back what 'service grant' gave, named the same way. Running workers obey with their next message. What was dead-lettered for want of a grant "\
                "goes on by 'outbox retry --code SERVICE_FORBIDDEN' once it is granted again.",                         \
                "Retira o que 'service grant' deu, nomeado do mesmo modo. Workers em execução obedecem na próxima mensagem. O que morreu por falta de concessão "\
                "segue com 'outbox retry --code SERVICE_FORBIDDEN' depois de concedido de novo."},                      \
   .operands = "CREDENTIAL",                                                                                            \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_service_options,                                                                               \
   .examples = {{"trilha service revoke billing_relay --schema billing --destination erp --tenant acme --operation invoice.issued --reason 'contract ended'", \
                 {"from the next message on", "a partir da próxima mensagem"}}},                                        \
   .run = trilha_cli_run_service_revoke},                                                                               \
  {.noun = "service",                                                                                                   \
   .name = "list",                                                                                                      \
   .summary = {"what workers may dispatch in whose name", "o que workers podem despachar em nome de quem"},             \
   .explains = {"Lists every grant and how it stands, with who changed it last and why. While there is none, workers dispatch without a credential.", \
                "Lista cada concessão e como está, com quem a mudou por último e por quê. Enquanto não há nenhuma, workers despacham sem credencial."}, \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_outbox_schema_options,                                                                         \
   .examples = {{"trilha service list --schema billing", {"with who and why", "com quem e por quê"}}},                  \
   .run = trilha_cli_run_service_list},                                                                                 \
  {.noun = "inbox",                                                                                                     \
   .name = "list",                                                                                                      \
   .summary = {"what consumers accepted, and how often it came again", "o que consumidores aceitaram, e quantas vezes voltou"}, \
   .explains = {"Lists accepted messages, the last first, with the digest of their content, how often each came again with the same content (duplicates) and "\
                "with other content (conflicts). Of what its effect gave only the size: that is the consumer's own data.", \
                "Lista mensagens aceitas, a última primeiro, com o resumo do conteúdo, quantas vezes cada uma voltou com o mesmo conteúdo (duplicates) e com "\
                "outro (conflicts). Do que seu efeito deu, só o tamanho: é dado do próprio consumidor."},               \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_inbox_options,                                                                                 \
   .examples = {{"trilha inbox list --schema billing --consumer stock", {"of one consumer", "de um consumidor"}}},      \
   .run = trilha_cli_run_inbox_list},                                                                                   \
  {.noun = "inbox",                                                                                                     \
   .name = "conflicts",                                                                                                 \
   .summary = {"messages that came again with other content", "mensagens que voltaram com outro conteúdo"},             \
   .explains = {"Lists what came under a known key with other content, the last first: the digests of what was accepted and of what came. It is kept when the "\
                "transaction that met it commits.",                                                                     \
                "Lista o que veio sob uma chave conhecida com outro conteúdo, o último primeiro: os resumos do que foi aceito e do que veio. Fica guardado "\
                "quando a transação que o encontrou é confirmada."},                                                    \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_inbox_options,                                                                                 \
   .examples = {{"trilha inbox conflicts --schema billing --json", {"for a program", "para um programa"}}},             \
   .run = trilha_cli_run_inbox_conflicts},                                                                              \
  {.noun = "purge",                                                                                                     \
   .name = "plan",                                                                                                      \
   .summary = {"what a purge of outbox and inbox would take away", "o que uma limpeza de outbox e inbox removeria"},    \
   .explains = {"Counts settled messages and accepted rows of the inbox that are older than --messages and --inbox, as 'trilha purge run' would find them, and "\
                "changes nothing. The windows are checked: the inbox must keep at least --retry plus --restore, settled messages at least --restore.", \
                "Conta as mensagens concluídas e as linhas aceitas do inbox mais antigas que --messages e --inbox, como 'trilha purge run' as acharia, e não "\
                "muda nada. As janelas são conferidas: o inbox deve guardar ao menos --retry mais --restore, mensagens concluídas ao menos --restore."}, \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_purge_plan_options,                                                                            \
   .examples = {{"trilha purge plan --schema billing --messages 30d --inbox 60d --retry 30d --restore 14d", {"before the first time", "antes da primeira vez"}}}, \
   .run = trilha_cli_run_purge_plan},                                                                                   \
  {.noun = "purge",                                                                                                     \
   .name = "run",                                                                                                       \
   .summary = {"take settled messages and old rows of the inbox away", "remover mensagens concluídas e linhas antigas do inbox"}, \
   .explains = {"Deletes, in short transactions that hold up neither producers nor workers, messages that every destination accepted or an operator gave up "\
                "longer ago than --messages, and rows of the inbox older than --inbox. A message goes only with every earlier one of its aggregate. Trail, "\
                "revisions without their content, receipts and the last sequences stay. Refused when a repeat that may still come would be taken for new. "\
                "An interrupt ends it between two transactions; running it again goes on.",                             \
                "Remove, em transações curtas que não atrasam produtores nem workers, mensagens que todo destino aceitou ou um operador descartou há mais tempo "\
                "que --messages, e linhas do inbox mais antigas que --inbox. Uma mensagem só sai com todas as anteriores do seu agregado. Trilha, revisões "\
                "sem seu conteúdo, recibos e as últimas sequências ficam. Recusado quando uma repetição ainda possível seria tomada por nova. Uma interrupção "\
                "a encerra entre duas transações; rodar de novo continua."},                                            \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_purge_run_options,                                                                             \
   .examples = {{"trilha purge run --schema billing --messages 30d --inbox 60d --retry 30d --restore 14d --reason 'monthly purge'", \
                 {"as a scheduled job", "como tarefa agendada"}}},                                                      \
   .run = trilha_cli_run_purge_run},                                                                                    \
  {.noun = "source",                                                                                                    \
   .name = "list",                                                                                                      \
   .summary = {"the outboxes that the configuration registers", "os outboxes que a configuração registra"},             \
   .explains = {"Lists the entries of 'sources' in the configuration with their windows. Passwords are not shown.",     \
                "Lista as entradas de 'sources' na configuração com seus prazos. Senhas não são mostradas."},           \
   .operands = "[SOURCE]",                                                                                              \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_JSON,                                                                                           \
   .options = trilha_cli_serve_options,                                                                                 \
   .examples = {{"trilha source list --config /etc/trilha/trilha.yaml", {"what is registered", "o que está registrado"}}}, \
   .run = trilha_cli_run_source_list},                                                                                  \
  {.noun = "source",                                                                                                    \
   .name = "check",                                                                                                     \
   .summary = {"is each registered outbox as it must be?", "cada outbox registrado está como deve?"},                   \
   .explains = {"For each entry of 'sources', or one: whether its windows fit together (a lease exceeds time-out and margin, the inbox outlives retries and "\
                "restores), its database is reached, the outbox there is of this version, this role may deliver or operate and nobody can write past the "\
                "functions, and every destination has a route. Each finding says what mends it. Exit status 1 when something is wrong.", \
                "Para cada entrada de 'sources', ou uma: se os prazos combinam (um arrendamento passa de tempo limite e margem, o inbox dura mais que "\
                "repetições e restaurações), o banco é alcançado, o outbox é desta versão, este papel pode entregar ou operar e ninguém escreve sem as funções, e "\
                "cada destino tem uma rota. Cada achado diz o que o resolve. Código de saída 1 quando algo está errado."}, \
   .operands = "[SOURCE]",                                                                                              \
   .operand_kind = TRILHA_CLI_TEXT,                                                                                     \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_JSON,                                                                                           \
   .options = trilha_cli_serve_options,                                                                                 \
   .examples = {{"trilha source check billing --config /etc/trilha/trilha.yaml", {"before workers start", "antes de os workers começarem"}}}, \
   .run = trilha_cli_run_source_check}
/* clang-format on */

#endif
