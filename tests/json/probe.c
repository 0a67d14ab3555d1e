/* A program that answers differential.py: one question a line, texts in hexadecimal; the answer is one line. */
#include "json/number.h"
#include "json_test.h"

enum { FIELDS_MAX = 4, LINE_MAX_BYTES = 1 << 20 };

static trilha_text unhex(char *field) {
  if (field == NULL || *field++ != 'x') return (trilha_text){"", 0};
  size_t n = strlen(field) / 2;
  for (size_t i = 0; i < n; i++) {
    unsigned byte = 0;
    if (sscanf(field + 2 * i, "%2x", &byte) != 1) abort();
    field[i] = (char)byte;
  }
  return (trilha_text){field, n};
}

static void print_hex(trilha_text text) {
  putchar('x');
  for (size_t i = 0; i < text.size; i++) printf("%02x", (unsigned char)text.data[i]);
}

static void answer_read(trilha_text text) {
  trilha_json_document *d = NULL;
  trilha_json_fault fault = {0};
  trilha_error err = {0};
  if (trilha_json_parse(text, NULL, &d, &fault, &err) != TRILHA_OK) {
    printf("%s %zu %u %u", fault.code, fault.offset, fault.line, fault.column);
    return;
  }
  TRILHA_BUFFER_SCOPED compact, canonical;
  trilha_buffer_init(&compact, 0);
  trilha_buffer_init(&canonical, 0);
  trilha_json_write(&compact, d->values);
  bool written = trilha_json_write_canonical(&canonical, d->values, NULL) == TRILHA_OK;
  bool storable = trilha_json_check_storable(d, text, &fault, NULL) == TRILHA_OK;
  printf("ok ");
  print_hex(trilha_buffer_text(&compact));
  putchar(' ');
  if (written)
    print_hex(trilha_buffer_text(&canonical));
  else
    putchar('-');
  printf(" %s", storable ? "storable" : fault.code);
  trilha_json_document_free(d);
}

static void answer_equal(trilha_text a, trilha_text b) {
  trilha_json_document *x = NULL, *y = NULL;
  if (trilha_json_parse(a, NULL, &x, NULL, NULL) != TRILHA_OK ||
      trilha_json_parse(b, NULL, &y, NULL, NULL) != TRILHA_OK)
    abort();
  bool equal = trilha_json_equal(x->values, y->values);
  if (equal != trilha_json_equal(y->values, x->values)) abort();
  printf("%d %d", equal, trilha_json_hash_seeded(x->values, 7) == trilha_json_hash_seeded(y->values, 7));
  trilha_json_document_free(x);
  trilha_json_document_free(y);
}

static void print_number(trilha_status status, trilha_buffer *out) {
  if (status == TRILHA_OK)
    printf("%s", out->data);
  else
    printf("%s", status == TRILHA_LIMIT ? "limit" : "?");
}

static void answer_number(const char *verb, trilha_text a, trilha_text b, const char *last) {
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  int64_t value = 0;
  if (strcmp(verb, "compare") == 0) {
    int order = trilha_number_compare(a, b);
    printf("%d", order < 0 ? -1 : order > 0);
  } else if (strcmp(verb, "multiple") == 0) {
    printf("%d", trilha_number_is_multiple(a, b, strtoull(last, NULL, 10)));
  } else if (strcmp(verb, "integer") == 0) {
    printf("%d", trilha_number_is_integer(a));
  } else if (strcmp(verb, "i64") == 0) {
    if (trilha_number_to_i64(a, &value))
      printf("%lld", (long long)value);
    else
      printf("no");
  } else if (strcmp(verb, "canonical") == 0) {
    print_number(trilha_number_write_canonical(&out, a, NULL), &out);
  } else if (strcmp(verb, "rounded") == 0) {
    print_number(trilha_number_write_rounded(&out, a, (unsigned)strtoul(last, NULL, 10), NULL), &out);
  } else if (strcmp(verb, "expanded") == 0) {
    printf("%llu", (unsigned long long)trilha_number_expanded_size(a));
  } else {
    abort();
  }
}

int main(void) {
  char *line = malloc(LINE_MAX_BYTES);
  if (line == NULL) return 1;
  while (fgets(line, LINE_MAX_BYTES, stdin) != NULL) {
    char *fields[FIELDS_MAX] = {line}, *rest = NULL;
    line[strcspn(line, "\n")] = '\0';
    int n = 0;
    for (char *f = strtok_r(line, " ", &rest); f != NULL && n < FIELDS_MAX; f = strtok_r(NULL, " ", &rest))
      fields[n++] = f;
    if (n < 2) continue;
    const char *last = fields[n - 1];
    /* Texts begin with an x, so that an empty one is a field too. */
    trilha_text a = unhex(fields[1]), b = unhex(fields[2]);
    if (strcmp(fields[0], "read") == 0)
      answer_read(a);
    else if (strcmp(fields[0], "equal") == 0)
      answer_equal(a, b);
    else
      answer_number(fields[0], a, b, last);
    putchar('\n');
    fflush(stdout);
  }
  free(line);
  return 0;
}
