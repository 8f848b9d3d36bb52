/* sort.c - heap sort with a comparison that the caller gives (sort.h). */
#include "sort.h"

void ci_sort(int32_t *at, size_t count, ci_sort_before before, const void *owner) {
  for (size_t heap = count / 2, end = count; end > 1;) {
    if (heap > 0) {
      heap--;
    } else {
      const int32_t top = at[0];
      at[0] = at[--end];
      at[end] = top;
    }
    size_t root = heap, child;
    const int32_t moved = at[root];
    while ((child = 2 * root + 1) < end) {
      if (child + 1 < end && before(owner, at[child], at[child + 1])) child++;
      if (!before(owner, moved, at[child])) break;
      at[root] = at[child];
      root = child;
    }
    at[root] = moved;
  }
}
