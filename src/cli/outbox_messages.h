/* cli/outbox_messages: what outbox and worker say, English then Portuguese. Room: cli. */
#ifndef TRILHA_CLI_OUTBOX_MESSAGES_H
#define TRILHA_CLI_OUTBOX_MESSAGES_H

#define SAY_OUTBOX_GRANTED  "%s may now do the duty %s", "%s agora pode cumprir o papel %s"
#define SAY_ROUTE_ADDED     "%s goes to %s", "%s vai para %s"
#define SAY_ROUTE_REMOVED   "%s no longer goes to %s", "%s não vai mais para %s"
#define SAY_NO_ROUTES       "no routes: no type is accepted yet", "nenhuma rota: nenhum tipo é aceito ainda"
#define SAY_NO_DESTINATIONS "no destinations", "nenhum destino"
#define SAY_NO_HANDLERS     "no handlers", "ninguém trata eventos ou mensagens"
#define SAY_NO_LANES        "nothing is waiting", "nada espera"
#define SAY_HELD_PATH                                                                     \
  "PATH_HELD: another dispatcher delivers that type; stop it, then `trilha outbox take`", \
      "PATH_HELD: outro despachante entrega esse tipo; pare-o, depois `trilha outbox take`"
#define SAY_HELD_GONE                                                                                            \
  "ENDPOINT_GONE: the receiver answered 410; correct its address, then start its workers (`trilha worker run`)", \
      "ENDPOINT_GONE: o receptor respondeu 410; corrija o endereço e inicie os workers (`trilha worker run`)"
#define SAY_HELD_OPEN                                                                                             \
  "BREAKER_OPEN: the receiver keeps failing; repair it, and its workers, which ask it now and then, go on alone", \
      "BREAKER_OPEN: o receptor continua falhando; repare-o, e os workers, que tentam de vez em quando, seguem "  \
      "sozinhos"
#define SAY_HELD_OTHER                                                                  \
  "held: no worker of the destination takes more now; `trilha worker list` names them", \
      "retida: nenhum worker do destino aceita mais agora; `trilha worker list` mostra quais são"
#define SAY_AT_QUOTA                                                                                               \
  "%.*s holds its quota of %.*s: %lld lanes in flight, of %lld that one tenant may have, and more of its are due", \
      "%.*s ocupa a sua cota de %.*s: %lld faixas em curso, de %lld que um inquilino pode ter, e outras dele esperam"
#define SAY_TENANTS_REST "%lld tenants more have lanes with messages", "mais %lld inquilinos têm faixas com mensagens"
#define SAY_LANES_NEXT                                                             \
  "there may be more; in the order of places: the same command with --after %lld", \
      "pode haver mais; na ordem dos lugares: o mesmo comando com --after %lld"
#define SAY_LANE_RETRIED   "%s is on its way to %s again", "%s está a caminho de %s de novo"
#define SAY_LANE_DISCARDED "%s was given up for %s", "%s foi descartada para %s"
#define SAY_LANE_WOULD     "%s for %s is %s and would be changed", "%s para %s está %s e seria alterada"
#define SAY_LANE_WOULD_NOT                                                \
  "%s for %s is %s: only a DeadLettered one can be retried or discarded", \
      "%s para %s está %s: só uma DeadLettered pode ser repetida ou descartada"
#define SAY_LANES_WOULD                                         \
  "%lld would be changed; --yes does it, at most 1000 at once", \
      "%lld seriam alteradas; --yes o faz, no máximo 1000 por vez"
#define SAY_LANES_CHANGED "%lld changed", "%lld alteradas"
#define SAY_LANES_PASSED  "; %lld somebody else changed meanwhile", "; %lld outra pessoa alterou entretanto"
#define SAY_LANES_FAILED                                                                                    \
  "; %lld failed, the first %s, and %lld were not tried: once mended, the same command takes what is left", \
      "; %lld falharam, a primeira %s, e %lld não foram tentadas: resolvida a causa, o mesmo comando leva o que resta"
#define SAY_ONE_OR_MANY                                                \
  "name one message, or select dead ones by --code, --before or both", \
      "indique uma mensagem, ou selecione mortas por --code, --before ou ambas"
#define SAY_CORRECTED       "%s has revision %lld", "%s tem a revisão %lld"
#define SAY_CORRECTED_WOULD "%s would have revision %lld", "%s teria a revisão %lld"
#define SAY_CORRECTED_LATE \
  "already acknowledged in an earlier revision by: %s", "já aceita numa revisão anterior por: %s"
