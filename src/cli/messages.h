/* cli/messages: the sentences of the program, English then Portuguese (help texts: verbs.c). Room: cli.
 *
 * A name stands for two arguments, so that the compiler checks both formats against what is passed:
 * trilha_cli_say(cli, SAY_NO_STORE, url). The contract's quoted messages (ruling R5) come from the library and are not
 * here. */
#ifndef TRILHA_CLI_MESSAGES_H
#define TRILHA_CLI_MESSAGES_H

/* --- the command line ---------------------------------------------------------------------------------- */
#define SAY_UNKNOWN_WORD "unknown command '%s'", "comando desconhecido '%s'"
#define SAY_UNKNOWN_WORD_NEAR \
  "unknown command '%s'; did you mean 'trilha %s'?", "comando desconhecido '%s'; você quis dizer 'trilha %s'?"
#define SAY_UNKNOWN_WORD_NEAR_VERB \
  "unknown command '%s'; did you mean 'trilha %s %s'?", "comando desconhecido '%s'; você quis dizer 'trilha %s %s'?"
#define SAY_UNKNOWN_VERB "'trilha %s' has no command '%s'", "'trilha %s' não tem o comando '%s'"
#define SAY_UNKNOWN_VERB_NEAR                                      \
  "'trilha %s' has no command '%s'; did you mean 'trilha %s %s'?", \
      "'trilha %s' não tem o comando '%s'; você quis dizer 'trilha %s %s'?"
#define SAY_UNKNOWN_OPTION "unknown option '%s'", "opção desconhecida '%s'"
#define SAY_UNKNOWN_OPTION_NEAR \
  "unknown option '%s'; did you mean '--%s'?", "opção desconhecida '%s'; você quis dizer '--%s'?"
#define SAY_OPTION_TWICE        "option --%s was given twice", "a opção --%s foi dada duas vezes"
#define SAY_OPTION_IS_A_FLAG    "option --%s takes no value", "a opção --%s não recebe valor"
#define SAY_OPTION_NEEDS_VALUE  "option --%s needs a value: %s", "a opção --%s precisa de um valor: %s"
#define SAY_OPTION_NOT_FOR_VERB "option --%s has no use here", "a opção --%s não se aplica aqui"
#define SAY_COMMAND_AS_WORDS                                                        \
  "option --%s takes a program and its arguments as words of their own, without =", \
      "a opção --%s recebe um programa e seus argumentos como palavras separadas, sem ="
#define SAY_NOT_A_NUMBER     "option --%s wants a whole number, not '%s'", "a opção --%s pede um número inteiro, não '%s'"
#define SAY_NUMBER_TOO_SMALL "option --%s wants at least %d", "a opção --%s pede no mínimo %d"
#define SAY_NUMBER_TOO_LARGE "option --%s wants at most %d", "a opção --%s pede no máximo %d"
#define SAY_OPERAND_MISSING  "something is missing: %s", "falta algo: %s"
#define SAY_OPERAND_TOO_MANY "one argument too many: '%s'", "um argumento a mais: '%s'"
#define SAY_UNKNOWN_SHELL \
  "no completion for '%s': bash, zsh and fish are known", "não há autocompletar para '%s': só bash, zsh e fish"
#define SAY_TRY_HELP "see '%s --help'", "veja '%s --help'"

/* --- the program ------------------------------------------------------------------------------------------ */
#define SAY_NO_MEMORY     "out of memory", "memória esgotada"
#define SAY_OUTPUT_FAILED "cannot write the output: %s", "não foi possível escrever a saída: %s"
#define SAY_PROGRAM_SUMMARY                                                                          \
  "Trilha keeps a durable, validated, redacted and ordered log of events, on SQLite or PostgreSQL.", \
      "Trilha mantém um registro de eventos durável, validado, redigido e ordenado, em SQLite ou PostgreSQL."
