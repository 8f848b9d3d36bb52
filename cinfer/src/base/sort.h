/* sort.h - sorts numbers with a comparison that the caller gives. */
#ifndef CI_SORT_H
#define CI_SORT_H
#include "ci_common.h"

/* Whether the first comes before the second. */
typedef bool (*ci_sort_before)(const void *owner, int32_t a, int32_t b);
/* Heap sort: nothing from a file makes it slow, and it takes no memory. */
void ci_sort(int32_t *at, size_t count, ci_sort_before before, const void *owner);
#endif