#define SAY_RECORDED            "%s: %s by %s is recorded", "%s: %s por %s foi registrado"
#define SAY_RECORDED_BEFORE     "%s: %s by %s was known", "%s: %s por %s já era sabido"
#define SAY_NOT_FOR_DESTINATION "%s does not go to %s", "%s não vai para %s"
#define SAY_WORKER_TRANSPORT                                                         \
  "say how messages are sent: one of --bus, --stdout, --webhook URL and --exec CMD", \
      "diga como as mensagens são enviadas: uma entre --bus, --stdout, --webhook URL e --exec CMD"
#define SAY_SECRETS_NONE "the file of --secret-file holds no secret", "o arquivo de --secret-file não contém segredo"
#define SAY_WORKER_DONE \
  "sent %lld, failed attempts %lld, dead letters %lld", "enviadas %lld, tentativas falhas %lld, mortas %lld"
#define SAY_NO_INBOX     "nothing was accepted", "nada foi aceito"
#define SAY_NO_CONFLICTS "no conflicts", "nenhum conflito"
#define SAY_NO_SOURCES   "the configuration registers no source", "a configuração não registra nenhuma fonte"
#define SAY_SOURCE_NOT_WITH                                                   \
  "--source and --all-sources stand for where and how: without --%s, please", \
      "--source e --all-sources dizem onde e como: sem --%s, por favor"
#define SAY_CONFIG_WITHOUT_ALL "--config is for --all-sources", "--config é para --all-sources"
#define SAY_CONFIG_WITHOUT_SOURCE \
  "--config is for --source NAME or --all-sources", "--config é para --source NAME ou --all-sources"
#define SAY_NO_SOURCE_SERVES \
  "none of the chosen sources has the destination %s", "nenhuma das fontes escolhidas tem o destino %s"
#define SAY_PURGE_STOPPED "running it again goes on where it stopped", "rodar de novo continua de onde parou"
#define SAY_ASKED         "%lld recorded, %lld known, %lld not answered", "%lld registradas, %lld já sabidas, %lld sem resposta"
#define SAY_ASKED_FAILED  "%s: %s", "%s: %s"
#define SAY_SAYS_OR_EXEC                                    \
  "say what it says: --says FACT, or --exec CMD to ask it", \
      "diga o que ele diz: --says FACT, ou --exec CMD para consultá-lo"
#define SAY_EXEC_STATES \
  "with --exec the command states what --%s does", "com --exec quem diz o que --%s diz é o comando"
#define SAY_PATH_HELD                                                                         \
  "%s is delivered by %s: nothing of it is accepted or sent here until 'trilha outbox take'", \
      "%s é entregue por %s: nada disso é aceito ou enviado aqui até 'trilha outbox take'"
#define SAY_PATH_HELD_BEFORE "%s was held by %s already", "%s já estava com %s"
#define SAY_PATH_TAKEN                                                 \
  "%s is delivered here from now on; lanes that were put aside: %lld", \
      "%s é entregue aqui a partir de agora; faixas que estavam de lado: %lld"
#define SAY_NO_PATHS    "no other dispatcher holds a type", "nenhum outro despachante detém um tipo"
#define SAY_IMPORT_ROWS "rows imported", "linhas importadas"
#define SAY_IMPORT_WOULD \
  "%lld would be imported, %lld are; --yes does it", "%lld seriam importadas, %lld já estão; --yes o faz"
#define SAY_IMPORT_DONE "%lld imported, and nothing is left", "%lld importadas, e nada resta"
#define SAY_IMPORT_STOPPED \
  "%lld of %lld imported; running it again goes on", "%lld de %lld importadas; rodar de novo continua"
#define SAY_NO_WORKERS "no worker is registered", "nenhum worker registrado"
#define SAY_DRAIN_ASKED                                                         \
  "%s is asked to finish what it holds and to end; it hears of it within %d s", \
      "%s deve terminar o que tem em mãos e encerrar; ele fica sabendo em até %d s"
#define SAY_SERVICE_GRANTED   "%s may now dispatch %s", "%s agora pode despachar %s"
#define SAY_SERVICE_REVOKED   "%s may no longer dispatch %s", "%s não pode mais despachar %s"
#define SAY_SERVICE_UNCHANGED "it stood so already: nothing was changed", "já estava assim: nada foi mudado"
#define SAY_NO_SERVICES \
  "no grants: workers dispatch without a credential", "nenhuma concessão: workers despacham sem credencial"
#define SAY_AGE_INVALID                                           \
  "--%s takes a number and d, h, m or s, at most 36500d, as 30d", \
      "--%s recebe um número e d, h, m ou s, no máximo 36500d, como 30d"
#define SAY_PURGE_NOTHING \
  "say what goes: --messages AGE, --inbox AGE or both", "diga o que sai: --messages AGE, --inbox AGE ou ambos"
#define SAY_PURGE_ROWS "rows purged", "linhas removidas"

#endif