#define SAY_USAGE    "usage", "uso"
#define SAY_COMMANDS "commands", "comandos"
#define SAY_OPTIONS  "options", "opções"
#define SAY_EXAMPLES "examples", "exemplos"
#define SAY_EXITS                                                                                                 \
  "exit status: 0 success, 1 the operation failed, 2 usage, 3 refused by validation, 4 store unavailable",        \
      "código de saída: 0 sucesso, 1 a operação falhou, 2 uso, 3 recusado pela validação, 4 armazenamento " \
      "indisponível"
#define SAY_ENVIRONMENT                                                                                          \
  "environment: TRILHA_STORE and TRILHA_KEYRING stand for --store and --keyring; NO_COLOR switches colours off", \
      "ambiente: TRILHA_STORE e TRILHA_KEYRING valem por --store e --keyring; NO_COLOR desliga as cores"
#define SAY_MORE_HELP                                                                                  \
  "'trilha COMMAND --help' explains a command with examples; 'trilha demo' shows everything at work.", \
      "'trilha COMANDO --help' explica um comando com exemplos; 'trilha demo' mostra tudo funcionando."

/* --- errors and what to do about them --------------------------------------------------------------------- */
#define SAY_PLAIN           "%s", "%s"
#define SAY_ERROR           "%s [%s]", "%s [%s]"
#define SAY_ERROR_EXPLAINED "%s (%s) [%s]", "%s (%s) [%s]"
#define REMEDY_INIT         "", "rode antes 'trilha init' (com o mesmo --store)" /* the library says it in English */
#define REMEDY_NEWER        "use that newer version", "use essa versão mais nova"
#define REMEDY_URL                                          \
  "give --store sqlite:PATH or postgresql://HOST/DATABASE", \
      "use --store sqlite:CAMINHO ou "                      \
      "postgresql://SERVIDOR/BANCO"
#define REMEDY_REGISTER                                                                        \
  "register it with 'trilha registry apply FILE'; 'trilha registry list' shows what there is", \
      "registre-o com 'trilha registry apply ARQUIVO'; 'trilha registry list' mostra o que existe"
#define REMEDY_DEPRECATED                                                     \
  "that version is deprecated; 'trilha registry list' shows the active ones", \
      "essa versão está obsoleta; 'trilha registry list' mostra as ativas"
#define REMEDY_PAYLOAD_OBJECT "the payload must be a JSON object: {…}", "o payload deve ser um objeto JSON: {…}"
#define REMEDY_KEYRING                                                                                    \
  "make a keyring with 'trilha keyring add FILE' and give it with --keyring file:FILE or TRILHA_KEYRING", \
      "crie um chaveiro com 'trilha keyring add ARQUIVO' e informe-o com --keyring file:ARQUIVO ou TRILHA_KEYRING"
#define REMEDY_RAISE_VERSION "register the change under a higher versao", "registre a mudança sob uma versao maior"
#define REMEDY_REPEAT \
  "publish it again under the same event id to find out", "publique de novo com o mesmo id de evento para saber"
#define REMEDY_KEYRING_SOURCE                                             \
  "write 'file:' before the path, such as --keyring file:trilha.keyring", \
      "escreva 'file:' antes do caminho, como em --keyring file:trilha.keyring"
#define REMEDY_SERVER                                                                                      \
  "check the host, port, database and role in --store, and that the server runs: psql takes the same URL", \
      "confira servidor, porta, banco e usuário em --store e se o servidor está no ar: o psql aceita o mesmo endereço"
#define REMEDY_LATER "nothing was stored; try again", "nada foi gravado; tente de novo"
#define REMEDY_PATH                                                             \
  "check the name and its permissions; names count from the folder you are in", \
      "confira o nome e as permissões; nomes contam a partir da pasta em que você está"
#define REMEDY_JSON                                                  \
  "correct the text at that place; it must be one whole JSON value", \
      "corrija o texto nesse lugar; deve ser um valor JSON inteiro"
#define REMEDY_REQUEST \
  "'trilha publish --help' lists the members of a request", "'trilha publish --help' lista os membros de um pedido"
#define REMEDY_FIND_EVENT                                                                \
  "'trilha events list' shows what there is; look for it in another store with --store", \
      "'trilha events list' mostra o que existe; procure em outro armazenamento com --store"
