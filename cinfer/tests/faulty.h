/* faulty.h - an allocator that fails on request and checks the blocks that are freed; and a check that malloc is not
 * called next to it.
 */
#ifndef CI_TEST_FAULTY_H
#define CI_TEST_FAULTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"
#include "cinfer.h"

typedef struct faults { /* of all allocators of a test: their calls are counted together */
  atomic_long calls;
  long at;      /* the call that fails; 0: none */
  bool forever; /* all from that one on */
  bool over;    /* there is memory again */
  atomic_bool hit;
} faults;

typedef struct faulty { /* one allocator */
  faults *faults;
  atomic_llong held; /* bytes */
} faulty;

typedef struct faulty_header { /* before each block */
  faulty *owner;
  size_t bytes;
} faulty_header;

/* ---- calls of malloc: the library makes none on a thread that is inside it ---- */

static _Thread_local volatile bool faulty_inside; /* volatile: a compiler knows that malloc reads no variables */
static atomic_long faulty_strays;

/* The test program is linked with --wrap where the linker has that. */
#ifdef CALLS_WRAPPED
#define FAULTY_WRAP(name, parameters, arguments)            \
  void *__real_##name parameters;                           \
  void *__wrap_##name parameters;                           \
  void *__wrap_##name parameters {                          \
    if (faulty_inside) atomic_fetch_add(&faulty_strays, 1); \
    return __real_##name arguments;                         \
  }
FAULTY_WRAP(malloc, (size_t bytes), (bytes))
FAULTY_WRAP(calloc, (size_t count, size_t bytes), (count, bytes))
FAULTY_WRAP(realloc, (void *block, size_t bytes), (block, bytes))
FAULTY_WRAP(aligned_alloc, (size_t align, size_t bytes), (align, bytes))
#endif

/* ---- the allocator ---- */

enum { FAULTY_ALIGN = 64 };

static bool faulty_fails(faults *f) {
  const long call = atomic_fetch_add(&f->calls, 1) + 1;
  if (f->over || f->at == 0 || (f->forever ? call < f->at : call != f->at)) return false;
  atomic_store(&f->hit, true);
  return true;
}

static void *faulty_alloc(void *user, size_t bytes, size_t align) {
  faulty *owner = user;
  const bool inside = faulty_inside;
  CHECK(bytes > 0 && align <= FAULTY_ALIGN && (align & (align - 1)) == 0);
  if (faulty_fails(owner->faults)) return NULL;
  faulty_inside = false;
  char *block = aligned_alloc(FAULTY_ALIGN, (bytes + 2 * FAULTY_ALIGN - 1) / FAULTY_ALIGN * FAULTY_ALIGN);
  faulty_inside = inside;
  if (block == NULL) abort();
  *(faulty_header *)(void *)block = (faulty_header){owner, bytes};
  atomic_fetch_add(&owner->held, (long long)bytes);
  return block + FAULTY_ALIGN;
}

static void faulty_release(void *user, void *memory, size_t bytes) {
  faulty *owner = user;
  char *block = (char *)memory - FAULTY_ALIGN;
  const faulty_header *header = (const faulty_header *)(const void *)block;
  CHECK(header->owner == owner && header->bytes == bytes);
  atomic_fetch_sub(&owner->held, (long long)bytes);
  free(block);
}

static ci_allocator faulty_hook(faulty *owner) { return (ci_allocator){owner, faulty_alloc, faulty_release}; }
#endif
