/* bytes_matmul.h - multiplication of matrices of bytes, less their zero points, in int32 that wraps. */
#ifndef CI_BYTES_MATMUL_H
#define CI_BYTES_MATMUL_H
#include "../../simd/linear/isa_bytes.h"
#include "../ci_kernel.h"

typedef struct ci_bytes_matmul {
  int64_t batches, m, n, depth; /* matrices of a; b has one, or as many */
  bool one_b;
  int64_t steps, c_row; /* steps 0: this form is not taken */
  int64_t group; /* blocks of CI_BYTES_ROWS rows that a thread takes at a time */
  /* In scratch: b with the sums of its columns, the start values of results, of each thread a group of a's rows and of
   * results; all of them. */
  size_t columns, start, rows, sums, bytes;
  const uint8_t *packed; /* b, or NULL: in scratch */
  ptrdiff_t step[];
} ci_bytes_matmul;

/* Takes a row of results, counted through all matrices, while it is in the cache; threads take several at a time. */
typedef void (*ci_bytes_row_fn)(void *argument, int64_t row, const int32_t *sums);

/* After ci_k_out: a plan in ci_k_private_more; inputs a and b, zero points NULL or given. NULL: out of memory. */
const ci_bytes_matmul *ci_bytes_matmul_plan(ci_kernel *k, int a, int b, const ci_value *a_zero, const ci_value *b_zero);
/* take NULL: argument is an int32_t array for all results. */
void ci_bytes_matmul_run(ci_kernel *k, const ci_bytes_matmul *p, int a, int b, const ci_value *a_zero,
                         const ci_value *b_zero, char *scratch, ci_bytes_row_fn take, void *argument);
#endif
