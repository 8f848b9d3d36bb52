/* isa_linear_impl.h - float32 matrix multiplication and pooling over vec.h: included once per instruction set.
 *
 * CI_VL lanes, CI_N(name) the instruction set's own name. The order of every sum is docs/numerics.md's.
 */
#if CI_MANY_REGISTERS
#define CI_TILE_ROWS 14
#define CI_BLOCKS_ROWS 8
#else
#define CI_TILE_ROWS 6
#define CI_BLOCKS_ROWS 6
#endif

CI_INLINE vf CI_N(clamped)(vf v, vf low, vf high) { return v_add(v_min(high, v_max(low, v)), v_set(0.0f)); }

#include "isa_linear_tiles_impl.h"
#include "isa_linear_quads_impl.h"
#include "isa_linear_gemv_impl.h"
#include "isa_linear_dots_impl.h"
#include "isa_linear_plain_impl.h"
#include "isa_linear_conv_impl.h"
#include "isa_linear_threes_impl.h"

#define CI_T_AHEAD(i, unused) CI_PREFETCH(at + (i) * from_row + ahead);
#define CI_T_GET(i, unused) v[i] = v_load(at + (i) * from_row);
#define CI_T_PUT(i, unused) v_store(to + (i) * to_row, v[i]);

/* A square of them, or the part that exists. */
CI_INLINE void CI_N(square)(float *to, ptrdiff_t to_row, const float *at, ptrdiff_t from_row, int rows, int cols) {
  enum { ahead = 48 };
  vf v[CI_VL];
  if (rows == CI_VL && cols == CI_VL) {
    CI_LANES(CI_T_AHEAD, 0)
    CI_LANES(CI_T_GET, 0)
    v_turn(v);
    CI_LANES(CI_T_PUT, 0)
    return;
  }
  for (int i = 0; i < CI_VL; i++) v[i] = i < rows ? v_load_part(at + i * from_row, cols, 0.0f) : v_set(0.0f);
  v_turn(v);
  for (int i = 0; i < cols; i++) v_store_part(to + i * to_row, rows, v[i]);
}

/* to[c * to_row + r] = from[r * from_row + c]: of a few rows at a time complete cache lines, which are prefetched: the
 * hardware cannot follow so many rows. */
static void CI_N(transpose)(float *to, ptrdiff_t to_row, const float *from, ptrdiff_t from_row, int64_t rows,
                            int64_t cols) {
  enum { line = CI_VL < 16 ? 16 : CI_VL };
  for (int64_t c0 = 0; c0 < cols; c0 += line) {
    const int64_t end = cols - c0 < line ? cols : c0 + line;
    for (int64_t r = 0; r < rows; r += CI_VL) {
      const int high = rows - r < CI_VL ? (int)(rows - r) : CI_VL;
      for (int64_t c = c0; c < end; c += CI_VL) {
        const int wide = end - c < CI_VL ? (int)(end - c) : CI_VL;
        CI_N(square)(to + c * to_row + r, to_row, from + r * from_row + c, from_row, high, wide);
      }
    }
  }
}

#include "isa_linear_window_impl.h"
#include "isa_linear_pixels_impl.h"

/* Rows per sweep: their block of a stays in the second-level cache while the columns pass. */
enum { CI_N(sweep_rows) = CI_SWEEP_ROWS / CI_TILE_ROWS * CI_TILE_ROWS };

/* The widest tile that vectors fill: 1, 2 or 4. */
static int64_t CI_N(width_of)(int64_t vectors, int64_t widest) {
  const int64_t most = vectors < widest ? vectors : widest;
  return most >= 4 ? 4 : most >= 2 ? 2 : 1;
}

/* Vectors that a tile of so many rows may have. */
static int CI_N(tile_width)(int64_t rows) {
#if CI_MANY_REGISTERS
  return CI_LARGE && rows <= 6 ? 4 : 2;
#else
  return CI_LARGE && rows <= 3 ? 4 : 2;
#endif
}

