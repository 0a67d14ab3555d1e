/* fuzz: what reads as a timestamp is written as it is meant, and rounding is stable. */
#include "base/clock.h"
#include "fuzz/fuzz.h"

void trilha_fuzz(const char *data, size_t size) {
  int64_t us, again, rounded, twice;
  if (!trilha_timestamp_parse((trilha_text){data, size}, &us)) return;
  char out[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(us, out);
  CHECK(trilha_timestamp_parse(trilha_text_of(out), &again));
  CHECK(again == us);
  if (!trilha_timestamp_round_centis(us, &rounded)) return;
  CHECK(rounded % 10000 == 0);
  CHECK(rounded - us <= 5000 && us - rounded <= 5000);
  CHECK(trilha_timestamp_round_centis(rounded, &twice) && twice == rounded);
}
