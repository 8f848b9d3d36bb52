/* memory.c - allocation through the caller's hook, dynamic arrays, and pools. */
#include "../system/posix.h"

#include "memory.h"

#include "guard.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#ifndef MEMORY_POOL_BLOCK
#define MEMORY_POOL_BLOCK 4096 /* a test makes it 1, so that each piece is an allocation that can fail */
#endif
enum { MEMORY_ALIGN = 64, MEMORY_LARGE = 1 << 21, MEMORY_PAGE = 1 << 16 };

/* Large pages where the system has them on request: a hundredth of the faults when the block is first written. They
 * begin at multiples of their size, and so do large blocks; the memory before and after a block is never touched. */
#ifdef MADV_HUGEPAGE
enum { MEMORY_LARGE_ALIGN = 1 << 21 };
static void memory_advise(char *block, size_t bytes) {
  if (bytes >= MEMORY_LARGE) (void)madvise(block, bytes / MEMORY_PAGE * MEMORY_PAGE, MADV_HUGEPAGE);
}
#else
enum { MEMORY_LARGE_ALIGN = MEMORY_ALIGN };
static void memory_advise(char *block, size_t bytes) {
  (void)block;
  (void)bytes;
}
#endif

/* malloc knows no alignment: the block starts at the next multiple after a pointer to the block that malloc gave. The
 * bytes left over before and after the block stay unused. */
static void *memory_default_alloc(size_t bytes) {
  const size_t align = bytes >= MEMORY_LARGE ? MEMORY_LARGE_ALIGN : MEMORY_ALIGN;
  size_t padded;
  if (!ci_add_size(bytes, align + sizeof(void *), &padded)) return NULL;
  char *raw = malloc(padded);
  if (raw == NULL) return NULL;
  uintptr_t start = (uintptr_t)(raw + sizeof(void *));
  char *block = raw + sizeof(void *) + (align - start % align) % align;
  memcpy(block - sizeof(void *), &raw, sizeof raw);
  CI_FORBID(raw, (size_t)(block - raw));
  CI_FORBID(block + bytes, padded - bytes - (size_t)(block - raw));
  return block;
}

static void memory_default_release(void *memory) {
  void *raw;
  CI_PERMIT((char *)memory - sizeof raw, sizeof raw);
  memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
  free(raw);
}

void *ci_alloc_uncleared(const ci_allocator *allocator, size_t bytes) {
  size_t size = bytes == 0 ? 1 : bytes;
  if (allocator != NULL && allocator->alloc != NULL) return allocator->alloc(allocator->user, size, MEMORY_ALIGN);
  void *block = memory_default_alloc(size);
  if (block != NULL) memory_advise(block, size);
  return block;
}

/* Only where memory that is never touched costs nothing. */
void *ci_alloc_sparse(const ci_allocator *allocator, size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (allocator->alloc == NULL) return memory_default_alloc(bytes);
#endif
  (void)allocator, (void)bytes;
  return NULL;
}

void ci_sparse_use(void *block, size_t begin, size_t end, size_t more) {
  const size_t first = ci_round_up(begin, MEMORY_LARGE), all = end / MEMORY_LARGE * MEMORY_LARGE;
  const size_t last = more >= MEMORY_LARGE - (end - all) ? all + MEMORY_LARGE : all;
  if (last > first) memory_advise((char *)block + first, last - first);
}

void *ci_alloc(const ci_allocator *allocator, size_t bytes) {
  void *memory = ci_alloc_uncleared(allocator, bytes);
  if (memory != NULL) memset(memory, 0, bytes == 0 ? 1 : bytes);
  return memory;
}

void ci_release(const ci_allocator *allocator, void *memory, size_t bytes) {
  if (memory == NULL) return;
  CI_PERMIT(memory, bytes);
  if (allocator != NULL && allocator->alloc != NULL) {
    if (allocator->release != NULL) allocator->release(allocator->user, memory, bytes == 0 ? 1 : bytes);
  } else {
    memory_default_release(memory);
  }
}

