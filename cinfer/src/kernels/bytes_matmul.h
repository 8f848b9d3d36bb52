/* bytes_matmul.h - products of matrices of bytes, less their zero points, in int32 that wraps. */
#ifndef CI_BYTES_MATMUL_H
#define CI_BYTES_MATMUL_H
#include "../isa_bytes.h"
#include "../ci_kernel.h"

typedef struct ci_bytes_matmul {
  int64_t batches, m, n, depth; /* matrices of a; b has one, or as many */
  bool one_b;
  int64_t steps, c_row; /* steps 0: this form is not taken */
  size_t columns, rows, sums, bytes; /* in scratch: b, a and the results; all of them */
  const uint8_t *packed; /* b, or NULL: in scratch */
  ptrdiff_t step[];
} ci_bytes_matmul;

/* After ci_k_out: a plan in ci_k_private_more; inputs a and b, zero points NULL or given. NULL: out of memory. */
const ci_bytes_matmul *ci_bytes_matmul_plan(ci_kernel *k, int a, int b, const ci_value *a_zero, const ci_value *b_zero);
void ci_bytes_matmul_run(ci_kernel *k, const ci_bytes_matmul *p, int a, int b, const ci_value *a_zero,
                         const ci_value *b_zero, char *scratch, int32_t *y);
#endif
