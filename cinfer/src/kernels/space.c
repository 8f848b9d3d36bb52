/* space.c - DepthToSpace and SpaceToDepth: moves of elements of any type. */
#include "../ci_kernel.h"

typedef struct space_plan {
  bool crd;
  int64_t block, n, depth, h, w; /* depth: channels of the large image; h, w of the small one */
} space_plan;

static ci_status space_prepare(ci_kernel *k, bool to_space) {
  const ci_value *x = k->in[0];
  ci_span mode;
  int64_t b;
  CI_TRY(k_attr_i(k, "blocksize", 0, &b));
  CI_TRY(k_attr_s(k, "mode", "DCR", &mode));
  if (b < 1 || b >= (int64_t)1 << 31) {
    return k_fail(k, CI_INVALID_ARGUMENT, "blocksize is %lld, expected 1 or more", (long long)b);
  }
  if (!k_span_is(mode, "DCR") && !k_span_is(mode, "CRD")) {
    return k_fail(k, CI_INVALID_ARGUMENT, "mode is '%.*s', expected DCR or CRD",
                  (int)(mode.length < 40 ? mode.length : 40), mode.data);
  }
  if (x->rank != 4) return k_fail(k, CI_INVALID_ARGUMENT, "x has rank %d, expected n, c, h, w", x->rank);
  const int64_t *d = x->dims;
  if (to_space ? d[1] % (b * b) != 0 : d[2] % b != 0 || d[3] % b != 0) {
    return k_fail(k, CI_INVALID_ARGUMENT, "%s does not divide into blocks of %lld", to_space ? "c" : "the image",
                  (long long)b);
  }
  space_plan *p = k_private(k, sizeof *p);
  if (p == NULL) return k_no_memory(k);
  *p = (space_plan){k_span_is(mode, "CRD"),    b, d[0], to_space ? d[1] / (b * b) : d[1], to_space ? d[2] : d[2] / b,
                    to_space ? d[3] : d[3] / b};
  if (to_space) {
    if (d[2] > INT64_MAX / b || d[3] > INT64_MAX / b) return k_fail(k, CI_RESOURCE_EXHAUSTED, "x is too large");
    return k_out(k, 0, x->dtype, 4, (const int64_t[]){d[0], p->depth, d[2] * b, d[3] * b});
  }
  if (d[1] > INT64_MAX / (b * b)) return k_fail(k, CI_RESOURCE_EXHAUSTED, "x is too large");
  return k_out(k, 0, x->dtype, 4, (const int64_t[]){d[0], d[1] * b * b, p->h, p->w});
}

ci_status prepare_depth_to_space(ci_kernel *k) { return space_prepare(k, true); }
ci_status prepare_space_to_depth(ci_kernel *k) { return space_prepare(k, false); }

static void space_move(char *to, const char *from, size_t item) {
  switch (item) { /* a constant size is one move */
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, item); break;
  }
}

static ci_status space_run(ci_kernel *k, bool to_space) {
  const space_plan *p = k->private_memory;
  const size_t item = ci_dtype_size(k->out[0]->dtype);
  const int64_t b = p->block, area = p->h * p->w;
  const char *x = k->in[0]->data;
  char *y = k->out[0]->data;
  if (k->out[0]->count == 0) return CI_OK;
  for (int64_t row = 0; row < p->n * p->depth * p->h * b; row++) { /* of the large image */
    const int64_t i = row / b % p->h, bi = row % b, c = row / b / p->h % p->depth, n = row / b / p->h / p->depth;
    for (int64_t bj = 0; bj < b; bj++) {
      const int64_t channel = p->crd ? (c * b + bi) * b + bj : (bi * b + bj) * p->depth + c;
      const int64_t deep = (n * p->depth * b * b + channel) * area + i * p->w, wide = row * p->w * b + bj;
      for (int64_t j = 0; j < p->w; j++) {
        const size_t u = (size_t)(deep + j) * item, v = (size_t)(wide + j * b) * item;
        space_move(y + (to_space ? v : u), x + (to_space ? u : v), item);
      }
    }
  }
  return CI_OK;
}

ci_status run_depth_to_space(ci_kernel *k) { return space_run(k, true); }
ci_status run_space_to_depth(ci_kernel *k) { return space_run(k, false); }
