/* isa_linear_window_impl.h - windows over planes, neighbouring windows as lanes: included once per instruction set. */

/* n numbers, `step` apart. */
CI_INLINE vf CI_N(load_apart)(const float *p, ptrdiff_t step, int n) {
  if (step == 1) return n == CI_VL ? v_load(p) : v_load_part(p, n, 0.0f);
  if (step == 2) {
    const int read = n > 0 ? 2 * n - 1 : 0, second = read - (CI_VL - 1);
    if (n == CI_VL) return v_even(v_load(p), v_load(p + CI_VL - 1));
    return v_even(v_load_part(p, read < CI_VL ? read : CI_VL, 0.0f),
                  v_load_part(p + CI_VL - 1, second > 0 ? second : 0, 0.0f));
  }
  float lane[CI_VL] = {0};
  for (int i = 0; i < n; i++) lane[i] = p[i * step];
  return v_load(lane);
}

/* n numbers and more, up to the next full vector. */
CI_INLINE void CI_N(fill)(float *y, int64_t n, vf v) {
  for (int64_t i = 0; i < n; i += CI_VL) v_store(y + i, v);
}

/* The padding after a row goes on before the next one. */
static void CI_N(pad)(const ci_padding *t) {
  const vf none = v_set(t->fill);
  const int64_t whole = t->n / CI_VL * CI_VL, last = t->below > 0 ? t->planes : t->planes - 1;
  const int part = (int)(t->n - whole);
  const bool narrow = t->x_step == 1 && t->n < CI_VL && t->y_row <= CI_VL;
  const ptrdiff_t x_row = t->x_row, y_row = t->y_row;
  float *y = t->y;
  for (int64_t plane = 0; plane < t->planes; plane++) {
    const float *x = t->x + plane * t->x_plane;
    CI_N(fill)(y, t->above * t->y_row + (t->rows > 0 ? t->before : 0), none);
    y += t->above * t->y_row;
    if (narrow) { /* one vector a row */
      float *to = y + t->before;
      for (int64_t row = 0; row < t->rows; row++)
        v_store(to + row * y_row, v_load_part(x + row * x_row, part, t->fill));
      y += t->rows * y_row;
    }
    for (int64_t row = narrow ? t->rows : 0; row < t->rows; row++, x += t->x_row, y += t->y_row) {
      float *to = y + t->before;
      int64_t i = 0;
      if (t->x_step != 1) {
        for (; i < t->n; i += CI_VL) {
          const int count = t->n - i < CI_VL ? (int)(t->n - i) : CI_VL;
          v_store(to + i, CI_N(load_apart)(x + i * t->x_step, t->x_step, count));
        }
        continue;
      }
      for (; i < whole; i += CI_VL) v_store(to + i, v_load(x + i));
      if (part > 0) v_store(to + i, v_load_part(x + i, part, t->fill)), i += CI_VL;
      CI_N(fill)(to + i, (row + 1 < t->rows || plane < last ? t->y_row : t->y_row - t->before) - i, none);
    }
    CI_N(fill)(y, t->below * t->y_row, none);
    y += t->below * t->y_row;
  }
}

/* TERM adds x, one tap of some windows of a row, to their sum; END makes n results of it, from `to` on. */
#define CI_EACH_WINDOW(TYPE, START, TERM, END)                                  \
  for (int64_t row = 0; row < t->rows; row++) {                                 \
    for (int64_t i = 0; i < t->columns; i += CI_VL) {                           \
      const int n = t->columns - i < CI_VL ? (int)(t->columns - i) : CI_VL;     \
      const float *from = t->x + row * t->x_down + i * right;                   \
      float *to = t->y + row * t->columns + i;                                  \
      int64_t tap = 0;                                                          \
      TYPE sum = START;                                                         \
      for (int64_t tap_y = 0; tap_y < t->kh; tap_y++, from += t->tap_down) {    \
        for (int64_t tap_x = 0; tap_x < t->kw; tap_x++, tap++) {                \
          const vf x = CI_N(load_apart)(from + tap_x * t->tap_right, right, n); \
          TERM                                                                  \
        }                                                                       \
      }                                                                         \
      END                                                                       \
    }                                                                           \
  }

