/* space.c - DepthToSpace and SpaceToDepth: copies of elements of any type. */
#include "../shape/copy.h"

typedef struct space_sizes {
  int64_t n, depth, h, w, b;
} space_sizes;

/* The axes n, channel, row, row of a block, column, column of a block: as the large image has them, and the deep one.
 */
static void space_axes(const ci_kernel *k, ci_copy *copy, bool to_space, bool crd, space_sizes s) {
  const int64_t sizes[6] = {s.n, s.depth, s.h, s.b, s.w, s.b};
  const int64_t area = s.h * s.w, block = crd ? 1 : s.depth, channel = crd ? s.b * s.b : 1;
  const int64_t deep[6] = {s.depth * s.b * s.b * area, channel * area, s.w, s.b * block * area, 1, block * area};
  ptrdiff_t wide[6];
  ci_copy_strides(sizes, 6, wide);
  ci_copy_start(copy, k->isa, ci_dtype_size(k->out[0]->dtype));
  for (int i = 0; i < 6; i++) {
    const ptrdiff_t one = (ptrdiff_t)deep[i], other = wide[i];
    ci_copy_axis(copy, sizes[i], to_space ? one : other, to_space ? other : one);
  }
}

static ci_status space_prepare(ci_kernel *k, bool to_space) {
  const ci_value *x = k->in[0];
  ci_span mode;
  int64_t b;
  CI_TRY(ci_k_attr_i(k, "blocksize", 0, &b));
  CI_TRY(ci_k_attr_s(k, "mode", "DCR", &mode));
  if (b < 1 || b >= (int64_t)1 << 31) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "blocksize is %lld, expected 1 or more", (long long)b);
  }
  if (!ci_span_is(mode, "DCR") && !ci_span_is(mode, "CRD")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "mode is '%.*s', expected DCR or CRD",
                     (int)(mode.length < 40 ? mode.length : 40), mode.data);
  }
  if (x->rank != 4) return ci_k_fail(k, CI_INVALID_ARGUMENT, "x has rank %d, expected n, c, h, w", x->rank);
  const int64_t *d = x->dims;
  if (to_space ? d[1] % (b * b) != 0 : d[2] % b != 0 || d[3] % b != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s does not divide into blocks of %lld", to_space ? "c" : "the image",
                     (long long)b);
  }
  const int64_t n = d[0], depth = to_space ? d[1] / (b * b) : d[1]; /* channels of the large image */
  const int64_t h = to_space ? d[2] : d[2] / b, w = to_space ? d[3] : d[3] / b; /* of the small one */
  if (to_space) {
    if (d[2] > INT64_MAX / b || d[3] > INT64_MAX / b) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "x is too large");
    CI_TRY(ci_k_out(k, 0, x->dtype, 4, (const int64_t[]){n, depth, d[2] * b, d[3] * b}));
  } else {
    if (d[1] > INT64_MAX / (b * b)) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "x is too large");
    CI_TRY(ci_k_out(k, 0, x->dtype, 4, (const int64_t[]){n, d[1] * b * b, h, w}));
  }
  ci_copy *copy = ci_k_private(k, sizeof *copy);
  if (copy == NULL) return ci_k_no_memory(k);
  if (k->out[0]->count > 0) space_axes(k, copy, to_space, ci_span_is(mode, "CRD"), (space_sizes){n, depth, h, w, b});
  return CI_OK;
}

ci_status ci_prepare_depth_to_space(ci_kernel *k) { return space_prepare(k, true); }
ci_status ci_prepare_space_to_depth(ci_kernel *k) { return space_prepare(k, false); }

ci_status ci_run_space(ci_kernel *k) {
  if (k->out[0]->count > 0) ci_copy_run(k->private_memory, k->out[0]->data, k->in[0]->data);
  return CI_OK;
}
