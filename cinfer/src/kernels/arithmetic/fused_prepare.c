/* fused_prepare.c - reads the programs of fused.h and prepares them for shapes. */
#include <math.h>

#include "../../simd/isa.h"
#include "../../math/scalar_math.h"
#include "fused_program.h"

/* ---- the operators that a program may have ---- */

typedef struct fused_op {
  const char *name;
  fused_kind kind;
  int id;            /* of the function in its table */
  ci_scalar_fn scalar;
  float a, b;        /* numbers that belong to the operator, where `numbers` has none */
} fused_op;

#define FUSED_VECTOR(kind, name, id) {name, kind, id, NULL, 0.0f, 0.0f}
#define FUSED_DOUBLE(name, fn, id) {name, FUSED_MAP, id, fn, 0.0f, 0.0f}
static const fused_op fused_ops[] = {
    FUSED_VECTOR(FUSED_BINARY, "Add", CI_MATH_add),
    FUSED_VECTOR(FUSED_BINARY, "Sub", CI_MATH_sub),
    FUSED_VECTOR(FUSED_BINARY, "Mul", CI_MATH_mul),
    FUSED_VECTOR(FUSED_BINARY, "Div", CI_MATH_div),
    FUSED_VECTOR(FUSED_BINARY, "Max", CI_MATH_max),
    FUSED_VECTOR(FUSED_BINARY, "Min", CI_MATH_min),
#if CI_HAS(training)
    FUSED_VECTOR(FUSED_BINARY, "ReluGrad", CI_MATH_relu_grad),
#endif
#if CI_HAS(activation)
    FUSED_VECTOR(FUSED_BINARY, "PRelu", CI_MATH_prelu),
#endif
    FUSED_VECTOR(FUSED_TYPED, "Pow", CI_EW_POW),
    FUSED_VECTOR(FUSED_UNARY, "Abs", CI_MATH_abs),
    FUSED_VECTOR(FUSED_UNARY, "Neg", CI_MATH_neg),
    FUSED_VECTOR(FUSED_UNARY, "Sqrt", CI_MATH_sqrt),
    FUSED_VECTOR(FUSED_UNARY, "Reciprocal", CI_MATH_reciprocal),
    FUSED_VECTOR(FUSED_UNARY, "Exp", CI_MATH_exp),
    FUSED_VECTOR(FUSED_UNARY, "Log", CI_MATH_log),
    FUSED_VECTOR(FUSED_UNARY, "Erf", CI_MATH_erf),
#if CI_HAS(activation)
    FUSED_VECTOR(FUSED_UNARY, "Tanh", CI_MATH_tanh),
    FUSED_VECTOR(FUSED_UNARY, "Sigmoid", CI_MATH_sigmoid),
    FUSED_VECTOR(FUSED_UNARY, "Softplus", CI_MATH_softplus),
    FUSED_VECTOR(FUSED_UNARY, "Elu", CI_MATH_elu),
    FUSED_VECTOR(FUSED_UNARY, "Selu", CI_MATH_selu),
    FUSED_VECTOR(FUSED_UNARY, "LeakyRelu", CI_MATH_leaky_relu),
    FUSED_VECTOR(FUSED_UNARY, "Relu", CI_MATH_relu),
    FUSED_VECTOR(FUSED_UNARY, "Gelu", CI_MATH_gelu),
    FUSED_VECTOR(FUSED_UNARY, "GeluTanh", CI_MATH_gelu_tanh),
    FUSED_VECTOR(FUSED_UNARY, "Mish", CI_MATH_mish),
    FUSED_VECTOR(FUSED_UNARY, "Swish", CI_MATH_swish),
    FUSED_VECTOR(FUSED_UNARY, "HardSigmoid", CI_MATH_hard_sigmoid),
    {"HardSwish", FUSED_UNARY, CI_MATH_hard_swish, NULL, 1.0f / 6.0f, 0.5f},
    FUSED_VECTOR(FUSED_UNARY, "Softsign", CI_MATH_softsign),
#endif
    FUSED_VECTOR(FUSED_UNARY, "Clip", CI_MATH_clip),
#if CI_HAS(rounding)
    FUSED_VECTOR(FUSED_UNARY, "Floor", CI_MATH_floor),
    FUSED_VECTOR(FUSED_UNARY, "Ceil", CI_MATH_ceil),
    FUSED_VECTOR(FUSED_UNARY, "Round", CI_MATH_round),
    FUSED_VECTOR(FUSED_UNARY, "Sign", CI_MATH_sign),
#endif
#if CI_HAS(trigonometry)
    FUSED_DOUBLE("Sin", ci_sin, CI_DOUBLE_sin),
    FUSED_DOUBLE("Cos", ci_cos, CI_DOUBLE_cos),
    FUSED_DOUBLE("Tan", ci_tan, CI_DOUBLE_COUNT),
    FUSED_DOUBLE("Asin", ci_asin, CI_DOUBLE_asin),
    FUSED_DOUBLE("Acos", ci_acos, CI_DOUBLE_acos),
    FUSED_DOUBLE("Atan", ci_atan, CI_DOUBLE_atan),
    FUSED_DOUBLE("Sinh", ci_sinh, CI_DOUBLE_COUNT),
    FUSED_DOUBLE("Cosh", ci_cosh, CI_DOUBLE_COUNT),
    FUSED_DOUBLE("Asinh", ci_asinh, CI_DOUBLE_COUNT),
    FUSED_DOUBLE("Acosh", ci_acosh, CI_DOUBLE_COUNT),
    FUSED_DOUBLE("Atanh", ci_atanh, CI_DOUBLE_COUNT),
#endif
};

