/* http: certificates, judged before anything is served with them. */
#include "base/error.h"
#include "http/http_internal.h"
#include "http/late_gnutls.h"

static trilha_status invalid(trilha_error *err, const char *name, const char *what, int code) {
  return trilha_error_set(err, TRILHA_INVALID, "CERTIFICATE_INVALID", "the %s listener's %s: %s", name, what,
                          gnutls_strerror(code));
}

/* The first certificate of a chain is the server's own. */
static int expiry_of(gnutls_certificate_credentials_t pair, int64_t *ret_expires_s) {
  gnutls_x509_crt_t *chain = NULL;
  unsigned count = 0;
  int code = gnutls_certificate_get_x509_crt(pair, 0, &chain, &count);
  if (code < 0) return code;
  for (unsigned i = 0; i < count; i++) {
    if (i == 0) *ret_expires_s = (int64_t)gnutls_x509_crt_get_expiration_time(chain[i]);
    gnutls_x509_crt_deinit(chain[i]);
  }
  gnutls_free(chain);
  return GNUTLS_E_SUCCESS;
}

trilha_status trilha_http_tls_check(const trilha_http_certificate *certificate, const char *name,
                                    int64_t *ret_expires_s, trilha_error *err) {
  gnutls_certificate_credentials_t pair = NULL;
  trilha_status status = trilha_gnutls_load(err);
  if (status != TRILHA_OK) return status;
  int code = gnutls_certificate_allocate_credentials(&pair);
  if (code < 0) return trilha_error_no_memory(err);
  const gnutls_datum_t chain = {(unsigned char *)(uintptr_t)certificate->chain, (unsigned)strlen(certificate->chain)};
  const gnutls_datum_t key = {(unsigned char *)(uintptr_t)certificate->key, (unsigned)strlen(certificate->key)};
  code = gnutls_certificate_set_x509_key_mem(pair, &chain, &key, GNUTLS_X509_FMT_PEM);
  if (code >= 0) code = expiry_of(pair, ret_expires_s);
  gnutls_certificate_free_credentials(pair);
  return code < 0 ? invalid(err, name, "certificate and key cannot be used together", code) : TRILHA_OK;
}
