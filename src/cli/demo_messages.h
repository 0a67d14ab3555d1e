/* cli/demo_messages: what the demo says, English then Portuguese. Room: cli. */
#ifndef TRILHA_CLI_DEMO_MESSAGES_H
#define TRILHA_CLI_DEMO_MESSAGES_H

#define DEMO_WELCOME                                                                                                      \
  "Trilha is a log of events that happened: each one is checked against its type's schema, stripped of personal data "    \
  "and kept on disk in one order for ever. This demo does the main job on an SQLite file, step by step; under each "      \
  "step stands the command that does the same.",                                                                          \
      "Trilha é um registro de eventos acontecidos: cada um é conferido com o schema do seu tipo, despido de dados "    \
      "pessoais e guardado em disco em uma única ordem para sempre. Esta demonstração faz o trabalho principal em um " \
      "arquivo SQLite, passo a passo; sob cada passo está o comando que faz o mesmo."

#define DEMO_KEYRING_TITLE "A key for the hashes", "Uma chave para os hashes"
#define DEMO_KEYRING                                                                                                       \
  "Some personal texts are replaced by keyed hashes: the same text gives the same token, but nobody can find the "         \
  "text "                                                                                                                  \
  "without the key. The key lives in a file of its own, outside the database; the demo makes one.",                        \
      "Alguns textos pessoais são trocados por hashes com chave: o mesmo texto dá o mesmo código, mas ninguém acha o " \
      "texto sem a chave. A chave fica em um arquivo próprio, fora do banco; a demonstração cria uma."
#define DEMO_INIT_TITLE "A store", "Um armazenamento"
#define DEMO_INIT                                                                                          \
  "The tables are made by numbered migrations; the database itself refuses to change or delete an event.", \
      "As tabelas são criadas por migrações numeradas; o próprio banco recusa alterar ou apagar um evento."
#define DEMO_TYPES_TITLE "Types of events", "Tipos de eventos"
#define DEMO_TYPES                                                                                                     \
  "Nothing is published without a registered type: a JSON Schema that says what a payload looks like and, beside "     \
  "each "                                                                                                              \
  "field, what of it may be stored.",                                                                                  \
      "Nada se publica sem um tipo registrado: um JSON Schema que diz como é um payload e, ao lado de cada campo, o " \
      "que dele pode ser gravado."
#define DEMO_SEEDS_TITLE "Three events of one demand", "Três eventos de uma demanda"
#define DEMO_SEEDS                                                                                                     \
  "A citizen reports missing water; two other colonies normalize and categorize the demand. All three events carry "   \
  "the same correlation id. When publish returns, the event is on disk.",                                              \
      "Um cidadão informa falta d'água; duas outras colônias normalizam e categorizam a demanda. Os três eventos " \
      "levam o mesmo id de correlação. Quando o publish retorna, o evento está em disco."
#define DEMO_MANY_TITLE "Many more", "Muitos mais"
#define DEMO_MANY                                                                                                     \
  "Further made-up demands, published in batches: events of one batch share a transaction, and each is still judged " \
  "on its own.",                                                                                                      \
      "Outras demandas inventadas, publicadas em lotes: os eventos de um lote dividem uma transação, e cada um é " \
      "julgado por si."
#define DEMO_MANY_DONE     "%zu events in %lld ms (%lld events/s)\n", "%zu eventos em %lld ms (%lld eventos/s)\n"
#define DEMO_REFUSED_TITLE "A payload that is refused", "Um payload recusado"
#define DEMO_REFUSED                                                                                                      \
  "This one has an unknown channel, a latitude beyond the pole and no citizen. All errors are listed with their "         \
  "place "                                                                                                                \
  "and never with the value; nothing is written.",                                                                        \
      "Este tem um canal desconhecido, uma latitude além do polo e nenhum cidadão. Todos os erros são listados com o " \
      "lugar e nunca com o valor; nada é gravado."
#define DEMO_SAME_TITLE "The same event again", "O mesmo evento outra vez"
#define DEMO_SAME                                                                                                      \
  "A publisher that got no answer simply repeats the event with its id: the stored record comes back and nothing is "  \
  "stored twice.",                                                                                                     \
      "Quem publicou e ficou sem resposta simplesmente repete o evento com o id: volta o que está gravado e nada é " \
      "gravado duas vezes."
#define DEMO_OTHER_TITLE "The same id with other content", "O mesmo id com outro conteúdo"
#define DEMO_OTHER                                                                             \
  "The stored event stays as it is, and the publisher is told that this is not what it sent.", \
      "O evento gravado fica como está, e quem publica fica sabendo que não é o que enviou."
#define DEMO_TRACE_TITLE "A trace", "Um rastro"
#define DEMO_TRACE                                                                                             \
  "Everything that belongs to one demand, in the order of the log. The payload column shows what was stored.", \
      "Tudo o que pertence a uma demanda, na ordem do registro. A coluna payload mostra o que foi gravado."