static const fused_op *fused_find(ci_span name) {
  for (size_t i = 0; i < sizeof fused_ops / sizeof fused_ops[0]; i++) {
    if (ci_span_is(name, fused_ops[i].name)) return &fused_ops[i];
  }
  return NULL;
}

static bool fused_is_binary(const fused_op *op) { return op->kind == FUSED_BINARY || op->kind == FUSED_TYPED; }

/* ---- reading the attributes ---- */

typedef struct fused_source { /* the attributes */
  const ci_span *ops, *nodes;
  const int64_t *operands;
  const float *literals, *numbers;
  int op_count, node_count, operand_count, literal_count, number_count;
} fused_source;

/* Of a fused MatMul or convolution, `nodes` has its name first. */
static ci_status fused_read(ci_kernel *k, bool gemm, fused_source *source) {
  CI_TRY(ci_k_attr_strings(k, "ops", &source->ops, &source->op_count));
  CI_TRY(ci_k_attr_ints(k, "operands", &source->operands, &source->operand_count));
  CI_TRY(ci_k_attr_floats(k, "literals", &source->literals, &source->literal_count));
  CI_TRY(ci_k_attr_floats(k, "numbers", &source->numbers, &source->number_count));
  CI_TRY(ci_k_attr_strings(k, "nodes", &source->nodes, &source->node_count));
  if (source->op_count < 1 || source->op_count > FUSED_STEPS) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "ops has %d names, expected 1 to %d", source->op_count, FUSED_STEPS);
  }
  if (source->literal_count > FUSED_STEPS * 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "literals has %d numbers, expected at most %d", source->literal_count,
                     FUSED_STEPS * 2);
  }
  if (source->number_count > 0 && source->number_count != 2 * source->op_count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "numbers has %d numbers, expected two for each of the %d steps",
                     source->number_count, source->op_count);
  }
  if (source->node_count <= 0) {
    source->nodes = NULL;
  } else if (source->node_count != source->op_count + gemm) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "nodes has %d names, expected one for each of the %d steps%s",
                     source->node_count, source->op_count, gemm ? " and one for the linear operator" : "");
  } else {
    source->nodes += gemm;
  }
  return CI_OK;
}

/* The steps' results while registers are assigned. */
typedef struct fused_values {
  const fused_op *op[FUSED_STEPS];
  int from[FUSED_STEPS][2]; /* as in the attribute: inputs, then steps; negative: literals */
  int last[FUSED_STEPS];    /* the last step that reads a step's result */
  int at[FUSED_STEPS];      /* register */
  bool still[FUSED_STEPS];
  int input_last; /* the last step that reads an input whose memory may be the output's */
} fused_values;

/* All inputs and results have a part in the last result, so that each broadcasts to it. */
static ci_status fused_all_read(ci_kernel *k, const ci_fused *f, int steps, const fused_values *v) {
  for (int s = 0; s < steps - 1; s++) {
    if (v->last[s] == s) return ci_k_fail(k, CI_INVALID_ARGUMENT, "no step reads the result of step %d", s);
  }
  for (int i = f->gemm; i < f->inputs; i++) {
    bool read = false;
    for (int s = 0; s < steps; s++) read = read || v->from[s][0] == i || v->from[s][1] == i;
    if (!read) return ci_k_fail(k, CI_INVALID_ARGUMENT, "no step reads input %d of the program", i);
  }
  return CI_OK;
}

