/* config/late_fyaml: libfyaml, loaded when a YAML text is read (late/late.h). Room: config, inside. Included instead of
 * <libfyaml.h>. */
#ifndef TRILHA_CONFIG_LATE_FYAML_H
#define TRILHA_CONFIG_LATE_FYAML_H

#include <libfyaml.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_FYAML(F) \
  F(fy_diag_cfg_default) F(fy_diag_create) F(fy_diag_destroy) F(fy_diag_errors_iterate) \
  F(fy_diag_set_collect_errors) F(fy_event_start_mark) F(fy_parser_create) F(fy_parser_destroy) \
  F(fy_parser_event_free) F(fy_parser_parse) F(fy_parser_set_string) F(fy_token_get_text) F(fy_token_scalar_style)
/* clang-format on */

typedef struct trilha_fyaml {
  TRILHA_FYAML(TRILHA_LATE_MEMBER)
} trilha_fyaml;

/* The functions are there from the begin of a reading to its end. Thread-safe. UNSUPPORTED (LIBRARY_MISSING). */
trilha_status trilha_fyaml_begin(trilha_error *err) TRILHA_MUST_USE;
void trilha_fyaml_end(void);
const trilha_fyaml *trilha_fyaml_functions(void);

#define fy_diag_cfg_default        (trilha_fyaml_functions()->fy_diag_cfg_default)
#define fy_diag_create             (trilha_fyaml_functions()->fy_diag_create)
#define fy_diag_destroy            (trilha_fyaml_functions()->fy_diag_destroy)
#define fy_diag_errors_iterate     (trilha_fyaml_functions()->fy_diag_errors_iterate)
#define fy_diag_set_collect_errors (trilha_fyaml_functions()->fy_diag_set_collect_errors)
#define fy_event_start_mark        (trilha_fyaml_functions()->fy_event_start_mark)
#define fy_parser_create           (trilha_fyaml_functions()->fy_parser_create)
#define fy_parser_destroy          (trilha_fyaml_functions()->fy_parser_destroy)
#define fy_parser_event_free       (trilha_fyaml_functions()->fy_parser_event_free)
#define fy_parser_parse            (trilha_fyaml_functions()->fy_parser_parse)
#define fy_parser_set_string       (trilha_fyaml_functions()->fy_parser_set_string)
#define fy_token_get_text          (trilha_fyaml_functions()->fy_token_get_text)
#define fy_token_scalar_style      (trilha_fyaml_functions()->fy_token_scalar_style)

#endif
