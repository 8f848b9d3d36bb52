/* isa_linear_quads_impl.h - the last one to four columns of the column form: included once per instruction set.
 *
 * A vector that held a row of them would be empty for the most part: here it holds them of CI_QUADS rows.
 */
/* clang-format off */
#if CI_QUADS
enum { CI_N(few_columns_rows) = 8 * CI_QUADS };

#define CI_Q_START(q, unused) sum[q] = v_set(0.0f); a[q] = t->a + (q) * CI_QUADS * a_row;
#define CI_Q_W(i, unused) w[i] = v_quad(b + (i) * t->b_k);
#define CI_Q_STEP(i) total = v_fma(v_pick(x, i), w[i], total);
#define CI_Q_FOUR(q, unused)                \
  {                                         \
    const vf x = v_quads(a[q], a_row);      \
    vf total = sum[q];                      \
    CI_Q_STEP(0) CI_Q_STEP(1) CI_Q_STEP(2) CI_Q_STEP(3) \
    sum[q] = total;                         \
    a[q] += 4;                              \
  }
#define CI_Q_REST(q, unused)                               \
  {                                                        \
    const vf x = v_quads_part(a[q], a_row, (int)k);     \
    vf total = sum[q];                                     \
    CI_Q_STEP(0)                                           \
    if (k > 1) { CI_Q_STEP(1) }                            \
    if (k > 2) { CI_Q_STEP(2) }                            \
    sum[q] = total;                                        \
  }
#define CI_Q_OUT(q, unused)                                                              \
  {                                                                                      \
    float *const c = t->c + (q) * CI_QUADS * t->c_row;                                   \
    if (t->add) sum[q] = v_add(v_quads_part(c, t->c_row, t->part), sum[q]);           \
    v_quads_store(c, t->c_row, t->part, sum[q]);                                         \
  }

/* Columns [0, part) of so many rows; four of b can be read. */
static void CI_N(few_columns)(const struct CI_N(tile_args) *t) {
  const ptrdiff_t a_row = t->a_row;
  const float *b = t->b, *a[8];
  int64_t k = t->k;
  vf sum[8], w[4];
  CI_R8(CI_Q_START, 0)
  for (; k >= 4; k -= 4, b += 4 * t->b_k) {
    CI_R4(CI_Q_W, 0)
    CI_R8(CI_Q_FOUR, 0)
  }
  for (int i = 0; i < (int)k; i++) w[i] = v_quad(b + i * t->b_k);
  if (k > 0) {
    CI_R8(CI_Q_REST, 0)
  }
  CI_R8(CI_Q_OUT, 0)
}

#define CI_Q_CLEAR(q, unused) sum[q] = v_set(0.0f);
#define CI_Q_TRANSPOSED(q, unused) sum[q] = v_fma(v_quads_of(a + (q) * CI_QUADS), w, sum[q]);
/* The same where a is transposed: its rows are adjacent. */
static void CI_N(few_columns_transposed)(const struct CI_N(tile_args) *t) {
  const float *a = t->a, *b = t->b;
  vf sum[8];
  CI_R8(CI_Q_CLEAR, 0)
  for (int64_t k = t->k; k > 0; k--, a += t->a_k, b += t->b_k) {
    const vf w = v_quad(b);
    CI_R8(CI_Q_TRANSPOSED, 0)
  }
  CI_R8(CI_Q_OUT, 0)
}
#undef CI_Q_CLEAR
#undef CI_Q_TRANSPOSED
#undef CI_Q_START
#undef CI_Q_W
#undef CI_Q_STEP
#undef CI_Q_FOUR
#undef CI_Q_REST
#undef CI_Q_OUT
#endif
