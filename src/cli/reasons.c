/* cli/reasons: what a failed keyword asks for, in Portuguese. The library says it in English; what stands for '%' is
 * kept. */
#include "cli/cli_internal.h"

/* Whole sentences; the first that fits is taken, so longer ones come before their beginnings. */
static const struct {
  const char *en, *pt;
} sentences[] = {
    {"must be at least % character", "deve ter no mínimo % caractere"},
    {"must be at least % characters", "deve ter no mínimo % caracteres"},
    {"must be at most % character", "deve ter no máximo % caractere"},
    {"must be at most % characters", "deve ter no máximo % caracteres"},
    {"must be at least %", "deve ser no mínimo %"},
    {"must be above %", "deve ser maior que %"},
    {"must be at most %", "deve ser no máximo %"},
    {"must be below %", "deve ser menor que %"},
    {"must be a multiple of %", "deve ser múltiplo de %"},
    {"must be of type %", "deve ser do tipo %"},
    {"must be of format %", "deve ser do formato %"},
    {"must be one of the values that the schema lists", "deve ser um dos valores listados no schema"},
    {"must be one of %", "deve ser um destes: %"},
    {"must match the schema's pattern", "deve seguir o padrão do schema"},
    {"must match at least one of the alternatives", "deve seguir ao menos uma das alternativas"},
    {"must match exactly one of the alternatives", "deve seguir exatamente uma das alternativas"},
    {"must not match the schema below not", "não pode seguir o schema sob not"},
    {"must not be there", "não pode estar aí"},
    {"must not have equal items", "não pode ter itens iguais"},
    {"must have the member %", "deve ter o membro %"},
    {"must have at least % item", "deve ter no mínimo % item"},
    {"must have at least % items", "deve ter no mínimo % itens"},
    {"must have at most % item", "deve ter no máximo % item"},
    {"must have at most % items", "deve ter no máximo % itens"},
    {"must have at least % member", "deve ter no mínimo % membro"},
    {"must have at least % members", "deve ter no mínimo % membros"},
    {"must have at most % member", "deve ter no máximo % membro"},
    {"must have at most % members", "deve ter no máximo % membros"},
    {"must contain at least % that the contains schema accepts",
     "deve conter no mínimo % que o schema contains aceite"},
    {"must be %", "deve ser %"},
};

/* Whether `text` is the sentence; *ret_kept is what stands for its '%'. */
static bool fits(const char *sentence, trilha_text text, trilha_text *ret_kept) {
  const char *hole = strchr(sentence, '%');
  size_t before = hole == NULL ? strlen(sentence) : (size_t)(hole - sentence);
  size_t after = hole == NULL ? 0 : strlen(hole + 1);
  if (text.size < before + after || memcmp(text.data, sentence, before) != 0) return false;
  if (hole == NULL) return text.size == before;
  if (memcmp(text.data + text.size - after, hole + 1, after) != 0) return false;
  *ret_kept = (trilha_text){text.data + before, text.size - before - after};
  return true;
}

void trilha_cli_put_reason(const trilha_cli *cli, trilha_cli_output *to, trilha_text text) {
  for (size_t i = 0; cli->portuguese && i < sizeof sentences / sizeof sentences[0]; i++) {
    trilha_text kept = {"", 0};
    if (!fits(sentences[i].en, text, &kept)) continue;
    size_t before = strcspn(sentences[i].pt, "%");
    trilha_cli_put(to, (trilha_text){sentences[i].pt, before});
    trilha_cli_put_safe(to, kept);
    if (sentences[i].pt[before] == '%') trilha_cli_puts(to, sentences[i].pt + before + 1);
    return;
  }
  trilha_cli_put_safe(to, text);
}
