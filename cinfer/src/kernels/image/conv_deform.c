/* conv_deform.c - DeformConv: Conv of (n, c, h, w) whose taps lie where offsets say, between pixels. */
#include "../convolution/conv_nd.h"
#if CI_HAS(image)

typedef struct deform_plan {
  ci_conv_nd conv;
  int64_t parts; /* offset_group */
} deform_plan;

static ci_status deform_check(ci_kernel *k, int input, const char *name, const deform_plan *p, int64_t many) {
  const ci_value *v = k->n_in > input ? k->in[input] : NULL;
  const ci_nd *g = &p->conv.g.nd;
  char described[128];
  if (v == NULL) return CI_OK;
  const int64_t rows = p->parts * many * g->taps;
  if (v->dtype == k->in[0]->dtype && v->rank == 4 && v->dims[0] == p->conv.g.n && v->dims[1] == rows &&
      v->dims[2] == g->out[0] && v->dims[3] == g->out[1]) {
    return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s[%lld,%lld,%lld,%lld]", name,
                   ci_value_describe(v, described, sizeof described), ci_dtype_name(k->in[0]->dtype),
                   (long long)p->conv.g.n, (long long)rows, (long long)g->out[0], (long long)g->out[1]);
}

ci_status ci_prepare_deform_conv(ci_kernel *k) {
  const ci_value *x = k->in[0], *w = k->in[1];
  char left[128], right[128];
  if (x->rank != 4 || (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "x is %s, there is a kernel for float32 and float64 of rank 4",
                     ci_value_describe(x, left, sizeof left));
  }
  if (w->rank != 4 || w->dtype != x->dtype) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s and w is %s, expected one type and rank",
                     ci_value_describe(x, left, sizeof left), ci_value_describe(w, right, sizeof right));
  }
  deform_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_conv_nd_prepare(k, 4, x->dims, w->dims, &p->conv));
  CI_TRY(ci_k_attr_i(k, "offset_group", 1, &p->parts));
  if (p->parts < 1 || p->parts > INT32_MAX || x->dims[1] % p->parts != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "offset_group is %lld, it must divide %lld channels", (long long)p->parts,
                     (long long)x->dims[1]);
  }
  CI_TRY(deform_check(k, 2, "offset", p, 2));
  CI_TRY(deform_check(k, 4, "mask", p, 1));
  CI_TRY(ci_conv_nd_bias(k, 3, p->conv.g.outputs, x->dtype));
  const int64_t dims[4] = {p->conv.g.n, p->conv.g.outputs, p->conv.g.nd.out[0], p->conv.g.nd.out[1]};
  CI_TRY(ci_k_out(k, 0, x->dtype, 4, dims));
  return ci_conv_nd_plan_filled(k, x->dtype, &p->conv, &k->scratch_bytes);
}

static double deform_load(const ci_conv_nd *p, const void *data, int64_t i) {
  return p->item == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* The sample of one plane between its four neighbours, those outside being 0; in double. */
static double deform_sample(const ci_conv_nd *p, const char *plane, double y, double x) {
  const int64_t h = p->g.nd.size[0], w = p->g.nd.size[1];
  if (!(y > -1.0 && x > -1.0 && y < (double)h && x < (double)w)) return 0.0;
  const int64_t top = (int64_t)(y + 1.0) - 1, left = (int64_t)(x + 1.0) - 1;
  const double low = y - (double)top, right = x - (double)left;
  double sum = 0.0;
  for (int i = 0; i < 4; i++) {
    const int64_t row = top + i / 2, column = left + i % 2;
    if (row < 0 || row >= h || column < 0 || column >= w) continue;
    const double share = (i / 2 ? low : 1.0 - low) * (i % 2 ? right : 1.0 - right);
    const double term = share * deform_load(p, plane, row * w + column);
    sum = sum + term;
  }
  return sum;
}

static void deform_fill(const ci_conv_nd_job *job, char *to, const ci_conv_nd_box *box) {
  const deform_plan *plan = job->k->private_memory;
  const ci_conv_nd *p = &plan->conv;
  const ci_nd *g = &p->g.nd;
  const ci_kernel *k = job->k;
  const void *mask = k->n_in > 4 && k->in[4] != NULL ? k->in[4]->data : NULL;
  const int64_t of_part = p->g.c / plan->parts;
  for (int64_t term = box->k0; term < box->k1; term++) {
    const int64_t channel = box->group * p->g.ic + term / g->taps, tap = term % g->taps;
    const int64_t row = (box->image * plan->parts + channel / of_part) * g->taps + tap;
    const char *plane = job->x + (size_t)((box->image * p->g.c + channel) * g->area) * p->item;
    const int64_t y0 = tap / g->kernel[1] * g->dilation[0] - g->before[0];
    const int64_t x0 = tap % g->kernel[1] * g->dilation[1] - g->before[1];
    for (int64_t i = box->p0; i < box->p1; i++) {
      const double dy = deform_load(p, k->in[2]->data, 2 * row * g->positions + i);
      const double dx = deform_load(p, k->in[2]->data, (2 * row + 1) * g->positions + i);
      const double y = (double)(i / g->out[1] * g->stride[0] + y0) + dy;
      const double x = (double)(i % g->out[1] * g->stride[1] + x0) + dx;
      double value = deform_sample(p, plane, y, x);
      if (mask != NULL) value = value * deform_load(p, mask, row * g->positions + i);
      const int64_t at = (term - box->k0) * box->k_step + (i - box->p0) * box->p_step;
      if (p->item == 4) {
        ((float *)(void *)to)[at] = (float)value;
      } else {
        ((double *)(void *)to)[at] = value;
      }
    }
  }
}

ci_status ci_run_deform_conv(ci_kernel *k) {
  const deform_plan *p = k->private_memory;
  const ci_conv_nd_job job = {.k = k,
                              .p = &p->conv,
                              .x = k->in[0]->data,
                              .w = k->in[1]->data,
                              .bias = k->n_in > 3 && k->in[3] != NULL ? k->in[3]->data : NULL,
                              .y = k->out[0]->data,
                              .scratch = k->scratch,
                              .fill = deform_fill};
  ci_conv_nd_forward(&job);
  return CI_OK;
}
#endif