static ci_status fused_operands(ci_kernel *k, const ci_fused *f, const fused_source *source, fused_values *v) {
  int next = 0;
  for (int s = 0; s < source->op_count; s++) {
    v->op[s] = fused_find(source->ops[s]);
    v->last[s] = s;
    if (v->op[s] == NULL) {
      return ci_k_fail(k, CI_UNIMPLEMENTED, "step %d is '%.*s', which a program cannot have", s,
                       (int)(source->ops[s].length < 40 ? source->ops[s].length : 40), source->ops[s].data);
    }
    const int arity = fused_is_binary(v->op[s]) ? 2 : 1;
    for (int i = 0; i < 2; i++) {
      if (i >= arity) {
        v->from[s][i] = v->from[s][0];
        continue;
      }
      if (next >= source->operand_count) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "operands has %d numbers, step %d needs more", source->operand_count,
                         s);
      }
      const int64_t operand = source->operands[next++];
      const int64_t literals = source->literal_count > 0 ? source->literal_count : 0;
      if (operand < -literals || operand >= f->inputs + s) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT,
                         "operand %lld of step %d: there are %d inputs, %d results before it and %lld literals",
                         (long long)operand, s, f->inputs, s, (long long)literals);
      }
      v->from[s][i] = (int)operand;
      if (operand >= f->inputs) v->last[operand - f->inputs] = s;
    }
  }
  if (next == source->operand_count) return fused_all_read(k, f, source->op_count, v);
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "operands has %d numbers, the steps need %d", source->operand_count, next);
}

static bool fused_is_still(const ci_fused *f, const fused_values *v, int operand) {
  if (operand < 0) return true;
  return operand < f->inputs ? ci_broadcast_still(&f->walk, operand) : v->still[operand - f->inputs];
}

static int fused_slot(const ci_fused *f, const fused_values *v, int operand) {
  if (operand < 0) return FUSED_LITERAL - 1 - operand;
  return operand < f->inputs ? operand : FUSED_REGISTER + v->at[operand - f->inputs];
}

/* A register for the result of step s: the output's own memory wherever none of its content is still needed. */
static int fused_register(ci_fused *f, fused_values *v, int s) {
  bool used[FUSED_REGISTERS + 1] = {false};
  if (s == f->steps - 1) return FUSED_OUT;
  for (int t = 0; t < s; t++) {
    if (v->last[t] > s) used[v->at[t]] = true;
  }
  if (v->input_last <= s && !used[FUSED_OUT]) return FUSED_OUT;
  for (int r = 0; r < FUSED_REGISTERS; r++) {
    if (used[r]) continue;
    if (r >= f->registers) f->registers = r + 1;
    return r;
  }
  return -1;
}

/* An input of the output's size may share the output's memory, and is read before that is written. */
static int fused_last_read(const ci_fused *f, const fused_values *v) {
  int last = -1;
  for (int s = 0; s < f->steps; s++) {
    for (int i = 0; i < 2; i++) {
      const int p = v->from[s][i];
      if (p >= 0 && p < f->inputs && f->in[p]->count == f->walk.count) last = s;
    }
  }
  return last;
}

/* Powers and trigonometry have vectors where the instruction set has. */
static void fused_take_doubles(const struct ci_isa_math *math, const fused_op *op, fused_step *step) {
  if (op->kind == FUSED_TYPED && math->pow != NULL) {
    step->kind = FUSED_BINARY;
    step->fn.binary = math->pow;
  }
#if CI_HAS(trigonometry)
  if (op->kind == FUSED_MAP && op->id < CI_DOUBLE_COUNT && math->trigonometry[op->id] != NULL) {
    step->kind = FUSED_UNARY;
    step->fn.unary = math->trigonometry[op->id];
  }
#endif
}

