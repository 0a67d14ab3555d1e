/* cli/serve_verbs: the rows of the verbs' table for the operators' side; included by verbs.c alone. Room: cli. */
#ifndef TRILHA_CLI_SERVE_VERBS_H
#define TRILHA_CLI_SERVE_VERBS_H

#include "cli/serve_internal.h"

/* clang-format off */
#define TRILHA_CLI_SERVE_VERBS                                                                                          \
  {.name = "serve",                                                                                                     \
   .summary = {"the operators' API, health and metrics", "a API dos operadores, saúde e métricas"},                     \
   .explains = {"Runs the HTTP API for operators (queries of the log, dead letters, types, consumers, reprocessing) and, " \
                "on a second listener, /livez, /readyz, /metrics and /statusz. Both listen on loopback unless told "    \
                "otherwise. Nobody is let in without a token (JWT) and an allowed address; without keys the API does "  \
                "not start. No route publishes. SIGTERM lets requests under way end; SIGHUP reads allowlists, keys and " \
                "token rules anew. Diagnostics are JSON lines on standard error.",                                      \
                "Executa a API HTTP dos operadores (consultas ao registro, DLQ, tipos, consumidores, reprocessamento) " \
                "e, num segundo endereço, /livez, /readyz, /metrics e /statusz. Ambos escutam no loopback salvo ordem " \
                "em contrário. Ninguém entra sem um token (JWT) e um endereço permitido; sem chaves a API não inicia. " \
                "Nenhuma rota publica. SIGTERM deixa terminar os pedidos em andamento; SIGHUP lê de novo listas de "    \
                "endereços, chaves e regras de token. Os diagnósticos são linhas JSON na saída de erros."},             \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_serve_options,                                                                                 \
   .examples = {{"trilha serve --config /etc/trilha/trilha.yaml", {"as a service", "como serviço"}},                    \
                {"trilha serve --dev", {"while writing a client", "ao escrever um cliente"}}},                          \
   .run = trilha_cli_run_serve},                                                                                        \
  {.noun = "config",                                                                                                    \
   .name = "check",                                                                                                     \
   .summary = {"is the configuration right?", "a configuração está certa?"},                                            \
   .explains = {"Reads the configuration as 'trilha serve' would and lists everything that is wrong, with line and "    \
                "column; values are never quoted. Exit status 3 when something is wrong.",                              \
                "Lê a configuração como 'trilha serve' leria e lista tudo o que está errado, com linha e coluna; "      \
                "valores nunca são citados. Código de saída 3 quando algo está errado."},                               \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_config_options,                                                                                \
   .examples = {{"trilha config check --config /etc/trilha/trilha.yaml", {"before a restart", "antes de reiniciar"}}},  \
   .run = trilha_cli_run_config_check},                                                                                 \
  {.noun = "config",                                                                                                    \
   .name = "show",                                                                                                      \
   .summary = {"every setting, its value and where it came from", "cada ajuste, seu valor e de onde veio"},             \
   .explains = {"Lists every setting with its value, where that came from (default, file, environment, flag) and the "  \
                "environment variable that sets it. Passwords are not shown.",                                          \
                "Lista cada ajuste com seu valor, de onde ele veio (padrão, arquivo, ambiente, opção) e a variável de " \
                "ambiente que o define. Senhas não são mostradas."},                                                    \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_config_options,                                                                                \
   .examples = {{"trilha config show --json | jq -r 'select(.origin != \"default\")'",                                  \
                 {"what was changed", "o que foi mudado"}}},                                                            \
   .run = trilha_cli_run_config_show},                                                                                  \
  {.noun = "token",                                                                                                     \
   .name = "issue",                                                                                                     \
   .summary = {"a token for the API, for local development", "um token para a API, para desenvolver"},                  \
   .explains = {"Prints a token (ES256) that the API accepts, signed with the private key in FILE. A FILE that is not "  \
                "there is made (mode 0600), with the public key beside it in FILE.pub. Written to the audit trail of "  \
                "the store first. For local development: in production an identity provider issues tokens.",            \
                "Mostra um token (ES256) que a API aceita, assinado com a chave privada em FILE. Um FILE que não "      \
                "existe é criado (modo 0600), com a chave pública ao lado em FILE.pub. Antes, escreve na trilha de "    \
                "auditoria do armazenamento. Para desenvolvimento local: em produção quem emite tokens é um provedor "  \
                "de identidade."},                                                                                      \
   .operands = "FILE",                                                                                                  \
   .operand_kind = TRILHA_CLI_FILE,                                                                                     \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_STORE,                                                                                          \
   .options = trilha_cli_token_options,                                                                                 \
   .examples = {{"trilha token issue dev.pem --subject ana", {"for an hour", "por uma hora"}}},                         \
   .run = trilha_cli_run_token_issue},                                                                                  \
  {.noun = "audit",                                                                                                     \
   .name = "list",                                                                                                      \
   .summary = {"who did what, when", "quem fez o quê, quando"},                                                         \
   .explains = {"Lists the audit trail, oldest first: registrations, deprecations, retries, reprocesses, explicit "     \
                "starts of consumers. Filters combine with AND; --from and --to include their moment.",                 \
                "Lista a trilha de auditoria, da entrada mais antiga à mais nova: registros, depreciações, novas "      \
                "tentativas, reprocessamentos, inícios explícitos de consumidores. Os filtros se combinam com E; "      \
                "--from e --to incluem o seu momento."},                                                                \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_STORE | TRILHA_CLI_JSON,                                                                        \
   .options = trilha_cli_audit_options,                                                                                 \
   .examples = {{"trilha audit list --action trilha.dead-letter-queue.reprocessed --from 2026-06-01",                   \
                 {"who reprocessed since June", "quem reprocessou desde junho"}}},                                      \
   .run = trilha_cli_run_audit_list},                                                                                   \
  {.noun = "audit",                                                                                                     \
   .name = "lint",                                                                                                      \
   .summary = {"are these actions of the vocabulary?", "estas ações são do vocabulário?"},                              \
   .explains = {"Checks names of actions: {module}.{aggregate}.{past-verb}, three segments of a-z, 0-9 and -, each "     \
                "beginning with a letter, at most 80 characters, the verb in the past tense. Exit status 3 when one "   \
                "does not fit; for the build of a program that writes them.",                                           \
                "Confere nomes de ações: {módulo}.{agregado}.{verbo-no-passado}, três segmentos de a-z, 0-9 e -, cada "  \
                "um começando com letra, no máximo 80 caracteres, o verbo no passado (em inglês). Código de saída 3 "   \
                "quando um não serve; para o build de um programa que as escreve."},                                    \
   .operands = "ACTION…",                                                                                               \
   .operands_min = 1,                                                                                                   \
   .operands_max = TRILHA_CLI_OPERANDS_ANY,                                                                             \
   .shared = TRILHA_CLI_JSON,                                                                                           \
   .examples = {{"trilha audit lint nexio.approval.granted", {"fits", "serve"}}},                                       \
   .run = trilha_cli_run_audit_lint},                                                                                   \
  {.noun = "errors",                                                                                                    \
   .name = "list",                                                                                                      \
   .summary = {"HTTP statuses of error codes, and why", "status HTTP dos códigos de erro, e por quê"},                  \
   .explains = {"Lists the rules that give an error code its HTTP status: exact mappings with their reason, then the "  \
                "ten suffixes, then 400. The reason is never part of an answer.",                                       \
                "Lista as regras que dão a um código de erro seu status HTTP: os mapeamentos exatos com sua razão, "    \
                "depois os dez sufixos, depois 400. A razão nunca faz parte de uma resposta."},                         \
   .operands = "",                                                                                                      \
   .shared = TRILHA_CLI_JSON,                                                                                           \
   .examples = {{"trilha errors list", {"the whole table", "a tabela inteira"}}},                                       \
   .run = trilha_cli_run_errors_list},                                                                                  \
  {.noun = "errors",                                                                                                    \
   .name = "explain",                                                                                                   \
   .summary = {"one error code", "um código de erro"},                                                                  \
   .explains = {"Says which HTTP status a code has, by which rule and why, and what to do about it where that is known.", \
                "Diz qual status HTTP um código tem, por qual regra e por quê, e o que fazer quando se sabe."},         \
   .operands = "CODE",                                                                                                  \
   .operands_min = 1,                                                                                                   \
   .operands_max = 1,                                                                                                   \
   .shared = TRILHA_CLI_JSON,                                                                                           \
   .examples = {{"trilha errors explain STORE_URL_INVALID", {"what to do?", "o que fazer?"}}},                      \
   .run = trilha_cli_run_errors_explain}
/* clang-format on */

#endif
