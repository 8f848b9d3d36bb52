/* names.h - from the names of nodes and formal inputs to their numbers. */
#ifndef CI_NAMES_H
#define CI_NAMES_H
#include "ci_common.h"

typedef struct ci_name {
  ci_span text; /* lives as long as the table */
  uint32_t scope; /* in which the text is a name: names of different scopes may be alike */
  uint32_t hash;
  int32_t first, count; /* its values */
  int32_t begin, end;   /* its nodes: several for an inlined call, none for a formal input */
} ci_name;

typedef struct ci_names { /* zero is an empty table */
  ci_name *at;
  size_t count, capacity;
  uint32_t *table; /* open addressing: a name's number and one, or 0 */
  size_t places;
} ci_names;

/* NULL: there is none. It stays where it is until the next is added. */
const ci_name *ci_names_find(const ci_names *names, uint32_t scope, ci_span text);
/* Room for so many more; false: out of memory. */
bool ci_names_reserve(const ci_allocator *allocator, ci_names *names, size_t more);
typedef enum ci_names_result {
  CI_NAMES_ADDED,
  CI_NAMES_DUPLICATE,
  CI_NAMES_NO_MEMORY,
  CI_NAMES_CROWDED
} ci_names_result;
/* Crowded: too many names of one hash, which honest files do not have. */
ci_names_result ci_names_add(const ci_allocator *allocator, ci_names *names, const ci_name *name);
void ci_names_clear(ci_names *names); /* forgets all, keeps the room */
void ci_names_free(const ci_allocator *allocator, ci_names *names);
uint64_t ci_hash(ci_span text); /* FNV-1a, 64 bits */
#endif
