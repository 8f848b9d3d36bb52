/* isa_linear_conv_impl.h - convolution with outputs as lanes: included once per instruction set.
 *
 * R pixels by V vectors of outputs stay in registers; a pixel's term is one number that all lanes multiply, found
 * through the offsets of the terms, so that windows, strides and layouts of the image cost nothing.
 */
/* clang-format off */
struct CI_N(conv_args) {
  const float *x, *w;
  float *c;
  const int32_t *offset;
  ptrdiff_t x_step, c_row;
  int64_t k;
  int part; /* lanes of the last vector, 1..CI_VL */
  bool add;
};

#define CI_C_LOAD(unused, v) w[v] = v_load(weights + (v) * CI_VL);
#define CI_C_STEP(r, V)                                                      \
  {                                                                          \
    const vf x = v_set((r) < 8 ? near[(r) * step] : far[((r) - 8) * step]);  \
    CI_V##V(CI_T_FMA, r)                                                     \
  }
#define CI_CONV(R, V)                                                     \
  static void CI_N(conv_##R##x##V)(const struct CI_N(conv_args) *t) {     \
    const ptrdiff_t step = t->x_step;                                     \
    const float *weights = t->w;                                          \
    const int part = t->part, last = part < CI_VL ? V - 1 : -1;           \
    vf sum[R][V];                                                         \
    CI_R##R(CI_T_CLEAR, V)                                                \
    for (int64_t k = 0; k < t->k; k++) {                                  \
      const float *near = t->x + t->offset[k];                            \
      CI_C_FAR(R)                                                         \
      vf w[V];                                                            \
      CI_V##V(CI_C_LOAD, 0)                                               \
      CI_R##R(CI_C_STEP, V)                                               \
      weights += V * CI_VL;                                               \
    }                                                                     \
    CI_R##R(CI_T_OUT, V)                                                  \
  }
#define CI_C_FAR(R) const float *far = R > 8 ? near + 8 * step : near; (void)far;

CI_CONV(1, 1) CI_CONV(1, 2) CI_CONV(2, 1) CI_CONV(2, 2)
#if CI_VL > 1
CI_CONV(3, 1) CI_CONV(3, 2) CI_CONV(4, 1) CI_CONV(4, 2) CI_CONV(6, 1) CI_CONV(6, 2)
#endif
#if CI_MANY_REGISTERS
CI_CONV(7, 1) CI_CONV(7, 2) CI_CONV(8, 1) CI_CONV(8, 2) CI_CONV(10, 1) CI_CONV(10, 2) CI_CONV(12, 1) CI_CONV(12, 2) CI_CONV(14, 1) CI_CONV(14, 2)
#endif
typedef void (*CI_N(conv_fn))(const struct CI_N(conv_args) *t);

/* [pixels - 1][vectors - 1]; a caller takes the next smaller one. */
#define CI_C_BOTH(R) {CI_N(conv_##R##x1), CI_N(conv_##R##x2)}
static const CI_N(conv_fn) CI_N(conv_table)[CI_TILE_ROWS][2] = {
    [0] = CI_C_BOTH(1), [1] = CI_C_BOTH(2),
#if CI_VL > 1
    [2] = CI_C_BOTH(3), [3] = CI_C_BOTH(4), [5] = CI_C_BOTH(6),
#endif
#if CI_MANY_REGISTERS
    [6] = CI_C_BOTH(7), [7] = CI_C_BOTH(8), [9] = CI_C_BOTH(10), [11] = CI_C_BOTH(12), [13] = CI_C_BOTH(14),
#endif
};
/* clang-format on */

static void CI_N(conv_row)(const ci_conv_row *t) {
  struct CI_N(conv_args) s = {.x = t->x, .w = t->w, .c = t->c, .offset = t->offset, .x_step = t->x_step, .c_row = t->c_step, .k = t->k, .part = t->lanes - (t->vectors - 1) * CI_VL, .add = t->add};
  for (int64_t left = t->pixels; left > 0;) {
    const int64_t tiles = (left + CI_TILE_ROWS - 1) / CI_TILE_ROWS;
    int64_t pixels = (left + tiles - 1) / tiles;
    while (CI_N(conv_table)[pixels - 1][0] == NULL) pixels--;
    CI_N(conv_table)[pixels - 1][t->vectors - 1](&s);
    s.x += pixels * s.x_step;
    s.c += pixels * s.c_row;
    left -= pixels;
  }
}

static void CI_N(conv_turn)(float *y, ptrdiff_t y_row, const float *c, ptrdiff_t c_step, const float *bias,
                            int64_t pixels, int lanes) {
  for (int lane = 0; lane < lanes; lane += CI_VL) {
    const int rows = lanes - lane < CI_VL ? lanes - lane : CI_VL;
    const vf added = v_load_part(bias == NULL ? c : bias + lane, bias == NULL ? 0 : rows, 0.0f);
    for (int64_t pixel = 0; pixel < pixels; pixel += CI_VL) {
      const int count = pixels - pixel < CI_VL ? (int)(pixels - pixel) : CI_VL;
      vf v[CI_VL];
      for (int i = 0; i < CI_VL; i++) {
        v[i] = v_load(c + (pixel + (i < count ? i : 0)) * c_step + lane);
        if (bias != NULL) v[i] = v_add(v[i], added);
      }
      v_turn(v);
      float *to = y + lane * y_row + pixel;
      if (count == CI_VL && rows == CI_VL) {
        for (int i = 0; i < CI_VL; i++) v_store(to + i * y_row, v[i]);
      } else {
        for (int i = 0; i < rows; i++) v_store_part(to + i * y_row, count, v[i]);
      }
    }
  }
}

static void CI_N(pad_rows)(float *y, ptrdiff_t y_row, const float *x, ptrdiff_t x_row, int64_t rows, int64_t left,
                           int64_t n, float fill) {
  const vf none = v_set(fill);
  for (; rows > 0; rows--, y += y_row, x += x_row) {
    for (int64_t i = 0; i < left; i += CI_VL) v_store(y + i, none);
    float *to = y + left;
    int64_t i = 0;
    for (; i + CI_VL <= n; i += CI_VL) v_store(to + i, v_load(x + i));
    if (i < n) v_store(to + i, v_load_part(x + i, (int)(n - i), fill)), i += CI_VL;
    for (; i < y_row - left; i += CI_VL) v_store(to + i, none);
  }
}
