/* dft.c - DFT, STFT of float32 or float64: lanes are widened, transformed in double and rounded once. */
#include "fft.h"
#include "../arithmetic/integers.h"
#if CI_HAS(signal)

enum {
  DFT_GROUP = 8,      /* lanes that are transformed at once */
  DFT_CACHE = 1 << 14 /* numbers of all of them */
};

typedef struct dft_plan { /* the tables of `fft` follow it */
  ci_fft fft;
  size_t buffer;          /* bytes of one of the two of a thread, which holds `group` lanes */
  int64_t group;
  int64_t lanes, inner;   /* lane l begins at (l / inner) * outer + l % inner, its numbers are inner apart */
  int64_t given, made;  /* numbers of a lane of the input and of the output */
  int64_t frames, step;   /* STFT: of a signal; 1, 0 otherwise */
  int parts, result;      /* 1: real, 2: complex */
  bool inverse, mirrored; /* mirrored: the second half of the numbers is the first one's conjugate */
} dft_plan;

/* ---- checks that both share ---- */

static ci_status dft_type(ci_kernel *k, const ci_value *x) {
  char found[128];
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  if (x->rank >= 2 && (x->dims[x->rank - 1] == 1 || x->dims[x->rank - 1] == 2)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected a last dimension of 1 (real) or 2 (complex)",
                   ci_value_describe(x, found, sizeof found));
}

/* A scalar input that decides a shape; an absent one leaves *value. */
static ci_status dft_scalar(ci_kernel *k, int i, const char *name, int64_t *value) {
  char found[128];
  int count;
  if (i >= k->n_in || k->in[i] == NULL) return CI_OK;
  const ci_value *x = k->in[i];
  if ((x->dtype != CI_INT32 && x->dtype != CI_INT64) || x->count != 1 || x->rank > 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected an integer", name,
                     ci_value_describe(x, found, sizeof found));
  }
  return ci_k_known_ints(k, i, value, 1, &count);
}

/* The plan with its tables for transforms of n numbers. */
static ci_status dft_tables(ci_kernel *k, int64_t n, const char *name, dft_plan **plan) {
  size_t tables = 0, buffer = 0, bytes = 0;
  if (n < 1) return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %lld, expected at least 1", name, (long long)n);
  const int64_t group = n > DFT_CACHE / DFT_GROUP ? 1 : DFT_GROUP;
  if (!ci_fft_size(n, group, &tables, &buffer) || !ci_add_size(tables, sizeof **plan, &bytes)) return ci_k_no_memory(k);
  dft_plan *p = *plan = ci_k_private(k, bytes);
  if (p == NULL) return ci_k_no_memory(k);
  ci_fft_make(&p->fft, n, k->isa, p + 1);
  p->group = group;
  p->buffer = ci_round_up(buffer, 64);
  const uint64_t buffers = 2 * (uint64_t)(k->threads > 1 ? k->threads : 1);
  if (!ci_mul_size(p->buffer, buffers, &k->scratch_bytes)) return ci_k_no_memory(k);
  return CI_OK;
}

/* ---- DFT ---- */

ci_status ci_prepare_dft(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t inverse, onesided, requested = -2, dims[CI_MAX_RANK];
  int axis = 0;
  dft_plan *p;
  CI_TRY(dft_type(k, x));
  CI_TRY(ci_k_attr_i(k, "inverse", 0, &inverse));
  CI_TRY(ci_k_attr_i(k, "onesided", 0, &onesided));
  CI_TRY(dft_scalar(k, 2, "axis", &requested));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  const int parts = (int)x->dims[x->rank - 1];
  if (axis == x->rank - 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld is the last one, which holds the parts of a complex number",
                     (long long)requested);
  }
  if (onesided != 0 && inverse == 0 && parts == 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "onesided takes real numbers, the input is complex");
  }
  int64_t n = x->dims[axis];
  if (onesided != 0 && inverse != 0) n = n > INT64_MAX / 2 ? INT64_MAX : 2 * (n - 1);
  CI_TRY(dft_scalar(k, 1, "dft_length", &n));
  CI_TRY(dft_tables(k, n, "dft_length", &p));
  p->given = x->dims[axis];
  p->made = onesided != 0 && inverse == 0 ? n / 2 + 1 : n;
  p->parts = parts;
  p->inverse = inverse != 0;
  p->mirrored = onesided != 0 && inverse != 0;
  p->result = p->mirrored ? 1 : 2;
  p->inner = ci_shape_count(x->dims, axis + 1, x->rank - 1);
  p->frames = 1;
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = p->made;
  dims[x->rank - 1] = p->result;
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  p->lanes = ci_shape_count(x->dims, 0, axis) * p->inner;
  return CI_OK;
}

/* ---- STFT ---- */

static ci_status stft_length(ci_kernel *k, int64_t signal, int64_t *length) {
  const ci_value *window = k->n_in > 2 ? k->in[2] : NULL;
  char found[128];
  *length = signal;
  if (window != NULL && (window->rank != 1 || window->dtype != k->in[0]->dtype)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the window is %s, expected a vector of %s",
                     ci_value_describe(window, found, sizeof found), ci_dtype_name(k->in[0]->dtype));
  }
  if (window != NULL) *length = window->dims[0];
  CI_TRY(dft_scalar(k, 3, "frame_length", length));
  if (window != NULL && *length != window->dims[0]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "frame_length is %lld, the window has %lld numbers", (long long)*length,
                     (long long)window->dims[0]);
  }
  return CI_OK;
}

