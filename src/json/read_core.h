/* json inside: the reader's state machine, compiled once for each way of scanning. Room: json.
 *
 * A core's source defines, before it includes this file, the three scans and the core's name:
 *   static inline char *scan_stop(char *p, unsigned *high);   first '"', '\\' or control; *high |= a byte ≥ 0x80 before
 * it static inline char *scan_spaces(char *p);                 first byte that is no JSON white space static bool
 * scan_copy(char *to, const char *from, size_t size);   copies; false when it is not UTF-8 #define TRILHA_JSON_CORE
 * name The text ends in zero bytes, which stop every scan: nothing here compares with the end of the text.
 */

static inline char *skip_spaces(char *p) {
  if (TRILHA_JSON_LIKELY((unsigned char)*p > ' ')) return p;
  return scan_spaces(p);
}

/* Moves size bytes down to `to`, which lies before `from`. Whole words may be written past the end of what is moved, as
 * long as they stay before the bytes not yet read: the gap says how wide a word may be. */
static inline char *move_down(char *to, const char *from, size_t size) {
  size_t gap = (size_t)(from - to);
  if (gap >= 32) {
    for (size_t i = 0; i < size; i += 32) memcpy(to + i, from + i, 32);
  } else if (gap >= 8) {
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word;
      memcpy(&word, from + i, 8);
      memcpy(to + i, &word, 8);
    }
  } else {
    memmove(to, from, size);
  }
  return to + size;
}

static inline void set_string(trilha_json_value *v, char *text, size_t size, unsigned flags, unsigned high) {
  if (high == 0) flags |= TRILHA_JSON_ASCII;
  *v = (trilha_json_value){.type = TRILHA_JSON_STRING, .flags = (uint8_t)flags, .size = (uint32_t)size, .u.text = text};
}

/* The rest of a string from its first backslash at p on; unescaped in place. */
static __attribute__((noinline)) char *read_escaped(trilha_json_run *run, char *start, char *p, unsigned high,
                                                    trilha_json_value *v) {
  char *to = p;
  unsigned flags = TRILHA_JSON_ESCAPED;
  while (*p != '"') {
    if (*p != '\\') return trilha_json_run_unexpected(run, p, "a control character inside a string must be escaped");
    p = trilha_json_unescape(run, p, &to, &flags, &high);
    if (p == NULL) return NULL;
    char *stop = scan_stop(p, &high);
    to = move_down(to, p, (size_t)(stop - p));
    p = stop;
  }
  set_string(v, start, (size_t)(to - start), flags, high);
  return p + 1;
}

/* start is the place after the opening quote. Returns the place after the closing one. */
static inline char *read_string(trilha_json_run *run, char *start, trilha_json_value *v) {
  unsigned high = 0;
  char *p = scan_stop(start, &high);
  if (TRILHA_JSON_UNLIKELY(*p != '"')) return read_escaped(run, start, p, high, v);
  set_string(v, start, (size_t)(p - start), 0, high);
  return p + 1;
}

static inline char *skip_digits(char *p) {
  while ((unsigned)(*p - '0') <= 9) p++;
  return p;
}

static inline char *read_number(trilha_json_run *run, char *start, trilha_json_value *v) {
  unsigned flags = TRILHA_JSON_INTEGER;
  char *p = start;
  if (*p == '-') {
    flags |= TRILHA_JSON_NEGATIVE;
    p++;
  }
  char *digits = p;
  p = *p == '0' ? p + 1 : skip_digits(p);
  if (p == digits) return trilha_json_run_unexpected(run, p, "a digit was expected");
  if ((size_t)(p - digits) <= 18) flags |= TRILHA_JSON_SMALL;
  if (*p == '.') {
    digits = ++p;
    p = skip_digits(p);
    if (p == digits) return trilha_json_run_unexpected(run, p, "a digit was expected after the decimal point");
    flags &= TRILHA_JSON_NEGATIVE;
  }
  if ((*p | 0x20) == 'e') {
    p++;
    if (*p == '+' || *p == '-') p++;
    digits = p;
    p = skip_digits(p);
    if (p == digits) return trilha_json_run_unexpected(run, p, "a digit was expected in the exponent");
    flags &= TRILHA_JSON_NEGATIVE;
  }
  size_t size = (size_t)(p - start);
  if (TRILHA_JSON_UNLIKELY(size > run->number_size_max))
    return trilha_json_run_fault(run, start, TRILHA_LIMIT, "JSON_NUMBER_SIZE", "a number has too many characters");
  *v =
      (trilha_json_value){.type = TRILHA_JSON_NUMBER, .flags = (uint8_t)flags, .size = (uint32_t)size, .u.text = start};
  return p;
}

static inline char *read_literal(trilha_json_run *run, char *p, trilha_json_value *v) {
  static const char names[3][5] = {"null", "fals", "true"};
  unsigned type = *p == 'n' ? TRILHA_JSON_NULL : *p == 'f' ? TRILHA_JSON_FALSE : TRILHA_JSON_TRUE;
  if (memcmp(p, names[type], 4) != 0 || (type == TRILHA_JSON_FALSE && p[4] != 'e'))
    return trilha_json_run_unexpected(run, p, "a value was expected");
  *v = (trilha_json_value){.type = (uint8_t)type, .u.extent = 1};
  return p + (type == TRILHA_JSON_FALSE ? 5 : 4);
}

