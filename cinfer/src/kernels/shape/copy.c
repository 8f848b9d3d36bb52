/* copy.c - strided copies, by runs where both sides are contiguous. */
#include "copy.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../../simd/math/isa_move.h"

void ci_copy_start(ci_copy *copy, const struct ci_isa *isa, size_t item) {
  memset(copy, 0, sizeof *copy);
  copy->isa = isa;
  copy->item = item;
}

void ci_copy_axis(ci_copy *copy, int64_t size, ptrdiff_t from, ptrdiff_t to) {
  const ptrdiff_t from_bytes = (ptrdiff_t)((size_t)from * copy->item), to_bytes = (ptrdiff_t)((size_t)to * copy->item);
  if (size == 1) return;
  if (copy->rank > 0) {
    const int last = copy->rank - 1;
    if ((size_t)copy->from[last] == (size_t)from_bytes * (size_t)size &&
        (size_t)copy->to[last] == (size_t)to_bytes * (size_t)size) {
      copy->dims[last] = (int64_t)((uint64_t)copy->dims[last] * (uint64_t)size);
      copy->from[last] = from_bytes;
      copy->to[last] = to_bytes;
      return;
    }
  }
  copy->dims[copy->rank] = size;
  copy->from[copy->rank] = from_bytes;
  copy->to[copy->rank] = to_bytes;
  copy->rank++;
}

void ci_copy_strides(const int64_t *dims, int rank, ptrdiff_t *strides) {
  ptrdiff_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = step;
    step = (ptrdiff_t)((size_t)step * (size_t)dims[i]); /* an empty tensor may have axes beyond all memory */
  }
}

enum { COPY_SQUARES = 64, COPY_LONG_FILL = 1 << 15 /* bytes, which memset fills in a special way */ };

static void copy_fill(const struct ci_isa *isa, char *to, const char *sixteen, size_t bytes) {
  if (bytes >= COPY_LONG_FILL && memcmp(sixteen, sixteen + 1, 15) == 0) memset(to, sixteen[0], bytes);
  else isa->move->fill(to, sixteen, bytes);
}

#define COPY_LINE(T)                                                  \
  for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) { \
    T one;                                                            \
    memcpy(&one, from, sizeof one);                                   \
    memcpy(to, &one, sizeof one);                                     \
  }
#define COPY_FILL(T)                                                                       \
  {                                                                                        \
    char line[16];                                                                         \
    size_t left = (size_t)n * sizeof(T);                                                   \
    for (size_t i = 0; i < sizeof line; i += sizeof(T)) memcpy(line + i, from, sizeof(T)); \
    if (left >= CI_MOVE_FILL) {                                                            \
      copy_fill(isa, to, line, left);                                                      \
      return;                                                                              \
    }                                                                                      \
    for (; left >= 16; left -= 16, to += 16) memcpy(to, line, 16);                         \
    for (size_t i = 0; i < left; i += sizeof(T)) memcpy(to + i, line, sizeof(T));          \
  }
#define COPY_EACH(item, X)           \
  switch (item) {                    \
    case 1: X(uint8_t) return;       \
    case 2: X(uint16_t) return;      \
    case 4: X(uint32_t) return;      \
    case 8: X(uint64_t) return;      \
    case 16: X(ci_two_words) return; \
    default: break;                  \
  }

/* One axis. The sizes are constants so that the compiler makes each a load and a store. */
CI_FAST static void copy_line(const struct ci_isa *isa, char *to, ptrdiff_t to_step, const char *from,
                              ptrdiff_t from_step, int64_t n, size_t item) {
  if (from_step == 0 && to_step == (ptrdiff_t)item) {
    COPY_EACH(item, COPY_FILL)
  } else {
    COPY_EACH(item, COPY_LINE)
  }
}

/* Row r, column c of `from` becomes row c, column r of `to`; both have dense rows. Some lines of both at a time. */
#define COPY_TURN(T)                                                              \
  for (int64_t first = 0; first < rows; first += 16) {                            \
    const int64_t end = rows - first < 16 ? rows : first + 16;                    \
    for (int64_t c = 0; c < cols; c++) {                                          \
      char *target = to + c * to_row;                                             \
      const char *source = from + (size_t)c * sizeof(T);                          \
      for (int64_t r = first; r < end; r++) {                                     \
        memcpy(target + (size_t)r * sizeof(T), source + r * from_row, sizeof(T)); \
      }                                                                           \
    }                                                                             \
  }

/* Squares of 8 x 8 bytes or 4 x 4 of two bytes in words: halves are swapped between rows half a square apart, then
 * quarters, then eighths. */
#define COPY_SWAP(a, b, bits, mask)                          \
  {                                                          \
    const uint64_t moved = (((a) >> (bits)) ^ (b)) & (mask); \
    (b) ^= moved;                                            \
    (a) ^= moved << (bits);                                  \
  }
