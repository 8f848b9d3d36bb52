/* isa_bytes.h - the functions of every instruction set for multiplying matrices of bytes: exact sums in int32 that
 * wrap, so no order can be seen. */
#ifndef CI_ISA_BYTES_H
#define CI_ISA_BYTES_H
#include "../../base/ci_common.h"

enum {
  CI_BYTES_ROWS = 8,  /* rows come in blocks of so many, the last one filled up */
  CI_BYTES_COLS = 32, /* columns that are computed at a time: x may be read, and c is written, to the next multiple */
  CI_BYTES_DEPTH = 4  /* bytes of a step, side by side */
};

/* c[r][n] = start[n] + add[r] + sum over steps s and i < 4 of w[r / 8][s][r % 8][i] * x[at(n) + step[s] + i], where
 * at(n) = n / CI_BYTES_COLS * packed_tile_step + n % CI_BYTES_COLS * 4; packed_tile_step 0: 4 * n */
typedef struct ci_bytes_tile {
  const uint8_t *x;
  ptrdiff_t packed_tile_step;
  const ptrdiff_t *step; /* bytes */
  const int8_t *w;
  int32_t *c;
  ptrdiff_t c_row; /* numbers */
  int64_t steps, rows, cols;
  bool one; /* the first row alone is needed; the others need not be written */
  const int32_t *start, *add; /* both NULL: 0; start as far as c is written */
} ci_bytes_tile;

struct ci_isa_bytes {
  void (*gemm)(const ci_bytes_tile *t);
};
#endif
