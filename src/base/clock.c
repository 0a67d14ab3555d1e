/* base/clock: the only door to time. */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

enum { NS_PER_MS = 1000000, US_PER_SECOND = 1000000, NS_PER_US = 1000, SECONDS_PER_DAY = 86400, US_PER_CENTI = 10000 };

/* 2000-01-01T00:00Z, where PostgreSQL counts from and therefore rounds away from (ruling R3). */
static const int64_t postgres_epoch_us = INT64_C(946684800) * US_PER_SECOND;
/* 0001-01-01T00:00Z and the last microsecond of 9999. */
static const int64_t first_us = INT64_C(-62135596800) * US_PER_SECOND;
static const int64_t last_us = INT64_C(253402300800) * US_PER_SECOND - 1;

static struct timespec now(clockid_t clock) {
  struct timespec t;
  int failed = clock_gettime(clock, &t);
  TRILHA_ASSERT(failed == 0);
  return t;
}

int64_t trilha_clock_wall_us(void) {
  struct timespec t = now(CLOCK_REALTIME);
  return (int64_t)t.tv_sec * US_PER_SECOND + t.tv_nsec / NS_PER_US;
}

int64_t trilha_clock_monotonic_ns(void) {
  struct timespec t = now(CLOCK_MONOTONIC);
  return (int64_t)t.tv_sec * NS_PER_MS * 1000 + t.tv_nsec;
}

int64_t trilha_clock_boot_us(void) {
  struct timespec t = now(CLOCK_BOOTTIME);
  return (int64_t)t.tv_sec * US_PER_SECOND + t.tv_nsec / NS_PER_US;
}

void trilha_clock_boot_id(char out[37]) {
  out[0] = '\0';
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t n = read(fd, out, 36);
  out[n == 36 ? 36 : 0] = '\0';
  close(fd);
}

void trilha_clock_sleep_us(int64_t us) {
  if (us <= 0) return;
  struct timespec left = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) continue;
}

void trilha_clock_sleep_ms(int64_t ms) {
  trilha_clock_sleep_us(ms > INT64_MAX / 1000 ? INT64_MAX : ms * 1000);
}

trilha_deadline trilha_deadline_in_ms(int64_t ms) {
  int64_t start = trilha_clock_monotonic_ns();
  int64_t most_ms = (INT64_MAX - 1 - start) / NS_PER_MS;
  if (ms < 0) ms = 0;
  return (trilha_deadline){ms > most_ms ? INT64_MAX - 1 : start + ms * NS_PER_MS};
}

bool trilha_deadline_passed(trilha_deadline d) {
  return d.monotonic_ns != INT64_MAX && trilha_clock_monotonic_ns() >= d.monotonic_ns;
}

int64_t trilha_deadline_left_ms(trilha_deadline d, int64_t cap) {
  if (d.monotonic_ns == INT64_MAX) return cap;
  int64_t start = trilha_clock_monotonic_ns();
  if (d.monotonic_ns <= start) return 0;
  int64_t left_ns = d.monotonic_ns - start;
  int64_t left = left_ns / NS_PER_MS + (left_ns % NS_PER_MS != 0);
  return left < cap ? left : cap;
}

trilha_deadline trilha_deadline_earlier(trilha_deadline a, trilha_deadline b) {
  return a.monotonic_ns <= b.monotonic_ns ? a : b;
}

/* --- timestamps (ruling R3) --------------------------------------------------------------------------- */

/* Days from 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that the leap day is the
 * last of its year; eras of 400 years repeat exactly. */
static int64_t days_of(int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  unsigned year_of_era = (unsigned)(year - era * 400);
  unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + (int64_t)day_of_era - 719468;
}

static void date_of(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day) {
  days += 719468;
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  unsigned day_of_era = (unsigned)(days - era * 146097);
  unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  unsigned march_month = (5 * day_of_year + 2) / 153;
  *ret_day = day_of_year - (153 * march_month + 2) / 5 + 1;
  *ret_month = march_month < 10 ? march_month + 3 : march_month - 9;
  *ret_year = (int64_t)year_of_era + era * 400 + (*ret_month <= 2);
}

static unsigned days_in_month(unsigned year, unsigned month) {
  static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[month - 1];
}

/* What is left of the text to read. Each reader consumes what it accepts and leaves the rest. */
typedef struct cursor {
  const char *at, *end;
} cursor;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool read_number(cursor *c, int digits, unsigned *ret) {
  if (c->end - c->at < digits) return false;
  unsigned value = 0;
  for (int i = 0; i < digits; i++) {
    if (!is_digit(c->at[i])) return false;
    value = value * 10 + (unsigned)(c->at[i] - '0');
  }
  c->at += digits;
  *ret = value;
  return true;
}

static bool read_char(cursor *c, char lower, char upper) {
  if (c->at == c->end || (*c->at != lower && *c->at != upper)) return false;
  c->at++;
  return true;
}

/* The fraction in microseconds, and how what follows the sixth digit compares with half of one: -1, 0 or 1 (-2: nothing
 * follows). */
