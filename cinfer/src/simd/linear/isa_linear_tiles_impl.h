/* isa_linear_tiles_impl.h - register tiles of the column form: included once per instruction set.
 *
 * CI_TILE(R, V): R rows by V vectors, one chain each, through memory from block to block. CI_BLOCKS(R, V): the same
 * with all blocks inside, chain, total and the steps after it in registers, for few columns. Two vectors of columns
 * are a packed tile: b's packed tiles follow each other in its rows, or are anywhere (ci_tile.b_packed_tile). Rows of a
 * are reached by one pointer per three rows: the addressing modes of x86 do the rest.
 */
/* clang-format off */
struct CI_N(tile_args) {
  const float *a, *b;
  float *c;
  /* next_k: b_k of the next packed tile, which three or four vectors read */
  ptrdiff_t a_row, a_k, b_k, b_packed_tile, next_k, c_row;
  int64_t k, block;
  const char *ahead; /* the data of the next tiles, prefetched meanwhile: so many bytes a step */
  ptrdiff_t ahead_step;
  const ci_after *after; /* of blocks: the steps after the sum, or NULL */
  const float *added;    /* after's from the first of these columns on, or NULL */
  int part; /* columns of the last vector, 1..CI_VL */
  bool add;
  bool far; /* c is in no near cache: a tile's rows are fetched before it is computed */
};

#define CI_T_ROW(r, V)                                   \
  if ((r) % 3 == 0) row[(r) / 3] = t->a + (r) * a_row;   \
  CI_V##V(CI_T_ZERO, r)
#define CI_T_ZERO(r, v) sum[r][v] = v_set(0.0f);
#define CI_T_B(v) (((v) < 2 ? b : next) + (v) % 2 * CI_VL)
#define CI_T_LOAD(last, v) w[v] = (v) == (last) ? v_load_part(CI_T_B(v), part, 0.0f) : v_load(CI_T_B(v));
#define CI_T_STEP(r, V)                                     \
  {                                                         \
    const vf x = v_set(row[(r) / 3][(r) % 3 * a_row]);      \
    CI_V##V(CI_T_FMA, r)                                    \
  }
#define CI_T_FMA(r, v) sum[r][v] = v_fma(x, w[v], sum[r][v]);
#define CI_T_NEXT(r, V) \
  if ((r) % 3 == 0) row[(r) / 3] += a_k;
/* One chain over n steps; `last` is the vector that is loaded in part, -1: none. */
#define CI_T_CHAIN(R, V, n, last)          \
  for (int64_t step = (n); step > 0; step--) { \
    vf w[V];                               \
    CI_PREFETCH(ahead);                    \
    ahead += ahead_step;                   \
    CI_V##V(CI_T_LOAD, last)               \
    CI_R##R(CI_T_STEP, V)                  \
    CI_R##R(CI_T_NEXT, V)                  \
    b += b_k;                              \
    next += next_k;                        \
  }
#define CI_T_OUT(r, V)                       \
  {                                          \
    float *c = t->c + (r) * t->c_row;        \
    if (t->add) {                            \
      CI_V##V(CI_T_TOTAL, r)                 \
    }                                        \
    CI_V##V(CI_T_STORE, r)                   \
  }
#define CI_T_PUT_ROW(r, V)                \
  {                                       \
    float *c = t->c + (r) * t->c_row;     \
    CI_V##V(CI_T_STORE, r)                \
  }
#define CI_T_TOTAL(r, v)                                                                                     \
  sum[r][v] = v_add((v) == last ? v_load_part(c + (v) * CI_VL, part, 0.0f) : v_load(c + (v) * CI_VL), sum[r][v]);
#define CI_T_STORE(r, v)                                  \
  if ((v) == last) {                                      \
    v_store_part(c + (v) * CI_VL, part, sum[r][v]);       \
  } else {                                                \
    v_store(c + (v) * CI_VL, sum[r][v]);                  \
  }

