/* unit_of_work: the events of one transaction. */
#include <stdlib.h>
#include <string.h>

#include "unit_of_work/unit_of_work_internal.h"

static trilha_status check(const trilha_collector *c, const trilha_post_commit_event *event, trilha_error *err) {
  size_t size = event->type.size + event->payload.size;
  if (event->type.size == 0 || event->type.size > TRILHA_UNIT_OF_WORK_TYPE_BYTES_MAX)
    return trilha_error_set(err, TRILHA_INVALID, "EVENT_REFUSED", "the type of an event needs 1 to %d bytes",
                            TRILHA_UNIT_OF_WORK_TYPE_BYTES_MAX);
  if (c->count < TRILHA_UNIT_OF_WORK_EVENTS_MAX && event->payload.size <= TRILHA_UNIT_OF_WORK_BYTES_MAX &&
      c->bytes + size <= TRILHA_UNIT_OF_WORK_BYTES_MAX)
    return TRILHA_OK;
  return trilha_error_set(err, TRILHA_LIMIT, "UNIT_OF_WORK_FULL",
                          "at most %d events and %d bytes wait for one commit: commit in smaller transactions",
                          TRILHA_UNIT_OF_WORK_EVENTS_MAX, TRILHA_UNIT_OF_WORK_BYTES_MAX);
}

static trilha_status name(trilha_text id, char out[TRILHA_UUID_TEXT_SIZE], trilha_error *err) {
  unsigned char bytes[16];
  if (id.data == NULL && !trilha_uuid_v7(bytes, trilha_clock_wall_us()))
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "RANDOM_UNAVAILABLE", "the system gives no random bytes");
  if (id.data != NULL && !trilha_uuid_parse(id, bytes))
    return trilha_error_set(err, TRILHA_INVALID, "EVENT_REFUSED", "event_id must be a UUID");
  trilha_uuid_format(bytes, out);
  return TRILHA_OK;
}

static trilha_status make_room(trilha_collector *c, trilha_error *err) {
  enum { FIRST = 8 };
  if (c->count < c->capacity) return TRILHA_OK;
  size_t capacity = c->capacity == 0 ? FIRST : 2 * c->capacity;
  trilha_raised **items = realloc(c->items, capacity * sizeof *items);
  if (items == NULL) return trilha_error_no_memory(err);
  c->items = items;
  c->capacity = capacity;
  return TRILHA_OK;
}

trilha_status trilha_collector_make(trilha_collector *c, const trilha_post_commit_event *event,
                                    trilha_raised **ret_raised, trilha_error *err) {
  char id[TRILHA_UUID_TEXT_SIZE];
  trilha_status status = check(c, event, err);
  if (status == TRILHA_OK) status = name(event->event_id, id, err);
  if (status == TRILHA_OK) status = make_room(c, err);
  if (status != TRILHA_OK) return status;
  trilha_raised *raised = malloc(sizeof *raised + event->type.size + event->payload.size);
  if (raised == NULL) return trilha_error_no_memory(err);
  *raised = (trilha_raised){.type_size = event->type.size, .payload_size = event->payload.size};
  memcpy(raised->event_id, id, sizeof id);
  memcpy(raised->bytes, event->type.data, event->type.size);
  if (event->payload.size > 0) memcpy(raised->bytes + event->type.size, event->payload.data, event->payload.size);
  *ret_raised = raised;
  return TRILHA_OK;
}

void trilha_collector_add(trilha_collector *c, trilha_raised *take_raised) {
  c->bytes += take_raised->type_size + take_raised->payload_size;
  c->items[c->count++] = take_raised;
}

static void release(trilha_collector *c, trilha_raised *raised) {
  c->bytes -= raised->type_size + raised->payload_size;
  free(raised);
}

size_t trilha_collector_drop_after(trilha_collector *c, int64_t number) {
  size_t before = c->count;
  while (c->count > 0 && c->items[c->count - 1]->number > number) release(c, c->items[--c->count]);
  return before - c->count;
}

static trilha_raised *find(const trilha_collector *c, int64_t number) {
  size_t low = 0, high = c->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->items[middle]->number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < c->count && c->items[low]->number == number ? c->items[low] : NULL;
}

static void free_unkept(trilha_collector *c) {
  size_t kept = 0;
  for (size_t i = 0; i < c->count; i++) {
    if (c->items[i]->kept)
      c->items[kept++] = c->items[i];
    else
      release(c, c->items[i]);
  }
  c->count = kept;
}

static int by_id(const void *a, const void *b) {
  const trilha_raised *x = *(trilha_raised *const *)a, *y = *(trilha_raised *const *)b;
  int order = memcmp(x->event_id, y->event_id, TRILHA_UUID_TEXT_SIZE);
  return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b) {
  const trilha_raised *x = *(trilha_raised *const *)a, *y = *(trilha_raised *const *)b;
  return (x->number > y->number) - (x->number < y->number);
}

/* Only what is kept counts: an id whose first raise was undone is no repeat. */
static void free_repeats(trilha_collector *c) {
  if (c->count < 2) return;
  qsort(c->items, c->count, sizeof *c->items, by_id);
  for (size_t i = 1; i < c->count; i++)
    if (memcmp(c->items[i]->event_id, c->items[i - 1]->event_id, TRILHA_UUID_TEXT_SIZE) == 0) c->items[i]->kept = false;
  free_unkept(c);
  qsort(c->items, c->count, sizeof *c->items, by_number);
}

size_t trilha_collector_keep(trilha_collector *c, int64_t mark) {
  size_t before = c->count;
  for (size_t i = 0; i < c->count; i++) c->items[i]->kept = false;
  for (trilha_raised *raised = find(c, mark); raised != NULL && !raised->kept; raised = find(c, raised->before))
    raised->kept = true;
  free_unkept(c);
  size_t undone = before - c->count;
  free_repeats(c);
  return undone;
}

trilha_raised *trilha_collector_take(trilha_collector *c) {
  trilha_raised *list = NULL;
  for (size_t i = c->count; i > 0; i--) {
    c->items[i - 1]->next = list;
    list = c->items[i - 1];
  }
  c->count = c->bytes = 0;
  return list;
}

void trilha_collector_done(trilha_collector *c) {
  for (size_t i = 0; i < c->count; i++) free(c->items[i]);
  free(c->items);
  *c = (trilha_collector){0};
}

trilha_post_commit_event trilha_raised_event(const trilha_raised *raised) {
  return (trilha_post_commit_event){.event_id = trilha_text_of(raised->event_id),
                                    .type = {raised->bytes, raised->type_size},
                                    .payload = {raised->bytes + raised->type_size, raised->payload_size},
                                    .transaction = raised->transaction,
                                    .savepoint = raised->savepoint};
}