static ci_status fused_steps(ci_kernel *k, ci_fused *f, const fused_source *source, fused_values *v) {
  f->steps = source->op_count;
  f->literals = source->literals;
  v->input_last = fused_last_read(f, v);
  for (int s = 0; s < f->steps; s++) {
    const fused_op *op = v->op[s];
    const int *from = v->from[s];
    const bool still[2] = {fused_is_still(f, v, from[0]), fused_is_still(f, v, from[1])};
    v->still[s] = still[0] && still[1] && f->walk.dims[0] > 1;
    v->at[s] = fused_register(f, v, s);
    if (v->at[s] < 0) {
      return ci_k_fail(k, CI_UNIMPLEMENTED, "step %d needs more than %d results at the same time", s, FUSED_REGISTERS);
    }
    const float *numbers = source->number_count > 0 ? source->numbers + 2 * s : NULL;
    fused_step *step = &f->step[s];
    *step = (fused_step){.kind = (uint8_t)op->kind,
                         .still = v->still[s],
                         .to = (int8_t)v->at[s],
                         .from = {(int8_t)fused_slot(f, v, from[0]), (int8_t)fused_slot(f, v, from[1])},
                         .a = op->a != 0.0f || numbers == NULL ? op->a : numbers[0],
                         .b = op->b != 0.0f || numbers == NULL ? op->b : numbers[1],
                         .argument = op->scalar};
    step->scalar = still[0] == still[1] ? CI_NO_SCALAR : still[0] ? CI_SCALAR_A : CI_SCALAR_B;
    switch (op->kind) {
      case FUSED_UNARY: step->fn.unary = k->isa->math->unary[op->id]; break;
      case FUSED_BINARY: step->fn.binary = k->isa->math->binary[op->id]; break;
      case FUSED_TYPED: step->fn.typed = ci_typed_binary(op->id, CI_FLOAT); break;
      default: step->fn.map = ci_scalar_map(CI_FLOAT); break;
    }
    fused_take_doubles(k->isa->math, op, step);
  }
  return CI_OK;
}

/* Whether each input is a matrix of the result's rows and columns, and its strides. */
static bool fused_as_matrices(ci_fused *f) {
  const ci_broadcast *b = &f->walk;
  if (b->rank > 2 || (b->rank == 2 && b->dims[0] != f->width)) return false;
  for (int i = 1; i < f->inputs; i++) {
    const ptrdiff_t inner = b->step[0][i] / (ptrdiff_t)sizeof(float);
    f->col[i] = inner;
    f->row[i] = b->rank == 2 ? b->step[1][i] / (ptrdiff_t)sizeof(float) : inner * (ptrdiff_t)f->width;
  }
  for (int s = 0; s < f->steps; s++) {
    if (f->step[s].still || f->step[s].to != FUSED_OUT) return false;
  }
  return true;
}

/* Whether short rows may be put together: inputs are one number, one row, or laid out as the result is. */
static bool fused_may_repeat(const ci_fused *f) {
  int rows = 0;
  if (!f->by_tiles || f->width < 1 || f->width > FUSED_SHORT) return false;
  for (int i = 1; i < f->inputs; i++) {
    if (f->row[i] == 0) rows += f->col[i] != 0;
    else if (f->row[i] != (ptrdiff_t)f->width || f->col[i] != 1) return false;
  }
  return rows <= FUSED_REPEATED;
}

/* The shapes of the steps, one by one, so that an error names the node that the step came from. */
static ci_status fused_shapes(ci_kernel *k, const ci_fused *f, const fused_source *source, const fused_values *v,
                              ci_value *result) {
  ci_value made[FUSED_STEPS], one = {.dtype = CI_FLOAT, .count = 1};
  for (int s = 0; s < source->op_count; s++) {
    const ci_value *in[2];
    for (int i = 0; i < 2; i++) {
      const int p = v->from[s][i];
      in[i] = p < 0 ? &one : p < f->inputs ? f->in[p] : &made[p - f->inputs];
    }
    made[s] = one;
    const ci_span name = source->nodes != NULL ? source->nodes[s] : (ci_span){NULL, 0};
    int rank; /* int32_t is another type than int on some machines */
    CI_TRY(ci_k_broadcast_of(k, source->ops[s], name, in, 2, &rank, made[s].dims));
    made[s].rank = rank;
  }
  *result = made[source->op_count - 1];
  return CI_OK;
}

static ci_status fused_inputs(ci_kernel *k, ci_fused *f, int first) {
  for (int i = first; i < k->n_in; i++) {
    if (k->in[i] == NULL || k->in[i]->dtype != CI_FLOAT) {
      return ci_k_fail(k, CI_UNIMPLEMENTED, "input %d is %s, expected float32", i,
                       k->in[i] == NULL ? "absent" : ci_dtype_name(k->in[i]->dtype));
    }
    if (f->inputs == FUSED_INPUTS) return ci_k_fail(k, CI_UNIMPLEMENTED, "more than %d inputs", FUSED_INPUTS);
    f->in[f->inputs++] = k->in[i];
  }
  return CI_OK;
}

