/* isa_linear_gemv_impl.h - GEMV, one row by a matrix, bound by the memory bandwidth of b: included once per
 * instruction set.
 *
 * A stream is one chain for each column of a packed tile over a block of K. Up to four run side by side, the blocks of
 * one tile or one block of several tiles, so that chains hide the latency and b is read at four addresses at a time.
 */
/* clang-format off */
struct CI_N(stream) {
  const float *a, *b;
  float *c;
  bool add; /* c holds the total of the blocks before */
};

struct CI_N(gemv_args) {
  struct CI_N(stream) s[4];
  int64_t steps[4]; /* of each stream, descending */
  ptrdiff_t a_k, b_k;
  const float *next; /* of a third vector, that of the first stream; from stream to stream next_block further */
  ptrdiff_t next_k, next_block;
  int part; /* columns of the last vector, 1..CI_VL */
};

#define CI_G_ZERO(s, v) sum[s][v] = v_set(0.0f);
#define CI_G_CLEAR(i, V) CI_V##V(CI_G_ZERO, i) \
  const float *const a##i = t->s[i].a, *const b##i = t->s[i].b, *const next##i = (V) > 2 ? t->next + (i) * t->next_block : NULL;
#define CI_G_FMA(s, v) \
  sum[s][v] = v_fma(x, (v) == last ? v_load_part(CI_T_B(v), part, 0.0f) : v_load(CI_T_B(v)), sum[s][v]);
#define CI_G_STEP(i, V)             \
  {                                 \
    const vf x = v_set(a##i[a_at]); \
    const float *b = b##i + b_at, *next = (V) > 2 ? next##i + next_at : b; \
    (void)next;                     \
    CI_V##V(CI_G_FMA, i)            \
  }
/* The first U streams until the shortest of them ends. */
#define CI_G_CHAINS(U, V)                        \
  for (; step < t->steps[(U) - 1]; step++) {     \
    CI_R##U(CI_G_STEP, V)                        \
    a_at += a_k;                                 \
    b_at += b_k;                                 \
    if ((V) > 2) next_at += next_k;              \
  }
#define CI_G_OUT(i, V)                        \
  if (t->steps[i] > 0) {                      \
    float *c = t->s[i].c;                     \
    if (t->s[i].add) {                        \
      CI_V##V(CI_T_TOTAL, i)                  \
    }                                         \
    CI_V##V(CI_T_STORE, i)                    \
  }
#define CI_G_BODY(V)    \
  CI_G_CHAINS(4, V)     \
  CI_G_CHAINS(3, V)     \
  CI_G_CHAINS(2, V)     \
  CI_G_CHAINS(1, V)     \
  CI_R4(CI_G_OUT, V)
#define CI_GEMV(V)                                                          \
  static void CI_N(gemv_##V)(const struct CI_N(gemv_args) *t) {             \
    const ptrdiff_t a_k = t->a_k, b_k = t->b_k, next_k = (V) > 2 ? t->next_k : 0; \
    const int part = t->part;                                               \
    ptrdiff_t a_at = 0, b_at = 0, next_at = 0;                              \
    int64_t step = 0;                                                       \
    vf sum[4][V];                                                           \
    CI_R4(CI_G_CLEAR, V)                                                    \
    if (CI_VL == 1 || (CI_LARGE && part == CI_VL)) {                        \
      const int last = -1;                                                  \
      CI_G_BODY(V)                                                          \
    } else {                                                                \
      const int last = V - 1;                                               \
      CI_G_BODY(V)                                                          \
    }                                                                       \
  }
CI_GEMV(1) CI_GEMV(2)
#if CI_LARGE
CI_GEMV(3)
#define CI_GEMV_3 CI_N(gemv_3)
#else
#define CI_GEMV_3 CI_N(gemv_2)
#endif
    /* clang-format on */

    /* Streams are gathered until there are four, or one of another width comes, and then run. */
    static void CI_N(gemv_flush)(struct CI_N(gemv_args) * g, int *count, int64_t vectors) {
  if (*count == 0) return;
  for (int i = *count; i < 4; i++) {
    g->s[i].a = g->s[0].a;
    g->s[i].b = g->s[0].b;
    g->steps[i] = 0;
  }
  (vectors == 3 ? CI_GEMV_3 : vectors == 2 ? CI_N(gemv_2) : CI_N(gemv_1))(g);
  *count = 0;
}

/* b_k of a packed tile from which on there are so many columns. */
CI_INLINE ptrdiff_t CI_N(packed_tile_row)(const ci_tile *t, int64_t left) {
  return t->b_packed_tile == 0 || left >= 2 * CI_VL ? t->b_k : (ptrdiff_t)ci_packed_tile_row(left, 2 * CI_VL);
}

/* Row a by all columns. Packed tiles of two full vectors come in groups, block by block; the rest of the columns comes
 * alone, but a last single vector of many blocks with the tile before it: its chains alone would wait. */
static void CI_N(gemv)(const ci_tile *t, const float *a, float *c, ptrdiff_t b_packed_tile) {
  const int64_t packed_tile_width = 2 * CI_VL, group = t->k > 2 * t->block ? 1 : t->k > t->block ? 2 : 4;
  struct CI_N(gemv_args) g; /* filled field by field: a vector store cannot be forwarded to loads of its parts */
  g.a_k = t->a_k;
  for (int64_t first = 0, columns; first < t->n; first += columns) {
    const int64_t left = t->n - first;
    const bool three = CI_LARGE && group == 1 && left > packed_tile_width && left <= packed_tile_width + CI_VL,
               whole = left >= packed_tile_width && !three;
    int64_t packed_tiles = whole ? left / packed_tile_width : 1;
    if (packed_tiles > group) packed_tiles = group;
    columns = whole ? packed_tiles * packed_tile_width : left;
    const int64_t vectors = whole ? 2 : (columns + CI_VL - 1) / CI_VL;
    int count = 0;
    g.part = whole ? CI_VL : (int)((left - 1) % CI_VL + 1);
    g.b_k = CI_N(packed_tile_row)(t, left);
    if (vectors == 3) g.next_k = CI_N(packed_tile_row)(t, left - packed_tile_width);
    if (vectors == 3) g.next_block = (ptrdiff_t)t->block * g.next_k;
    for (int64_t k = 0; k < t->k; k += t->block) {
      for (int64_t p = 0; p < packed_tiles; p++) {
        struct CI_N(stream) *stream = &g.s[count];
        g.steps[count++] = t->k - k < t->block ? t->k - k : t->block;
        stream->a = a + k * t->a_k;
        stream->b = t->b + (first / packed_tile_width + p) * b_packed_tile + k * g.b_k;
        if (vectors == 3 && count == 1) g.next = t->b + (first / packed_tile_width + 1) * b_packed_tile + k * g.next_k;
        stream->c = c + first + p * packed_tile_width;
        stream->add = t->add || k > 0;
        if (count == 4) CI_N(gemv_flush)(&g, &count, vectors);
      }
    }
    CI_N(gemv_flush)(&g, &count, vectors);
  }
}
#undef CI_GEMV_3
