/* fetch/late_curl: libcurl, loaded when something is first asked of somebody else's server (late/late.h). Room: fetch.
 * Corridor, for webhook. Included instead of <curl/curl.h>, whose own macros for these names go: they would call what
 * is not linked. */
#ifndef TRILHA_FETCH_LATE_CURL_H
#define TRILHA_FETCH_LATE_CURL_H

#include <curl/curl.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_CURL(F) \
  F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_perform) F(curl_easy_setopt) \
  F(curl_easy_strerror) F(curl_free) F(curl_global_cleanup) F(curl_global_init) F(curl_multi_add_handle) \
  F(curl_multi_assign) F(curl_multi_cleanup) F(curl_multi_info_read) F(curl_multi_init) \
  F(curl_multi_socket_action) F(curl_multi_remove_handle) F(curl_multi_setopt) F(curl_slist_append) \
  F(curl_slist_free_all) F(curl_url) F(curl_url_cleanup) F(curl_url_get) F(curl_url_set)
/* clang-format on */

typedef struct trilha_curl {
  TRILHA_CURL(TRILHA_LATE_MEMBER)
} trilha_curl;

/* Before the first call of libcurl, by whoever begins. Thread-safe. UNSUPPORTED (LIBRARY_MISSING). */
trilha_status trilha_curl_load(trilha_error *err) TRILHA_MUST_USE;
/* They are there; asked before anybody loaded them, it does, and what is missing then ends the process. */
const trilha_curl *trilha_curl_functions(void);

#define curl_easy_cleanup (trilha_curl_functions()->curl_easy_cleanup)
#undef curl_easy_getinfo
#define curl_easy_getinfo (trilha_curl_functions()->curl_easy_getinfo)
#define curl_easy_init    (trilha_curl_functions()->curl_easy_init)
#define curl_easy_perform (trilha_curl_functions()->curl_easy_perform)
#undef curl_easy_setopt
#define curl_easy_setopt         (trilha_curl_functions()->curl_easy_setopt)
#define curl_easy_strerror       (trilha_curl_functions()->curl_easy_strerror)
#define curl_free                (trilha_curl_functions()->curl_free)
#define curl_global_cleanup      (trilha_curl_functions()->curl_global_cleanup)
#define curl_global_init         (trilha_curl_functions()->curl_global_init)
#define curl_multi_add_handle    (trilha_curl_functions()->curl_multi_add_handle)
#define curl_multi_cleanup       (trilha_curl_functions()->curl_multi_cleanup)
#define curl_multi_info_read     (trilha_curl_functions()->curl_multi_info_read)
#define curl_multi_init          (trilha_curl_functions()->curl_multi_init)
#define curl_multi_socket_action (trilha_curl_functions()->curl_multi_socket_action)
#define curl_multi_assign        (trilha_curl_functions()->curl_multi_assign)
#define curl_multi_remove_handle (trilha_curl_functions()->curl_multi_remove_handle)
#undef curl_multi_setopt
#define curl_multi_setopt   (trilha_curl_functions()->curl_multi_setopt)
#define curl_slist_append   (trilha_curl_functions()->curl_slist_append)
#define curl_slist_free_all (trilha_curl_functions()->curl_slist_free_all)
#define curl_url            (trilha_curl_functions()->curl_url)
#define curl_url_cleanup    (trilha_curl_functions()->curl_url_cleanup)
#define curl_url_get        (trilha_curl_functions()->curl_url_get)
#define curl_url_set        (trilha_curl_functions()->curl_url_set)

#endif