#define REMEDY_FIND_LETTER "'trilha dlq list' shows what there is", "'trilha dlq list' mostra o que existe"
#define REMEDY_HANDLER                                                                  \
  "give a program on PATH, or the path of one that may be executed, such as ./handler", \
      "indique um programa do PATH, ou o caminho de um que possa ser executado, como ./handler"
#define REMEDY_SCHEMA                                                     \
  "give --schema NAME, the schema of the application whose outbox it is", \
      "informe --schema NOME, o schema da aplicação a que o outbox pertence"
#define REMEDY_GRANT                                                                                                 \
  "PostgreSQL: grant the role trilha_writer, or trilha_operator to trilha serve, or trilha_reader to read only; "    \
  "SQLite: check the file's permissions",                                                                            \
      "PostgreSQL: conceda o papel trilha_writer, ou trilha_reader só para ler; SQLite: confira as permissões do " \
      "arquivo"
#define REMEDY_OTHER_FILE "choose another file with --store", "escolha outro arquivo com --store"
#define REMEDY_CORRUPT                                                                                           \
  "copy the file away with its -wal, see what 'PRAGMA integrity_check' of sqlite3 says, and restore the backup", \
      "guarde uma cópia do arquivo e do -wal, veja o que diz 'PRAGMA integrity_check' no sqlite3 e restaure o backup"
#define REMEDY_COMPARE                                                                                               \
  "use the Trilha that made this store, or choose another with --store; 'trilha init --print-sql' prints what is "   \
  "expected",                                                                                                        \
      "use a Trilha que criou esse armazenamento, ou escolha outro com --store; 'trilha init --print-sql' mostra o " \
      "esperado"
#define REMEDY_LOCAL_DISK   "put the store on a local disk", "ponha o armazenamento num disco local"
#define REMEDY_KEYRING_MODE "chmod 600 the keyring file", "proteja o arquivo de chaves com chmod 600"

/* --- events ------------------------------------------------------------------------------------------------- */
#define SAY_PAGE_FOOT      "%lld–%lld of %lld", "%lld–%lld de %lld"
#define SAY_PAGE_NONE      "no event matches", "nenhum evento corresponde"
#define SAY_PAGE_EMPTY     "no events here, of %lld that match", "nenhum evento aqui, de %lld que correspondem"
#define SAY_EVENTS         "events", "eventos"
#define SAY_STOPPED        "stopped as asked", "parado a pedido"
#define SAY_CONTINUE_AFTER "continue with --after %lld", "continue com --after %lld"
#define SAY_NOT_TOGETHER \
  "options --%s and --%s cannot be given together", "as opções --%s e --%s não podem ser dadas juntas"
#define SAY_TAILING \
  "waiting for events after sequence %lld; Ctrl-C ends", "aguardando eventos após a sequência %lld; Ctrl-C encerra"

/* --- init --------------------------------------------------------------------------------------------------- */
#define SAY_MIGRATION_APPLIED "applied", "aplicada"
#define SAY_MIGRATION_PRESENT "already there", "já presente"
#define SAY_MIGRATION_ADOPTED "compared and adopted", "comparada e adotada"
#define SAY_MIGRATION_PENDING "would be applied", "seria aplicada"

/* --- publish ------------------------------------------------------------------------------------------------ */
#define SAY_LINE          "line %lld: ", "linha %lld: "
#define SAY_LINES         "lines", "linhas"
#define SAY_PUBLISHED     "%s is on disk as sequence %lld, event %s", "%s está em disco com a sequência %lld, evento %s"
#define SAY_WOULD_PUBLISH "%s@%s would be accepted; stored would be %s", "%s@%s seria aceito; seria gravado %s"
#define SAY_CHECK_SUMMARY "%lld would be accepted, %lld refused", "%lld seriam aceitos, %lld recusados"
#define SAY_REPEATED_SAME                                           \
  "already there as sequence %lld with the same content, event %s", \
      "já estava lá com a sequência %lld e o mesmo conteúdo, evento %s"
