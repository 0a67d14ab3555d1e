/* schema/late_pcre2: PCRE2, loaded when a pattern is first compiled that only it can match (late/late.h). Room: schema,
 * inside. Included instead of <pcre2.h>, whose names end in the width of a character. */
#ifndef TRILHA_SCHEMA_LATE_PCRE2_H
#define TRILHA_SCHEMA_LATE_PCRE2_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_PCRE2(F) \
  F(pcre2_code_free_8) F(pcre2_compile_8) F(pcre2_get_error_message_8) F(pcre2_jit_compile_8) \
  F(pcre2_jit_stack_assign_8) F(pcre2_jit_stack_create_8) F(pcre2_jit_stack_free_8) F(pcre2_match_8) \
  F(pcre2_match_context_create_8) F(pcre2_match_context_free_8) F(pcre2_match_data_create_8) \
  F(pcre2_match_data_free_8) F(pcre2_pattern_info_8) F(pcre2_set_depth_limit_8) F(pcre2_set_heap_limit_8) \
  F(pcre2_set_match_limit_8)
/* clang-format on */

typedef struct trilha_pcre2 {
  TRILHA_PCRE2(TRILHA_LATE_MEMBER)
} trilha_pcre2;

/* Before a pattern is compiled. Thread-safe. UNSUPPORTED (LIBRARY_MISSING). */
trilha_status trilha_pcre2_load(trilha_error *err) TRILHA_MUST_USE;
/* They are there; asked before anybody loaded them, it does, and what is missing then ends the process. */
const trilha_pcre2 *trilha_pcre2_functions(void);

#define pcre2_code_free_8            (trilha_pcre2_functions()->pcre2_code_free_8)
#define pcre2_compile_8              (trilha_pcre2_functions()->pcre2_compile_8)
#define pcre2_get_error_message_8    (trilha_pcre2_functions()->pcre2_get_error_message_8)
#define pcre2_jit_compile_8          (trilha_pcre2_functions()->pcre2_jit_compile_8)
#define pcre2_jit_stack_assign_8     (trilha_pcre2_functions()->pcre2_jit_stack_assign_8)
#define pcre2_jit_stack_create_8     (trilha_pcre2_functions()->pcre2_jit_stack_create_8)
#define pcre2_jit_stack_free_8       (trilha_pcre2_functions()->pcre2_jit_stack_free_8)
#define pcre2_match_8                (trilha_pcre2_functions()->pcre2_match_8)
#define pcre2_match_context_create_8 (trilha_pcre2_functions()->pcre2_match_context_create_8)
#define pcre2_match_context_free_8   (trilha_pcre2_functions()->pcre2_match_context_free_8)
#define pcre2_match_data_create_8    (trilha_pcre2_functions()->pcre2_match_data_create_8)
#define pcre2_match_data_free_8      (trilha_pcre2_functions()->pcre2_match_data_free_8)
#define pcre2_pattern_info_8         (trilha_pcre2_functions()->pcre2_pattern_info_8)
#define pcre2_set_depth_limit_8      (trilha_pcre2_functions()->pcre2_set_depth_limit_8)
#define pcre2_set_heap_limit_8       (trilha_pcre2_functions()->pcre2_set_heap_limit_8)
#define pcre2_set_match_limit_8      (trilha_pcre2_functions()->pcre2_set_match_limit_8)

#endif
