/* complex_parts.c - Real, Imag, Complex, ComplexToPairs, PairsToComplex: copies and views between complex numbers and
 * their parts. All arithmetic of complex numbers is composed of operators on the parts (graphio/ops/complex/). */
#include <string.h>

#include "../ci_kernel.h"

#define CP_GRAIN 16384

/* Elements begin .. end of parts of `bytes` bytes each, which are so many apart. */
static void cp_copy(char *to, size_t to_step, const char *from, size_t from_step, size_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; i++, to += to_step, from += from_step) {
    if (bytes == 4) memcpy(to, from, 4);
    else memcpy(to, from, 8);
  }
}

static size_t cp_bytes(int32_t dtype) { return dtype == CI_FLOAT || dtype == CI_COMPLEX64 ? 4 : 8; }

/* ---- Real, Imag ---- */

ci_status ci_prepare_complex_part(ci_kernel *k) {
  return ci_k_out_like(k, 0, k->in[0]->dtype == CI_COMPLEX64 ? CI_FLOAT : CI_DOUBLE, k->in[0]);
}

static void cp_part(const ci_kernel *k, int64_t begin, int64_t end, size_t which) {
  const size_t bytes = cp_bytes(k->out[0]->dtype), first = (size_t)begin * bytes;
  cp_copy((char *)k->out[0]->data + first, bytes, (const char *)k->in[0]->data + 2 * first + which * bytes, 2 * bytes,
          bytes, end - begin);
}

static void cp_real(void *argument, int64_t begin, int64_t end, int thread) {
  (void)thread;
  cp_part(argument, begin, end, 0);
}

static void cp_imag(void *argument, int64_t begin, int64_t end, int thread) {
  (void)thread;
  cp_part(argument, begin, end, 1);
}

ci_status ci_run_real(ci_kernel *k) {
  ci_k_parallel_rows(k, k->out[0]->count, CP_GRAIN, cp_real, k);
  return CI_OK;
}

ci_status ci_run_imag(ci_kernel *k) {
  ci_k_parallel_rows(k, k->out[0]->count, CP_GRAIN, cp_imag, k);
  return CI_OK;
}

/* ---- Complex ---- */

ci_status ci_prepare_complex(ci_kernel *k) {
  const ci_value *x = k->in[0], *y = k->in[1];
  char one[160], other[160];
  if (x->rank != y->rank || (x->rank > 0 && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) != 0)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the parts are %s and %s, expected equal shapes",
                     ci_value_describe(x, one, sizeof one), ci_value_describe(y, other, sizeof other));
  }
  return ci_k_out_like(k, 0, x->dtype == CI_FLOAT ? CI_COMPLEX64 : CI_COMPLEX128, x);
}

static void cp_join(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const size_t bytes = cp_bytes(k->out[0]->dtype), first = (size_t)begin * bytes;
  char *z = (char *)k->out[0]->data + 2 * first;
  (void)thread;
  cp_copy(z, 2 * bytes, (const char *)k->in[0]->data + first, bytes, bytes, end - begin);
  cp_copy(z + bytes, 2 * bytes, (const char *)k->in[1]->data + first, bytes, bytes, end - begin);
}

ci_status ci_run_complex(ci_kernel *k) {
  ci_k_parallel_rows(k, k->out[0]->count, CP_GRAIN, cp_join, k);
  return CI_OK;
}

/* ---- ComplexToPairs, PairsToComplex: the same bytes ---- */

ci_status ci_prepare_complex_to_pairs(ci_kernel *k) {
  const ci_value *z = k->in[0];
  int64_t dims[CI_MAX_RANK];
  char found[160];
  if (z->rank == CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected at most %d axes",
                     ci_value_describe(z, found, sizeof found), CI_MAX_RANK - 1);
  }
  memcpy(dims, z->dims, sizeof dims);
  dims[z->rank] = 2;
  CI_TRY(ci_k_out(k, 0, z->dtype == CI_COMPLEX64 ? CI_FLOAT : CI_DOUBLE, z->rank + 1, dims));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

ci_status ci_prepare_pairs_to_complex(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char found[160];
  if (x->rank < 1 || x->dims[x->rank - 1] != 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected a last dimension of 2",
                     ci_value_describe(x, found, sizeof found));
  }
  CI_TRY(ci_k_out(k, 0, x->dtype == CI_FLOAT ? CI_COMPLEX64 : CI_COMPLEX128, x->rank - 1, x->dims));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}