#define CI_TILE(R, V)                                                    \
  static void CI_N(tile_##R##x##V)(const struct CI_N(tile_args) *t) {    \
    const ptrdiff_t a_row = t->a_row, a_k = t->a_k, b_k = t->b_k, next_k = t->next_k, ahead_step = t->ahead_step; \
    const char *ahead = t->ahead; \
    const float *b = t->b, *next = b + t->b_packed_tile, *row[(R + 2) / 3];    \
    const int part = t->part;                                            \
    vf sum[R][V];                                                        \
    CI_R##R(CI_T_ROW, V)                                                 \
    if (CI_VL == 1 || part == CI_VL) {                                  \
      const int last = -1;                                               \
      CI_T_CHAIN(R, V, t->k, last)                                       \
      CI_R##R(CI_T_OUT, V)                                               \
    } else {                                                             \
      const int last = V - 1;                                            \
      CI_T_CHAIN(R, V, t->k, last)                                       \
      CI_R##R(CI_T_OUT, V)                                               \
    }                                                                    \
  }

#define CI_T_CLEAR(r, V) CI_V##V(CI_T_ZERO, r)
#define CI_T_FIRST(r, V) CI_V##V(CI_T_MOVE, r)
#define CI_T_MOVE(r, v) total[r][v] = sum[r][v];
#define CI_T_MORE(r, V) CI_V##V(CI_T_PLUS, r)
#define CI_T_PLUS(r, v) total[r][v] = v_add(total[r][v], sum[r][v]);
#define CI_T_BACK(r, V) CI_V##V(CI_T_RETURN, r)
#define CI_T_RETURN(r, v) sum[r][v] = total[r][v];
#define CI_T_ALL_BLOCKS(R, V)                                               \
  for (int64_t left = t->k; left > 0; left -= t->block) {                   \
    CI_T_CHAIN(R, V, left < t->block ? left : t->block, last)               \
    if (left == t->k) {                                                     \
      CI_R##R(CI_T_FIRST, V)                                                \
    } else {                                                                \
      CI_R##R(CI_T_MORE, V)                                                 \
    }                                                                       \
    CI_R##R(CI_T_CLEAR, V)                                                  \
  }                                                                         \
  CI_R##R(CI_T_BACK, V)
#define CI_T_ADDED(unused, v) \
  added[v] = t->added == NULL ? v_set(-0.0f) : v_load_part(t->added + (v) * CI_VL, (v) == count - 1 ? part : CI_VL, 0.0f);
#define CI_T_ADD(r, V) CI_V##V(CI_T_WITH, r)
#define CI_T_WITH(r, v) sum[r][v] = v_add(sum[r][v], added[v]);
#define CI_T_CLAMP(r, V) CI_V##V(CI_T_CLAMPED, r)
#define CI_T_CLAMPED(r, v) sum[r][v] = CI_N(clamped)(sum[r][v], low, high);
#define CI_T_AFTER(R, V)                                                    \
  if (t->after != NULL) {                                                   \
    enum { count = V };                                                     \
    vf added[V];                                                            \
    CI_V##V(CI_T_ADDED, 0)                                                  \
    CI_R##R(CI_T_ADD, V)                                                    \
    if (t->after->clamps) {                                                 \
      const vf low = v_set(t->after->low), high = v_set(t->after->high);    \
      CI_R##R(CI_T_CLAMP, V)                                                \
    }                                                                       \
  }

#define CI_BLOCKS(R, V)                                                  \
  static void CI_N(blocks_##R##x##V)(const struct CI_N(tile_args) *t) {  \
    const ptrdiff_t a_row = t->a_row, a_k = t->a_k, b_k = t->b_k, next_k = t->next_k, ahead_step = t->ahead_step; \
    const char *ahead = t->ahead; \
    const float *b = t->b, *next = b + t->b_packed_tile, *row[(R + 2) / 3];    \
    const int part = t->part;                                            \
    vf sum[R][V], total[R][V];                                           \
    CI_R##R(CI_T_ROW, V)                                                 \
    CI_R##R(CI_T_FIRST, V)                                               \
    if (CI_VL == 1 || part == CI_VL) {                                  \
      const int last = -1;                                               \
      CI_T_ALL_BLOCKS(R, V)                                              \
    } else {                                                             \
      const int last = V - 1;                                            \
      CI_T_ALL_BLOCKS(R, V)                                              \
    }                                                                    \
    CI_T_AFTER(R, V)                                                     \
    if (CI_VL == 1 || part == CI_VL) {                                  \
      const int last = -1;                                               \
      CI_R##R(CI_T_PUT_ROW, V)                                           \
    } else {                                                             \
      const int last = V - 1;                                            \
      CI_R##R(CI_T_PUT_ROW, V)                                           \
    }                                                                    \
  }