static bool read_fraction(cursor *c, int64_t *ret_us, int *ret_rest) {
  *ret_us = 0;
  *ret_rest = -2;
  if (!read_char(c, '.', ',')) return true;
  int64_t scale = US_PER_SECOND;
  int count = 0;
  for (; c->at < c->end && is_digit(*c->at); c->at++, count++) {
    int digit = *c->at - '0';
    if (count < 6) {
      scale /= 10;
      *ret_us += digit * scale;
    } else if (count == 6) {
      *ret_rest = digit < 5 ? (digit == 0 ? -2 : -1) : digit == 5 ? 0 : 1;
    } else if (digit != 0) {
      if (*ret_rest == 0) *ret_rest = 1;
      if (*ret_rest == -2) *ret_rest = -1;
    }
  }
  return count > 0;
}

/* 'Z', ±HH:MM, ±HHMM or ±HH, in seconds east of Greenwich. */
static bool read_offset(cursor *c, int64_t *ret_seconds) {
  *ret_seconds = 0;
  if (read_char(c, 'z', 'Z')) return true;
  bool west = c->at < c->end && *c->at == '-';
  if (!read_char(c, '-', '+')) return false;
  unsigned hours, minutes = 0;
  if (!read_number(c, 2, &hours) || hours > 23) return false;
  if (c->at < c->end) {
    read_char(c, ':', ':');
    if (!read_number(c, 2, &minutes) || minutes > 59) return false;
  }
  int64_t seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
  *ret_seconds = west ? -seconds : seconds;
  return true;
}

static bool read_date(cursor *c, int64_t *ret_days) {
  unsigned year, month, day;
  if (!read_number(c, 4, &year) || !read_char(c, '-', '-') || !read_number(c, 2, &month) || !read_char(c, '-', '-') ||
      !read_number(c, 2, &day))
    return false;
  if (year == 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return false;
  *ret_days = days_of(year, month, day);
  return true;
}

static bool in_range(int64_t us) {
  return us >= first_us && us <= last_us;
}

bool trilha_timestamp_parse(trilha_text text, int64_t *ret_us) {
  cursor c = {text.data, text.data == NULL ? NULL : text.data + text.size};
  int64_t days, fraction_us = 0, offset;
  unsigned hour, minute, second = 0;
  int rest = -2;
  if (c.at == NULL || !read_date(&c, &days) || !read_char(&c, 't', 'T')) return false;
  if (!read_number(&c, 2, &hour) || !read_char(&c, ':', ':') || !read_number(&c, 2, &minute)) return false;
  if (read_char(&c, ':', ':') && (!read_number(&c, 2, &second) || !read_fraction(&c, &fraction_us, &rest)))
    return false;
  if (hour > 23 || minute > 59 || second > 60 || !read_offset(&c, &offset) || c.at != c.end) return false;
  int64_t minutes_utc = days * 1440 + (int64_t)hour * 60 + minute - offset / 60;
  if (second == 60 && (minutes_utc % 1440 + 1440) % 1440 != 1439) return false;
  int64_t us = (minutes_utc * 60 + second) * US_PER_SECOND + fraction_us;
  /* Away from the epoch is up from it onwards and down before it; `us` is the lower neighbour in both cases. */
  if (rest == 1 || (rest == 0 && us >= postgres_epoch_us)) us++;
  if (!in_range(us)) return false;
  *ret_us = us;
  return true;
}

bool trilha_timestamp_round_centis(int64_t us, int64_t *ret_us) {
  if (!in_range(us)) return false;
  int64_t since = us - postgres_epoch_us;
  int64_t half = since >= 0 ? US_PER_CENTI / 2 : -US_PER_CENTI / 2;
  int64_t rounded = (since + half) / US_PER_CENTI * US_PER_CENTI + postgres_epoch_us;
  if (!in_range(rounded)) return false;
  *ret_us = rounded;
  return true;
}

int64_t trilha_timestamp_clamp(int64_t us) {
  return us < first_us ? first_us : us > last_us ? last_us : us;
}

static char *put_number(char *at, unsigned value, int digits) {
  for (int i = digits - 1; i >= 0; i--, value /= 10) at[i] = (char)('0' + value % 10);
  return at + digits;
}

void trilha_timestamp_format(int64_t us, char out[TRILHA_TIMESTAMP_SIZE]) {
  TRILHA_ASSERT(in_range(us));
  int64_t seconds = us / US_PER_SECOND, fraction = us % US_PER_SECOND;
  if (fraction < 0) {
    fraction += US_PER_SECOND;
    seconds--;
  }
  int64_t days = seconds / SECONDS_PER_DAY, of_day = seconds % SECONDS_PER_DAY, year;
  if (of_day < 0) {
    of_day += SECONDS_PER_DAY;
    days--;
  }
  unsigned month, day;
  date_of(days, &year, &month, &day);
  char *at = put_number(out, (unsigned)year, 4);
  *at++ = '-';
  at = put_number(at, month, 2);
  *at++ = '-';
  at = put_number(at, day, 2);
  *at++ = 'T';
  at = put_number(at, (unsigned)(of_day / 3600), 2);
  *at++ = ':';
  at = put_number(at, (unsigned)(of_day / 60 % 60), 2);
  *at++ = ':';
  at = put_number(at, (unsigned)(of_day % 60), 2);
  if (fraction != 0) {
    *at++ = '.';
    at = put_number(at, (unsigned)fraction, 6);
    while (at[-1] == '0') at--;
  }
  *at++ = 'Z';
  *at = '\0';
}