#define SAY_REPEATED_DIFFERENT                                                             \
  "already there as sequence %lld with OTHER content, which was kept as it was; event %s", \
      "já estava lá com a sequência %lld e OUTRO conteúdo, mantido como estava; evento %s"
#define SAY_REPEATED_UNKNOWN                                                                  \
  "already there as sequence %lld; whether the content is the same cannot be told; event %s", \
      "já estava lá com a sequência %lld; não há como saber se o conteúdo é o mesmo; evento %s"
#define SAY_STOPPED_AT_LINE "stopped at line %lld", "parado na linha %lld"
#define SAY_PUBLISH_SUMMARY \
  "%lld published, %lld repeated, %lld failed", "%lld publicados, %lld repetidos, %lld falharam"
#define SAY_READ_FAILED    "cannot read the input: %s", "não foi possível ler a entrada: %s"
#define SAY_OPEN_FAILED    "cannot open %s: %s", "não foi possível abrir %s: %s"
#define SAY_FILE_TWICE     "the file was given twice", "o arquivo foi dado duas vezes"
#define SAY_OPTION_MISSING "option --%s is needed", "falta a opção --%s"
#define SAY_READING_TERMINAL \
  "reading the payload from the terminal; Ctrl-D ends it", "lendo o payload do terminal; Ctrl-D termina"

/* --- registry ----------------------------------------------------------------------------------------------- */
#define SAY_TYPE_ADDED        "added", "adicionado"
#define SAY_TYPE_WOULD_ADD    "would be added", "seria adicionado"
#define SAY_TYPE_CHANGED      "status or description changed", "status ou descrição alterados"
#define SAY_TYPE_WOULD_CHANGE "status or description would change", "status ou descrição seriam alterados"
#define SAY_TYPE_UNCHANGED    "unchanged", "sem mudança"
#define SAY_TYPE_REFUSED      "refused", "recusado"
#define SAY_NOTHING_REGISTERED \
  "nothing was registered: it is all of them or none", "nada foi registrado: vão todos ou nenhum"
#define SAY_NO_TYPES                                                   \
  "no type is registered yet; 'trilha registry apply FILE' adds some", \
      "nenhum tipo registrado ainda; 'trilha registry apply ARQUIVO' adiciona"
#define SAY_NO_SUCH_TYPE    "%s%s%s is not registered", "%s%s%s não está registrado"
#define SAY_DEPRECATED      "%s%s%s is deprecated now", "%s%s%s agora está obsoleto"
#define SAY_WOULD_DEPRECATE "%s%s%s would be deprecated", "%s%s%s ficaria obsoleto"

/* --- schema --------------------------------------------------------------------------------------------------- */
#define SAY_INSTANCE_VALID   "valid", "válido"
#define SAY_INSTANCE_INVALID "invalid", "inválido"
#define SAY_MORE_ERRORS      "    … and %zu more", "    … e mais %zu"
#define SAY_USE_REF_DIR                                                        \
  "nothing is fetched; give the folder that holds it with --ref-dir BASE=DIR", \
      "nada é buscado na rede; indique a pasta que o contém com --ref-dir BASE=DIR"
#define SAY_LEFT_OUT "%s was left out: %s", "%s ficou de fora: %s"

/* --- keyring -------------------------------------------------------------------------------------------------- */
#define SAY_KEY_ADDED     "key %s added to %s", "chave %s adicionada a %s"
#define SAY_KEY_WOULD_ADD "key %s would be added to %s", "chave %s seria adicionada a %s"
#define SAY_KEY_KEEP                                                                         \
  "keep %s safe and backed up: without it no stored hash can be compared with a text again", \
      "guarde %s bem e com cópia: sem ele nenhum hash gravado pode voltar a ser comparado com um texto"
#define SAY_KEY_MADE                                               \
  "made the keyring %s; to use it: export TRILHA_KEYRING=file:%s", \
      "chaveiro %s criado; para usá-lo: export TRILHA_KEYRING=file:%s"
#define SAY_KEY_NEWEST "  (newest: used for new events)", "  (mais nova: usada em eventos novos)"

#endif
