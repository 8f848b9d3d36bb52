/* harness.h - shared by the fuzz targets: counted memory, and findings.
 *
 * A target is a file with LLVMFuzzerTestOneInput; libFuzzer, AFL++ or replay.c calls it. */
#ifndef FUZZ_HARNESS_H
#define FUZZ_HARNESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cinfer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const bool fuzz_has_tail;   /* the target's: the bytes after a model file are part of the input */
extern const bool fuzz_multiplies; /* and: things come in large numbers, too (multiply.h) */

/* Ends the process, which a fuzzer reports as a finding, unless the promise holds. */
void fuzz_require(bool holds, const char *promise);

typedef struct fuzz_memory { /* the memory that the library holds through the hook */
  size_t live, most, blocks;
  uint8_t fill; /* the content of fresh memory: results must not depend on it */
} fuzz_memory;
ci_allocator fuzz_allocator(fuzz_memory *memory);

/* A call that failed has a complete message, one that did not has none. */
void fuzz_check_error(ci_status status, const ci_error *error);

typedef struct fuzz_reader { /* bytes that choose; zeros when there are no more */
  const uint8_t *at, *end;
} fuzz_reader;
uint8_t fuzz_byte(fuzz_reader *reader);
uint64_t fuzz_number(fuzz_reader *reader, int bytes); /* little-endian */
#endif