/* All rows for some vectors of columns, in tiles of nearly equal height: 64 rows are 14 14 12 12 12. A tile of few rows
 * waits for its chains, so a height that is missing is a higher one for as long as rows are left. */
static void CI_N(rows)(struct CI_N(tile_args) * s, int64_t m, int most, const CI_N(tile_fn) * table, int step) {
  int64_t tiles = (m + most - 1) / most;
  for (int64_t left = m; left > 0;) {
    int64_t height = (left + tiles - 1) / tiles;
    while (tiles > 1 && height < most && table[(height - 1) * step] == NULL) height++;
    while (table[(height - 1) * step] == NULL) height--; /* a single row is always there */
    for (int64_t r = 0; s->far && r < height; r++) {
      CI_PREFETCH_WRITE(s->c + r * s->c_row);
      CI_PREFETCH_WRITE(s->c + r * s->c_row + CI_VL);
    }
    table[(height - 1) * step](s);
    s->ahead += s->ahead_step * s->k;
    s->a += height * s->a_row;
    s->c += height * s->c_row;
    left -= height;
    tiles -= left <= (tiles - 1) * most; /* as many as the rest needs */
  }
}

/* Where a column of b begins at row k; `packed_tile_step` is t->b_packed_tile, or a packed tile's width where the tiles
 * follow each other. */
CI_INLINE const float *CI_N(column)(const ci_tile *t, ptrdiff_t packed_tile_step, int64_t column, int64_t k) {
  const int64_t inside = column % (2 * CI_VL);
  return t->b + column / (2 * CI_VL) * packed_tile_step + inside + k * CI_N(packed_tile_row)(t, t->n - column + inside);
}

static void CI_N(at_column)(struct CI_N(tile_args) * s, const ci_tile *t, ptrdiff_t packed_tile_step, int64_t column,
                            int64_t k) {
  const int64_t left = t->n - column + column % (2 * CI_VL);
  s->b = CI_N(column)(t, packed_tile_step, column, k);
  s->b_k = CI_N(packed_tile_row)(t, left);
  s->next_k = CI_N(packed_tile_row)(t, left - 2 * CI_VL);
  s->b_packed_tile = left > 2 * CI_VL ? packed_tile_step + (ptrdiff_t)k * (s->next_k - s->b_k) : 0;
}

/* A block of a, whose row stride is not a power of two: large matrices would have them in few sets of the caches. */
static void CI_N(gather)(struct CI_N(tile_args) * s, int64_t m, float *sweep_buffer) {
  for (int64_t i = 0; i < m; i++)
    memcpy(sweep_buffer + i * CI_SWEEP_BUFFER_ROW, s->a + i * s->a_row, (size_t)s->k * sizeof(float));
  s->a = sweep_buffer;
  s->a_row = CI_SWEEP_BUFFER_ROW;
}

#if CI_QUADS && CI_LARGE
static bool CI_N(ends_in_quads)(const ci_tile *t, int64_t m) {
  const int64_t last = (t->n - 1) % CI_VL + 1;
  const bool four = last == 4 || (last < 4 && t->b_packed_tile != 0); /* floats of b that may be read */
  return m >= CI_N(few_columns_rows) && (t->a_k == 1 || t->a_row == 1) && t->n > CI_VL && four;
}

/* The last one to four columns: where full vectors of rows end, tiles go on. */
static void CI_N(last_columns)(struct CI_N(tile_args) s, int64_t m) {
  for (; m >= CI_N(few_columns_rows); m -= CI_N(few_columns_rows)) {
    if (s.a_k == 1) CI_N(few_columns)(&s);
    else CI_N(few_columns_transposed)(&s);
    s.a += CI_N(few_columns_rows) * s.a_row;
    s.c += CI_N(few_columns_rows) * s.c_row;
  }
  CI_N(rows)(&s, m, CI_TILE_ROWS, &CI_N(tile_table)[0][0], 4);
}
#endif