typedef void (*CI_N(tile_fn))(const struct CI_N(tile_args) *t);

CI_TILE(1, 1) CI_TILE(1, 2) CI_TILE(1, 4)
CI_TILE(2, 1) CI_TILE(2, 2) CI_TILE(2, 4)
CI_BLOCKS(1, 1) CI_BLOCKS(2, 1) CI_BLOCKS(3, 1) CI_BLOCKS(1, 2) CI_BLOCKS(2, 2) CI_BLOCKS(3, 2)
#if CI_VL > 1
CI_TILE(3, 1) CI_TILE(3, 2) CI_TILE(3, 4) CI_TILE(4, 1) CI_TILE(4, 2) CI_TILE(6, 1) CI_TILE(6, 2)
CI_BLOCKS(4, 1) CI_BLOCKS(6, 1)
#endif
#if CI_MANY_REGISTERS
CI_TILE(8, 1) CI_TILE(12, 1)
CI_TILE(8, 2) CI_TILE(12, 2) CI_TILE(14, 2)
CI_TILE(1, 3) CI_TILE(2, 3) CI_TILE(4, 3) CI_TILE(8, 3)
CI_TILE(4, 4) CI_TILE(6, 4)
CI_BLOCKS(8, 1)
CI_BLOCKS(4, 2) CI_BLOCKS(6, 2)
#endif

/* Some heights are left out for size: a caller takes the next smaller one. [rows - 1][vectors - 1]. Three vectors are
 * the last ones of an odd number: a single one would wait for the elements of a. */
#undef CI_TILES2
#undef CI_TILES3
#undef CI_TILES4
#define CI_TILES2(R) [0] = CI_N(tile_##R##x1), [1] = CI_N(tile_##R##x2)
#if CI_LARGE
#define CI_TILES4(R) CI_TILES2(R), [3] = CI_N(tile_##R##x4)
#else
#define CI_TILES4 CI_TILES2
#endif
#if CI_MANY_REGISTERS
#define CI_TILES3(R) [2] = CI_N(tile_##R##x3),
#else
#define CI_TILES3(R)
#endif
static const CI_N(tile_fn) CI_N(tile_table)[CI_TILE_ROWS][4] = {
    [0] = {CI_TILES3(1) CI_TILES4(1)},
    [1] = {CI_TILES3(2) CI_TILES4(2)},
#if CI_VL > 1
    [2] = {CI_TILES4(3)},
#endif
#if CI_MANY_REGISTERS
    [3] = {CI_TILES3(4) CI_TILES4(4)},
    [5] = {CI_TILES4(6)},
    [7] = {CI_TILES3(8) CI_TILES2(8)},
    [11] = {CI_TILES2(12)},
    [13] = {[1] = CI_N(tile_14x2)},
#elif CI_VL > 1
    [3] = {CI_TILES2(4)},
    [5] = {CI_TILES2(6)},
#endif
};
static const CI_N(tile_fn) CI_N(blocks_table)[2][CI_BLOCKS_ROWS] = { /* [vectors - 1][rows - 1] */
    {[0] = CI_N(blocks_1x1), [1] = CI_N(blocks_2x1), [2] = CI_N(blocks_3x1),
#if CI_VL > 1
     [3] = CI_N(blocks_4x1), [5] = CI_N(blocks_6x1),
#endif
#if CI_MANY_REGISTERS
     [7] = CI_N(blocks_8x1)
#endif
    },
    {[0] = CI_N(blocks_1x2), [1] = CI_N(blocks_2x2), [2] = CI_N(blocks_3x2),
#if CI_MANY_REGISTERS
     [3] = CI_N(blocks_4x2), [5] = CI_N(blocks_6x2)
#endif
    }};
static const int8_t CI_N(blocks_most)[2] = {CI_BLOCKS_ROWS, CI_MANY_REGISTERS ? 6 : 3};