/* ---- depthwise convolution ---- */

/* Three taps of a row of windows, and of a row of weights. */
#define CI_W_ROW(taps, r) sum = v_fma(taps[2], w[r][2], v_fma(taps[1], w[r][1], v_fma(taps[0], w[r][0], sum)));
#define CI_W_LOAD(taps, row)                                  \
  if ((row) < 0 || (row) >= t->height) {                      \
    taps[0] = taps[1] = taps[2] = v_set(0.0f);                \
  } else {                                                    \
    const float *middle = t->x + (row) * t->width + at + 1;   \
    taps[1] = CI_N(load_apart)(middle, step, lanes[1]);       \
    taps[2] = CI_N(load_apart)(middle + 1, step, lanes[2]);   \
    if (at < 0) {                                             \
      taps[0] = v_behind(taps[step]);                         \
    } else {                                                  \
      taps[0] = CI_N(load_apart)(middle - 1, step, lanes[0]); \
    }                                                         \
  }

#define CI_W_MOVE(to, from) to[0] = from[0], to[1] = from[1], to[2] = from[2];

/* Columns of windows, some rows from the top to the bottom: the contribution of one row of x to several rows of
 * windows stays in registers. The elements of later rows are prefetched meanwhile. */
CI_INLINE void CI_N(depthwise_rows)(const ci_depthwise *t, int64_t first, int64_t rows, const ptrdiff_t step) {
  const vf added = v_set(t->bias == NULL ? -0.0f : *t->bias); /* + -0 changes no bit */
  const vf low = v_set(t->after.low), high = v_set(t->after.high);
  const vf w[3][3] = {{v_set(t->w[0]), v_set(t->w[1]), v_set(t->w[2])},
                      {v_set(t->w[3]), v_set(t->w[4]), v_set(t->w[5])},
                      {v_set(t->w[6]), v_set(t->w[7]), v_set(t->w[8])}};
  const bool clamps = t->after.clamps;
  const float *ahead = t->x + (first + rows) * step * t->width;
  for (int64_t i = 0; i < t->columns; i += CI_VL) {
    const int n = t->columns - i < CI_VL ? (int)(t->columns - i) : CI_VL;
    const int64_t at = i * step - t->before; /* of the first tap */
    int lanes[3];                            /* of each tap, in the plane */
    for (int tap = 0; tap < 3; tap++) {
      const int64_t remaining = (t->width - at - tap + step - 1) / step;
      lanes[tap] = remaining < 0 ? 0 : remaining < n ? (int)remaining : n;
    }
    vf x0[3], x1[3], x2[3];
    int64_t top = first * step - t->above;
    float *y = t->y + first * t->columns + i;
    CI_W_LOAD(x0, top)
    if (step == 1) {
      CI_W_LOAD(x1, top + 1)
    }
    for (int64_t row = 0; row < rows; row++, top += step, y += t->columns) {
      vf sum = v_set(0.0f);
      for (int line = 0; line < step * step; line++, ahead += CI_VL) CI_PREFETCH_NEAR(ahead);
      if (step == 2) {
        CI_W_LOAD(x1, top + 1)
      }
      CI_W_LOAD(x2, top + 2)
      CI_W_ROW(x0, 0)
      CI_W_ROW(x1, 1)
      CI_W_ROW(x2, 2)
      sum = v_add(sum, added);
      if (clamps) sum = CI_N(clamped)(sum, low, high);
      v_store_part(y, n, sum);
      if (step == 1) {
        CI_W_MOVE(x0, x1)
        CI_W_MOVE(x1, x2)
      } else {
        CI_W_MOVE(x0, x2)
      }
    }
  }
}

enum { CI_N(near_numbers) = 1 << 12 }; /* of x, in the first-level cache, next to those that are prefetched */