/* One block, or blocks of which the totals go through c. */
CI_OUTLINE void CI_N(sweep)(const ci_tile *t, const float *a, float *c, int64_t m, ptrdiff_t packed_tile_step) {
  const int64_t most_rows = (m + CI_TILE_ROWS - 1) / CI_TILE_ROWS;
  const int widest = CI_N(tile_width)((m + most_rows - 1) / most_rows);
#if CI_QUADS && CI_LARGE
  const int quads = CI_N(ends_in_quads)(t, m);
#else
  enum { quads = 0 };
#endif
  for (int64_t k = 0; k < t->k; k += t->block) {
    struct CI_N(tile_args) s = {.a_row = t->a_row, .a_k = t->a_k, .c_row = t->c_row};
    s.k = t->k - k < t->block ? t->k - k : t->block;
    s.add = t->add || k > 0;
    s.far = m * t->n >= CI_FAR;
    int64_t vectors = (t->n + CI_VL - 1) / CI_VL - quads, column = 0;
    s.a = a + k * t->a_k;
    s.ahead_step = t->b_packed_tile != 0 && CI_VL > 1
                       ? (ptrdiff_t)(2 * CI_VL * sizeof(float)) * CI_TILE_ROWS / (ptrdiff_t)m + 1
                       : 0;
    if (t->sweep_buffer != NULL) CI_N(gather)(&s, m, t->sweep_buffer);
    const float *const rows = s.a;
    while (vectors > 0) {
      const bool odd = CI_MANY_REGISTERS && widest < 4 && vectors == 3;
      const int64_t width = odd ? 3 : CI_N(width_of)(vectors, widest);
      vectors -= width;
      CI_N(at_column)(&s, t, packed_tile_step, column, k);
      s.a = rows;
      s.c = c + column;
      s.part = vectors + quads > 0 ? CI_VL : (int)(t->n - (column + (width - 1) * CI_VL));
      column += width * CI_VL;
      s.ahead =
          (const char *)CI_N(column)(t, packed_tile_step, column, k); /* of the last columns, the steps after the sum */
      CI_N(rows)(&s, m, CI_TILE_ROWS, &CI_N(tile_table)[0][width - 1], 4);
    }
#if CI_QUADS && CI_LARGE
    CI_N(at_column)(&s, t, packed_tile_step, column, k);
    s.a = rows;
    s.c = c + column;
    s.part = (int)(t->n - column);
    s.ahead_step = 0;
    if (quads) CI_N(last_columns)(s, m);
#endif
  }
}

#if CI_LARGE
/* Few columns, and several blocks or steps after the sum: everything inside the kernel. */
CI_OUTLINE void CI_N(narrow)(const ci_tile *t, ptrdiff_t packed_tile_step) {
  struct CI_N(tile_args)
      s = {.a_row = t->a_row, .a_k = t->a_k, .c_row = t->c_row, .k = t->k, .block = t->block, .after = t->after};
  s.ahead = (const char *)t->b; /* nothing is fetched ahead, but a null pointer takes no step */
  int64_t vectors = (t->n + CI_VL - 1) / CI_VL, column = 0;
  while (vectors > 0) {
    const int64_t width = CI_N(width_of)(vectors, 2);
    vectors -= width;
    s.a = t->a;
    CI_N(at_column)(&s, t, packed_tile_step, column, 0);
    s.c = t->c + column;
    s.added = t->after == NULL || t->after->added == NULL ? NULL : t->after->added + column;
    s.part = vectors > 0 ? CI_VL : (int)(t->n - (column + (width - 1) * CI_VL));
    column += width * CI_VL;
    CI_N(rows)(&s, t->m, CI_N(blocks_most)[width - 1], CI_N(blocks_table)[width - 1], 1);
  }
}

/* One row by many columns is bound by memory: b is read once from front to back, eight of its rows at a time, and the
 * chains of CI_STREAM columns wait in the first-level cache. */
