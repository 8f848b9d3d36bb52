/* fused.c - runs programs of elementwise operators (fused.h): FusedElementwise, and the epilogue of a matrix
 * multiplication or convolution. */
#include "fused.h"

#include "fused_program.h"

/* One run of n elements; x are the inputs at its start. */
static void fused_run(const ci_fused *f, float *y, const float *const *x, int64_t n, float *registers, int64_t block) {
  const float *slot[FUSED_SLOTS];
  int64_t moves[FUSED_SLOTS]; /* all bits of inputs that advance */
  for (int i = 0; i < f->inputs; i++) {
    slot[i] = x[i];
    moves[i] = ci_broadcast_still(&f->walk, i) ? 0 : -1;
  }
  for (int i = 0; i < f->registers; i++) {
    slot[FUSED_REGISTER + i] = registers + i * block;
    moves[FUSED_REGISTER + i] = 0;
  }
  slot[FUSED_REGISTER + FUSED_OUT] = y;
  moves[FUSED_REGISTER + FUSED_OUT] = -1;
  for (int64_t at = 0; at < n; at += block) {
    const int64_t whole = n - at < block ? n - at : block;
    for (const fused_step *s = f->step; s < f->step + f->steps; s++) {
      const float *from[2];
      for (int i = 0; i < 2; i++) {
        const int p = s->from[i];
        from[i] =
            p >= FUSED_LITERAL && p < FUSED_REGISTER ? f->literals + (p - FUSED_LITERAL) : slot[p] + (at & moves[p]);
      }
      float *to = s->to == FUSED_OUT ? y + at : registers + s->to * block;
      const int64_t count = s->still ? 1 : whole;
      switch (s->kind) {
        case FUSED_UNARY: s->fn.unary(to, from[0], count, s->a, s->b); break;
        case FUSED_BINARY: s->fn.binary(to, from[0], from[1], count, s->scalar); break;
        case FUSED_TYPED: s->fn.typed(to, from[0], from[1], count, s->scalar); break;
        default: s->fn.map(to, from[0], count, s->argument); break;
      }
    }
    if (f->step[f->steps - 1].still) {
      for (int64_t i = 1; i < whole; i++) y[at + i] = y[at];
    }
  }
}

void ci_fused_range(const ci_fused *f, float *y, int64_t at, int64_t n, float *registers, int64_t block) {
  const ci_broadcast *b = &f->walk;
  int64_t index[CI_MAX_RANK];
  const char *x[FUSED_INPUTS];
  for (int i = 0; i < f->inputs; i++) x[i] = i == 0 && f->gemm ? NULL : f->in[i]->data;
  for (int d = 0; d < b->rank; d++) {
    index[d] = d == b->rank - 1 ? at : at % b->dims[d];
    at /= b->dims[d];
    for (int i = f->gemm; i < f->inputs; i++) x[i] += (ptrdiff_t)index[d] * b->step[d][i];
  }
  while (n > 0) {
    const int64_t left = b->dims[0] - index[0], run = n < left ? n : left;
    const float *from[FUSED_INPUTS];
    for (int i = 0; i < f->inputs; i++) from[i] = (const float *)(const void *)x[i];
    if (f->gemm) from[0] = y;
    fused_run(f, y, from, run, registers, block);
    n -= run;
    y += run;
    if (n == 0) return;
    for (int i = f->gemm; i < f->inputs; i++) x[i] -= (ptrdiff_t)index[0] * b->step[0][i];
    index[0] = 0;
    for (int d = 1; d < b->rank; d++) {
      for (int i = f->gemm; i < f->inputs; i++) x[i] += b->step[d][i];
      if (++index[d] < b->dims[d]) break;
      for (int i = f->gemm; i < f->inputs; i++) x[i] -= (ptrdiff_t)b->dims[d] * b->step[d][i];
      index[d] = 0;
    }
  }
}

/* Where the inputs of a tile begin, and floats from row to row of it. */
typedef struct fused_position {
  const float *base[FUSED_INPUTS];
  ptrdiff_t row[FUSED_INPUTS];
} fused_position;

/* All steps over a tile that stays in cache, one after another. */
static void fused_tile_steps(const ci_fused *f, float *tile, ptrdiff_t y_row, const fused_position *position,
                             int64_t rows, int64_t cols) {
  for (const fused_step *s = f->step; s < f->step + f->steps; s++) {
    const float *from[2];
    ptrdiff_t step[2];
    float *y = tile;
    for (int i = 0; i < 2; i++) {
      const int p = s->from[i];
      const bool own = p == 0 || p == FUSED_REGISTER + FUSED_OUT, literal = p >= FUSED_LITERAL;
      step[i] = own ? y_row : literal ? 0 : position->row[p];
      from[i] = own ? tile : literal ? f->literals + (p - FUSED_LITERAL) : position->base[p];
    }
    for (int64_t r = 0; r < rows; r++, y += y_row, from[0] += step[0], from[1] += step[1]) {
      switch (s->kind) {
        case FUSED_UNARY: s->fn.unary(y, from[0], cols, s->a, s->b); break;
        case FUSED_BINARY: s->fn.binary(y, from[0], from[1], cols, s->scalar); break;
        case FUSED_TYPED: s->fn.typed(y, from[0], from[1], cols, s->scalar); break;
        default: s->fn.map(y, from[0], cols, s->argument); break;
      }
    }
  }
}

