/* http/late_microhttpd: libmicrohttpd, loaded when the first server starts (late/late.h). Room: http, inside. Included
 * instead of <microhttpd.h>. */
#ifndef TRILHA_HTTP_LATE_MICROHTTPD_H
#define TRILHA_HTTP_LATE_MICROHTTPD_H

#include <microhttpd.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_MICROHTTPD(F) \
  F(MHD_add_connection) F(MHD_add_response_header) F(MHD_create_response_from_buffer) F(MHD_destroy_response) \
  F(MHD_get_connection_info) F(MHD_get_connection_values_n) F(MHD_get_daemon_info) F(MHD_get_timeout) \
  F(MHD_queue_response) F(MHD_resume_connection) F(MHD_run) F(MHD_start_daemon) F(MHD_stop_daemon) \
  F(MHD_suspend_connection)
/* clang-format on */

typedef struct trilha_microhttpd {
  TRILHA_MICROHTTPD(TRILHA_LATE_MEMBER)
} trilha_microhttpd;

/* Before a server is made. Thread-safe. UNSUPPORTED (LIBRARY_MISSING). */
trilha_status trilha_microhttpd_load(trilha_error *err) TRILHA_MUST_USE;
/* They are there; asked before anybody loaded them, it does, and what is missing then ends the process. */
const trilha_microhttpd *trilha_microhttpd_functions(void);

#define MHD_add_connection              (trilha_microhttpd_functions()->MHD_add_connection)
#define MHD_add_response_header         (trilha_microhttpd_functions()->MHD_add_response_header)
#define MHD_create_response_from_buffer (trilha_microhttpd_functions()->MHD_create_response_from_buffer)
#define MHD_destroy_response            (trilha_microhttpd_functions()->MHD_destroy_response)
#define MHD_get_connection_info         (trilha_microhttpd_functions()->MHD_get_connection_info)
#define MHD_get_connection_values_n     (trilha_microhttpd_functions()->MHD_get_connection_values_n)
#define MHD_get_daemon_info             (trilha_microhttpd_functions()->MHD_get_daemon_info)
#define MHD_get_timeout                 (trilha_microhttpd_functions()->MHD_get_timeout)
#define MHD_queue_response              (trilha_microhttpd_functions()->MHD_queue_response)
#define MHD_resume_connection           (trilha_microhttpd_functions()->MHD_resume_connection)
#define MHD_run                         (trilha_microhttpd_functions()->MHD_run)
#define MHD_start_daemon                (trilha_microhttpd_functions()->MHD_start_daemon)
#define MHD_stop_daemon                 (trilha_microhttpd_functions()->MHD_stop_daemon)
#define MHD_suspend_connection          (trilha_microhttpd_functions()->MHD_suspend_connection)

#endif
