/* schema/report: texts of violations. Room: schema, inside. */
#ifndef TRILHA_SCHEMA_REPORT_H
#define TRILHA_SCHEMA_REPORT_H

#include "schema/program.h"

/* Appends what an instruction of the plain program asks for: "must be at least 5 characters". `name` is the missing
 * name of required and dependentRequired, else absent. Never a value of the instance. */
void trilha_schema_violation_text(trilha_buffer *out, const schema_instr *instr, trilha_text name);

#endif
