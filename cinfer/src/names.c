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

static uint32_t names_hash(ci_span text) {
  uint64_t hash = ci_hash(text);
  return (uint32_t)(hash ^ hash >> 32);
}

/* The place of a name, or the free place where it belongs; capacity if neither is near. */
static size_t names_place(const ci_names *names, ci_span text, uint32_t hash) {
  for (size_t step = 0; step < NAMES_MOST_STEPS && step < names->capacity; step++) {
    size_t i = (hash + step) & (names->capacity - 1);
    const ci_name *name = &names->at[i];
    if (name->text.data == NULL) return i;
    if (name->hash == hash && name->text.length == text.length &&
        memcmp(name->text.data, text.data, text.length) == 0) {
      return i;
    }
  }
  return names->capacity;
}

const ci_name *ci_names_find(const ci_names *names, ci_span text) {
  if (names->capacity == 0) return NULL;
  size_t i = names_place(names, text, names_hash(text));
  return i < names->capacity && names->at[i].text.data != NULL ? &names->at[i] : NULL;
}

static ci_names_result names_double(const ci_allocator *allocator, ci_names *names) {
  ci_names larger = {NULL, names->count, names->capacity == 0 ? 64 : names->capacity * 2};
  size_t bytes;
  if (larger.capacity < names->capacity || !ci_mul_size(larger.capacity, sizeof(ci_name), &bytes)) {
    return CI_NAMES_NO_MEMORY;
  }
  larger.at = ci_alloc(allocator, bytes);
  if (larger.at == NULL) return CI_NAMES_NO_MEMORY;
  for (size_t i = 0; i < names->capacity; i++) {
    if (names->at[i].text.data == NULL) continue;
    size_t place = names_place(&larger, names->at[i].text, names->at[i].hash);
    if (place == larger.capacity) {
      ci_names_free(allocator, &larger);
      return CI_NAMES_CROWDED;
    }
    larger.at[place] = names->at[i];
  }
  ci_names_free(allocator, names);
  *names = larger;
  return CI_NAMES_ADDED;
}

ci_names_result ci_names_add(const ci_allocator *allocator, ci_names *names, const ci_name *name) {
  if (names->count >= names->capacity / 2) {
    ci_names_result result = names_double(allocator, names);
    if (result != CI_NAMES_ADDED) return result;
  }
  uint32_t hash = names_hash(name->text);
  size_t i = names_place(names, name->text, hash);
  if (i == names->capacity) return CI_NAMES_CROWDED;
  if (names->at[i].text.data != NULL) return CI_NAMES_DUPLICATE;
  names->at[i] = *name;
  names->at[i].hash = hash;
  names->count++;
  return CI_NAMES_ADDED;
}

void ci_names_clear(ci_names *names) {
  if (names->capacity > 0) memset(names->at, 0, names->capacity * sizeof(ci_name));
  names->count = 0;
}

void ci_names_free(const ci_allocator *allocator, ci_names *names) {
  ci_release(allocator, names->at, names->capacity * sizeof(ci_name));
  names->at = NULL;
}