#define CI_STREAM_FMA(r, unused) sum = v_fma(x[r], v_load(b + (r) * t->b_k + i), sum);
CI_OUTLINE void CI_N(stream)(const ci_tile *t) {
  float chain[CI_STREAM];
  for (int64_t column = 0; column < t->n; column += CI_STREAM) {
    const int64_t n = t->n - column < CI_STREAM ? t->n - column : CI_STREAM, whole = n / CI_VL * CI_VL;
    float *c = t->c + column;
    for (int64_t start = 0; start < t->k; start += t->block) {
      const int64_t end = t->k - start < t->block ? t->k : start + t->block;
      const bool first = start == 0 && !t->add;
      memset(chain, 0, sizeof chain);
      for (int64_t k = start; k < end;) {
        const float *b = t->b + k * t->b_k + column, *a = t->a + k * t->a_k;
        const int rows = end - k >= 8 ? 8 : 1;
        vf x[8];
        for (int r = 0; r < rows; r++) x[r] = v_set(a[r * t->a_k]);
        int64_t i = 0;
        for (; rows == 8 && i < whole; i += CI_VL) {
          vf sum = v_load(chain + i);
          CI_R8(CI_STREAM_FMA, 0)
          v_store(chain + i, sum);
        }
        for (; i < n; i += CI_VL) {
          const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;
          vf sum = v_load_part(chain + i, part, 0.0f);
          for (int r = 0; r < rows; r++) sum = v_fma(x[r], v_load_part(b + r * t->b_k + i, part, 0.0f), sum);
          v_store_part(chain + i, part, sum);
        }
        k += rows;
      }
      for (int64_t i = 0; i < n; i += CI_VL) {
        const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;
        const vf sum = v_load_part(chain + i, part, 0.0f);
        v_store_part(c + i, part, first ? sum : v_add(v_load_part(c + i, part, 0.0f), sum));
      }
    }
  }
}

#endif

static void CI_N(columns)(const ci_tile *t) {
  const ptrdiff_t packed_tile_step = t->b_packed_tile != 0 ? t->b_packed_tile : 2 * CI_VL;
  if (t->k == 0 && !t->add) {
    for (int64_t m = 0; m < t->m; m++) memset(t->c + m * t->c_row, 0, (size_t)t->n * sizeof(float));
#if CI_LARGE
  } else if (t->m == 1 && t->b_packed_tile == 0 && t->n >= CI_STREAM / 4 && t->k * t->n >= CI_STREAM_FROM) {
    CI_N(stream)(t);
#endif
  } else if (t->m == 1 || (t->m < CI_NARROW_ROWS && t->k > t->block && t->n <= CI_NARROW)) {
    for (int64_t m = 0; m < t->m; m++) CI_N(gemv)(t, t->a + m * t->a_row, t->c + m * t->c_row, packed_tile_step);
#if CI_LARGE
  } else if (ci_tile_is_narrow(t->m, t->n, t->k) && (t->k > t->block || t->after != NULL) && !t->add) {
    CI_N(narrow)(t, packed_tile_step);
#endif
  } else {
    const int64_t sweeps = (t->m + CI_N(sweep_rows) - 1) / CI_N(sweep_rows);
    const int64_t most = ((t->m + sweeps - 1) / sweeps + CI_TILE_ROWS - 1) / CI_TILE_ROWS * CI_TILE_ROWS;
    for (int64_t m = 0; m < t->m; m += most) {
      const int64_t rows = t->m - m < most ? t->m - m : most;
      CI_N(sweep)(t, t->a + m * t->a_row, t->c + m * t->c_row, rows, packed_tile_step);
    }
  }
}

/* The loops below share one shape: full vectors, then the rest in part. */
#define CI_EACH(n, BODY)                 \
  int64_t i = 0;                         \
  for (; i + CI_VL <= (n); i += CI_VL) { \
    BODY(v_load, v_store)                \
  }                                      \
  if (i < (n)) {                         \
    const int part = (int)((n) - i);     \
    BODY(CI_LOAD_PART, CI_STORE_PART)    \
  }
#define CI_LOAD_PART(p) v_load_part(p, part, 0.0f)
#define CI_STORE_PART(p, x) v_store_part(p, part, x)

