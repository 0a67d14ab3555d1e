/* serve: the certificate of the API's listener, from the files that the configuration names. */
#include "base/error.h"
#include "serve/serve_internal.h"

static trilha_status read_pem(const trilha_config *config, trilha_setting setting, trilha_buffer *out,
                              bool *ret_private, trilha_error *err) {
  const char *path = trilha_config_text(config, setting).data;
  trilha_status status = trilha_key_file_read(path, out, ret_private, err);
  if (status == TRILHA_OK && memchr(out->data, '\0', out->size) != NULL)
    status = trilha_error_set(err, TRILHA_INVALID, "CERTIFICATE_INVALID", "%s is no PEM file", path);
  if (status == TRILHA_OK && out->size > TRILHA_KEY_FILE_MAX)
    status = trilha_error_set(err, TRILHA_LIMIT, "KEY_FILE_TOO_LARGE", "%s has more than %d bytes", path,
                              TRILHA_KEY_FILE_MAX);
  if (status == TRILHA_OK) trilha_buffer_add_char(out, '\0');
  if (status == TRILHA_OK) status = trilha_buffer_check(out, err);
  if (status != TRILHA_OK) trilha_error_while(err, "reading %s", trilha_setting_name(setting));
  return status;
}

trilha_status trilha_certificate_read(const trilha_config *config, trilha_certificate_files *files, trilha_error *err) {
  trilha_buffer_init(&files->chain, 0);
  trilha_buffer_init(&files->key, 0);
  files->pair = (trilha_http_certificate){NULL, NULL};
  bool chain = trilha_config_text(config, TRILHA_SETTING_API_CERTIFICATE).data != NULL;
  bool key = trilha_config_text(config, TRILHA_SETTING_API_CERTIFICATE_KEY).data != NULL;
  if (!chain && !key) return TRILHA_OK;
  if (!chain || !key)
    return trilha_error_set(err, TRILHA_INVALID, "CERTIFICATE_INCOMPLETE",
                            "serve.api.certificate and serve.api.certificate_key are given together or not at all");
  bool chain_is_private, key_is_private;
  trilha_status status = read_pem(config, TRILHA_SETTING_API_CERTIFICATE, &files->chain, &chain_is_private, err);
  if (status == TRILHA_OK)
    status = read_pem(config, TRILHA_SETTING_API_CERTIFICATE_KEY, &files->key, &key_is_private, err);
  if (status == TRILHA_OK && !key_is_private) {
    const char *path = trilha_config_text(config, TRILHA_SETTING_API_CERTIFICATE_KEY).data;
    status = trilha_error_set(err, TRILHA_DENIED, "KEY_FILE_OPEN_TO_OTHERS",
                              "%s holds a private key and others may read it: chmod 600 %s", path, path);
  }
  if (status == TRILHA_OK) files->pair = (trilha_http_certificate){files->chain.data, files->key.data};
  return status;
}

void trilha_certificate_done(trilha_certificate_files *files) {
  if (files->key.data != NULL) explicit_bzero(files->key.data, files->key.capacity);
  trilha_buffer_done(&files->chain);
  trilha_buffer_done(&files->key);
}
