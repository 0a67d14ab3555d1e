/* registry: what names of types and versions must look like (ruling R2, Semantic Versioning 2.0.0). */
#include "base/error.h"
#include "base/semver.h"
#include "registry/registry_internal.h"

/* C0, DEL and C1: no terminal, log line or metric label should ever have to carry them. */
static bool has_control(trilha_text text) {
  for (size_t at = 0; at < text.size;) {
    uint32_t c = trilha_utf8_next(text.data, text.size, &at);
    if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
  }
  return false;
}

trilha_status trilha_registry_check_tipo(trilha_text tipo, trilha_error *err) {
  const char *why = NULL;
  if (tipo.size == 0)
    why = "is empty";
  else if (!trilha_utf8_valid(tipo.data, tipo.size))
    why = "is not UTF-8";
  else if (trilha_utf8_length(tipo.data, tipo.size) > TRILHA_REGISTRY_TIPO_MAX)
    why = "has more than 255 characters";
  else if (has_control(tipo))
    why = "holds a control character";
  if (why == NULL) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_INVALID, "EVENT_TYPE_NAME_INVALID", "tipo %s", why);
}

trilha_status trilha_registry_check_versao(trilha_text versao, trilha_error *err) {
  if (versao.size != 0 && versao.size <= TRILHA_REGISTRY_VERSAO_MAX && trilha_semver_is_valid(versao)) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_INVALID, "EVENT_TYPE_VERSION_INVALID",
                          "versao is not a semantic version (such as 1.0.0) of at most 20 characters");
}
