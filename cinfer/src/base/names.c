/* names.c - a hash table from names to numbers, such as those of nodes or variables. */
#include "names.h"

#include <string.h>

/* Bounds the work that names chosen to collide can cause; in a table that is full to two thirds, honest names need a
 * few steps, and one in 10^15 needs so many. */
enum { NAMES_MOST_STEPS = 512, NAMES_LEAST = 32 };
/* Names of the very same hash, each of which is compared; of a million honest names, nine share one in less than one
 * case of 10^25. */
enum { NAMES_MOST_ALIKE = 8 };

uint64_t ci_hash(ci_span str) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < str.length; i++) hash = (hash ^ (uint8_t)str.data[i]) * 1099511628211u;
  return hash;
}

bool ci_key_same(ci_key a, ci_key b) { return a.scope == b.scope && ci_span_same(a.str, b.str); }

/* The upper half of a multiplication's result, so that strings that differ in their last letter alone are far from each
 * other, too. */
static uint32_t names_hash(const ci_key *key) {
  const uint64_t hash = ci_hash(key->str) + key->scope;
  return (uint32_t)((hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The first entry of a hash; the order of the hashes is that of their entries, for any number of entries. */
static size_t names_home(uint32_t hash, size_t slots) { return (size_t)((uint64_t)hash * (uint64_t)slots >> 32); }

static size_t names_next(const ci_names *names, size_t slot) { return slot + 1 == names->slots ? 0 : slot + 1; }

/* The entry of a name, or the free entry where it belongs; names->slots if neither is near. */
static size_t names_slot(const ci_names *names, const ci_namer *namer, const ci_key *key, uint32_t hash) {
  size_t at = names_home(hash, names->slots), alike = 0;
  for (size_t step = 0; step < NAMES_MOST_STEPS && step < names->slots; step++) {
    const ci_names_slot *slot = &names->table[at];
    if (slot->number == 0) return at;
    if (slot->hash == hash) {
      if (namer->is(namer->owner, slot->number - 1, key)) return at;
      if (++alike == NAMES_MOST_ALIKE) return names->slots;
    }
    at = names_next(names, at);
  }
  return names->slots;
}

int64_t ci_names_find(const ci_names *names, const ci_namer *namer, const ci_key *key) {
  const size_t at = names_slot(names, namer, key, names_hash(key));
  return at < names->slots ? (int64_t)names->table[at].number - 1 : -1;
}

/* Moves the names to a table of that many entries; false: out of memory. */
static bool names_spread(const ci_allocator *allocator, ci_names *names, size_t slots) {
  ci_names spread = {.slots = slots, .count = names->count};
  size_t bytes;
  spread.table = ci_mul_size(slots, sizeof *spread.table, &bytes) ? ci_alloc(allocator, bytes) : NULL;
  if (spread.table == NULL) return false;
  for (size_t i = 0; i < names->slots; i++) {
    if (names->table[i].number == 0) continue;
    size_t at = names_home(names->table[i].hash, slots);
    while (spread.table[at].number != 0) at = names_next(&spread, at);
    spread.table[at] = names->table[i];
  }
  ci_names_free(allocator, names);
  *names = spread;
  return true;
}

bool ci_names_reserve(const ci_allocator *allocator, ci_names *names, size_t more) {
  if (more > SIZE_MAX / 4) return false; /* there are fewer than 2^32 */
  const size_t requested = (names->count + more) / 2 * 3 + 2;
  if (requested <= names->slots) return true;
  return names_spread(allocator, names, requested < NAMES_LEAST ? NAMES_LEAST : requested);
}

/* Without a reservation by the caller, the table grows by half. */
static bool names_grow(const ci_allocator *allocator, ci_names *names) {
  if (names->count + names->count / 2 + 2 <= names->slots) return true;
  return ci_names_reserve(allocator, names, names->count / 2 + 1);
}

ci_names_result ci_names_add(const ci_allocator *allocator, ci_names *names, const ci_namer *namer, const ci_key *key,
                             uint32_t number) {
  if (!names_grow(allocator, names)) return CI_NAMES_NO_MEMORY;
  const uint32_t hash = names_hash(key);
  const size_t at = names_slot(names, namer, key, hash);
  if (at == names->slots) return CI_NAMES_CROWDED;
  if (names->table[at].number != 0) return CI_NAMES_DUPLICATE;
  names->table[at] = (ci_names_slot){hash, number + 1};
  names->count++;
  return CI_NAMES_ADDED;
}

void ci_names_clear(ci_names *names) {
  if (names->slots > 0) memset(names->table, 0, names->slots * sizeof *names->table);
  names->count = 0;
}

void ci_names_free(const ci_allocator *allocator, ci_names *names) {
  ci_release(allocator, names->table, names->slots * sizeof *names->table);
  *names = (ci_names){0};
}
