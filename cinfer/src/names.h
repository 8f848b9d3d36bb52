/* names.h - from the names of nodes and formal inputs to their numbers. */
#ifndef CI_NAMES_H
#define CI_NAMES_H
#include "ci_common.h"

typedef struct ci_name {
  ci_span text; /* lives as long as the table */
  uint32_t hash;
  int32_t first, count; /* its values */
  int32_t begin, end;   /* its nodes: several for an inlined call, none for a formal input */
} ci_name;

typedef struct ci_names { /* open addressing; zero is an empty table */
  ci_name *at;
  size_t count, capacity;
} ci_names;

const ci_name *ci_names_find(const ci_names *names, ci_span text);
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