#define CI_F_ADDED(get, put)                                  \
  {                                                           \
    const vf sum = v_add(get(y + i), get(c + i));             \
    put(y + i, clamps ? CI_N(clamped)(sum, low, high) : sum); \
  }
#define CI_F_WHOLE(get, put)                                      \
  {                                                               \
    vf sum = get(y + i);                                          \
    if (scales) sum = v_mul(alpha, sum);                          \
    if (c != NULL) {                                              \
      const vf added = t->c_step == 0 ? v_set(*c) : get(c + i);   \
      sum = weighs ? v_fma(beta, added, sum) : v_add(sum, added); \
    }                                                             \
    put(y + i, clamps ? CI_N(clamped)(sum, low, high) : sum);     \
  }
static void CI_N(finish)(const ci_finish *t) {
  const vf alpha = v_set(t->alpha), beta = v_set(t->beta), low = v_set(t->low), high = v_set(t->high);
  const bool scales = t->alpha != 1.0f, weighs = t->beta != 1.0f, clamps = t->clamps;
  const bool adds = CI_LARGE && t->c != NULL && !scales && !weighs && t->c_step == 1; /* the usual case of networks */
  for (int64_t r = 0; r < t->rows; r++) {
    const float *c = t->c == NULL ? NULL : t->c + r * t->c_row;
    float *y = t->y + r * t->y_row;
    if (adds) {
      CI_EACH(t->n, CI_F_ADDED)
    } else {
      CI_EACH(t->n, CI_F_WHOLE)
    }
  }
}
#undef CI_F_ADDED
#undef CI_F_WHOLE

