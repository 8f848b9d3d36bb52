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
  ptrdiff_t x_step, x_far, c_row;
  const float *ahead; /* called into the cache: ahead_step numbers a term */
  ptrdiff_t ahead_step;
  int64_t k;
  int part; /* lanes of the last vector, 1..CI_VL */
  bool add;
};

#define CI_C_LOAD(unused, v) w[v] = v_load(weights + (v) * CI_VL);
#define CI_C_STEP(r, V)                                                      \
  {                                                                          \
    const vf x = v_set((r) < half ? near[(r) * step] : far[((r) - half) * step]);  \
    CI_V##V(CI_T_FMA, r)                                                     \
  }
#define CI_CONV(R, V)                                                     \
  static void CI_N(conv_##R##x##V)(const struct CI_N(conv_args) *t) {     \
    enum { half = (R + 1) / 2 };                                          \
    const ptrdiff_t step = t->x_step;                                     \
    const float *weights = t->w, *ahead = t->ahead;                       \
    const int part = t->part;                                             \
    vf sum[R][V];                                                         \
    CI_R##R(CI_T_CLEAR, V)                                                \
    for (int64_t k = 0; k < t->k; k++) {                                  \
      const float *near = t->x + t->offset[k];                            \
      const float *far = near + t->x_far;                                 \
      vf w[V];                                                            \
      CI_V##V(CI_C_LOAD, 0)                                               \
      CI_R##R(CI_C_STEP, V)                                               \
      CI_PREFETCH_NEAR(ahead);                                                 \
      ahead += t->ahead_step;                                             \
      weights += V * CI_VL;                                               \
    }                                                                     \
    if (CI_VL == 1 || part == CI_VL) {                                    \
      const int last = -1;                                                \
      CI_R##R(CI_T_OUT, V)                                                \
    } else {                                                              \
      const int last = V - 1;                                             \
      CI_R##R(CI_T_OUT, V)                                                \
    }                                                                     \
  }

CI_CONV(1, 1) CI_CONV(1, 2) CI_CONV(2, 1) CI_CONV(2, 2)
#if CI_VL > 1
CI_CONV(3, 1) CI_CONV(3, 2) CI_CONV(4, 1) CI_CONV(4, 2) CI_CONV(5, 1) CI_CONV(5, 2) CI_CONV(6, 1) CI_CONV(6, 2)
#endif
#if CI_MANY_REGISTERS
CI_CONV(7, 1) CI_CONV(7, 2) CI_CONV(8, 1) CI_CONV(8, 2) CI_CONV(9, 1) CI_CONV(9, 2) CI_CONV(10, 1) CI_CONV(10, 2)
CI_CONV(11, 1) CI_CONV(11, 2) CI_CONV(12, 1) CI_CONV(12, 2) CI_CONV(13, 1) CI_CONV(13, 2) CI_CONV(14, 1) CI_CONV(14, 2)
#endif
typedef void (*CI_N(conv_fn))(const struct CI_N(conv_args) *t);

#if CI_MANY_REGISTERS
enum { CI_N(conv_most) = 14 };
#elif CI_VL > 1
enum { CI_N(conv_most) = 6 };
#else
enum { CI_N(conv_most) = 2 };
#endif
#define CI_C_BOTH(R) {CI_N(conv_##R##x1), CI_N(conv_##R##x2)}
static const CI_N(conv_fn) CI_N(conv_table)[CI_N(conv_most)][2] = { /* [pixels - 1][vectors - 1] */
    CI_C_BOTH(1), CI_C_BOTH(2),
#if CI_VL > 1
    CI_C_BOTH(3), CI_C_BOTH(4), CI_C_BOTH(5), CI_C_BOTH(6),
#endif
#if CI_MANY_REGISTERS
    CI_C_BOTH(7), CI_C_BOTH(8), CI_C_BOTH(9), CI_C_BOTH(10), CI_C_BOTH(11), CI_C_BOTH(12), CI_C_BOTH(13), CI_C_BOTH(14),
#endif
};
/* clang-format on */

