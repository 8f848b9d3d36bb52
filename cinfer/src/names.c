/* names.c - from the names of nodes and formal inputs to their numbers. */
#include "names.h"

#include <string.h>

#include "memory.h"

/* Bounds the work that names chosen to collide can cause; at half load an honest table needs a few steps. */
enum { NAMES_MOST_STEPS = 256 };

uint64_t ci_hash(ci_span text) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < text.length; i++) hash = (hash ^ (uint8_t)text.data[i]) * 1099511628211u;
  return hash;
}

static uint32_t names_hash(uint32_t scope, ci_span text) {
  const uint64_t hash = ci_hash(text) + scope * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(hash ^ hash >> 32);
}

/* The place of a name, or the free place where it belongs; names->places if neither is near. */
static size_t names_place(const ci_names *names, uint32_t scope, ci_span text, uint32_t hash) {
  for (size_t step = 0; step < NAMES_MOST_STEPS && step < names->places; step++) {
    const size_t i = (hash + step) & (names->places - 1);
    if (names->table[i] == 0) return i;
    const ci_name *name = &names->at[names->table[i] - 1];
    if (name->hash == hash && name->scope == scope && name->text.length == text.length &&
        memcmp(name->text.data, text.data, text.length) == 0) {
      return i;
    }
  }
  return names->places;
}

const ci_name *ci_names_find(const ci_names *names, uint32_t scope, ci_span text) {
  const size_t i = names_place(names, scope, text, names_hash(scope, text));
  return i < names->places && names->table[i] != 0 ? &names->at[names->table[i] - 1] : NULL;
}

/* A table of so many places, a power of two, instead of the present one; false: out of memory. All names are different,
 * and near to where they belong: what lies between does so in a smaller table, too. */
static bool names_spread(const ci_allocator *allocator, ci_names *names, size_t places) {
  uint32_t *table = ci_alloc(allocator, places * sizeof *table);
  if (table == NULL) return false;
  for (size_t n = 0; n < names->count; n++) {
    size_t i = names->at[n].hash & (places - 1);
    while (table[i] != 0) i = (i + 1) & (places - 1);
    table[i] = (uint32_t)(n + 1);
  }
  ci_release(allocator, names->table, names->places * sizeof *names->table);
  names->table = table;
  names->places = places;
  return true;
}

bool ci_names_reserve(const ci_allocator *allocator, ci_names *names, size_t more) {
  size_t places = names->places == 0 ? 64 : names->places;
  while (places / 2 < names->count + more) places *= 2;
  return (places == names->places || names_spread(allocator, names, places)) && CI_LIST_GROW_BY(allocator, names, more);
}

ci_names_result ci_names_add(const ci_allocator *allocator, ci_names *names, const ci_name *name) {
  if (names->count > INT32_MAX / 2 || !ci_names_reserve(allocator, names, 1)) return CI_NAMES_NO_MEMORY;
  const uint32_t hash = names_hash(name->scope, name->text);
  const size_t i = names_place(names, name->scope, name->text, hash);
  if (i == names->places) return CI_NAMES_CROWDED;
  if (names->table[i] != 0) return CI_NAMES_DUPLICATE;
  names->at[names->count] = *name;
  names->at[names->count].hash = hash;
  names->table[i] = (uint32_t)++names->count;
  return CI_NAMES_ADDED;
}

void ci_names_clear(ci_names *names) {
  if (names->places > 0) memset(names->table, 0, names->places * sizeof *names->table);
  names->count = 0;
}

void ci_names_free(const ci_allocator *allocator, ci_names *names) {
  ci_release(allocator, names->at, names->capacity * sizeof *names->at);
  ci_release(allocator, names->table, names->places * sizeof *names->table);
  *names = (ci_names){0};
}