static void CI_N(add)(float *y, const float *x, int64_t n) {
#define CI_BODY(get, put) put(y + i, v_add(get(y + i), get(x + i)));
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

static void CI_N(multiply_add)(float *y, const float *a, const float *b, int64_t n) {
#define CI_BODY(get, put) put(y + i, v_fma(get(a + i), get(b + i), get(y + i)));
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

static void CI_N(largest)(float *y, const float *const *x, int64_t taps, int64_t n) {
#define CI_BODY(get, put)                                       \
  {                                                             \
    vf most = v_set(-INFINITY);                                 \
    for (int64_t k = 0; k < taps; k++) {                        \
      const vf next = get(x[k] + i);                            \
      most = v_select(v_is_nan(next), next, v_max(next, most)); \
    }                                                           \
    put(y + i, v_add(most, v_set(0.0f)));                       \
  }
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

static void CI_N(average)(float *y, const float *const *x, int64_t taps, int64_t n) {
  const vf count = v_set((float)taps);
#define CI_BODY(get, put)                                               \
  {                                                                     \
    vf sum = v_set(0.0f);                                               \
    for (int64_t k = 0; k < taps; k++) sum = v_add(sum, get(x[k] + i)); \
    put(y + i, v_div(sum, count));                                      \
  }
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

/* `rest` is dy until the winning tap has taken it. Adding +0 to a sum that began at +0 changes nothing. */
static void CI_N(route)(float *const *dx, const float *const *x, const float *dy, int64_t taps, int64_t n) {
  const vf zero = v_set(0.0f);
#define CI_BODY(get, put)                                                                                         \
  {                                                                                                               \
    vf most = v_set(-INFINITY), rest = get(dy + i);                                                               \
    for (int64_t k = 0; k < taps; k++) {                                                                          \
      const vf next = get(x[k] + i);                                                                              \
      most = v_select(v_is_nan(next), next, v_max(next, most));                                                   \
    }                                                                                                             \
    for (int64_t k = 0; k < taps; k++) {                                                                          \
      const vf next = get(x[k] + i);                                                                              \
      const vf left =                                                                                             \
          v_select(v_is_nan(most), v_select(v_is_nan(next), zero, rest), v_select(v_gt(most, next), rest, zero)); \
      const vf took =                                                                                             \
          v_select(v_is_nan(most), v_select(v_is_nan(next), rest, zero), v_select(v_gt(most, next), zero, rest)); \
      put(dx[k] + i, v_add(get(dx[k] + i), took));                                                                \
      rest = left;                                                                                                \
    }                                                                                                             \
  }
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

static void CI_N(spread)(float *const *dx, const float *dy, int64_t taps, int64_t n) {
  const vf count = v_set((float)taps);
#define CI_BODY(get, put)                                                            \
  {                                                                                  \
    const vf share = v_div(get(dy + i), count);                                      \
    for (int64_t k = 0; k < taps; k++) put(dx[k] + i, v_add(get(dx[k] + i), share)); \
  }
  CI_EACH(n, CI_BODY)
#undef CI_BODY
}

/* Four chains side by side hide the time of an addition. */
#define CI_W_CLEAR(r, unused) sum[r] = v_set(0.0f);
#define CI_W_PLUS(r, unused) sum[r] = v_fma(v_load(from + (r) * CI_VL), v_load(weight + (r) * CI_VL), sum[r]);
#define CI_W_PUT(r, unused) v_store(y + done + (r) * CI_VL, sum[r]);
static void CI_N(depthwise)(float *y, const float *const *x, const float *w, int64_t taps, int64_t n) {
  int64_t done = 0;
#if CI_VL > 1 && CI_LARGE
  for (vf sum[4]; done + 4 * CI_VL <= n; done += 4 * CI_VL) {
    const float *weight = w + done;
    CI_R4(CI_W_CLEAR, 0)
    for (int64_t k = 0; k < taps; k++, weight += n) {
      const float *from = x[k] + done;
      CI_R4(CI_W_PLUS, 0)
    }
    CI_R4(CI_W_PUT, 0)
  }
#endif
#define CI_BODY(get, put)                                                                     \
  {                                                                                           \
    const int64_t at = done + i;                                                              \
    vf sum = v_set(0.0f);                                                                     \
    for (int64_t k = 0; k < taps; k++) sum = v_fma(get(x[k] + at), get(w + k * n + at), sum); \
    put(y + at, sum);                                                                         \
  }
  CI_EACH(n - done, CI_BODY)
#undef CI_BODY
}

static const struct ci_isa_linear CI_N(isa_linear) = {.transpose = CI_N(transpose),
                                                      .finish = CI_N(finish),
                                                      .add = CI_N(add),
                                                      .multiply_add = CI_N(multiply_add),
#if CI_HAS_GEMM
                                                      .columns = CI_N(columns),
                                                      .dots = CI_N(dots),
                                                      .plain_double = CI_N(plain_double),
                                                      .plain_int = CI_N(plain_uint32_t),
                                                      .plain_rows = CI_N(PLAIN_ROWS),
#endif
#if CI_HAS_CONVOLUTIONS
                                                      .conv_rows = CI_N(conv_rows),
#if CI_LARGE
                                                      .conv_threes = CI_N(conv_threes),
                                                      .conv_pixels = CI_N(conv_pixels),
                                                      .depthwise_3x3 = CI_N(depthwise_3x3),
#endif
                                                      .conv_turn = CI_N(conv_turn),
                                                      .conv_largest = CI_N(conv_largest),
                                                      .depthwise = CI_N(depthwise),
                                                      .depthwise_transposed = CI_N(depthwise_transposed),
#endif
#if CI_HAS_CONVOLUTIONS || CI_HAS_POOLS
                                                      .pad = CI_N(pad),
#endif
#if CI_HAS_POOLS
                                                      .largest = CI_N(largest),
                                                      .average = CI_N(average),
                                                      .largest_plane = CI_N(largest_plane),
                                                      .average_plane = CI_N(average_plane),
                                                      .average_whole = CI_N(average_whole),
#if CI_LARGE
                                                      .average_transposed = CI_N(average_transposed),
#endif
#endif
#if CI_HAS(training)
                                                      .route = CI_N(route),
                                                      .spread = CI_N(spread),
#endif
                                                      .packed_tile_width = 2 * CI_VL,
                                                      .lanes = CI_VL};

#undef CI_TILE_ROWS
#undef CI_BLOCKS_ROWS
#undef CI_GROUP