CI_INLINE void CI_N(depthwise_blocks)(const ci_depthwise *t, const ptrdiff_t step) {
  const int64_t most = CI_N(near_numbers) / (t->width * step) + 1;
  for (int64_t row = 0; row < t->rows; row += most) {
    CI_N(depthwise_rows)(t, row, t->rows - row < most ? t->rows - row : most, step);
  }
}

static void CI_N(depthwise_3x3)(const ci_depthwise *t) {
  if (t->stride == 1) {
    CI_N(depthwise_blocks)(t, 1);
  } else {
    CI_N(depthwise_blocks)(t, 2);
  }
}

/* Planes as lanes: R windows of a row, a chain each, share a weight. One pointer per three of them, as in tiles. */
/* clang-format off */
#define CI_W_AT(r, unused)                                \
  if ((r) % 3 == 0) at[(r) / 3] = x + lane + (r) * right; \
  sum[r] = v_set(0.0f);
#define CI_W_TERM(r, tap) sum[r] = v_fma(v_load(at[(r) / 3] + (r) % 3 * right + (tap)), weight, sum[r]);
#define CI_W_KEEP(r, unused) v_store(y + lane + (r) * CI_PLANE_LANES, sum[r]);
#define CI_DEPTHWISE(R)                                                                                \
  static void CI_N(depthwise_##R)(const ci_windows *t, const float *x, float *y) {                     \
    const ptrdiff_t right = t->x_right;                                                                \
    for (int lane = 0; lane < CI_PLANE_LANES; lane += CI_VL) {                                         \
      const float *at[(R + 2) / 3], *w = t->w + lane;                                                  \
      vf sum[R];                                                                                       \
      CI_R##R(CI_W_AT, 0)                                                                              \
      for (int64_t row = 0; row < t->kh; row++) {                                                      \
        ptrdiff_t tap = (ptrdiff_t)row * t->tap_down;                                                  \
        for (int64_t column = 0; column < t->kw; column++, tap += t->tap_right, w += CI_PLANE_LANES) { \
          const vf weight = v_load(w);                                                                 \
          CI_R##R(CI_W_TERM, tap)                                                                      \
        }                                                                                              \
      }                                                                                                \
      CI_R##R(CI_W_KEEP, 0)                                                                            \
    }                                                                                                  \
  }
CI_DEPTHWISE(7)
#if CI_LARGE
CI_DEPTHWISE(14)
#endif
/* clang-format on */

/* The last windows of a row begin early, to be as many; of fewer than seven the next row's are written, too, which come
 * after them. */
static void CI_N(depthwise_transposed)(const ci_windows *t) {
  for (int64_t row = 0; row < t->rows; row++) {
    const float *x = t->x + row * t->x_down;
    float *y = t->y + row * t->columns * CI_PLANE_LANES;
    for (int64_t column = 0, count; column < t->columns; column += count) {
      const int64_t left = t->columns - column;
      count = CI_LARGE && left > 7 && t->columns >= 14 ? 14 : 7;
      if (left < count && count <= t->columns) column = t->columns - count;
      const float *from = x + column * t->x_right;
      float *to = y + column * CI_PLANE_LANES;
#if CI_LARGE
      if (count == 14) {
        CI_N(depthwise_14)(t, from, to);
        continue;
      }
#endif
      CI_N(depthwise_7)(t, from, to);
    }
  }
}

/* ---- the largest ---- */

CI_INLINE vf CI_N(first_largest)(vf a, vf b) { return v_select(v_ge(a, b), a, v_select(v_is_nan(a), a, b)); }

/* In place: the result of a window is written before all elements that later ones read. */
static void CI_N(conv_largest)(const ci_conv_largest *t) {
  for (int lane = 0; lane < t->lanes; lane += CI_VL) {
    const int count = t->lanes - lane < CI_VL ? t->lanes - lane : CI_VL;
    const vf bias = t->bias == NULL ? v_set(-0.0f) : v_load_part(t->bias + lane, count, 0.0f);
    float *to = t->c + lane;
    for (int64_t row = 0; row < t->rows; row++) {
      const float *from = t->c + lane + row * t->down * t->pixels * t->c_step;
      for (int64_t column = 0; column < t->columns; column++, from += t->right * t->c_step, to += t->c_step) {
        vf most = v_add(v_load(from), bias);
        for (int64_t y = 0; y < t->height; y++) {
          const float *pixel = from + y * t->pixels * t->c_step;
          for (int64_t x = 0; x < t->width; x++, pixel += t->c_step) {
            most = CI_N(first_largest)(most, v_add(v_load(pixel), bias));
          }
        }
        v_store(to, most);
      }
    }
  }
}

