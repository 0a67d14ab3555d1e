/* cli/delivery_messages: what consume, consumers and dlq say, English then Portuguese. Room: cli. */
#ifndef TRILHA_CLI_DELIVERY_MESSAGES_H
#define TRILHA_CLI_DELIVERY_MESSAGES_H

#define SAY_COMMAND_MISSING                                                \
  "say what handles the events: --exec PROGRAM ARGUMENT… or --shell LINE", \
      "diga o que trata os eventos: --exec PROGRAMA ARGUMENTO… ou --shell LINHA"
#define SAY_COMMAND_UNASKED                                                            \
  "the command wrote to its output between two events; it is ended and started again", \
      "o comando escreveu na sua saída entre dois eventos; ele é encerrado e iniciado de novo"
#define SAY_FROM_INVALID                                                  \
  "option --from wants start, end or a sequence number from 1, not '%s'", \
      "a opção --from pede start, end ou um número de sequência a partir de 1, não '%s'"
#define SAY_STATE_LIVE        "live", "em dia"
#define SAY_STATE_CATCHING_UP "catching-up", "alcançando"
#define SAY_STATE_BEHIND      "behind", "atrasado"
#define SAY_STATE_STOPPED     "stopped", "parado"
#define SAY_CONSUMED_UNKNOWN                                    \
  "%.*s is not registered (yet): no event of it can have come", \
      "%.*s não está registrado (ainda): nenhum evento dele pode ter chegado"
#define SAY_NO_CONSUMERS "no consumer has a cursor yet", "nenhum consumidor tem cursor ainda"

#define SAY_NO_LETTERS       "no dead letters", "nenhuma entrada na DLQ"
#define SAY_LETTERS_MORE     "more follow: --after %lld", "há mais: --after %lld"
#define SAY_LETTER_NOT_FOUND "there is no dead letter %lld", "não há a entrada %lld na DLQ"
#define SAY_LETTERS_TOTAL    "total: %lld", "total: %lld"
#define SAY_LETTER_REOPENED  "dead letter %lld is pendente again", "a entrada %lld está pendente de novo"
#define SAY_LETTER_WOULD_REOPEN \
  "dead letter %lld (%s) would be pendente again", "a entrada %lld (%s) ficaria pendente de novo"
#define SAY_LETTER_NOT_GIVEN_UP                                               \
  "dead letter %lld is %s; only a failed_permanent one can be made pendente", \
      "a entrada %lld está %s; só uma failed_permanent pode voltar a pendente"
#define SAY_ID_INVALID      "'%s' is not the number of a dead letter", "'%s' não é o número de uma entrada da DLQ"
#define SAY_OPTION_NEEDS    "option --%s needs --%s", "a opção --%s precisa de --%s"
#define SAY_REPROCESSED     "%lld reprocessed, %lld failed again", "%lld reprocessados, %lld falharam de novo"
#define SAY_REPROCESSED_WHY "%lld reprocessed: %s", "%lld reprocessados: %s"
#define SAY_WOULD_REPROCESS "%lld would be tried", "%lld seriam tentados"
#define SAY_WHY_NO_LISTENER                                                              \
  "no live listener: start the colony's consumer, or give the handler here with --exec", \
      "nenhum consumidor vivo: inicie o consumidor da colônia ou dê o manipulador aqui com --exec"
#define SAY_WHY_NOTHING "nothing is pending", "nada está pendente"
#define SAY_WHY_IN_TIME                                            \
  "not finished in time; what the consumer has begun it finishes", \
      "não terminou a tempo; o que o consumidor começou ele termina"
#define SAY_WHY_STOPPED "stopped as asked", "parado a pedido"

#endif