static void CI_N(conv_rows)(const ci_conv_rows *t) {
  struct CI_N(conv_args) s = {.w = t->w,
                              .c = t->c,
                              .offset = t->offset,
                              .x_step = t->x_step,
                              .c_row = t->c_step,
                              .ahead = t->ahead,
                              .k = t->k,
                              .part = t->lanes - (t->vectors - 1) * CI_VL,
                              .add = t->add};
  const int most = CI_N(conv_most), width = t->vectors * CI_VL;
  const bool narrow = 2 * t->pixels <= most; /* two rows are the halves of a tile */
  int before = 0;                            /* pixels of the last tile */
  for (int row = 0, rows; row < t->rows; row += rows) {
    rows = narrow && row + 1 < t->rows ? 2 : 1;
    s.x = t->x + row * t->x_row;
    for (int left = t->pixels * rows, tiles = (left + most - 1) / most; tiles > 0; tiles--) {
      const int pixels = tiles == 1 ? left : (left + tiles - 1) / tiles;
      if (pixels != before) {
        s.x_far = rows == 2 ? t->x_row : (pixels + 1) / 2 * s.x_step;
        s.ahead_step = (pixels * width + t->all - 1) / t->all;
        before = pixels;
      }
      CI_N(conv_table)[pixels - 1][t->vectors - 1](&s);
      s.x += pixels * s.x_step;
      s.c += pixels * s.c_row;
      s.ahead += s.ahead_step * s.k;
      left -= pixels;
    }
  }
}

/* A loop over the lanes. */
#undef CI_LANES
#if CI_VL == 16
#define CI_LANES(X, arg) CI_R14(X, arg) X(14, arg) X(15, arg)
#elif CI_VL == 8
#define CI_LANES(X, arg) CI_R8(X, arg)
#elif CI_VL == 4
#define CI_LANES(X, arg) CI_R4(X, arg)
#else
#define CI_LANES(X, arg) X(0, arg)
#endif
#define CI_C_GET(i, unused) v[i] = v_add(v_load(from + (i) * t->c_step), bias);
#define CI_C_PUT(i, unused) v_store(to + (i) * t->y_row, v[i]);
#define CI_C_PUT_CLAMPED(i, unused) v_store(to + (i) * t->y_row, CI_N(clamped)(v[i], low, high));
#define CI_C_ADD(i, unused) v[i] = v_add(v[i], v_load(added + (i) * t->y_row));

/* Without a bias -0 is added, which keeps the bits of every sum. */
static void CI_N(conv_turn)(const ci_conv_turn *t) {
  const vf low = v_set(t->after.low), high = v_set(t->after.high);
  for (int lane = 0; lane < t->lanes; lane += CI_VL) {
    const int rows = t->lanes - lane < CI_VL ? t->lanes - lane : CI_VL;
    const vf bias = t->bias == NULL ? v_set(-0.0f) : v_load_part(t->bias + lane, rows, 0.0f);
    for (int64_t pixel = 0; pixel < t->pixels; pixel += CI_VL) {
      const int count = t->pixels - pixel < CI_VL ? (int)(t->pixels - pixel) : CI_VL;
      const float *from = t->c + pixel * t->c_step + lane;
      const int64_t at = lane * t->y_row + pixel;
      const float *added = t->after.added == NULL ? NULL : t->after.added + at;
      float *to = t->y + at;
      vf v[CI_VL];
      CI_LANES(CI_C_GET, 0)
      v_turn(v);
      if (count < CI_VL || rows < CI_VL) {
        for (int i = 0; i < rows; i++) {
          if (added != NULL) v[i] = v_add(v[i], v_load_part(added + i * t->y_row, count, 0.0f));
          if (t->after.clamps) v[i] = CI_N(clamped)(v[i], low, high);
          v_store_part(to + i * t->y_row, count, v[i]);
        }
        continue;
      }
      if (added != NULL) {
        CI_LANES(CI_C_ADD, 0)
      }
      if (t->after.clamps) {
        CI_LANES(CI_C_PUT_CLAMPED, 0)
      } else {
        CI_LANES(CI_C_PUT, 0)
      }
    }
  }
}