static void fused_position_at(const ci_fused *f, int64_t row, int64_t col, fused_position *position) {
  for (int i = 1; i < f->inputs; i++) {
    position->row[i] = f->row[i];
    position->base[i] = (const float *)f->in[i]->data + row * f->row[i] + col * f->col[i];
  }
}

/* Short contiguous rows are one long row, with inputs that are repeated as often. */
static void fused_short_rows(const ci_fused *f, float *y, int64_t row, int64_t rows) {
  float repeated[FUSED_REPEATED][FUSED_SMALL];
  const int64_t cols = f->width, most = FUSED_SMALL / cols;
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t part = rows - r < most ? rows - r : most;
    fused_position position;
    fused_position_at(f, row + r, 0, &position);
    for (int i = 1, k = 0; i < f->inputs; i++) {
      if (f->row[i] != 0 || f->col[i] == 0) continue;
      for (int64_t at = 0; r == 0 && at < most * cols; at++) repeated[k][at] = position.base[i][at % cols];
      position.base[i] = repeated[k++];
    }
    fused_tile_steps(f, y + r * cols, 0, &position, 1, part * cols);
  }
}

static void fused_tile(const ci_fused *f, float *y, ptrdiff_t y_row, int64_t row, int64_t col, int64_t rows,
                       int64_t cols) {
  if (f->repeats && y_row == f->width && cols == f->width && rows > 1) {
    fused_short_rows(f, y, row, rows);
    return;
  }
  const int64_t most = cols < FUSED_TILE ? FUSED_TILE / cols : 1;
  for (int64_t r = 0; r < rows; r += most) {
    fused_position position;
    fused_position_at(f, row + r, col, &position);
    fused_tile_steps(f, y + r * y_row, y_row, &position, rows - r < most ? rows - r : most, cols);
  }
}

void ci_fused_rows(const ci_fused *f, float *y, ptrdiff_t y_row, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  float registers[FUSED_REGISTERS * FUSED_SMALL];
  if (f->walk.count == 0 || cols <= 0) return;
  if (f->by_tiles && cols <= FUSED_TILE) {
    fused_tile(f, y, y_row, row, col, rows, cols);
    return;
  }
  if (cols == f->width && y_row == cols) {
    ci_fused_range(f, y, row * f->width, rows * cols, registers, FUSED_SMALL);
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    ci_fused_range(f, y + r * y_row, (row + r) * f->width + col, cols, registers, FUSED_SMALL);
  }
}

/* ---- FusedElementwise ---- */

static void fused_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_fused *f = k->private_memory;
  float *registers =
      f->registers == 0 ? NULL : (float *)k->scratch + (size_t)thread * (size_t)f->registers * FUSED_BLOCK;
  ci_fused_range(f, (float *)k->out[0]->data + begin, begin, end - begin, registers, FUSED_BLOCK);
}

ci_status ci_run_fused_elementwise(ci_kernel *k) {
  const int64_t n = k->out[0]->count;
  if (n == 0) return CI_OK;
  if (n <= FUSED_GRAIN) fused_part(k, 0, n, 0);
  else ci_k_parallel(k, n, FUSED_GRAIN, fused_part, k);
  const ci_fused *f = k->private_memory;
  const int last = f->step[f->steps - 1].kind;
  if (last == FUSED_UNARY || last == FUSED_BINARY) k_wrote_one_nan(k);
  return CI_OK;
}

/* ---- fused MatMul, Gemm and convolutions: the operator itself, then the program over its result ---- */

static void fused_epilogue_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_fused *f = k->private_more;
  (void)thread;
  ci_fused_rows(f, (float *)k->out[0]->data + begin * f->width, (ptrdiff_t)f->width, begin, 0, end - begin, f->width);
}

static ci_status fused_epilogue(ci_kernel *k, ci_status status) {
  const ci_fused *f = k->private_more;
  if (status != CI_OK || k->out[0]->count == 0) return status;
  ci_k_parallel_rows(k, k->out[0]->count / f->width, FUSED_GRAIN / f->width + 1, fused_epilogue_part, k);
  return CI_OK;
}

/* Rows are images of a channel, or channels of a pixel. Errors of shapes name the fused operator. */
#define FUSED_GEMM(name, op, run, first_extra, axis)                                      \
  ci_status ci_prepare_fused_##name(ci_kernel *k) {                                       \
    const ci_fused *program;                                                              \
    CI_TRY(ci_k_prepare_as(k, (ci_span){op, sizeof op - 1}, "nodes", ci_prepare_##name)); \
    const int64_t width = ci_shape_count(k->out[0]->dims, axis, k->out[0]->rank);         \
    return ci_fused_prepare(k, first_extra, width, &program);                             \
  }                                                                                       \
  ci_status ci_run_fused_##name(ci_kernel *k) { return fused_epilogue(k, run(k)); }
#if CI_HAS_CONVOLUTIONS
FUSED_GEMM(conv2d, "Conv2D", ci_run_conv2d, 2, 3)
#endif
