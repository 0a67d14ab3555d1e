/* cli/errors: what an error of the library means to a person, and the exit status its kind asks for. */
#include "cli/cli_internal.h"
#include "cli/messages.h"

typedef struct explained {
  const char *code;
  const char *pt; /* what it means; NULL: the library's own text is the contract's (ruling R5) and is shown as it is */
  trilha_cli_words remedy; /* what to do about it, or empty */
} explained;

/* In the order of the work: looked through once per failure. */
static const explained explanations[] = {
    {"STORE_NOT_INITIALIZED", "não há nenhuma Trilha nesse armazenamento", {REMEDY_INIT}},
    {"STORE_NEWER", "o armazenamento foi criado por uma versão mais nova da Trilha", {REMEDY_NEWER}},
    {"STORE_OUTDATED", "o armazenamento foi criado por uma versão mais antiga da Trilha", {REMEDY_INIT}},
    {"STORE_URL_INVALID", "o endereço do armazenamento está errado", {REMEDY_URL}},
    {"EVENT_NOT_FOUND", NULL, {REMEDY_FIND_EVENT}},
    {"EVENT_TYPE_NOT_FOUND", NULL, {REMEDY_REGISTER}},
    {"EVENT_TYPE_DEPRECATED", NULL, {REMEDY_DEPRECATED}},
    {"EVENT_TYPE_WITHOUT_SCHEMA", NULL, {REMEDY_REGISTER}},
    {"PAYLOAD_NOT_OBJECT", NULL, {REMEDY_PAYLOAD_OBJECT}},
    {"PAYLOAD_INVALID", NULL, {NULL, NULL}},
    {"REDACTION_KEY_MISSING", "falta a chave que protege os campos com a regra 'hash'", {REMEDY_KEYRING}},
    {"REDACTION_NO_RULES", "o schema não diz, com x-redacao, o que pode ser gravado", {NULL, NULL}},
    {"REDACTION_RULE_UNKNOWN", "regra x-redacao desconhecida", {NULL, NULL}},
    {"REDACTION_RULE_PLACE", "a regra x-redacao não pode ficar nesse lugar", {NULL, NULL}},
    {"REDACTION_COORDINATES", "lat e lng precisam da mesma regra", {NULL, NULL}},
    {"KEYRING_SOURCE", "a origem das chaves está errada", {REMEDY_KEYRING_SOURCE}},
    {"KEYRING_NOT_FOUND", "não há chaves nesse lugar", {REMEDY_KEYRING}},
    {"KEYRING_MODE", "o arquivo de chaves pode ser lido por outros", {REMEDY_KEYRING_MODE}},
    {"KEYRING_INVALID", "o arquivo de chaves está malformado", {NULL, NULL}},
    {"KEYRING_EMPTY", "não há nenhuma chave no arquivo", {REMEDY_KEYRING}},
    {"KEYRING_KID", "o nome da chave é inválido", {NULL, NULL}},
    {"KEYRING_IO", "não foi possível ler ou escrever o arquivo de chaves", {REMEDY_PATH}},
    {"KEYRING_BUSY", "outro processo está mudando o arquivo de chaves", {NULL, NULL}},
    {"EVENT_TYPE_VERSION_CONFLICT", "essa versão já foi publicada com outro conteúdo", {REMEDY_RAISE_VERSION}},
    {"EVENT_TYPE_VERSION_IMMUTABLE", "uma versão publicada nunca muda", {REMEDY_RAISE_VERSION}},
    {"EVENT_TYPE_VERSION_INVALID", "a versão do tipo é inválida", {NULL, NULL}},
    {"EVENT_TYPE_STATUS_INVALID", "o status é ativo ou deprecated", {NULL, NULL}},
    {"EVENT_TYPE_NAME_INVALID", "o nome do tipo é inválido", {NULL, NULL}},
    {"EVENT_TYPE_DESCRIPTION_INVALID", "a descrição é longa demais", {NULL, NULL}},
    {"SCHEMA_INVALID", "não é um JSON Schema válido", {NULL, NULL}},
    {"SCHEMA_REF_UNRESOLVED", "uma referência do schema não leva a lugar nenhum", {NULL, NULL}},
    {"SCHEMA_PATTERN", "uma expressão regular do schema é inválida", {NULL, NULL}},
    {"SCHEMA_TOO_LARGE", "o schema é grande demais", {NULL, NULL}},
    {"SCHEMA_TOO_DEEP", "o schema tem níveis demais", {NULL, NULL}},
    {"PAYLOAD_TOO_LARGE", "o payload passa de 1 MiB", {NULL, NULL}},
    {"PAYLOAD_UNDECIDED", "o payload é custoso demais para ser conferido", {NULL, NULL}},
    {"UUID_INVALID", "o id deve ser um UUID", {NULL, NULL}},
    {"TIMESTAMP_INVALID", "a data e hora devem ser ISO 8601 com Z ou deslocamento", {NULL, NULL}},
    {"TRACEPARENT_INVALID", "o traceparent é inválido", {NULL, NULL}},
    {"VERSION_INVALID", "a versão deve ser como 1.0.0", {NULL, NULL}},
    {"FIELD_MISSING", "falta um campo obrigatório", {NULL, NULL}},
    {"FIELD_LENGTH", "um campo é longo demais", {NULL, NULL}},
    {"FIELD_INVALID", "um campo é inválido", {NULL, NULL}},
    {"FILTER_INVALID", "um filtro é inválido", {NULL, NULL}},
    {"OUTBOX_NOT_INSTALLED", "não há outbox nesse banco (com esse nome e versão)", {NULL, NULL}},
    {"OUTBOX_NEWER", "o outbox foi criado por uma versão mais nova da Trilha", {REMEDY_NEWER}},
    {"SCHEMA_INVALID_NAME", "o nome do schema do produtor é inválido", {NULL, NULL}},
    {"SCHEMA_MISSING", "no PostgreSQL um outbox fica em um schema", {REMEDY_SCHEMA}},
    {"DESTINATION_UNKNOWN", "esse outbox não conhece esse destino", {NULL, NULL}},
    {"DESTINATION_INVALID", "o nome do destino é inválido", {NULL, NULL}},
    {"PATTERN_INVALID", "o padrão de tipos é inválido", {NULL, NULL}},
    {"ROUTE_NOT_FOUND", "não há essa rota", {NULL, NULL}},
    {"MESSAGE_NOT_FOUND", "não há mensagem com esse id nesse outbox", {NULL, NULL}},
    {"MESSAGE_ID_INVALID", "o id da mensagem deve ser um UUID", {NULL, NULL}},
    {"LANE_NOT_DEAD", "a mensagem não está morta na cabeça da sua faixa", {NULL, NULL}},
    {"RECONCILIATION_MISSING", "nada diz o que o destino sabe dessa mensagem desde a falha", {NULL, NULL}},
    {"MESSAGE_IN_FLIGHT", "um worker tem a mensagem sob arrendamento", {REMEDY_LATER}},
    {"MESSAGE_FINISHED", "nenhum destino espera mais por essa mensagem", {NULL, NULL}},
    {"REVISION_CHANGED", "a mensagem já tem outra revisão", {NULL, NULL}},
    {"CONTENT_SAME", "a mensagem já tem esse conteúdo", {NULL, NULL}},
    {"FACT_UNKNOWN", "um destino declara Received, Applied, Refused, Unknown ou Conflict", {NULL, NULL}},
    {"WINDOW_INVALID", "os prazos não combinam entre si", {NULL, NULL}},
    {"WORKER_NOT_FOUND", "nenhum worker com esse nome está registrado", {NULL, NULL}},
    {"SOURCE_NOT_FOUND", "a configuração não registra essa fonte", {NULL, NULL}},
    {"PATH_HELD", "outro despachante ainda entrega esse tipo", {NULL, NULL}},
    {"PATH_HELD_BY_OTHER", "outro despachante já detém esses tipos", {NULL, NULL}},
    {"PATH_NOT_HELD", "ninguém detém esses tipos", {NULL, NULL}},
    {"HOLDER_INVALID", "o outro despachante precisa de um nome de no máximo 100 caracteres", {NULL, NULL}},
    {"IMPORT_MAPPING", "o mapeamento não está certo", {NULL, NULL}},
    {"IMPORT_TABLE", "o mapeamento não combina com o banco", {NULL, NULL}},
    {"IMPORT_PATH", "o despachante do mapeamento não detém os tipos do acúmulo", {NULL, NULL}},
    {"IMPORT_CLOSED", "essa importação já terminou ou começou com outro mapeamento", {NULL, NULL}},
    {"IMPORT_CHANGED", "o acúmulo mudou desde o corte ou não está todo importado", {NULL, NULL}},
    {"IMPORT_OPTIONS", "uma opção da importação está fora dos limites", {NULL, NULL}},
    {"ANSWER_INVALID", "a resposta do comando não foi entendida", {NULL, NULL}},
    {"RECONCILE_FAILED", "nem toda pergunta foi respondida", {NULL, NULL}},
    {"PURGE_OPTIONS", "uma opção da limpeza está fora dos limites", {NULL, NULL}},
    {"DUTY_UNKNOWN", "essa função não existe", {NULL, NULL}},
    {"GRANT_UNSUPPORTED", "o SQLite não tem papéis", {NULL, NULL}},
    {"LIBRARY_MISSING", "falta neste computador uma biblioteca que isso usa", {NULL, NULL}},
    {"STORE_UNAVAILABLE", "o armazenamento está indisponível", {REMEDY_SERVER}},
    {"STORE_CONNECTIONS", "o servidor não tem mais conexões livres", {REMEDY_LATER}},
    {"STORE_BUSY", "o armazenamento está ocupado", {REMEDY_LATER}},
    {"STORE_DENIED", "o armazenamento recusou a permissão", {REMEDY_GRANT}},
    {"STORE_READ_ONLY", "o armazenamento só pode ser lido", {NULL, NULL}},
    {"STORE_FULL", "o disco está cheio", {NULL, NULL}},
    {"STORE_CANNOT_OPEN", "não foi possível abrir o armazenamento", {NULL, NULL}},
    {"STORE_FOLDER_MISSING", "a pasta do armazenamento não existe", {NULL, NULL}},
    {"STORE_NOT_A_DATABASE", "o arquivo não é um banco SQLite", {REMEDY_OTHER_FILE}},
    {"STORE_CORRUPT", "o armazenamento está danificado", {REMEDY_CORRUPT}},
    {"STORE_IO", "falha de leitura ou escrita no armazenamento", {NULL, NULL}},
    {"STORE_TIMEOUT", "o armazenamento demorou demais", {NULL, NULL}},
    {"STORE_SCHEMA_DIFFERS", "as tabelas existentes não são as esperadas", {REMEDY_COMPARE}},
    {"STORE_ALTERED", "as proteções do armazenamento foram alteradas", {NULL, NULL}},
    {"STORE_REPLACED", "o arquivo do armazenamento foi trocado por outro", {NULL, NULL}},
    {"STORE_LOCK_DENIED", "o arquivo da fila de escrita não pode ser aberto", {NULL, NULL}},
    {"STORE_LOCK_UNSUPPORTED", "o sistema de arquivos não tem as travas necessárias", {REMEDY_LOCAL_DISK}},
    {"STORE_WAL_UNSUPPORTED", "o sistema de arquivos não tem a memória compartilhada necessária", {REMEDY_LOCAL_DISK}},
    {"STORE_ENCODING", "o banco de dados não está em UTF-8", {NULL, NULL}},
    {"MIGRATION_CHANGED", "o armazenamento foi criado por outra edição da Trilha", {REMEDY_COMPARE}},
    {"OUTCOME_UNKNOWN", "a resposta se perdeu: pode estar gravado ou não", {REMEDY_REPEAT}},
    {"STORE_COMMIT_UNKNOWN", "a resposta se perdeu: pode estar gravado ou não", {REMEDY_REPEAT}},
    {"JSON_SYNTAX", "o texto não é JSON", {REMEDY_JSON}},
    {"JSON_UTF8", "o texto não é UTF-8 válido", {NULL, NULL}},
    {"JSON_DUPLICATE_KEY", "um nome aparece duas vezes no mesmo objeto JSON", {NULL, NULL}},
    {"JSON_NUL", "o JSON contém o caractere U+0000, que o armazenamento não guarda", {NULL, NULL}},
    {"JSON_SURROGATE", "o JSON contém meio par substituto (surrogate)", {NULL, NULL}},
    {"JSON_DEPTH", "o JSON tem níveis demais", {NULL, NULL}},
    {"JSON_SIZE", "o JSON é grande demais", {NULL, NULL}},
    {"JSON_EXPANDED_SIZE", "o JSON fica grande demais quando os números são escritos por extenso", {NULL, NULL}},
    {"JSON_NUMBER_SIZE", "um número do JSON tem dígitos demais", {NULL, NULL}},
    {"JSON_NUMBER_RANGE", "um número do JSON é grande demais para ser guardado", {NULL, NULL}},
    {"REQUEST_NOT_OBJECT", "um pedido deve ser um objeto JSON", {NULL, NULL}},
    {"REQUEST_MEMBER_UNKNOWN", "o pedido tem um membro desconhecido", {REMEDY_REQUEST}},
    {"REQUEST_MEMBER_TYPE", "um membro do pedido é do tipo errado", {REMEDY_REQUEST}},
    {"LINE_TOO_LONG", "a linha é longa demais e foi pulada", {NULL, NULL}},
    {"FILE_OPEN", "não foi possível abrir o arquivo", {REMEDY_PATH}},
    {"FILE_READ", "não foi possível ler o arquivo", {NULL, NULL}},
    {"FILE_WRITE", "não foi possível escrever o arquivo", {REMEDY_PATH}},
    {"FILE_TOO_LARGE", "o arquivo é grande demais", {NULL, NULL}},
    {"TYPE_FILES", "nenhum ou demasiados arquivos de tipos", {NULL, NULL}},
    {"TYPE_FILE", "o arquivo não contém uma versão de tipo", {NULL, NULL}},
    {"TYPE_MEMBER", "um membro da versão de tipo está errado", {NULL, NULL}},
    {"COMMAND_FAILED", "não foi possível executar o programa", {REMEDY_HANDLER}},
    {"CONSUMER_OPTION_INVALID", "uma opção do consumidor é inválida", {NULL, NULL}},
    {"LEASE_LOST", "outro processo assumiu o lugar deste", {NULL, NULL}},
    {"LEASE_HELD", "outro processo detém o lugar", {NULL, NULL}},
    {"YAML_SYNTAX", "o texto não é YAML", {NULL, NULL}},
    {"YAML_UTF8", "o texto não é UTF-8 válido", {NULL, NULL}},
    {"NO_MEMORY", "memória esgotada", {NULL, NULL}},
};

