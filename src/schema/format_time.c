/* schema/format_time: dates, times (RFC 3339, section 5.6) and durations (its appendix A). */
#include "schema/format_internal.h"

/* `count` digits at the front; -1 when they are not there. */
static int take_digits(trilha_text *text, size_t count) {
  int value = 0;
  if (text->size < count) return -1;
  for (size_t i = 0; i < count; i++) {
    if (!trilha_is_digit(text->data[i])) return -1;
    value = value * 10 + (text->data[i] - '0');
  }
  text->data += count;
  text->size -= count;
  return value;
}

static bool take_char(trilha_text *text, char a, char b) {
  if (text->size == 0 || (text->data[0] != a && text->data[0] != b)) return false;
  text->data++;
  text->size--;
  return true;
}

static bool take_date(trilha_text *text) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year = take_digits(text, 4);
  if (year < 0 || !take_char(text, '-', '-')) return false;
  int month = take_digits(text, 2);
  if (month < 1 || month > 12 || !take_char(text, '-', '-')) return false;
  int day = take_digits(text, 2);
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day >= 1 && day <= lengths[month - 1] + (month == 2 && leap);
}

/* Minutes east of UTC. */
static bool take_offset(trilha_text *text, int *ret_minutes) {
  *ret_minutes = 0;
  if (take_char(text, 'Z', 'z')) return true;
  bool west = text->size > 0 && text->data[0] == '-';
  if (!take_char(text, '+', '-')) return false;
  int hours = take_digits(text, 2);
  if (hours < 0 || hours > 23 || !take_char(text, ':', ':')) return false;
  int minutes = take_digits(text, 2);
  *ret_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
  return minutes >= 0 && minutes <= 59;
}

/* A leap second is inserted at the end of a UTC day and nowhere else. */
static bool take_time(trilha_text *text) {
  enum { DAY = 24 * 60 };
  int hour = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !take_char(text, ':', ':')) return false;
  int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59 || !take_char(text, ':', ':')) return false;
  int second = take_digits(text, 2), offset = 0;
  if (second < 0 || second > 60) return false;
  if (take_char(text, '.', '.')) {
    if (take_digits(text, 1) < 0) return false;
    while (take_digits(text, 1) >= 0) continue;
  }
  if (!take_offset(text, &offset)) return false;
  return second < 60 || (hour * 60 + minute - offset + DAY) % DAY == DAY - 1;
}

bool trilha_format_date(trilha_text text) {
  return take_date(&text) && text.size == 0;
}
bool trilha_format_time(trilha_text text) {
  return take_time(&text) && text.size == 0;
}
bool trilha_format_date_time(trilha_text text) {
  return take_date(&text) && take_char(&text, 'T', 't') && take_time(&text) && text.size == 0;
}

/* Numbers with units, each unit the one that follows the unit before. */
static bool take_elements(trilha_text *text, const char *units) {
  const char *next = NULL;
  while (text->size > 0 && trilha_is_digit(text->data[0])) {
    while (take_digits(text, 1) >= 0) continue;
    if (text->size == 0 || text->data[0] == '\0') return false;
    const char *unit = strchr(units, text->data[0]);
    if (unit == NULL || (next != NULL && unit != next)) return false;
    next = unit + 1;
    text->data++;
    text->size--;
  }
  return next != NULL;
}

bool trilha_format_duration(trilha_text text) {
  if (!take_char(&text, 'P', 'P')) return false;
  trilha_text weeks = text;
  if (take_elements(&weeks, "W") && weeks.size == 0) return true;
  bool time_only = take_char(&text, 'T', 'T');
  if (!time_only && !take_elements(&text, "YMD")) return false;
  if (!time_only && !take_char(&text, 'T', 'T')) return text.size == 0;
  return take_elements(&text, "HMS") && text.size == 0;
}