/* A scalar; containers are the state machine's. */
static inline char *read_scalar(trilha_json_run *run, char *p, trilha_json_value *v) {
  switch (*p) {
    case '"':
      return read_string(run, p + 1, v);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      return read_number(run, p, v);
    case 'n':
    case 'f':
    case 't':
      return read_literal(run, p, v);
    default:
      return trilha_json_run_unexpected(run, p, "a value was expected");
  }
}

/* A member's name, its number in the key table, and the colon. Returns the place of the value. */
static inline char *read_name(trilha_json_run *run, char *p, trilha_json_value *v) {
  static const uint64_t low[9] = {
      0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, UINT64_MAX};
  if (TRILHA_JSON_UNLIKELY(*p != '"')) return trilha_json_run_unexpected(run, p, "a name in quotes was expected");
  p = read_string(run, p + 1, v);
  if (TRILHA_JSON_UNLIKELY(p == NULL)) return NULL;
  if (run->keys != NULL) {
    size_t size = v->size, near = size < 8 ? size : 8;
    uint64_t head = trilha_json_load8(v->u.text) & low[near];
    uint64_t tail = trilha_json_load8(v->u.text + size - 8) & ~low[8 - near];
    v->key = trilha_json_key_lookup(run->keys, head, tail, v->u.text, size);
  }
  p = skip_spaces(p);
  if (TRILHA_JSON_UNLIKELY(*p != ':')) return trilha_json_run_unexpected(run, p, "':' was expected");
  return skip_spaces(p + 1);
}

/* Returns the place after the root value, or NULL. While a container is open its extent holds the index of the
 * container around it (NOWHERE for the root), so that no stack is needed. */
static char *read_values(trilha_json_run *run, char *p) {
  const uint64_t NOWHERE = UINT64_MAX;
  trilha_json_value *v = run->values, *open = NULL;
  trilha_json_value *full = v + run->capacity - 2; /* from here on there may be no room for a name and its value */
  uint32_t depth = 0;

value:
  if ((*p | 0x20) != '{') { /* neither '[' nor '{' */
    p = read_scalar(run, p, v);
    if (TRILHA_JSON_UNLIKELY(p == NULL)) return NULL;
    v++;
    goto after;
  }
  if (depth == run->depth_max)
    return trilha_json_run_fault(run, p, TRILHA_LIMIT, "JSON_DEPTH", "arrays and objects are nested too deeply");
  depth++;
  if (depth > run->depth) run->depth = depth;
  *v = (trilha_json_value){.type = *p == '[' ? TRILHA_JSON_ARRAY : TRILHA_JSON_OBJECT,
                           .u.extent = open == NULL ? NOWHERE : (uint64_t)(open - run->values)};
  open = v++;
  p = skip_spaces(p + 1);
  if (*p == (open->type == TRILHA_JSON_ARRAY ? ']' : '}')) goto close;
item:
  if (TRILHA_JSON_UNLIKELY(v >= full)) {
    run->count = (size_t)(v - run->values);
    size_t at = (size_t)(open - run->values);
    if (!trilha_json_run_grow(run)) return NULL;
    v = run->values + run->count;
    open = run->values + at;
    full = run->values + run->capacity - 2;
  }
  open->size++;
  if (open->type == TRILHA_JSON_OBJECT) {
    p = read_name(run, p, v);
    if (TRILHA_JSON_UNLIKELY(p == NULL)) return NULL;
    v++;
  }
  goto value;
after:
  if (open == NULL) {
    run->count = (size_t)(v - run->values);
    return p;
  }
  p = skip_spaces(p);
  if (TRILHA_JSON_LIKELY(*p == ',')) {
    p = skip_spaces(p + 1);
    goto item;
  }
  if (TRILHA_JSON_UNLIKELY(*p != (open->type == TRILHA_JSON_ARRAY ? ']' : '}')))
    return trilha_json_run_unexpected(
        run, p, open->type == TRILHA_JSON_ARRAY ? "',' or ']' was expected" : "',' or '}' was expected");
close:
  p++;
  depth--;
  uint64_t around = open->u.extent;
  open->u.extent = (uint64_t)(v - open);
  open = around == NOWHERE ? NULL : run->values + around;
  goto after;
}

void TRILHA_JSON_CORE(trilha_json_run *run) {
  bool valid = scan_copy(run->text, run->input, run->size);
  memset(run->text + run->size, 0, TRILHA_JSON_PAD_BACK);
  char *p = read_values(run, skip_spaces(run->text));
  if (p != NULL) {
    p = skip_spaces(p);
    if (p != run->text + run->size)
      trilha_json_run_fault(run, p, TRILHA_INVALID, "JSON_SYNTAX", "nothing may follow the value");
  }
  if (TRILHA_JSON_LIKELY(valid)) return;
  size_t offset = trilha_json_utf8_fault(run->input, run->size);
  if (run->status == TRILHA_OK || offset <= run->offset) {
    run->status = TRILHA_OK;
    trilha_json_run_fault(run, run->text + offset, TRILHA_INVALID, "JSON_UTF8", "the text is not UTF-8");
  }
}
