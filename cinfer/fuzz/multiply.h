/* multiply.h - changes of a model that make much out of little: the same many times, and ways to refer to it. */
#ifndef FUZZ_MULTIPLY_H
#define FUZZ_MULTIPLY_H
#include "mutate.h"

void fuzz_multiply(fuzz_tree *tree, fuzz_random *random);
#endif
