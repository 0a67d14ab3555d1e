/* cli/outbox_messages: what outbox and worker say, English then Portuguese. Room: cli. */
#ifndef TRILHA_CLI_OUTBOX_MESSAGES_H
#define TRILHA_CLI_OUTBOX_MESSAGES_H

#define SAY_OUTBOX_GRANTED  "%s may now do the duty %s", "%s agora pode cumprir o papel %s"
#define SAY_ROUTE_ADDED     "%s goes to %s", "%s vai para %s"
#define SAY_ROUTE_REMOVED   "%s no longer goes to %s", "%s não vai mais para %s"
#define SAY_NO_ROUTES       "no routes: no type is accepted yet", "nenhuma rota: nenhum tipo é aceito ainda"
#define SAY_NO_DESTINATIONS "no destinations", "nenhum destino"
#define SAY_NO_LANES        "nothing is waiting", "nada espera"
#define SAY_LANE_RETRIED    "%s is on its way to %s again", "%s está a caminho de %s de novo"
#define SAY_LANE_DISCARDED  "%s was given up for %s", "%s foi descartada para %s"
#define SAY_LANE_WOULD      "%s for %s is %s and would be changed", "%s para %s está %s e seria alterada"
#define SAY_LANE_WOULD_NOT                                                \
  "%s for %s is %s: only a DeadLettered one can be retried or discarded", \
      "%s para %s está %s: só uma DeadLettered pode ser repetida ou descartada"
#define SAY_LANES_WOULD                                         \
  "%lld would be changed; --yes does it, at most 1000 at once", \
      "%lld seriam alteradas; --yes o faz, no máximo 1000 por vez"
#define SAY_LANES_CHANGED "%lld changed", "%lld alteradas"
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
#define SAY_NO_WORKERS   "no worker is registered", "nenhum worker registrado"
#define SAY_DRAIN_ASKED                                                         \
  "%s is asked to finish what it holds and to end; it hears of it within %d s", \
      "%s deve terminar o que tem em mãos e encerrar; ele fica sabendo em até %d s"
#define SAY_AGE_INVALID                                           \
  "--%s takes a number and d, h, m or s, at most 36500d, as 30d", \
      "--%s recebe um número e d, h, m ou s, no máximo 36500d, como 30d"
#define SAY_PURGE_NOTHING \
  "say what goes: --messages AGE, --inbox AGE or both", "diga o que sai: --messages AGE, --inbox AGE ou ambos"
#define SAY_PURGE_ROWS "rows purged", "linhas removidas"

#endif
