/* mapping.c - mapped files whose bytes are the values of variables until these are assigned. */
#include "mapping.h"

#include <string.h>

#include "atomics.h"
#include "../base/memory.h"

struct ci_mapping {
  atomic_int holders;
  ci_allocator allocator;
  size_t record_bytes; /* of this */
  char *data;
  uint64_t size;
  char where[];
};

ci_mapping *ci_mapping_open(const ci_allocator *allocator, const ci_reader *reader, const char *where) {
  const size_t length = strlen(where) + 1, bytes = sizeof(ci_mapping) + length;
  ci_mapping *mapping = ci_alloc(allocator, bytes);
  char *data = mapping ? ci_reader_map(reader) : NULL;
  if (!data) {
    ci_release(allocator, mapping, bytes);
    return NULL;
  }
  atomic_init(&mapping->holders, 1);
  mapping->allocator = *allocator;
  mapping->record_bytes = bytes;
  mapping->data = data;
  mapping->size = reader->size;
  memcpy(mapping->where, where, length);
  return mapping;
}

ci_mapping *ci_mapping_hold(ci_mapping *mapping) {
  atomic_fetch_add(&mapping->holders, 1);
  return mapping;
}

void ci_mapping_drop(ci_mapping *mapping) {
  if (!mapping || atomic_fetch_sub(&mapping->holders, 1) != 1) return;
  const ci_allocator allocator = mapping->allocator;
  ci_reader_unmap(mapping->data, mapping->size);
  ci_release(&allocator, mapping, mapping->record_bytes);
}

static bool mapping_order_fits(size_t item) {
  const uint16_t one = 1;
  uint8_t little;
  memcpy(&little, &one, 1);
  return little || item == 1;
}

void *ci_mapping_at(const ci_mapping *mapping, uint64_t offset, uint64_t bytes, size_t item) {
  const bool inside = offset <= mapping->size && bytes <= mapping->size - offset;
  return inside && offset % item == 0 && mapping_order_fits(item) ? mapping->data + offset : NULL;
}

const char *ci_mapping_where(const ci_mapping *mapping) { return mapping->where; }
