/* half.c - float16 and bfloat16: runs a float32 kernel on widened inputs and narrows its outputs. */
#include "half.h"

#include <stdio.h>

#include "../base/guard.h"
#include "../kernels/arithmetic/elementwise.h"
#include "../session/session.h"

enum { HALF_KNOWN = 2 * CI_MAX_RANK }; /* elements that prepare may look at */

typedef struct half_value {
  ci_value wide;
  size_t offset;           /* in the scratch memory */
  bool is_wide;            /* false: the kernel sees the value itself */
  float known[HALF_KNOWN]; /* `wide.data` while preparing */
} half_value;

struct ci_half {
  ci_value **in, **out; /* the step's own */
  ci_value **wide_in, **wide_out;
  half_value *ins, *outs;
  int32_t dtype; /* of the first input that is widened */
  size_t scratch_bytes;
};

static bool half_is(int32_t dtype) { return dtype == CI_FLOAT16 || dtype == CI_BFLOAT16; }

bool ci_half_needed(const ci_step *step) {
  if (!ci_step_is(step, CI_OP_HALF)) return false;
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] != NULL && half_is(step->k.in[i]->dtype)) return true;
  }
  return false;
}

static ci_status half_make(ci_step *step) {
  ci_pool *pool = &step->plan->pool;
  const size_t ins = (size_t)step->k.n_in, outs = (size_t)step->k.n_out;
  size_t input_slots = ins; /* as compile.c: kernels may look at optional inputs that the node does not write */
  if (step->node->kernel->max_in > 0 && input_slots < (size_t)step->node->kernel->max_in)
    input_slots = (size_t)step->node->kernel->max_in;
  ci_half *h = ci_pool_alloc(pool, sizeof *h);
  if (h == NULL) return ci_k_no_memory(&step->k);
  *h = (ci_half){.in = step->k.in,
                 .out = step->k.out,
                 .wide_in = ci_pool_alloc(pool, input_slots * sizeof *h->wide_in),
                 .wide_out = ci_pool_alloc(pool, outs * sizeof *h->wide_out),
                 .ins = ci_pool_alloc(pool, ins * sizeof *h->ins),
                 .outs = ci_pool_alloc(pool, outs * sizeof *h->outs)};
  if (h->wide_in == NULL || h->wide_out == NULL || h->ins == NULL || h->outs == NULL) return ci_k_no_memory(&step->k);
  for (size_t i = 0; i < input_slots; i++) h->wide_in[i] = NULL;
  step->half = h;
  return CI_OK;
}

static void half_widen(const struct ci_isa *isa, const ci_value *from, void *to) {
  ci_cast_find(isa, from->dtype, CI_FLOAT)(to, from->data, from->count);
}

static ci_status half_input(ci_step *step, int i) {
  ci_half *h = step->half;
  ci_value *real = h->in[i];
  half_value *shadow = &h->ins[i];
  shadow->is_wide = real != NULL && half_is(real->dtype);
  h->wide_in[i] = shadow->is_wide ? &shadow->wide : real;
  if (!shadow->is_wide) return CI_OK;
  if (h->dtype == 0) h->dtype = real->dtype;
  shadow->wide = *real;
  shadow->wide.dtype = CI_FLOAT;
  shadow->wide.data = NULL;
  if (!ci_mul_size(real->bytes, 2, &shadow->wide.bytes)) return ci_k_no_memory(&step->k);
  if (real->data == NULL || real->count > HALF_KNOWN) return CI_OK;
  half_widen(step->k.isa, real, shadow->known);
  shadow->wide.data = shadow->known;
  return CI_OK;
}

static bool half_reserve(half_value *shadow, size_t *total) {
  shadow->offset = *total;
  return ci_add_size(*total, ci_round_up(shadow->wide.bytes + CI_RED_ZONE, 64), total);
}

