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
#define SAY_NOT_FOR_DESTINATION "%s does not go to %s", "%s não vai para %s"
#define SAY_WORKER_TRANSPORT                                          \
  "say how messages are sent: one of --bus, --stdout and --exec CMD", \
      "diga como as mensagens são enviadas: uma entre --bus, --stdout e --exec CMD"
#define SAY_WORKER_DONE \
  "sent %lld, failed attempts %lld, dead letters %lld", "enviadas %lld, tentativas falhas %lld, mortas %lld"

#endif