ci_status ci_prepare_stft(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t onesided, step = 0, n;
  char found[128];
  dft_plan *p;
  CI_TRY(dft_type(k, x));
  CI_TRY(ci_k_attr_i(k, "onesided", 1, &onesided));
  if (x->rank != 3) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the signal is %s, expected [batch, length, 1 or 2]",
                     ci_value_describe(x, found, sizeof found));
  }
  if (onesided != 0 && x->dims[2] == 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "onesided takes real numbers, the signal is complex");
  }
  CI_TRY(dft_scalar(k, 1, "frame_step", &step));
  CI_TRY(stft_length(k, x->dims[1], &n));
  if (step < 1 || n > x->dims[1]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "frame_step is %lld, the frames' length %lld, that of the signal %lld",
                     (long long)step, (long long)n, (long long)x->dims[1]);
  }
  CI_TRY(dft_tables(k, n, "frame_length", &p));
  p->given = n;
  p->made = onesided != 0 ? n / 2 + 1 : n;
  p->parts = (int)x->dims[2];
  p->result = 2;
  p->inner = 1;
  p->step = step;
  p->frames = (x->dims[1] - n) / step + 1;
  p->lanes = x->dims[0] * p->frames;
  return ci_k_out(k, 0, x->dtype, 4, (int64_t[]){x->dims[0], p->frames, p->made, 2});
}

/* ---- lanes ---- */

/* Number i of a lane to to[i * lanes], from numbers that are so many elements apart. */
#define DFT_COPY(T, name)                                                                                        \
  CI_FAST static void dft_read_##name(double *to, int64_t lanes, const T *from, int64_t apart, int64_t count) {  \
    for (int64_t i = 0; i < count; i++) to[i * lanes] = (double)from[i * apart];                                 \
  }                                                                                                              \
  CI_FAST static void dft_write_##name(T *to, int64_t apart, const double *from, int64_t lanes, int64_t count) { \
    for (int64_t i = 0; i < count; i++) to[i * apart] = (T)from[i * lanes];                                      \
  }
DFT_COPY(float, float)
DFT_COPY(double, double)
#undef DFT_COPY

static void dft_read(double *to, int64_t lanes, const ci_value *x, int64_t at, int64_t apart, int64_t count) {
  if (x->dtype == CI_FLOAT) dft_read_float(to, lanes, (const float *)x->data + at, apart, count);
  else dft_read_double(to, lanes, (const double *)x->data + at, apart, count);
}

/* A lane's numbers, after which zeros are; for an inverse transform with exchanged parts. */
static void dft_load(const ci_kernel *k, const dft_plan *p, int64_t lane, int64_t lanes, double *to) {
  const ci_value *x = k->in[0], *window = p->step > 0 && k->n_in > 2 ? k->in[2] : NULL;
  const int64_t n = p->fft.n, half = p->mirrored ? n / 2 + 1 : n, count = p->given < half ? p->given : half;
  const int64_t begin = p->step > 0 ? lane / p->frames * x->dims[1] + lane % p->frames * p->step
                                    : lane / p->inner * p->given * p->inner + lane % p->inner;
  for (int part = 0; part < p->parts; part++) {
    double *plane = to + (part != p->inverse) * ci_fft_plane(&p->fft, lanes);
    dft_read(plane, lanes, x, begin * p->parts + part, p->inner * p->parts, count);
    for (int64_t i = 0; window != NULL && i < count; i++) {
      const double weight =
          window->dtype == CI_FLOAT ? (double)((const float *)window->data)[i] : ((const double *)window->data)[i];
      plane[i * lanes] = plane[i * lanes] * weight;
    }
  }
  if (!p->mirrored) return;
  double *real = to + ci_fft_plane(&p->fft, lanes);
  to[0] = 0.0; /* an element without a mirror image is real */
  if (n % 2 == 0) to[n / 2 * lanes] = 0.0;
  for (int64_t i = half; i < n; i++) {
    to[i * lanes] = -to[(n - i) * lanes];
    real[i * lanes] = real[(n - i) * lanes];
  }
}

static void dft_store(const ci_kernel *k, const dft_plan *p, int64_t lane, int64_t lanes, double *from) {
  const int64_t begin = lane / p->inner * p->made * p->inner + lane % p->inner, apart = p->inner * p->result;
  const double n = (double)p->fft.n;
  for (int part = 0; part < p->result; part++) {
    double *plane = from + (part != p->inverse) * ci_fft_plane(&p->fft, lanes);
    const int64_t at = begin * p->result + part;
    for (int64_t i = 0; p->inverse && i < p->made; i++) plane[i * lanes] = plane[i * lanes] / n;
    if (k->out[0]->dtype == CI_FLOAT) dft_write_float((float *)k->out[0]->data + at, apart, plane, lanes, p->made);
    else dft_write_double((double *)k->out[0]->data + at, apart, plane, lanes, p->made);
  }
}

static void dft_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const dft_plan *p = k->private_memory;
  double *x = (double *)(void *)((char *)k->scratch + 2 * (size_t)thread * p->buffer);
  double *y = (double *)(void *)((char *)x + p->buffer);
  for (int64_t lane = begin; lane < end; lane += p->group) {
    const int64_t lanes = end - lane < p->group ? end - lane : p->group;
    memset(x, 0, (size_t)(ci_fft_plane(&p->fft, lanes) + p->fft.length * lanes) * sizeof *x);
    for (int64_t i = 0; i < lanes; i++) dft_load(k, p, lane + i, lanes, x + i);
    double *made = ci_fft_run(&p->fft, lanes, x, y);
    for (int64_t i = 0; i < lanes; i++) dft_store(k, p, lane + i, lanes, made + i);
  }
}

ci_status ci_run_dft(ci_kernel *k) {
  const dft_plan *p = k->private_memory;
  const int64_t groups = 1 + (1 << 14) / (p->fft.length * p->group);
  ci_k_parallel(k, p->lanes, groups * p->group, dft_part, k);
  return CI_OK;
}
#endif
