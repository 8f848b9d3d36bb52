/* conv_integer.c - ConvInteger and QLinearConv: bytes less their zero points are widened to int32 in scratch and go
 * through the matrix multiplications of conv_nd.c. Padding is the zero point.
 */
#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#include "bytes.h"
#include "../convolution/conv_nd.h"
#if CI_HAS(quantization)

typedef struct conv_bytes {
  ci_conv_nd conv;
  size_t x_bytes, w_bytes, y_bytes; /* of the widened copies, in this order before the tiles */
  ci_bytes_conv bytes;
  bool direct; /* by `bytes` */
} conv_bytes;

static bool conv_is_byte(const ci_value *v) { return v->dtype == CI_INT8 || v->dtype == CI_UINT8; }

static const ci_value *conv_input(const ci_kernel *k, int i) { return k->n_in > i ? k->in[i] : NULL; }

/* One number, or with rows > 0 one for each row. */
static ci_status conv_row_values(ci_kernel *k, int i, const char *name, int32_t dtype, int64_t rows) {
  const ci_value *v = conv_input(k, i);
  char described[128];
  if (v == NULL) return CI_OK;
  const bool one = v->rank <= 1 && v->count == 1, each = rows > 0 && v->rank == 1 && v->dims[0] == rows;
  if (v->dtype == dtype && (one || each)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected one %s%s", name,
                   ci_value_describe(v, described, sizeof described), ci_dtype_name(dtype),
                   rows > 0 ? " or one for each output" : "");
}

static ci_status conv_bytes_prepare(ci_kernel *k, int x, int w, int zero_x, int zero_w, conv_bytes **plan) {
  const ci_value *a = k->in[x], *b = k->in[w];
  char left[128], right[128];
  if (!conv_is_byte(a) || !conv_is_byte(b)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "x is %s and w is %s, there is a kernel for int8 and uint8",
                     ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  if (a->rank < 3 || a->rank != b->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s and w is %s, expected one rank, 3 or more",
                     ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  conv_bytes *p = *plan = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_nd_prepare(k, a->rank, a->dims, b->dims, &p->conv));
  CI_TRY(conv_row_values(k, zero_x, "x_zero_point", a->dtype, 0));
  CI_TRY(conv_row_values(k, zero_w, "w_zero_point", b->dtype, b->dims[0]));
  size_t tiles;
  CI_TRY(ci_conv_nd_plan(k, CI_INT32, &p->conv, &tiles));
  p->x_bytes = ci_round_up((size_t)a->count * 4, 64);
  p->w_bytes = ci_round_up((size_t)b->count * 4, 64);
  if (!ci_add_size(tiles, p->x_bytes + p->w_bytes, &k->scratch_bytes)) return ci_k_no_memory(k);
  return CI_OK;
}

static ci_status conv_bytes_out(ci_kernel *k, int32_t dtype, const conv_bytes *p) {
  const ci_nd *g = &p->conv.g.nd;
  int64_t dims[CI_MAX_RANK] = {p->conv.g.n, p->conv.g.outputs};
  memcpy(dims + 2, g->out, (size_t)g->rank * sizeof *dims);
  return ci_k_out(k, 0, dtype, g->rank + 2, dims);
}

static int32_t conv_byte(const ci_value *v, int64_t i) {
  return v->dtype == CI_INT8 ? ((const int8_t *)v->data)[i] : ((const uint8_t *)v->data)[i];
}

/* v less its zero points, one or one for each of the first axis. */
static void conv_widen(int32_t *to, const ci_value *v, const ci_value *zero) {
  const int64_t rows = v->dims[0], each = rows > 0 ? v->count / rows : 0;
  for (int64_t row = 0; row < rows; row++) {
    const int32_t less = zero == NULL ? 0 : conv_byte(zero, zero->count == 1 ? 0 : row);
    for (int64_t i = row * each; i < (row + 1) * each; i++) to[i] = conv_byte(v, i) - less;
  }
}

static void conv_bytes_run(ci_kernel *k, int x, int w, int zero_x, int zero_w, const char *bias, void *y) {
  const conv_bytes *p = k->private_memory;
  char *wide_x = k->scratch, *wide_w = wide_x + p->x_bytes;
  conv_widen((int32_t *)(void *)wide_x, k->in[x], conv_input(k, zero_x));
  conv_widen((int32_t *)(void *)wide_w, k->in[w], conv_input(k, zero_w));
  const ci_conv_nd_job job = {.k = k,
                              .p = &p->conv,
                              .x = wide_x,
                              .w = wide_w,
                              .bias = bias,
                              .y = y,
                              .scratch = wide_w + p->w_bytes + p->y_bytes};
  ci_conv_nd_forward(&job);
}

/* After ci_k_out: takes the direct form where there is one. */
static void conv_bytes_direct(ci_kernel *k, int w, conv_bytes *p) {
  p->direct = ci_bytes_plan(k, &p->conv.g.nd, p->conv.g.groups, w, &p->bytes);
  if (p->direct) k->scratch_bytes = p->bytes.bytes;
}

static void conv_bytes_forward(ci_kernel *k, int x, int w, int zero_x, int zero_w, ci_bytes_take take) {
  const conv_bytes *p = k->private_memory;
  const ci_bytes_job job = {.k = k,
                            .p = &p->bytes,
                            .x = k->in[x],
                            .w = k->in[w],
                            .x_zero = conv_input(k, zero_x),
                            .w_zero = conv_input(k, zero_w),
                            .scratch = k->scratch,
                            .take = take,
                            .argument = k};
  ci_bytes_forward(&job);
}

/* ---- ConvInteger ---- */

ci_status ci_prepare_conv_integer(ci_kernel *k) {
  conv_bytes *p;
  CI_TRY(conv_bytes_prepare(k, 0, 1, 2, 3, &p));
  CI_TRY(conv_bytes_out(k, CI_INT32, p));
  conv_bytes_direct(k, 1, p);
  return CI_OK;
}

CI_FAST static void conv_add(int32_t *y, const int32_t *sums, int64_t n, int32_t add) {
  for (int64_t i = 0; i < n; i++) y[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)add);
}

