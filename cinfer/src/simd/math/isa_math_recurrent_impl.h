/* isa_math_recurrent_impl.h - a step of LSTM and GRU with the usual functions: included once per instruction set.
 *
 * The same operations as those of recurrent.c for other functions; units are lanes.
 */
#define CI_M_LOAD(p) v_load_part((p) + i, part, 0.0f)
#define CI_M_SUM(gate) v_add(CI_M_LOAD(x + (gate) * x_gate), CI_M_LOAD(g + (gate) * g_gate))
#define CI_M_UNITS                         \
  for (int64_t i = 0; i < n; i += CI_VL) { \
    const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;

static void CI_N(lstm)(float *h, float *c, const float *x, int64_t x_gate, const float *g, int64_t g_gate, int64_t n) {
  CI_M_UNITS
  const vf in = v_sigmoid(CI_M_SUM(0)), out = v_sigmoid(CI_M_SUM(1)), keep = v_sigmoid(CI_M_SUM(2));
  const vf kept = v_mul(keep, CI_M_LOAD(c)), cell_state = v_add(kept, v_mul(in, v_tanh(CI_M_SUM(3))));
  v_store_part(c + i, part, cell_state);
  v_store_part(h + i, part, v_mul(out, v_tanh(cell_state)));
}
}

static void CI_N(gru)(float *to, const float *h, const float *x, int64_t x_gate, const float *g, int64_t g_gate,
                      const float *bias, int64_t n) {
  CI_M_UNITS
  const vf keep = v_sigmoid(CI_M_SUM(0)), reset = v_sigmoid(CI_M_SUM(1));
  const vf state = v_mul(reset, v_add(CI_M_LOAD(g + 2 * g_gate), CI_M_LOAD(bias)));
  const vf made = v_tanh(v_add(CI_M_LOAD(x + 2 * x_gate), state));
  const vf kept = v_mul(keep, CI_M_LOAD(h));
  v_store_part(to + i, part, v_add(v_mul(v_sub(v_set(1.0f), keep), made), kept));
}
}
#undef CI_M_LOAD
#undef CI_M_SUM
#undef CI_M_UNITS

/* The state's contribution to the gates of a group of units, to[gate][unit]: G gates of V vectors each. */
#define CI_U_CLEAR(gate, v) sum[gate][v] = v_set(0.0f);
#define CI_U_FMA(gate, v) sum[gate][v] = v_fma(x, v_load(r + ((gate) * vectors + (v)) * CI_VL), sum[gate][v]);
#define CI_U_STORE(gate, v)                                              \
  {                                                                      \
    float *const at = to + ((gate) * vectors + (v)) * CI_VL;             \
    v_store(at, k > 0 ? v_add(v_load(at), sum[gate][v]) : sum[gate][v]); \
  }
#define CI_U_GATE_CLEAR(gate, V) CI_V##V(CI_U_CLEAR, gate)
#define CI_U_GATE_FMA(gate, V) CI_V##V(CI_U_FMA, gate)
#define CI_U_GATE_STORE(gate, V) CI_V##V(CI_U_STORE, gate)
/* clang-format off */
#define CI_U_SUMS(G, V)                                                          \
  enum { CI_N(units_##G) = V * CI_VL };                                          \
  static void CI_N(sums_##G)(float *to, const float *r, const ci_recurrent *t) { \
    enum { vectors = V };                                                        \
    for (int64_t k = 0, end; k < t->n; k = end) {                                \
      vf sum[G][V];                                                              \
      end = t->n - k < t->block ? t->n : k + t->block;                           \
      CI_R##G(CI_U_GATE_CLEAR, V)                                                \
      for (int64_t i = k; i < end; i++, r += G * V * CI_VL) {                    \
        const vf x = v_set(t->h[i]);                                             \
        CI_R##G(CI_U_GATE_FMA, V)                                                \
      }                                                                          \
      CI_R##G(CI_U_GATE_STORE, V)                                                \
    }                                                                            \
  }
/* clang-format on */

/* Groups of 16 units, whose weights a nearest cache of 32 KB holds for the next step: 24 KB of GRU with 128 units. */
#if CI_VL == 16
CI_U_SUMS(3, 1)
CI_U_SUMS(4, 1)
#elif CI_VL == 8
CI_U_SUMS(3, 2)
CI_U_SUMS(4, 2)
#else
CI_U_SUMS(3, 4)
CI_U_SUMS(4, 4)
#endif

/* A step, group after group. The next one goes the other way: it begins with the elements that this one has read last.
 */
#define CI_U_STEP(G, units)                                                                       \
  const int64_t groups = (t->n + (units) - 1) / (units);                                          \
  for (int64_t group = 0; group < groups; group++) {                                              \
    float g[G * (units)];                                                                         \
    const int64_t first = (t->forth ? group : groups - 1 - group) * (units), left = t->n - first, \
                  n = left < (units) ? left : (units);                                            \
    CI_N(sums_##G)(g, t->r + first * G * t->n, t);

static void CI_N(lstm_step)(const ci_recurrent *t) {
  CI_U_STEP(4, CI_N(units_4))
  CI_N(lstm)(t->to + first, t->c + first, t->x + first, t->n, g, CI_N(units_4), n);
}
}

static void CI_N(gru_step)(const ci_recurrent *t) {
  CI_U_STEP(3, CI_N(units_3))
  CI_N(gru)(t->to + first, t->h + first, t->x + first, t->n, g, CI_N(units_3), t->bias + first, n);
}
}
#undef CI_U_STEP
#undef CI_U_SUMS
#undef CI_U_CLEAR
#undef CI_U_FMA
#undef CI_U_STORE
#undef CI_U_GATE_CLEAR
#undef CI_U_GATE_FMA
#undef CI_U_GATE_STORE
