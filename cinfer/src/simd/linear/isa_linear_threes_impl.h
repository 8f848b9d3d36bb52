/* isa_linear_threes_impl.h - convolution, outputs as lanes, windows three wide: included once per instruction set.
 *
 * R neighbouring pixels by V vectors of outputs stay in registers. A number of x is multiplied by all three taps: it
 * is the first one's for the next pixel, the last one's for the pixel before, which keeps the order of the taps.
 */
/* clang-format off */
struct CI_N(threes_args) {
  const float *x, *w; /* x: where the first pixel finds its middle tap */
  float *c;
  ptrdiff_t x_plane, x_down, w_plane, c_step;
  int64_t channels, taps;
  bool left, right; /* whether there is a number before the first pixel, after the last */
};

#define CI_3_LOAD(tap, v) w[tap][v] = v_load(weights + (tap * vectors + (v)) * CI_VL);
#define CI_3_FMA(pixel, tap, v) sum[pixel][v] = v_fma(x, w[tap][v], sum[pixel][v]);
#define CI_3_BEHIND(r, v) CI_3_FMA((r) + 1 < pixels ? (r) + 1 : 0, 0, v)
#define CI_3_HERE(r, v) CI_3_FMA(r, 1, v)
#define CI_3_BEFORE(r, v) CI_3_FMA((r) > 0 ? (r) - 1 : 0, 2, v)
#define CI_3_STEP(r, V)                                  \
  {                                                      \
    const vf x = v_set(at[r]);                           \
    if ((r) + 1 < pixels) { CI_V##V(CI_3_BEHIND, r) }    \
    CI_V##V(CI_3_HERE, r)                                \
    if ((r) > 0) { CI_V##V(CI_3_BEFORE, r) }             \
  }
#define CI_3_OUT(r, V) { float *c = t->c + (r) * t->c_step; CI_V##V(CI_3_STORE, r) }
#define CI_3_STORE(r, v) v_store(c + (v) * CI_VL, sum[r][v]);
#define CI_THREES(R, V)                                                       \
  static void CI_N(threes_##R##x##V)(const struct CI_N(threes_args) *t) {     \
    enum { pixels = R, vectors = V };                                         \
    const ptrdiff_t x_down = t->x_down;                                       \
    const int64_t taps = t->taps;                                             \
    const bool left = t->left, right = t->right;                              \
    const float *plane = t->x, *of_plane = t->w;                              \
    vf sum[R][V];                                                             \
    CI_R##R(CI_T_CLEAR, V)                                                    \
    for (int64_t c = t->channels; c > 0; c--, plane += t->x_plane, of_plane += t->w_plane) { \
      const float *at = plane, *weights = of_plane;                           \
      for (int64_t i = taps; i > 0; i--, at += x_down, weights += 3 * V * CI_VL) { \
        vf w[3][V];                                                           \
        CI_V##V(CI_3_LOAD, 0) CI_V##V(CI_3_LOAD, 1) CI_V##V(CI_3_LOAD, 2)     \
        if (left) { const vf x = v_set(at[-1]); CI_V##V(CI_3_BEHIND, -1) }    \
        CI_R##R(CI_3_STEP, V)                                                 \
        if (right) { const vf x = v_set(at[R]); CI_V##V(CI_3_BEFORE, R) }     \
      }                                                                       \
    }                                                                         \
    CI_R##R(CI_3_OUT, V)                                                      \
  }

CI_THREES(1, 1) CI_THREES(1, 2) CI_THREES(2, 1) CI_THREES(2, 2)
#if CI_VL > 1
CI_THREES(3, 1) CI_THREES(3, 2) CI_THREES(4, 1) CI_THREES(4, 2)
#endif
#if CI_MANY_REGISTERS
CI_THREES(5, 1) CI_THREES(5, 2) CI_THREES(6, 1) CI_THREES(6, 2) CI_THREES(7, 1) CI_THREES(7, 2) CI_THREES(8, 1)
CI_THREES(8, 2)
#endif
typedef void (*CI_N(threes_fn))(const struct CI_N(threes_args) *t);

#define CI_3_BOTH(R) {CI_N(threes_##R##x1), CI_N(threes_##R##x2)}
static const CI_N(threes_fn) CI_N(threes_table)[][2] = { /* [pixels - 1][vectors - 1] */
    CI_3_BOTH(1), CI_3_BOTH(2),
#if CI_VL > 1
    CI_3_BOTH(3), CI_3_BOTH(4),
#endif
#if CI_MANY_REGISTERS
    CI_3_BOTH(5), CI_3_BOTH(6), CI_3_BOTH(7), CI_3_BOTH(8),
#endif
};
/* clang-format on */

static void CI_N(conv_threes)(const ci_conv_threes *t) {
  const int64_t most = sizeof CI_N(threes_table) / sizeof *CI_N(threes_table), wide = t->vectors * CI_VL;
  struct CI_N(threes_args) s = {.c = t->c,
                                .x_plane = t->x_plane,
                                .x_down = (ptrdiff_t)(t->dilation * t->x_row),
                                .w_plane = (ptrdiff_t)(3 * t->taps * wide),
                                .c_step = t->c_step,
                                .channels = t->channels};
  for (int64_t row = t->first; row < t->first + t->rows; row++) {
    const int64_t top = row * t->stride - t->above, remaining = t->height - top;
    const int64_t low = top < 0 ? (-top + t->dilation - 1) / t->dilation : 0;
    const int64_t high = remaining <= 0 ? 0 : (remaining + t->dilation - 1) / t->dilation;
    const int64_t last = high < t->taps ? high : t->taps, first = low < last ? low : last;
    s.taps = last - first;
    s.w = t->w + first * 3 * wide;
    int64_t column = 0;
    for (int64_t tiles = (t->pixels + most - 1) / most; tiles > 0; tiles--) {
      const int64_t left = t->pixels - column, pixels = tiles == 1 ? left : (left + tiles - 1) / tiles;
      const int64_t at = column - t->before; /* of the first tap */
      s.left = at >= 0;
      s.right = at + pixels + 1 < t->width;
      s.x = s.taps > 0 ? t->x + (top + first * t->dilation) * t->x_row + at + 1 : t->x;
      CI_N(threes_table)[pixels - 1][t->vectors - 1](&s);
      s.c += pixels * t->c_step;
      column += pixels;
    }
  }
}
