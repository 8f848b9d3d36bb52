/* names.h - a hash table from names to numbers; the names themselves stay where they are. */
#ifndef CI_NAMES_H
#define CI_NAMES_H
#include "ci_common.h"

typedef struct ci_key { /* a name: the same text is another one in another scope */
  ci_span str;
  uint32_t scope;
} ci_key;

typedef struct ci_names_slot {
  uint32_t hash;
  uint32_t number; /* and one; 0: free */
} ci_names_slot;

typedef struct ci_names { /* zero is an empty table */
  ci_names_slot *table; /* open addressing, by the order of the hashes */
  size_t count, slots;
} ci_names;

typedef struct ci_namer { /* the owner of the names, which compares a name with that of a number */
  bool (*is)(const void *owner, uint32_t number, const ci_key *key);
  const void *owner;
} ci_namer;

/* The number of a name, or -1. */
int64_t ci_names_find(const ci_names *names, const ci_namer *namer, const ci_key *key);
/* Capacity for so many more; false: out of memory. */
bool ci_names_reserve(const ci_allocator *allocator, ci_names *names, size_t more);
typedef enum ci_names_result {
  CI_NAMES_ADDED,
  CI_NAMES_DUPLICATE,
  CI_NAMES_NO_MEMORY,
  CI_NAMES_CROWDED
} ci_names_result;
/* Crowded: too many names of one hash, which honest files do not have. Numbers are below 2^32 - 1. */
ci_names_result ci_names_add(const ci_allocator *allocator, ci_names *names, const ci_namer *namer, const ci_key *key,
                             uint32_t number);
void ci_names_clear(ci_names *names); /* removes all names, keeps the capacity */
void ci_names_free(const ci_allocator *allocator, ci_names *names);
uint64_t ci_hash(ci_span str); /* FNV-1a, 64 bits */
bool ci_key_same(ci_key a, ci_key b);
#endif
