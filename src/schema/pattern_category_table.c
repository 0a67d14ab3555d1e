/* schema/pattern_category_table: run at build time; prints the runs of equal general category of libutf8proc as the
 * rows of a C table. */
#include <stdio.h>

#include "utf8proc.h"

int main(void) {
  int before = -1;
  for (utf8proc_int32_t c = 0; c <= 0x10FFFF; c++) {
    int category = (int)utf8proc_category(c);
    if (category != before && printf("{0x%X, %d},\n", (unsigned)c, category) < 0) return 1;
    before = category;
  }
  return fflush(stdout) == 0 ? 0 : 1;
}