static void conv_integer_take(void *argument, int64_t image, int64_t output, const int32_t *sums, int32_t add) {
  const ci_kernel *k = argument;
  const conv_bytes *p = k->private_memory;
  const int64_t *out = p->bytes.out;
  int32_t *y = (int32_t *)k->out[0]->data + (image * p->conv.g.outputs + output) * out[0] * out[1];
  for (int64_t row = 0; row < out[0]; row++, y += out[1], sums += p->bytes.c_line) conv_add(y, sums, out[1], add);
}

ci_status ci_run_conv_integer(ci_kernel *k) {
  const conv_bytes *p = k->private_memory;
  if (p->direct) conv_bytes_forward(k, 0, 1, 2, 3, conv_integer_take);
  else if (k->out[0]->count > 0) conv_bytes_run(k, 0, 1, 2, 3, NULL, k->out[0]->data);
  return CI_OK;
}

/* ---- QLinearConv ---- */

ci_status ci_prepare_qlinear_conv(ci_kernel *k) {
  conv_bytes *p;
  CI_TRY(conv_bytes_prepare(k, 0, 3, 2, 5, &p));
  const ci_value *zero = k->in[7];
  if (!conv_is_byte(zero)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "y_zero_point is %s, there is a kernel for int8 and uint8",
                     ci_dtype_name(zero->dtype));
  }
  CI_TRY(conv_row_values(k, 1, "x_scale", CI_FLOAT, 0));
  CI_TRY(conv_row_values(k, 4, "w_scale", CI_FLOAT, p->conv.g.outputs));
  CI_TRY(conv_row_values(k, 6, "y_scale", CI_FLOAT, 0));
  CI_TRY(conv_row_values(k, 7, "y_zero_point", zero->dtype, 0));
  CI_TRY(ci_conv_nd_bias(k, 8, p->conv.g.outputs, CI_INT32));
  CI_TRY(conv_bytes_out(k, zero->dtype, p));
  if (k->out[0]->bytes > SIZE_MAX / 8) return ci_k_no_memory(k);
  p->y_bytes = ci_round_up(k->out[0]->bytes * 4, 64);
  if (!ci_add_size(k->scratch_bytes, p->y_bytes, &k->scratch_bytes)) return ci_k_no_memory(k);
  conv_bytes_direct(k, 3, p);
  return CI_OK;
}

/* n sums of one output, with the bias, to bytes. */
static void conv_scale(const ci_kernel *k, int64_t output, uint8_t *y, const int32_t *sums, int64_t n, int32_t bias) {
  const ci_value *w_scale = k->in[4];
  const bool sign = k->out[0]->dtype == CI_INT8;
  const float zero = (float)conv_byte(k->in[7], 0), low = sign ? -128.0f : 0.0f, high = sign ? 127.0f : 255.0f;
  const float scale = *(const float *)k->in[1]->data * ((const float *)w_scale->data)[w_scale->count == 1 ? 0 : output];
  const float factor = scale / *(const float *)k->in[6]->data;
  if (factor - factor == 0.0f) {
    k->isa->move->requantize(y, sums, n, bias, factor, zero, low, high);
    return;
  }
  for (int64_t i = 0; i < n; i++) { /* infinite, or NaN, which gives 0 */
    const float value = (float)(int32_t)((uint32_t)sums[i] + (uint32_t)bias) * factor;
    y[i] = (uint8_t)(int32_t)(value > 0.0f ? high : value < 0.0f ? low : 0.0f);
  }
}

static void conv_qlinear_take(void *argument, int64_t image, int64_t output, const int32_t *sums, int32_t add) {
  const ci_kernel *k = argument;
  const conv_bytes *p = k->private_memory;
  const int64_t *out = p->bytes.out;
  const ci_value *bias = conv_input(k, 8);
  const uint32_t all = (uint32_t)add + (bias == NULL ? 0 : (uint32_t)((const int32_t *)bias->data)[output]);
  uint8_t *y = (uint8_t *)k->out[0]->data + (image * p->conv.g.outputs + output) * out[0] * out[1];
  const bool dense = p->bytes.c_line == out[1]; /* then the rows are one */
  const int64_t rows = dense ? 1 : out[0], n = dense ? out[0] * out[1] : out[1];
  for (int64_t row = 0; row < rows; row++, y += n, sums += p->bytes.c_line)
    conv_scale(k, output, y, sums, n, (int32_t)all);
}

ci_status ci_run_qlinear_conv(ci_kernel *k) {
  const conv_bytes *p = k->private_memory;
  const int64_t positions = p->conv.g.nd.positions, outputs = p->conv.g.outputs;
  int32_t *sums = (int32_t *)(void *)((char *)k->scratch + p->x_bytes + p->w_bytes);
  if (k->out[0]->count == 0) return CI_OK;
  if (p->direct) {
    conv_bytes_forward(k, 0, 3, 2, 5, conv_qlinear_take);
    return CI_OK;
  }
  conv_bytes_run(k, 0, 3, 2, 5, k->n_in > 8 && k->in[8] != NULL ? k->in[8]->data : NULL, sums);
  uint8_t *y = k->out[0]->data;
  for (int64_t row = 0; row < p->conv.g.n * outputs; row++)
    conv_scale(k, row % outputs, y + row * positions, sums + row * positions, positions, 0);
  return CI_OK;
}
#endif
