/* harness.c - shared by the fuzz targets: counted memory, and findings. */
#define _POSIX_C_SOURCE 200112L /* posix_memalign: aligned_alloc takes multiples of the alignment alone */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_MOST_MEMORY = 1 << 28, FUZZ_LARGE = 1 << 20, FUZZ_FILLED = 1 << 16 };

void fuzz_require(bool holds, const char *promise) {
  if (holds) return;
  fprintf(stderr, "broken promise: %s\n", promise);
  abort();
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define FUZZ_HIDE(block, bytes) __asan_poison_memory_region(block, bytes)
#define FUZZ_SHOW(block, bytes) __asan_unpoison_memory_region(block, bytes)
#endif
#endif
#ifndef FUZZ_HIDE
#define FUZZ_HIDE(block, bytes) (void)(block), (void)(bytes)
#define FUZZ_SHOW(block, bytes) (void)(block), (void)(bytes)
#endif

/* A large block waits for the next one of its size: to map it again takes longer than all the rest. */
static struct {
  void *block;
  size_t bytes;
} spare;

static void *take_spare(size_t bytes) {
  void *block = spare.bytes == bytes ? spare.block : NULL;
  if (block == NULL) return NULL;
  spare.block = NULL;
  FUZZ_SHOW(block, bytes);
  return block;
}

static bool keep_spare(void *block, size_t bytes) {
  if (spare.block != NULL || bytes < FUZZ_LARGE) return false;
  spare.block = block;
  spare.bytes = bytes;
  FUZZ_HIDE(block, bytes);
  return true;
}

/* Blocks of their exact size, so that a sanitizer sees reads and writes outside of them. */
static void *fuzz_alloc(void *user, size_t bytes, size_t align) {
  fuzz_memory *memory = user;
  void *block = take_spare(bytes);
  if (block == NULL && (bytes > FUZZ_MOST_MEMORY || posix_memalign(&block, align, bytes) != 0)) return NULL;
  memset(block, memory->fill, bytes < FUZZ_LARGE ? bytes : FUZZ_FILLED);
  memory->blocks++;
  memory->live += bytes;
  if (memory->live > memory->most) memory->most = memory->live;
  return block;
}

static void fuzz_release(void *user, void *block, size_t bytes) {
  fuzz_memory *memory = user;
  fuzz_require(memory->blocks > 0 && memory->live >= bytes, "S6: each block is released once, with its size");
  memory->blocks--;
  memory->live -= bytes;
  if (!keep_spare(block, bytes)) free(block);
}

ci_allocator fuzz_allocator(fuzz_memory *memory) {
  return (ci_allocator){.user = memory, .alloc = fuzz_alloc, .release = fuzz_release};
}

void fuzz_check_error(ci_status status, const ci_error *error) {
  if (status == CI_OK) return;
  fuzz_require(error->status == status, "S6: the error has the status that was returned");
  fuzz_require(error->message[0] != 0, "S6: a refusal says why");
  fuzz_require(memchr(error->message, 0, sizeof error->message) != NULL, "S18: messages are terminated");
  fuzz_require(status != CI_INTERNAL, "S6: no input leads to an internal error");
}

uint8_t fuzz_byte(fuzz_reader *reader) { return reader->at < reader->end ? *reader->at++ : 0; }

uint64_t fuzz_number(fuzz_reader *reader, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)fuzz_byte(reader) << (8 * i);
  return value;
}
