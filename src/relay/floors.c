/* relay/floors: from where on each tenant's lanes are looked at, so that a claim does not walk what was settled before
 * it, while a snapshot that is held open keeps it in the indexes (docs/adr/0023-floors.md). Only a saving: a tenant
 * that is not known, or whose turn it is, is looked at from its first lane. Nothing ready is passed by for longer than
 *
 *   TRILHA_RELAY_FLOOR_LOOKS_MAX looks at its tenant or scan_ms, whichever comes later, while the tenant gives as many
 *   lanes as its share allows;
 *   scan_ms, once a look took whatever it saw. */
#include <stdlib.h>
#include <string.h>

#include "relay/relay_internal.h"

enum {
  FLOORS_MAX = 4096,     /* tenants that are remembered; of others nothing is, and they are looked at from the first */
  QUIET_TENANTS_MAX = 8, /* so many known tenants may have nothing due: each costs every claim a look */
  FIRST_GROWTH = 16,
  FULL_LOOK_SHARE = 16 /* a look from the first lane is due again after so many times as long as it took */
};

bool trilha_relay_floors_init(trilha_relay_floors *floors, size_t lanes, int64_t scan_ms) {
  *floors = (trilha_relay_floors){.given_max = 2 * lanes, .scan_ms = scan_ms}; /* a claim looks at no more */
  floors->given = calloc(floors->given_max, sizeof *floors->given);
  return floors->given != NULL;
}

static void forget_name(trilha_relay_floor *floor) {
  union {
    const char *borrowed;
    char *owned;
  } name = {.borrowed = floor->at.tenant_id.data};
  free(name.owned);
}

void trilha_relay_floors_done(trilha_relay_floors *floors) {
  for (size_t i = 0; i < floors->count; i++) forget_name(&floors->all[i]);
  free(floors->all);
  free(floors->given);
  *floors = (trilha_relay_floors){0};
}

/* The place of the first whose name is behind `tenant`, or is it. */
static size_t place_of(const trilha_relay_floors *floors, trilha_text tenant) {
  size_t low = 0, high = floors->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (trilha_text_compare(floors->all[middle].at.tenant_id, tenant) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_at(const trilha_relay_floors *floors, size_t place, trilha_text tenant) {
  return place < floors->count && trilha_text_compare(floors->all[place].at.tenant_id, tenant) == 0;
}

/* --- giving -------------------------------------------------------------------------------------------------- */

static bool is_due_from_first(const trilha_relay_floors *floors, const trilha_relay_floor *floor) {
  bool often = floor->quiet || floor->looks + 1 >= TRILHA_RELAY_FLOOR_LOOKS_MAX;
  return floors->all_first || (often && trilha_deadline_passed(floor->full_by));
}

static trilha_tenant_floor give(trilha_relay_floors *floors, trilha_relay_floor *floor) {
  floor->from_first = is_due_from_first(floors, floor);
  if (!floor->from_first) floors->floored = true;
  return floor->from_first ? (trilha_tenant_floor){floor->at.tenant_id, INT64_MIN, INT64_MIN} : floor->at;
}

static void hear(void *user, const trilha_tenant_look *look);

void trilha_relay_floors_give(trilha_relay_floors *floors, trilha_claim *claim) {
  size_t count = floors->count < floors->given_max ? floors->count : floors->given_max;
  size_t first = place_of(floors, claim->after);
  if (is_at(floors, first, claim->after)) first++;
  floors->floored = false;
  for (size_t i = 0; i < floors->count; i++) floors->all[i].from_first = true; /* of those that are not given */
  for (size_t i = 0; i < count; i++) floors->given[i] = give(floors, &floors->all[(first + i) % floors->count]);
  floors->all_first = false;
  floors->begun_ns = trilha_clock_monotonic_ns();
  claim->known = floors->given;
  claim->known_count = count;
  claim->looked = hear;
  claim->user = floors;
}

/* --- hearing ------------------------------------------------------------------------------------------------- */

static void forget(trilha_relay_floors *floors, size_t place) {
  forget_name(&floors->all[place]);
  floors->count--;
  memmove(&floors->all[place], &floors->all[place + 1], (floors->count - place) * sizeof *floors->all);
}

/* False: it is not remembered. */
static bool remember(trilha_relay_floors *floors, size_t place, trilha_text tenant) {
  if (floors->count == FLOORS_MAX) return false;
  if (floors->count == floors->room) {
    size_t room = floors->room == 0 ? FIRST_GROWTH : 2 * floors->room;
    trilha_relay_floor *all = realloc(floors->all, room * sizeof *all);
    if (all == NULL) return false;
    floors->all = all;
    floors->room = room;
  }
  char *name = strndup(tenant.data, tenant.size);
  if (name == NULL) return false;
  memmove(&floors->all[place + 1], &floors->all[place], (floors->count - place) * sizeof *floors->all);
  floors->all[place] = (trilha_relay_floor){.at = {.tenant_id = {name, tenant.size}}, .from_first = true};
  floors->count++;
  return true;
}

static trilha_deadline next_full_look(const trilha_relay_floors *floors) {
  int64_t now = trilha_clock_monotonic_ns(), most = floors->scan_ms * 1000000;
  int64_t pause = FULL_LOOK_SHARE * (now - floors->begun_ns);
  return (trilha_deadline){now + (pause < most ? pause : most)};
}

static void hear(void *user, const trilha_tenant_look *look) {
  trilha_relay_floors *floors = user;
  trilha_text tenant = look->floor.tenant_id;
  size_t place = place_of(floors, tenant);
  bool known = is_at(floors, place, tenant);
  bool from_first = !known || floors->all[place].from_first, none = look->taken == 0;
  if (none && look->more) { /* its share was used up: it was not looked at, and its turn to be stays */
    if (known && from_first && floors->all[place].quiet) floors->all[place].full_by = next_full_look(floors);
    return;
  }
  if (none && from_first && (!known || floors->count > QUIET_TENANTS_MAX)) {
    if (known) forget(floors, place);
    return;
  }
  if (!known && !remember(floors, place, tenant)) return;
  trilha_relay_floor *floor = &floors->all[place];
  floor->at.since_us = look->floor.since_us;
  floor->at.leased_since_us = look->floor.leased_since_us;
  floor->looks = from_first ? 0 : floor->looks + 1;
  floor->quiet = !look->more;
  if (from_first) floor->full_by = next_full_look(floors);
}

trilha_deadline trilha_relay_floors_next(const trilha_relay_floors *floors) {
  trilha_deadline next = TRILHA_NO_DEADLINE;
  for (size_t i = 0; i < floors->count; i++)
    if (floors->all[i].quiet) next = trilha_deadline_earlier(next, floors->all[i].full_by);
  return next;
}
