/* isa_linear_pixels_impl.h - 1 x 1 convolution, channels first, pixels as lanes: included once per instruction set.
 *
 * R outputs by V vectors of pixels stay in registers until the steps after the sum are done, too. A channel's pixels
 * are read in place, weights as they are stored.
 */
/* clang-format off */
#define CI_P_BIAS(r, V) { const vf y = v_set(bias[r]); CI_V##V(CI_P_PLUS, r) }
#define CI_P_PLUS(r, v) sum[r][v] = v_add(sum[r][v], y);
#define CI_P_ADDED(r, V) CI_V##V(CI_P_ADD, r)
#define CI_P_AT(r, v) ((r) * t->c_row + (v) * CI_VL)
#define CI_P_ADD(r, v) sum[r][v] = v_add(sum[r][v], \
    (v) + 1 < vectors ? v_load(added + CI_P_AT(r, v)) : v_load_part(added + CI_P_AT(r, v), part, 0.0f));
#define CI_P_CLAMPED(r, V) CI_V##V(CI_P_CLAMP, r)
#define CI_P_CLAMP(r, v) sum[r][v] = CI_N(clamped)(sum[r][v], low, high);
#define CI_P_STORED(r, V) CI_V##V(CI_P_STORE, r)
#define CI_P_STORE(r, v) v_store(t->c + CI_P_AT(r, v), sum[r][v]);
#define CI_P_STORED_PART(r, V) CI_V##V(CI_P_STORE_PART, r)
#define CI_P_STORE_PART(r, v) v_store_part(t->c + CI_P_AT(r, v), (v) + 1 < vectors ? CI_VL : part, sum[r][v]);
#define CI_P_ZERO(r, unused) -0.0f,
#define CI_PIXELS(R, V)                                                            \
  static void CI_N(pixels_##R##x##V)(const struct CI_N(tile_args) *t, const ci_conv_pixels *e) { \
    enum { vectors = V };                                                          \
    const ptrdiff_t a_row = t->a_row, a_k = t->a_k, b_k = t->b_k, next_k = 0, ahead_step = t->ahead_step; \
    const char *ahead = t->ahead;                                                  \
    const float *b = t->b, *next = b, *row[(R + 2) / 3];                           \
    const float *bias = e->bias, *added = e->after.added;                          \
    const vf low = v_set(e->after.low), high = v_set(e->after.high);               \
    const int part = t->part;                                                      \
    vf sum[R][V];                                                                  \
    CI_R##R(CI_T_ROW, V)                                                           \
    if (part == CI_VL) {                                                           \
      CI_T_CHAIN(R, V, t->k, -1)                                                   \
    } else {                                                                       \
      CI_T_CHAIN(R, V, t->k, V - 1)                                                \
    }                                                                              \
    CI_R##R(CI_P_BIAS, V)                                                          \
    if (added != NULL) { CI_R##R(CI_P_ADDED, V) }                                  \
    if (e->after.clamps) { CI_R##R(CI_P_CLAMPED, V) }                              \
    if (part == CI_VL) {                                                           \
      CI_R##R(CI_P_STORED, V)                                                      \
    } else {                                                                       \
      CI_R##R(CI_P_STORED_PART, V)                                                 \
    }                                                                              \
  }

typedef void (*CI_N(pixels_fn))(const struct CI_N(tile_args) *t, const ci_conv_pixels *e);

CI_PIXELS(1, 1) CI_PIXELS(2, 1) CI_PIXELS(1, 2) CI_PIXELS(2, 2)
#if CI_VL > 1
CI_PIXELS(4, 1) CI_PIXELS(4, 2) CI_PIXELS(6, 2)
#endif
#if CI_MANY_REGISTERS
CI_PIXELS(8, 2) CI_PIXELS(10, 2) CI_PIXELS(12, 2)
#endif

/* [outputs / 2][vectors - 1]; a height that is missing is made of smaller ones. */
#undef CI_P_NONE
#if CI_MANY_REGISTERS
#define CI_P_NONE CI_R12(CI_P_ZERO, 0)
enum { CI_N(pixels_most) = 12 };
#elif CI_VL > 1
#define CI_P_NONE CI_R6(CI_P_ZERO, 0)
enum { CI_N(pixels_most) = 6 };
#else
#define CI_P_NONE CI_R2(CI_P_ZERO, 0)
enum { CI_N(pixels_most) = 2 };
#endif
static const CI_N(pixels_fn) CI_N(pixels_table)[][2] = {
    {CI_N(pixels_1x1), CI_N(pixels_1x2)}, {CI_N(pixels_2x1), CI_N(pixels_2x2)},
#if CI_VL > 1
    {CI_N(pixels_4x1), CI_N(pixels_4x2)}, {NULL, CI_N(pixels_6x2)},
#endif
#if CI_MANY_REGISTERS
    {NULL, CI_N(pixels_8x2)}, {NULL, CI_N(pixels_10x2)}, {NULL, CI_N(pixels_12x2)},
#endif
};
/* clang-format on */

/* Outputs of the next tile: all are about as high, which hides the latency of each. */
static int CI_N(pixels_height)(int outputs, int vectors) {
  const int most = vectors == 2 ? CI_N(pixels_most) : CI_N(pixels_most) < 4 ? 2 : 4;
  const int tiles = (outputs + most - 1) / most, even = (outputs + tiles - 1) / tiles;
  return outputs < 2 ? 1 : even % 2 == 0 || even + 1 > outputs ? even - even % 2 : even + 1;
}

static void CI_N(conv_pixels)(const ci_conv_pixels *t) {
  enum { line = 64 / sizeof(float) };
  static const float no_bias[CI_N(pixels_most)] = {CI_P_NONE}; /* + -0 changes no bit */
  for (int64_t pixel = 0, count; pixel < t->pixels; pixel += count) {
    const int64_t left = t->pixels - pixel;
    const int vectors = left > CI_VL ? 2 : 1;
    count = left < vectors * CI_VL ? left : vectors * CI_VL;
    ci_conv_pixels e = *t;
    if (t->bias == NULL) e.bias = no_bias;
    if (e.after.added != NULL) e.after.added += pixel;
    struct CI_N(tile_args) s = {.a = t->w,
                                .b = t->x + pixel,
                                .c = t->y + pixel,
                                .a_row = t->w_row,
                                .a_k = 1,
                                .b_k = t->x_row,
                                .c_row = t->y_row,
                                .k = t->k,
                                .ahead = (const char *)(t->x + pixel + 2 * CI_VL),
                                .ahead_step = t->x_row * (ptrdiff_t)sizeof(float),
                                .part = (int)(count - (vectors - 1) * CI_VL)};
    for (int output = 0, height; output < t->outputs; output += height) {
      height = CI_N(pixels_height)(t->outputs - output, vectors);
      for (int r = 0; r < height; r++) {
        for (int64_t i = 0; i < count; i += line) CI_PREFETCH_WRITE(s.c + r * s.c_row + i);
      }
      CI_N(pixels_table)[height / 2][vectors - 1](&s, &e);
      s.a += height * s.a_row;
      s.c += height * s.c_row;
      if (t->bias != NULL) e.bias += height;
      if (e.after.added != NULL) e.after.added += height * s.c_row;
    }
  }
}