/* Fills f, which has its inputs and, of a fused MatMul or convolution, the output. */
static ci_status fused_program(ci_kernel *k, ci_fused *f, const fused_source *source) {
  fused_values values;
  ci_value result;
  CI_TRY(fused_operands(k, f, source, &values));
  CI_TRY(fused_shapes(k, f, source, &values, &result));
  if (!f->gemm) {
    CI_TRY(ci_k_out(k, 0, CI_FLOAT, result.rank, result.dims));
  } else if (!ci_shape_same(result.rank, result.dims, k->out[0]->rank, k->out[0]->dims)) {
    char found[160], expected[160];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the program makes %s of the operator's result %s; it must keep the shape",
                     ci_value_describe(&result, found, sizeof found),
                     ci_value_describe(k->out[0], expected, sizeof expected));
  }
  ci_broadcast_plan(&f->walk, k->out[0], f->in, f->inputs);
  return fused_steps(k, f, source, &values);
}

ci_status ci_fused_prepare(ci_kernel *k, int first_extra, int64_t width, const ci_fused **program) {
  fused_source source;
  CI_TRY(fused_read(k, true, &source));
  ci_fused *f = ci_k_private_more(k, sizeof *f + (size_t)source.op_count * sizeof f->step[0]);
  if (f == NULL) return ci_k_no_memory(k);
  f->gemm = true;
  f->width = width;
  if (k->out[0]->dtype != CI_FLOAT) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for float32",
                     ci_dtype_name(k->out[0]->dtype));
  }
  f->in[f->inputs++] = k->out[0];
  CI_TRY(fused_inputs(k, f, first_extra));
  *program = f;
  CI_TRY(fused_program(k, f, &source));
  f->by_tiles = fused_as_matrices(f);
  f->repeats = fused_may_repeat(f);
  return CI_OK;
}

bool ci_fused_prepare_by_rows(ci_kernel *k, const ci_fused *f, int first_extra) {
  const ci_value *y = k->out[0];
  for (int i = 1; i < f->inputs; i++) {
    if (f->in[i]->rank == y->rank && f->in[i]->dims[0] == y->dims[0])
      k->row_inputs |= UINT32_C(1) << (first_extra + i - 1);
  }
  return f->by_tiles && f->width <= FUSED_TILE; /* `walk`, which counts rows, is not gone along */
}

bool ci_fused_prepare_clamp(const ci_kernel *k, const ci_fused *f, ci_clamp *clamp) {
  const struct ci_isa_math *math = k->isa->math;
  const fused_step *step = f->step, *end = f->step + f->steps;
  int value = 0; /* where the result so far is */
  *clamp = (ci_clamp){.low = -INFINITY, .high = INFINITY};
  if (step->kind == FUSED_BINARY && step->fn.binary == math->binary[CI_MATH_add] && step->scalar == CI_NO_SCALAR) {
    const int other = step->from[0] == value ? step->from[1] : step->from[0];
    if (step->from[0] != value && step->from[1] != value) return false;
    if (other <= 0 || other >= f->inputs) return false;
    const bool whole = f->in[other]->count == f->in[0]->count;
    if (!whole && !f->by_tiles) return false;
    clamp->added = f->in[other];
    clamp->row = whole ? (ptrdiff_t)f->width : f->row[other];
    clamp->col = whole ? 1 : f->col[other];
    value = FUSED_REGISTER + step++->to;
  }
  if (step < end && step->kind == FUSED_UNARY && step->from[0] == value) {
    clamp->clamps = step->fn.unary == math->unary[CI_MATH_relu] || step->fn.unary == math->unary[CI_MATH_clip];
    clamp->low = step->fn.unary == math->unary[CI_MATH_relu] ? 0.0f : step->a;
    if (step->fn.unary == math->unary[CI_MATH_clip]) clamp->high = step->b;
    step += clamp->clamps;
  }
  return step == end;
}

/* ---- FusedElementwise ---- */

ci_status ci_prepare_fused_elementwise(ci_kernel *k) {
  fused_source source;
  CI_TRY(fused_read(k, false, &source));
  ci_fused *f = ci_k_private(k, sizeof *f + (size_t)source.op_count * sizeof f->step[0]);
  if (f == NULL) return ci_k_no_memory(k);
  CI_TRY(fused_inputs(k, f, 0));
  CI_TRY(fused_program(k, f, &source));
  const size_t threads = (size_t)k->threads;
  k->scratch_bytes = threads * (size_t)f->registers * FUSED_BLOCK * sizeof(float);
  for (int i = 0; i < k->n_in; i++) {
    if (k->in[i]->count == k->out[0]->count) ci_k_in_place(k, 0, i);
  }
  return CI_OK;
}