static void copy_square8(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row) {
#define COPY_TAKE(i) \
  uint64_t w##i;     \
  memcpy(&w##i, from + (i) * from_row, 8);
#define COPY_GIVE(i) memcpy(to + (i) * to_row, &w##i, 8);
#define COPY_PAIRS(a, b, c, d, e, f, g, h, bits, mask) \
  COPY_SWAP(w##a, w##b, bits, mask)                    \
  COPY_SWAP(w##c, w##d, bits, mask)                    \
  COPY_SWAP(w##e, w##f, bits, mask)                    \
  COPY_SWAP(w##g, w##h, bits, mask)
#define COPY_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
  COPY_EIGHT(COPY_TAKE)
  COPY_PAIRS(0, 4, 1, 5, 2, 6, 3, 7, 32, 0x00000000ffffffffu)
  COPY_PAIRS(0, 2, 1, 3, 4, 6, 5, 7, 16, 0x0000ffff0000ffffu)
  COPY_PAIRS(0, 1, 2, 3, 4, 5, 6, 7, 8, 0x00ff00ff00ff00ffu)
  COPY_EIGHT(COPY_GIVE)
#undef COPY_TAKE
#undef COPY_GIVE
#undef COPY_PAIRS
#undef COPY_EIGHT
}
CI_FAST static void copy_square4(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row) {
  uint64_t w[4];
  for (int i = 0; i < 4; i++) memcpy(&w[i], from + i * from_row, 8);
  COPY_SWAP(w[0], w[2], 32, 0x00000000ffffffffu)
  COPY_SWAP(w[1], w[3], 32, 0x00000000ffffffffu)
  COPY_SWAP(w[0], w[1], 16, 0x0000ffff0000ffffu)
  COPY_SWAP(w[2], w[3], 16, 0x0000ffff0000ffffu)
  for (int i = 0; i < 4; i++) memcpy(to + i * to_row, &w[i], 8);
}

/* Whether the first byte in memory is the lowest of a word. */
static bool copy_low_first(void) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1;
}

static void copy_turn_each(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int64_t rows, int64_t cols,
                           size_t item);

/* Full squares, then the rest to their right and below. */
static void copy_turn_small(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int64_t rows,
                            int64_t cols, size_t item) {
  const int64_t side = item == 1 ? 8 : 4, all_rows = rows - rows % side, all_cols = cols - cols % side;
  for (int64_t block = 0; block < all_rows; block += COPY_SQUARES) {
    const int64_t end = all_rows - block < COPY_SQUARES ? all_rows : block + COPY_SQUARES;
    for (int64_t c = 0; c < all_cols; c += side) {
      for (int64_t r = block; r < end; r += side) {
        char *target = to + c * to_row + r * (ptrdiff_t)item;
        const char *source = from + r * from_row + c * (ptrdiff_t)item;
        if (item == 1) copy_square8(target, to_row, source, from_row);
        else copy_square4(target, to_row, source, from_row);
      }
    }
  }
  copy_turn_each(to + all_cols * to_row, to_row, from + all_cols * (ptrdiff_t)item, from_row, all_rows, cols - all_cols,
                 item);
  copy_turn_each(to + all_rows * (ptrdiff_t)item, to_row, from + all_rows * from_row, from_row, rows - all_rows, cols,
                 item);
}

CI_FAST static void copy_turn_each(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int64_t rows,
                                   int64_t cols, size_t item) {
  COPY_EACH(item, COPY_TURN)
}

/* The same of bytes with larger squares. */
static void copy_turn_bytes(const struct ci_isa_move *move, char *to, ptrdiff_t to_row, const char *from,
                            ptrdiff_t from_row, int64_t rows, int64_t cols) {
  const int64_t all_rows = rows - rows % CI_MOVE_SQUARE, all_cols = cols - cols % CI_MOVE_SQUARE;
  move->turn_bytes(to, to_row, from, from_row, all_rows, all_cols);
  copy_turn_small(to + all_cols * to_row, to_row, from + all_cols, from_row, all_rows, cols - all_cols, 1);
  copy_turn_small(to + all_rows, to_row, from + all_rows * from_row, from_row, rows - all_rows, cols, 1);
}

static void copy_turn(const ci_copy *copy, char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row,
                      int64_t rows, int64_t cols) {
  if (cols < 4) {
    for (int64_t c = 0; c < cols; c++, to += to_row, from += copy->item) {
      copy_line(copy->isa, to, (ptrdiff_t)copy->item, from, from_row, rows, copy->item);
    }
    return;
  }
  if (copy->item == sizeof(float)) {
    const ptrdiff_t item = sizeof(float);
    copy->isa->linear->transpose((float *)(void *)to, to_row / item, (const float *)(const void *)from, from_row / item,
                                 rows, cols);
    return;
  }
  const struct ci_isa_move *move = copy->isa->move;
  if (copy->item == 1 && move->turn_bytes != NULL) copy_turn_bytes(move, to, to_row, from, from_row, rows, cols);
  else if (copy->item <= 2 && copy_low_first()) copy_turn_small(to, to_row, from, from_row, rows, cols, copy->item);
  else copy_turn_each(to, to_row, from, from_row, rows, cols, copy->item);
}

/* The innermost axis along which the elements are next to each other, or -1. */
static int copy_dense(const ci_copy *copy, const ptrdiff_t *steps) {
  for (int i = copy->rank - 1; i >= 0; i--) {
    if (steps[i] == (ptrdiff_t)copy->item) return i;
  }
  return -1;
}

/* The one or two axes that are done at a time: rows of n elements. */
static void copy_inner(const ci_copy *copy, char *to, const char *from, int a, int b, bool turns, int64_t n,
                       int64_t rows) {
  const ptrdiff_t to_row = b < 0 ? 0 : copy->to[b], from_row = b < 0 ? 0 : copy->from[b];
  if (turns) {
    copy_turn(copy, to, to_row, from, copy->from[a], n, rows);
  } else if (copy->to[a] == (ptrdiff_t)copy->item && copy->from[a] == copy->to[a]) {
    copy->isa->move->runs(to, to_row, from, from_row, rows, (size_t)n * copy->item);
  } else {
    for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {
      copy_line(copy->isa, to, copy->to[a], from, copy->from[a], n, copy->item);
    }
  }
}

/* Whether a tile of two axes is transposed: its elements are contiguous along another axis in either array. */
static bool copy_turns(const ci_copy *copy, int *a, int *b) {
  const int to_dense = copy_dense(copy, copy->to), from_dense = copy_dense(copy, copy->from);
  const bool two = to_dense >= 0 && from_dense >= 0 && to_dense != from_dense;
  const bool turns = two && copy->item <= sizeof(uint64_t) && copy->from[to_dense] != 0 && copy->to[from_dense] != 0;
  *a = turns ? to_dense : copy->rank - 1;
  *b = turns ? from_dense : copy->rank - 2;
  return turns;
}

/* Indices `begin` to `end` of the first axis. */
static void copy_range(const ci_copy *copy, void *to, const void *from, int64_t begin, int64_t end) {
  int64_t at[CI_COPY_AXES] = {0};
  char *target = (char *)to + begin * copy->to[0];
  const char *source = (const char *)from + begin * copy->from[0];
  int a, b;
  for (int i = 1; i < copy->rank; i++) {
    if (copy->dims[i] == 0) return;
  }
  const bool turns = copy_turns(copy, &a, &b);
  const int64_t first = end - begin, n = a == 0 ? first : copy->dims[a];
  const int64_t rows = b < 0 ? 1 : b == 0 ? first : copy->dims[b];
  while (first > 0) {
    copy_inner(copy, target, source, a, b, turns, n, rows);
    int axis = copy->rank - 1;
    for (; axis >= 0; axis--) {
      if (axis == a || axis == b) continue;
      target += copy->to[axis];
      source += copy->from[axis];
      if (++at[axis] < (axis == 0 ? first : copy->dims[axis])) break;
      target -= copy->to[axis] * (ptrdiff_t)at[axis];
      source -= copy->from[axis] * (ptrdiff_t)at[axis];
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

void ci_copy_run(const ci_copy *copy, void *to, const void *from) {
  if (copy->rank == 0) memcpy(to, from, copy->item);
  else copy_range(copy, to, from, 0, copy->dims[0]);
}

/* ---- a complete result ---- */

enum { COPY_GRAIN = 1 << 16 }; /* bytes that are worth a thread */

typedef struct copy_job {
  const ci_copy *copy;
  void *to;
  const void *from;
} copy_job;

static void copy_part(void *argument, int64_t begin, int64_t end, int thread) {
  const copy_job *job = argument;
  (void)thread;
  copy_range(job->copy, job->to, job->from, begin, end);
}

/* Tiles that are transposed need many rows at a time. */
void ci_copy_result(ci_kernel *k, const ci_copy *copy, const void *from) {
  const ci_value *y = k->out[0];
  int a, b;
  if (y->count == 0) return;
  if (copy->rank == 0) {
    memcpy(y->data, from, copy->item);
    return;
  }
  copy_job job = {copy, y->data, from};
  const int64_t grain = COPY_GRAIN / (int64_t)(y->bytes / (size_t)copy->dims[0]) + 1;
  if (copy_turns(copy, &a, &b) && (a == 0 || b == 0))
    ci_k_parallel(k, copy->dims[0], grain < 16 ? 16 : grain, copy_part, &job);
  else ci_k_parallel_rows(k, copy->dims[0], grain, copy_part, &job);
}