/* 2 x 2 windows that touch each other and fill the rows: neighbours of all rows at once, then rows. */
static void CI_N(largest_quarters)(const ci_windows *t) {
  enum { most = 1024 };
  float wide[most + CI_VL];
  const int64_t columns = t->columns, together = most / (2 * columns);
  for (int64_t row = 0, rows; row < t->rows; row += rows) {
    rows = t->rows - row < together ? t->rows - row : together;
    const float *x = t->x + row * t->x_down;
    for (int64_t i = 0, left = 2 * rows * columns; i < left; i += CI_VL) {
      const int n = left - i < CI_VL ? (int)(left - i) : CI_VL;
      const vf even = CI_N(load_apart)(x + 2 * i, 2, n), odd = CI_N(load_apart)(x + 2 * i + 1, 2, n);
      v_store(wide + i, CI_N(first_largest)(even, odd));
    }
    for (int64_t r = 0; r < rows; r++) {
      const float *upper = wide + 2 * r * columns;
      float *y = t->y + (row + r) * columns;
      for (int64_t i = 0; i < columns; i += CI_VL) {
        const int n = columns - i < CI_VL ? (int)(columns - i) : CI_VL;
        const vf lower = CI_N(load_apart)(upper + columns + i, 1, n);
        v_store_part(y + i, n, CI_N(first_largest)(CI_N(load_apart)(upper + i, 1, n), lower));
      }
    }
  }
}

/* Whether a number between the first and the last that windows read is NaN. */
static bool CI_N(window_nan)(const ci_windows *t) {
  const int64_t last = (t->columns - 1) * t->x_right + (t->kw - 1) * t->tap_right;
  const int64_t n = (t->rows - 1) * t->x_down + (t->kh - 1) * t->tap_down + last + 1;
  const vf one = v_set(1.0f);
  vf found = v_set(0.0f);
  for (int64_t i = 0; i < n; i += CI_VL) {
    const vf x = n - i < CI_VL ? v_load_part(t->x + i, (int)(n - i), 0.0f) : v_load(t->x + i);
    found = v_select(v_is_nan(x), one, found);
  }
  return v_max_tree(found) > 0.0f;
}

/* Windows without NaN that share rows: the largest of each row of taps once, side by side, then downwards. Equal
 * numbers keep their order, so the first largest is that of row-major order. */
enum { CI_N(lines) = 512 / CI_VL }; /* 2 KB of stack */
static void CI_N(largest_crossed)(const ci_windows *t) {
  float line[CI_N(lines) * CI_VL];
  const int64_t step = t->x_down / t->tap_down, together = (CI_N(lines) - t->kh) / step + 1;
  for (int64_t row = 0, rows; row < t->rows; row += rows) {
    rows = t->rows - row < together ? t->rows - row : together;
    for (int64_t i = 0; i < t->columns; i += CI_VL) {
      const int n = t->columns - i < CI_VL ? (int)(t->columns - i) : CI_VL;
      const float *x = t->x + row * t->x_down + i;
      float *y = t->y + row * t->columns + i;
      for (int64_t l = 0; l < (rows - 1) * step + t->kh; l++, x += t->tap_down) {
        vf most = CI_N(load_apart)(x, 1, n);
        for (int64_t tap = 1; tap < t->kw; tap++) most = v_max(CI_N(load_apart)(x + tap * t->tap_right, 1, n), most);
        v_store(line + l * CI_VL, most);
      }
      for (int64_t r = 0; r < rows; r++, y += t->columns) {
        const float *from = line + r * step * CI_VL;
        vf most = v_load(from);
        for (int64_t tap = 1; tap < t->kh; tap++) most = v_max(v_load(from + tap * CI_VL), most);
        v_store_part(y, n, most);
      }
    }
  }
}

