/* multiply.h - changes of a model that make it costly for its bytes: parts that are repeated, and references to them.
 */
#ifndef FUZZ_MULTIPLY_H
#define FUZZ_MULTIPLY_H
#include "mutate.h"

void fuzz_multiply(fuzz_tree *tree, fuzz_random *random);
#endif
