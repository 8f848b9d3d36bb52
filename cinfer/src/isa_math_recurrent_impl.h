/* isa_math_recurrent_impl.h - a step of LSTM and GRU with the usual functions: included once per instruction set.
 *
 * Operation by operation what recurrent.c does for other functions; units are lanes.
 */
#define CI_M_LOAD(p) v_load_part((p) + i, part, 0.0f)
#define CI_M_SUM(gate) v_add(CI_M_LOAD(x + (gate) * n), CI_M_LOAD(g + (gate) * n))
#define CI_M_UNITS                         \
  for (int64_t i = 0; i < n; i += CI_VL) { \
    const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;

static void CI_N(lstm)(float *h, float *c, const float *x, const float *g, int64_t n) {
  CI_M_UNITS
  const vf in = v_sigmoid(CI_M_SUM(0)), out = v_sigmoid(CI_M_SUM(1)), keep = v_sigmoid(CI_M_SUM(2));
  const vf kept = v_mul(keep, CI_M_LOAD(c)), cell = v_add(kept, v_mul(in, v_tanh(CI_M_SUM(3))));
  v_store_part(c + i, part, cell);
  v_store_part(h + i, part, v_mul(out, v_tanh(cell)));
}
}

static void CI_N(gru)(float *h, const float *x, const float *g, const float *bias, int64_t n) {
  CI_M_UNITS
  const vf keep = v_sigmoid(CI_M_SUM(0)), reset = v_sigmoid(CI_M_SUM(1));
  const vf state = v_mul(reset, v_add(CI_M_LOAD(g + 2 * n), CI_M_LOAD(bias)));
  const vf made = v_tanh(v_add(CI_M_LOAD(x + 2 * n), state));
  const vf kept = v_mul(keep, CI_M_LOAD(h));
  v_store_part(h + i, part, v_add(v_mul(v_sub(v_set(1.0f), keep), made), kept));
}
}
#undef CI_M_LOAD
#undef CI_M_SUM
#undef CI_M_UNITS