/* 3 x 3 windows, two apart, without NaN: the largest of a row of x serves the windows above and below it. */
CI_INLINE vf CI_N(largest_three)(const float *x, int n) {
  vf a, b, c;
  if (n == CI_VL) {
    a = v_even(v_load(x), v_load(x + CI_VL - 1));
    b = v_even(v_load(x + 1), v_load(x + CI_VL));
    c = v_even(v_load(x + 2), v_load(x + CI_VL + 1));
  } else {
    a = CI_N(load_apart)(x, 2, n), b = CI_N(load_apart)(x + 1, 2, n), c = CI_N(load_apart)(x + 2, 2, n);
  }
  return v_max(c, v_max(b, a));
}
static void CI_N(largest_nines)(const ci_windows *t) {
  for (int64_t i = 0; i < t->columns; i += CI_VL) {
    const int n = t->columns - i < CI_VL ? (int)(t->columns - i) : CI_VL;
    const float *x = t->x + 2 * i;
    vf first = CI_N(largest_three)(x, n);
    for (int64_t row = 0; row < t->rows; row++, x += t->x_down) {
      const vf middle = CI_N(largest_three)(x + t->tap_down, n), last = CI_N(largest_three)(x + 2 * t->tap_down, n);
      v_store_part(t->y + row * t->columns + i, n, v_max(last, v_max(middle, first)));
      first = last;
    }
  }
}

static void CI_N(largest_plane)(const ci_windows *t) {
  if (CI_LARGE && t->kh == 2 && t->kw == 2 && t->x_right == 2 && t->tap_right == 1 && t->tap_down == 2 * t->columns &&
      t->x_down == 2 * t->tap_down && t->columns <= 256) {
    CI_N(largest_quarters)(t);
    return;
  }
  const bool nines = t->kh == 3 && t->kw == 3 && t->x_right == 2 && t->tap_right == 1 && t->x_down == 2 * t->tap_down;
  const bool crossed =
      t->kh <= CI_N(lines) && t->x_right == 1 && t->x_down < t->kh * t->tap_down && t->x_down % t->tap_down == 0;
  if (CI_LARGE && (nines || crossed) && !CI_N(window_nan)(t)) {
    if (nines) {
      CI_N(largest_nines)(t);
    } else {
      CI_N(largest_crossed)(t);
    }
    return;
  }
  const ptrdiff_t right = t->x_right;
#define CI_TERM sum = CI_N(first_largest)(sum, x);
#define CI_END v_store_part(to, n, sum);
  CI_EACH_WINDOW(vf, v_set(-INFINITY), CI_TERM, CI_END)
#undef CI_TERM
#undef CI_END
}

/* ---- the average ---- */

/* In double, each sum in the order of its taps. */
CI_INLINE void CI_N(average_rows)(const ci_windows *t, const ptrdiff_t right) {
  double wide[CI_VL];
  float mean[CI_VL];
#define CI_TERM sum = vd_add(sum, x);
#define CI_END                                                                                    \
  vd_store(wide, sum);                                                                            \
  for (int j = 0; j < CI_VL; j++) mean[j] = (float)(wide[j] / (t->down[row] * t->across[i + j])); \
  v_store_part(to, n, v_load(mean));
  CI_EACH_WINDOW(vd, vd_zero(), CI_TERM, CI_END)
#undef CI_TERM
#undef CI_END
}

#if CI_DOUBLES
CI_INLINE vd CI_N(doubles)(const float *x, int n) { return vd_of(n == CI_VL ? v_load(x) : v_load_part(x, n, 0.0f)); }
#define CI_W_WIDEN(taps, x) \
  taps[0] = CI_N(doubles)(x, n), taps[1] = CI_N(doubles)((x) + 1, n), taps[2] = CI_N(doubles)((x) + 2, n);

