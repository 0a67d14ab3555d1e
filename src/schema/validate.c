/* The fast pass. */
#define RUN_MODE 1
#include "schema/run_template.h"

trilha_verdict trilha_schema_validate(const trilha_schema *schema, const trilha_json_document *document,
                                      const trilha_json_keys *keys, trilha_schema_scratch *scratch) {
  schema_run run;
  if (trilha_schema_run_start(&run, schema, &schema->fast, document, keys, scratch) == NULL) {
    return TRILHA_VERDICT_UNDECIDED;
  }
  switch (run_blocks(&run, schema->fast.root)) {
    case RESULT_PASS:
      return run.steps < 0 ? TRILHA_VERDICT_UNDECIDED : TRILHA_VERDICT_VALID;
    case RESULT_FAIL:
      return TRILHA_VERDICT_INVALID;
    default:
      return TRILHA_VERDICT_UNDECIDED;
  }
}