/* After the kernel's prepare: types and shapes of the step's own outputs, and scratch for the wide values. */
static ci_status half_outputs(ci_step *step) {
  ci_half *h = step->half;
  ci_kernel *k = &step->k;
  bool fits = true;
  size_t total = ci_round_up(k->scratch_bytes + CI_RED_ZONE, 64);
  h->scratch_bytes = k->scratch_bytes;
  for (int i = 0; i < k->n_in; i++) fits = fits && (!h->ins[i].is_wide || half_reserve(&h->ins[i], &total));
  for (int o = 0; o < k->n_out; o++) {
    half_value *shadow = &h->outs[o];
    if (h->wide_out[o] == h->out[o]) continue;
    const int32_t declared = h->out[o]->dtype;
    shadow->is_wide = shadow->wide.dtype == CI_FLOAT && declared != CI_FLOAT;
    const int32_t dtype = !shadow->is_wide ? shadow->wide.dtype : half_is(declared) ? declared : h->dtype;
    CI_TRY(ci_k_out_like(k, o, dtype, &shadow->wide));
    fits = fits && (!shadow->is_wide || half_reserve(shadow, &total));
  }
  if (!fits) return ci_k_no_memory(k);
  k->scratch_bytes = total;
  return CI_OK;
}

/* The kernel's message shows the types that it saw. */
static ci_status half_failed(const ci_step *step, ci_status status) {
  ci_error *error = step->plan->error;
  if (status == CI_PENDING || error == NULL) return status;
  const size_t used = strlen(error->message);
  (void)snprintf(error->message + used, sizeof error->message - used, " (%s is computed as float32)",
                 ci_dtype_name(step->half->dtype));
  return status;
}

ci_status ci_half_prepare(ci_step *step) {
  ci_kernel *k = &step->k;
  if (step->half == NULL) CI_TRY(half_make(step));
  ci_half *h = step->half;
  h->dtype = 0;
  for (int i = 0; i < k->n_in; i++) CI_TRY(half_input(step, i));
  for (int o = 0; o < k->n_out; o++) {
    const int32_t declared = h->out[o]->dtype;
    const bool may_narrow = half_is(declared) || declared == 0;
    h->outs[o] = (half_value){.wide = {.dtype = declared, .rank = -1}};
    h->wide_out[o] = may_narrow ? &h->outs[o].wide : h->out[o];
  }
  k->in = h->wide_in;
  k->out = h->wide_out;
  step->widens = true;
  ci_status status = step->node->kernel->prepare(k);
  k->in = h->in;
  k->out = h->out;
  if (status != CI_OK) return half_failed(step, status);
  if (k->n_out == 1 && step->alias[0] != CI_NONE) { /* the same bytes in every type: nothing is computed */
    step->widens = false;
    return ci_k_out_like(k, 0, k->in[step->alias[0]]->dtype, h->wide_out[0]);
  }
  return half_outputs(step);
}

ci_status ci_half_run(ci_kernel *k) {
  ci_half *h = k->node->half;
  char *scratch = k->scratch;
  const size_t whole = k->scratch_bytes;
  CI_FORBID(scratch, whole);
  CI_PERMIT(scratch, h->scratch_bytes);
  for (int i = 0; i < k->n_in; i++) {
    if (!h->ins[i].is_wide) continue;
    h->ins[i].wide.data = scratch + h->ins[i].offset;
    CI_PERMIT(h->ins[i].wide.data, h->ins[i].wide.bytes);
    half_widen(k->isa, h->in[i], h->ins[i].wide.data);
  }
  for (int o = 0; o < k->n_out; o++) {
    if (h->wide_out[o] != h->out[o])
      h->outs[o].wide.data = h->outs[o].is_wide ? scratch + h->outs[o].offset : h->out[o]->data;
    if (h->outs[o].is_wide) CI_PERMIT(h->outs[o].wide.data, h->outs[o].wide.bytes);
  }
  k->in = h->wide_in;
  k->out = h->wide_out;
  k->scratch_bytes = h->scratch_bytes;
  ci_status status = k->node->node->kernel->run(k);
  k->in = h->in;
  k->out = h->out;
  k->scratch_bytes = whole;
  CI_PERMIT(scratch, whole);
  for (int o = 0; status == CI_OK && o < k->n_out; o++) {
    /* An output that is an input's memory holds its bytes already. */
    if (!h->outs[o].is_wide || h->wide_out[o] == h->out[o] || k->node->alias[o] >= 0) continue;
    ci_cast_find(k->isa, CI_FLOAT, h->out[o]->dtype)(h->out[o]->data, h->outs[o].wide.data, h->out[o]->count);
  }
  return status;
}