/* 3 x 3 windows, neighbours: downwards, so that a row is widened once for the three rows of windows that read it. */
static void CI_N(average_nines)(const ci_windows *t) {
  const ptrdiff_t down = t->x_down;
  for (int64_t i = 0; i < t->columns; i += CI_VL) {
    const int n = t->columns - i < CI_VL ? (int)(t->columns - i) : CI_VL;
    const vd across = vd_load(t->across + i);
    const float *x = t->x + i;
    float *y = t->y + i;
    double rows = 1.0;
    vd count = across, inverse = vd_over(vd_set(1.0), across), a[3], b[3], c[3];
    CI_W_WIDEN(a, x)
    CI_W_WIDEN(b, x + down)
    x += 2 * down;
    for (int64_t row = 0; row < t->rows; row++, x += down, y += t->columns) {
      CI_W_WIDEN(c, x)
      vd sum = vd_plus(vd_plus(vd_plus(vd_zero(), a[0]), a[1]), a[2]);
      sum = vd_plus(vd_plus(vd_plus(sum, b[0]), b[1]), b[2]);
      sum = vd_plus(vd_plus(vd_plus(sum, c[0]), c[1]), c[2]);
      if (t->down[row] != rows) {
        rows = t->down[row];
        count = vd_times(vd_set(rows), across);
        inverse = vd_over(vd_set(1.0), count);
      }
      v_store_part(y, n, v_of_doubles(vd_by(sum, count, inverse)));
      CI_W_MOVE(a, b)
      CI_W_MOVE(b, c)
    }
  }
}
#endif

static void CI_N(average_plane)(const ci_windows *t) {
  if (!CI_LARGE) {
    CI_N(average_rows)(t, t->x_right);
    return;
  }
#if CI_DOUBLES
  if (t->kh == 3 && t->kw == 3 && t->x_right == 1 && t->tap_right == 1 && t->tap_down == t->x_down) {
    CI_N(average_nines)(t);
    return;
  }
#endif
  if (t->x_right == 1) {
    CI_N(average_rows)(t, 1);
    return;
  }
  CI_N(average_rows)(t, 2);
}

#if CI_LARGE
/* The same of planes that are laid out as lanes. */
static void CI_N(average_transposed)(float *y, const float *x, const int32_t *offset, int64_t taps, double count) {
  double wide[CI_VL];
  for (int lane = 0; lane < CI_PLANE_LANES; lane += CI_VL) {
    vd sum = vd_zero();
    for (int64_t tap = 0; tap < taps; tap++) sum = vd_add(sum, v_load(x + offset[tap] + lane));
    vd_store(wide, sum);
    for (int j = 0; j < CI_VL; j++) y[lane + j] = (float)(wide[j] / count);
  }
}
#endif

/* Planes are transposed, to be lanes. */
CI_REGION_FAST static void CI_N(average_whole)(float *y, const float *x, int64_t planes, int64_t area) {
  enum { lanes = 16, most = 64 };
  float transposed[most * lanes] = {0};
  for (int64_t plane = 0; plane < planes; plane += lanes) {
    const int64_t count = planes - plane < lanes ? planes - plane : lanes;
    double sum[lanes] = {0.0};
    for (int64_t i = 0; i < area; i += most) {
      const int64_t n = area - i < most ? area - i : most;
      CI_N(transpose)(transposed, lanes, x + plane * area + i, (ptrdiff_t)area, count, n);
      const float *from = transposed;
      int64_t c = 0;
      for (; c + 4 <= n; c += 4, from += 4 * lanes) {
        for (int j = 0; j < lanes; j++) {
          const double two = sum[j] + (double)from[j] + (double)from[lanes + j];
          sum[j] = two + (double)from[2 * lanes + j] + (double)from[3 * lanes + j];
        }
      }
      for (; c < n; c++, from += lanes) {
        for (int j = 0; j < lanes; j++) sum[j] = sum[j] + (double)from[j];
      }
    }
    for (int64_t j = 0; j < count; j++) y[plane + j] = (float)(sum[j] / (double)area);
  }
}