#define DEMO_STORED_TITLE "What was stored of the first event", "O que foi gravado do primeiro evento"
#define DEMO_STORED                                                                                                       \
  "The text became a token, the citizen is gone, the coordinates were rounded to about a kilometre; whatever the "        \
  "schema "                                                                                                               \
  "does not name is dropped.",                                                                                            \
      "O texto virou um código, o cidadão saiu, as coordenadas foram arredondadas para cerca de um quilômetro; o que " \
      "o "                                                                                                                \
      "schema não nomeia é descartado."
#define DEMO_SENT         "sent:", "enviado:"
#define DEMO_STORED_AS    "stored:", "gravado:"
#define DEMO_REPLAY_TITLE "A replay", "Uma reprodução"
#define DEMO_REPLAY                                                                                                    \
  "A consumer that was away reads everything after the last number it saw: in order, nothing skipped, nothing twice.", \
      "Um consumidor que esteve ausente lê tudo após o último número que viu: em ordem, sem pular, sem repetir."
#define DEMO_REPLAY_DONE                                            \
  "%lld events, sequence %lld to %lld, rising without a gap: %s\n", \
      "%lld eventos, sequência %lld a %lld, crescente e sem lacuna: %s\n"
#define DEMO_YES           "yes", "sim"
#define DEMO_NO            "NO", "NÃO"
#define DEMO_DELIVER_TITLE "Two colonies consume, one of them badly", "Duas colônias consomem, uma delas mal"
#define DEMO_DELIVER                                                                                                     \
  "Each durable consumer follows the log from a cursor of its own. The handler of D-6 fails on one event: that "         \
  "becomes "                                                                                                             \
  "a dead letter, the rest goes on, and D-4 notices nothing.",                                                           \
      "Cada consumidor durável segue o registro a partir do próprio cursor. O manipulador de D-6 falha em um evento: " \
      "ele vira uma entrada da DLQ, o resto segue, e D-4 nada percebe."
#define DEMO_DELIVER_DONE "%s: %lld handled, %lld failed\n", "%s: %lld tratados, %lld com falha\n"
#define DEMO_REPAIR_TITLE "The repair", "O conserto"
#define DEMO_REPAIR                                                                                                      \
  "The handler is repaired and what failed is tried again. The cursor is not touched, and the dead letter stays as a "   \
  "record that it happened.",                                                                                            \
      "O manipulador é consertado e o que falhou é tentado de novo. O cursor não é tocado, e a entrada da DLQ fica " \
      "como registro do que aconteceu."
#define DEMO_RESUME_TITLE "A consumer that is killed", "Um consumidor que é morto"
#define DEMO_RESUME                                                                                                     \
  "A shell loop is the handler of D-8. Its consumer is killed in the middle and started again: it goes on where the "   \
  "cursor stands, and at most the event in flight comes twice.",                                                        \
      "Um laço de shell é o manipulador de D-8. Seu consumidor é morto no meio e iniciado de novo: ele continua de " \
      "onde está o cursor, e no máximo o evento em curso vem duas vezes."
#define DEMO_RESUME_DONE                                          \
  "killed after %lld events; %lld of %lld arrived, %lld twice\n", \
      "morto após %lld eventos; chegaram %lld de %lld, %lld duas vezes\n"
#define DEMO_SCAN_TITLE "What is in the file, and what is not", "O que está no arquivo, e o que não está"
#define DEMO_SCAN                                                                                                       \
  "Every name, telephone number, e-mail, CPF, address and text that was published above is now looked for in the "      \
  "bytes "                                                                                                              \
  "of the database and its log file, and so are the ids of the events, which must be there.",                           \
      "Cada nome, telefone, e-mail, CPF, endereço e texto publicado acima é agora procurado nos bytes do banco e do " \
      "seu "                                                                                                            \
      "arquivo de log, e também os ids dos eventos, que têm de estar lá."
#define DEMO_SCAN_PERSONAL "personal texts found: %zu of %zu\n", "textos pessoais encontrados: %zu de %zu\n"
#define DEMO_SCAN_IDS      "event ids found:      %zu of %zu\n", "ids de eventos encontrados: %zu de %zu\n"
#define DEMO_SCAN_BYTES    "bytes searched:       %llu\n", "bytes examinados: %llu\n"
#define DEMO_FAILED                                           \
  "the demo did not show what it promises; please report it", \
      "a demonstração não mostrou o que promete; por favor, relate"
#define DEMO_END          "Everything is in %s", "Tudo está em %s"
#define DEMO_NEXT         "Try next:", "Para experimentar:"
#define DEMO_NEXT_LIST    "the newest events of a kind", "eventos de um tipo"
#define DEMO_NEXT_PUBLISH "publish the requests in a file", "publicar os pedidos de um arquivo"
#define DEMO_NEXT_TAIL    "watch, while you publish in another terminal", "acompanhar, enquanto publica em outro terminal"
#define DEMO_NEXT_TYPE    "read a type; copy it and make your own", "ler um tipo; copie-o e faça o seu"
#define DEMO_FOLDER_USED \
  "%s already holds a trilha.db; choose another folder", "%s já contém um trilha.db; escolha outra pasta"
#define DEMO_FOLDER_FAILED "cannot use the folder %s: %s", "não é possível usar a pasta %s: %s"
#define DEMO_FILE_FAILED   "cannot write %s: %s", "não foi possível escrever %s: %s"

#endif