static const explained *explain(const char *code) {
  for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
    if (strcmp(explanations[i].code, code) == 0) return &explanations[i];
  }
  return NULL;
}

void trilha_cli_put_error(const trilha_cli *cli, trilha_cli_output *to, const trilha_error *error) {
  const explained *e = cli->portuguese ? explain(error->code) : NULL;
  if (e != NULL && e->pt != NULL) {
    trilha_cli_putf(to, "%s (", e->pt);
    trilha_cli_put_safe(to, trilha_text_of(error->text));
    trilha_cli_putf(to, ") [%s]", error->code);
  } else {
    trilha_cli_put_safe(to, trilha_text_of(error->text));
    trilha_cli_putf(to, " [%s]", error->code);
  }
}

int trilha_cli_exit_of(const trilha_error *error) {
  switch (error->status) {
    case TRILHA_OK:
      return TRILHA_EXIT_OK;
    case TRILHA_INVALID:
    case TRILHA_LIMIT:
      return TRILHA_EXIT_REFUSED;
    case TRILHA_USAGE:
      return TRILHA_EXIT_USAGE;
    case TRILHA_UNAVAILABLE:
    case TRILHA_TIMEOUT:
      return TRILHA_EXIT_UNAVAILABLE;
    default:
      return TRILHA_EXIT_FAILED;
  }
}

bool trilha_cli_has_remedy(const trilha_error *error) {
  const explained *e = explain(error->code);
  return e != NULL && e->remedy.en != NULL;
}

void trilha_cli_hint_remedy(trilha_cli *cli, const trilha_error *error) {
  const explained *e = explain(error->code);
  if (e == NULL || e->remedy.en == NULL) return;
  const char *remedy = trilha_cli_choose(cli, e->remedy);
  if (remedy[0] != '\0') trilha_cli_hint(cli, SAY_PLAIN, remedy);
}

int trilha_cli_fail(trilha_cli *cli, const trilha_error *error) {
  const explained *e = explain(error->code);
  if (cli->portuguese && e != NULL && e->pt != NULL) {
    trilha_cli_say(cli, SAY_ERROR_EXPLAINED, e->pt, error->text, error->code);
  } else {
    trilha_cli_say(cli, SAY_ERROR, error->text, error->code);
  }
  trilha_cli_hint_remedy(cli, error);
  return trilha_cli_exit_of(error);
}
