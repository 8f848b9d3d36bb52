/* memory.h - arrays that grow, and blocks that are released together. */
#ifndef CI_MEMORY_H
#define CI_MEMORY_H
#include "ci_common.h"

/* Capacity for one more element in *array, which has *capacity elements of `item` bytes; false: out of memory. */
bool ci_grow(const ci_allocator *allocator, void **array, size_t *capacity, size_t count, size_t item);
/* The same for `more` elements more. */
bool ci_grow_by(const ci_allocator *allocator, void **array, size_t *capacity, size_t count, size_t more, size_t item);

/* An array of T that grows: `struct { T *at; size_t count, capacity; }`. */
#define CI_LIST(T)   \
  struct {           \
    T *at;           \
    size_t count;    \
    size_t capacity; \
  }
/* Reserves capacity for one more element; the caller writes list.at[list.count++]. */
#define CI_LIST_GROW(allocator, list) \
  ci_grow(allocator, (void **)&(list)->at, &(list)->capacity, (list)->count, sizeof *(list)->at)
#define CI_LIST_GROW_BY(allocator, list, more) \
  ci_grow_by(allocator, (void **)&(list)->at, &(list)->capacity, (list)->count, more, sizeof *(list)->at)
#define CI_LIST_FREE(allocator, list) ci_release(allocator, (list)->at, (list)->capacity * sizeof *(list)->at)

/* A block of which less may be used than it has, from its start on; NULL: the allocator cannot give one, or there is no
 * memory. ci_release takes it. */
void *ci_alloc_sparse(const ci_allocator *allocator, size_t bytes);
/* Bytes [begin, end) of it are about to be written for the first time, and about `more` later: in large pages where
 * these will be full. */
void ci_sparse_use(void *block, size_t begin, size_t end, size_t more);

/* Blocks that live as long as their pool. */
typedef struct ci_pool {
  const ci_allocator *allocator;
  struct ci_pool_block *blocks;
  struct ci_pool_block *spare; /* to be used again */
} ci_pool;
void *ci_pool_alloc(ci_pool *pool, size_t bytes); /* zeroed, 64-aligned; NULL: out of memory */
void ci_pool_clear(ci_pool *pool); /* all that it gave is gone; it keeps its blocks */
void ci_pool_release(ci_pool *pool);
void *ci_pool_words(ci_pool *pool, size_t bytes); /* zeroed, aligned as pointers and int64_t are; any if bytes is 0 */
char *ci_pool_chars(ci_pool *pool, size_t length); /* zeroed, not aligned */
char *ci_pool_string(ci_pool *pool, ci_span str); /* a terminated copy */
#endif
