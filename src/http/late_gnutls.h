/* http/late_gnutls: GnuTLS, loaded when a certificate is first looked at (late/late.h). Room: http, inside. Included
 * instead of <gnutls/gnutls.h>. */
#ifndef TRILHA_HTTP_LATE_GNUTLS_H
#define TRILHA_HTTP_LATE_GNUTLS_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_GNUTLS(F) \
  F(gnutls_certificate_allocate_credentials) F(gnutls_certificate_free_credentials) \
  F(gnutls_certificate_get_x509_crt) F(gnutls_certificate_set_x509_key_mem) F(gnutls_free) F(gnutls_strerror) \
  F(gnutls_x509_crt_deinit) F(gnutls_x509_crt_get_expiration_time)
/* clang-format on */

typedef struct trilha_gnutls {
  TRILHA_GNUTLS(TRILHA_LATE_MEMBER)
} trilha_gnutls;

/* Before a certificate is looked at. Thread-safe. UNSUPPORTED (LIBRARY_MISSING). */
trilha_status trilha_gnutls_load(trilha_error *err) TRILHA_MUST_USE;
/* They are there; asked before anybody loaded them, it does, and what is missing then ends the process. */
const trilha_gnutls *trilha_gnutls_functions(void);

#define gnutls_certificate_allocate_credentials (trilha_gnutls_functions()->gnutls_certificate_allocate_credentials)
#define gnutls_certificate_free_credentials     (trilha_gnutls_functions()->gnutls_certificate_free_credentials)
#define gnutls_certificate_get_x509_crt         (trilha_gnutls_functions()->gnutls_certificate_get_x509_crt)
#define gnutls_certificate_set_x509_key_mem     (trilha_gnutls_functions()->gnutls_certificate_set_x509_key_mem)
#define gnutls_free                             (*trilha_gnutls_functions()->gnutls_free) /* a variable of the library */
#define gnutls_strerror                         (trilha_gnutls_functions()->gnutls_strerror)
#define gnutls_x509_crt_deinit                  (trilha_gnutls_functions()->gnutls_x509_crt_deinit)
#define gnutls_x509_crt_get_expiration_time     (trilha_gnutls_functions()->gnutls_x509_crt_get_expiration_time)

#endif