bool ci_grow_by(const ci_allocator *allocator, void **array, size_t *capacity, size_t count, size_t more, size_t item) {
  size_t requested, bytes;
  if (!ci_add_size(count, more, &requested)) return false;
  if (requested <= *capacity) return true;
  size_t grown = *capacity + *capacity / 2; /* a caller that knows how many there will be gets exactly that capacity */
  if (grown < 8) grown = 8;
  if (grown < requested) grown = requested;
  if (!ci_mul_size(grown, item, &bytes)) return false;
  void *larger = ci_alloc(allocator, bytes);
  if (larger == NULL) return false;
  if (count > 0) memcpy(larger, *array, count * item);
  ci_release(allocator, *array, *capacity * item);
  *array = larger;
  *capacity = grown;
  return true;
}

bool ci_grow(const ci_allocator *allocator, void **array, size_t *capacity, size_t count, size_t item) {
  return ci_grow_by(allocator, array, capacity, count, 1, item);
}

/* ---- pools ---- */

struct ci_pool_block {
  struct ci_pool_block *next;
  size_t bytes, used;
};

enum { MEMORY_BLOCK_HEADER = MEMORY_ALIGN };

/* The next spare block if its capacity suffices, else a new one; zeroed. */
static struct ci_pool_block *pool_block(ci_pool *pool, size_t bytes_left) {
  struct ci_pool_block *block = pool->spare;
  size_t whole;
  if (block != NULL && block->bytes - MEMORY_BLOCK_HEADER >= bytes_left) {
    pool->spare = block->next;
    CI_PERMIT((char *)block + MEMORY_BLOCK_HEADER, block->used - MEMORY_BLOCK_HEADER);
    memset((char *)block + MEMORY_BLOCK_HEADER, 0, block->used - MEMORY_BLOCK_HEADER);
  } else {
    if (bytes_left < MEMORY_POOL_BLOCK) bytes_left = MEMORY_POOL_BLOCK;
    block = ci_add_size(bytes_left, MEMORY_BLOCK_HEADER, &whole) ? ci_alloc(pool->allocator, whole) : NULL;
    if (block == NULL) return NULL;
    block->bytes = whole;
  }
  CI_FORBID(block + 1, block->bytes - sizeof *block); /* all but the block that pool_take gives */
  block->used = MEMORY_BLOCK_HEADER;
  block->next = pool->blocks;
  pool->blocks = block;
  return block;
}

static void *pool_take(ci_pool *pool, size_t bytes, size_t align) {
  struct ci_pool_block *block = pool->blocks;
  size_t start = block == NULL ? 0 : ci_round_up(block->used + CI_RED_ZONE, align);
  if (block == NULL || block->bytes < start || block->bytes - start < bytes) {
    block = pool_block(pool, bytes);
    if (block == NULL) return NULL;
    start = block->used;
  }
  block->used = start + bytes;
  CI_PERMIT((char *)block + start, bytes);
  return (char *)block + start;
}

void *ci_pool_alloc(ci_pool *pool, size_t bytes) { return pool_take(pool, bytes == 0 ? 1 : bytes, MEMORY_ALIGN); }

void ci_pool_clear(ci_pool *pool) {
  while (pool->blocks != NULL) {
    struct ci_pool_block *block = pool->blocks;
    pool->blocks = block->next;
    CI_FORBID(block + 1, block->bytes - sizeof *block);
    block->next = pool->spare; /* in reverse order: the block that was used first is used first again */
    pool->spare = block;
  }
}

void ci_pool_release(ci_pool *pool) {
  ci_pool_clear(pool);
  while (pool->spare != NULL) {
    struct ci_pool_block *next = pool->spare->next;
    ci_release(pool->allocator, pool->spare, pool->spare->bytes);
    pool->spare = next;
  }
}

void *ci_pool_words(ci_pool *pool, size_t bytes) { return pool_take(pool, bytes, sizeof(int64_t)); }

char *ci_pool_chars(ci_pool *pool, size_t length) { return pool_take(pool, length, 1); }

char *ci_pool_string(ci_pool *pool, ci_span str) {
  char *copy = ci_pool_chars(pool, str.length + 1);
  if (copy != NULL && str.length > 0) memcpy(copy, str.data, str.length);
  return copy;
}
