/* mutate.h - random changes of a model. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H
#include "message.h"

typedef struct fuzz_random {
  uint64_t state;
} fuzz_random;
uint32_t fuzz_below(fuzz_random *random, uint32_t most); /* from 0 to most - 1 */
bool fuzz_one_in(fuzz_random *random, uint32_t n);

/* One change of a field, a value, a tensor, a node or its position. */
void fuzz_mutate(fuzz_tree *tree, fuzz_random *random);
/* Inserts a part of another model: in place of one of its kind, or after it; nodes read values that are there. */
void fuzz_splice(fuzz_tree *tree, const fuzz_tree *other, fuzz_random *random);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* libFuzzer's own changes of bytes */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned int seed);
#endif
