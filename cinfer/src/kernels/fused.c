/* fused.c - see fused.h. FusedElementwise, and products that have a program as epilogue. */
#include "fused.h"

#include <math.h>

#include "../isa.h"
#include "../scalar_math.h"
#include "elementwise.h"

enum {
  FUSED_INPUTS = CI_BROADCAST_MOST,
  FUSED_STEPS = 32,
  FUSED_REGISTERS = 8,
  FUSED_TILE = 4096, /* floats of a tile that all steps go over one by one */
  FUSED_SHORT = 64,  /* rows of at most so many floats are put together */
  FUSED_REPEATED = 2,
  FUSED_SMALL = 256,     /* floats of a block on the stack, for tiles */
  FUSED_BLOCK = 1024,    /* floats of a block in scratch */
  FUSED_GRAIN = 1 << 14, /* elements that are worth a thread */
  FUSED_OUT = FUSED_REGISTERS /* the register that is the output itself */
};

/* ---- the operators that a program may have ---- */

typedef enum fused_kind { FUSED_UNARY, FUSED_BINARY, FUSED_MAP, FUSED_TYPED } fused_kind;

typedef struct fused_op {
  const char *name;
  fused_kind kind;
  int id;            /* of the function in its table */
  ci_scalar_fn scalar;
  float a, b;        /* numbers that belong to the operator, where `numbers` has none */
} fused_op;

#define FUSED_VECTOR(kind, name, id) {name, kind, id, NULL, 0.0f, 0.0f}
#define FUSED_DOUBLE(name, fn) {name, FUSED_MAP, 0, fn, 0.0f, 0.0f}
static const fused_op fused_ops[] = {
    FUSED_VECTOR(FUSED_BINARY, "Add", CI_MATH_add),
    FUSED_VECTOR(FUSED_BINARY, "Sub", CI_MATH_sub),
    FUSED_VECTOR(FUSED_BINARY, "Mul", CI_MATH_mul),
    FUSED_VECTOR(FUSED_BINARY, "Div", CI_MATH_div),
    FUSED_VECTOR(FUSED_BINARY, "Max", CI_MATH_max),
    FUSED_VECTOR(FUSED_BINARY, "Min", CI_MATH_min),
    FUSED_VECTOR(FUSED_BINARY, "ReluGrad", CI_MATH_relu_grad),
    FUSED_VECTOR(FUSED_BINARY, "PRelu", CI_MATH_prelu),
    FUSED_VECTOR(FUSED_TYPED, "Pow", CI_EW_POW),
    FUSED_VECTOR(FUSED_UNARY, "Abs", CI_MATH_abs),
    FUSED_VECTOR(FUSED_UNARY, "Neg", CI_MATH_neg),
    FUSED_VECTOR(FUSED_UNARY, "Sqrt", CI_MATH_sqrt),
    FUSED_VECTOR(FUSED_UNARY, "Reciprocal", CI_MATH_reciprocal),
    FUSED_VECTOR(FUSED_UNARY, "Exp", CI_MATH_exp),
    FUSED_VECTOR(FUSED_UNARY, "Log", CI_MATH_log),
    FUSED_VECTOR(FUSED_UNARY, "Tanh", CI_MATH_tanh),
    FUSED_VECTOR(FUSED_UNARY, "Sigmoid", CI_MATH_sigmoid),
    FUSED_VECTOR(FUSED_UNARY, "Erf", CI_MATH_erf),
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
    FUSED_VECTOR(FUSED_UNARY, "Clip", CI_MATH_clip),
    FUSED_VECTOR(FUSED_UNARY, "Floor", CI_MATH_floor),
    FUSED_VECTOR(FUSED_UNARY, "Ceil", CI_MATH_ceil),
    FUSED_VECTOR(FUSED_UNARY, "Round", CI_MATH_round),
    FUSED_VECTOR(FUSED_UNARY, "Sign", CI_MATH_sign),
    FUSED_DOUBLE("Sin", ci_sin),
    FUSED_DOUBLE("Cos", ci_cos),
    FUSED_DOUBLE("Tan", ci_tan),
    FUSED_DOUBLE("Asin", ci_asin),
    FUSED_DOUBLE("Acos", ci_acos),
    FUSED_DOUBLE("Atan", ci_atan),
    FUSED_DOUBLE("Sinh", ci_sinh),
    FUSED_DOUBLE("Cosh", ci_cosh),
    FUSED_DOUBLE("Asinh", ci_asinh),
    FUSED_DOUBLE("Acosh", ci_acosh),
    FUSED_DOUBLE("Atanh", ci_atanh),
};

static const fused_op *fused_find(ci_span name) {
  for (size_t i = 0; i < sizeof fused_ops / sizeof fused_ops[0]; i++) {
    if (k_span_is(name, fused_ops[i].name)) return &fused_ops[i];
  }
  return NULL;
}

static bool fused_is_binary(const fused_op *op) { return op->kind == FUSED_BINARY || op->kind == FUSED_TYPED; }

/* ---- a program made ready for shapes ---- */

typedef struct fused_step {
  uint8_t kind;
  bool still;     /* one number: no operand moves in a run */
  uint8_t scalar; /* which operand is one number, CI_NO_SCALAR ... */
  int8_t to;      /* register */
  int8_t from[2]; /* slots */
  float a, b;
  union {
    ci_unary_fn unary;
    ci_binary_fn binary;
    ci_scalar_map_fn map;
    ci_typed_binary_fn typed;
  } fn;
  ci_scalar_fn argument; /* of map */
} fused_step;

/* Where operands are: the inputs, then the literals, then the registers, the last of which is the output. */
enum {
  FUSED_LITERAL = FUSED_INPUTS,
  FUSED_REGISTER = FUSED_LITERAL + FUSED_STEPS * 2,
  FUSED_SLOTS = FUSED_REGISTER + FUSED_REGISTERS + 1
};

struct ci_fused {
  ci_broadcast walk;
  const ci_value *in[FUSED_INPUTS]; /* of a product, 0 is the result */
  int inputs, steps, registers;
  bool product;   /* input 0 is what stands in y already */
  bool repeats;   /* short rows may be put together */
  bool by_tiles;  /* no registers, and every input lies as a matrix: `row` and `col` floats from one to the next */
  ptrdiff_t row[FUSED_INPUTS], col[FUSED_INPUTS];
  int64_t width;
  const float *literals;
  fused_step step[];
};

/* One run of n elements; x are the inputs at its start. */
static void fused_run(const ci_fused *f, float *y, const float *const *x, int64_t n, float *registers, int64_t block) {
  const float *slot[FUSED_SLOTS];
  int64_t moves[FUSED_SLOTS]; /* all bits of what advances */
  for (int i = 0; i < f->inputs; i++) {
    slot[i] = x[i];
    moves[i] = ci_broadcast_still(&f->walk, i) ? 0 : -1;
  }
  for (int i = 0; i < f->registers; i++) {
    slot[FUSED_REGISTER + i] = registers + i * block;
    moves[FUSED_REGISTER + i] = 0;
  }
  slot[FUSED_REGISTER + FUSED_OUT] = y;
  moves[FUSED_REGISTER + FUSED_OUT] = -1;
  for (int64_t at = 0; at < n; at += block) {
    const int64_t whole = n - at < block ? n - at : block;
    for (const fused_step *s = f->step; s < f->step + f->steps; s++) {
      const float *from[2];
      for (int i = 0; i < 2; i++) {
        const int p = s->from[i];
        from[i] =
            p >= FUSED_LITERAL && p < FUSED_REGISTER ? f->literals + (p - FUSED_LITERAL) : slot[p] + (at & moves[p]);
      }
      float *to = s->to == FUSED_OUT ? y + at : registers + s->to * block;
      const int64_t count = s->still ? 1 : whole;
      switch (s->kind) {
        case FUSED_UNARY: s->fn.unary(to, from[0], count, s->a, s->b); break;
        case FUSED_BINARY: s->fn.binary(to, from[0], from[1], count, s->scalar); break;
        case FUSED_TYPED: s->fn.typed(to, from[0], from[1], count, s->scalar); break;
        default: s->fn.map(to, from[0], count, s->argument); break;
      }
    }
    if (f->step[f->steps - 1].still) {
      for (int64_t i = 1; i < whole; i++) y[at + i] = y[at];
    }
  }
}

/* Elements `at` to at + n of the output, which lie at y. */
static void fused_range(const ci_fused *f, float *y, int64_t at, int64_t n, float *registers, int64_t block) {
  const ci_broadcast *b = &f->walk;
  int64_t index[CI_MAX_RANK];
  const char *x[FUSED_INPUTS];
  for (int i = 0; i < f->inputs; i++) x[i] = i == 0 && f->product ? NULL : f->in[i]->data;
  for (int d = 0; d < b->rank; d++) {
    index[d] = d == b->rank - 1 ? at : at % b->dims[d];
    at /= b->dims[d];
    for (int i = f->product; i < f->inputs; i++) x[i] += (ptrdiff_t)index[d] * b->step[d][i];
  }
  while (n > 0) {
    const int64_t left = b->dims[0] - index[0], run = n < left ? n : left;
    const float *from[FUSED_INPUTS];
    for (int i = 0; i < f->inputs; i++) from[i] = (const float *)(const void *)x[i];
    if (f->product) from[0] = y;
    fused_run(f, y, from, run, registers, block);
    n -= run;
    y += run;
    if (n == 0) return;
    for (int i = f->product; i < f->inputs; i++) x[i] -= (ptrdiff_t)index[0] * b->step[0][i];
    index[0] = 0;
    for (int d = 1; d < b->rank; d++) {
      for (int i = f->product; i < f->inputs; i++) x[i] += b->step[d][i];
      if (++index[d] < b->dims[d]) break;
      for (int i = f->product; i < f->inputs; i++) x[i] -= (ptrdiff_t)b->dims[d] * b->step[d][i];
      index[d] = 0;
    }
  }
}

/* Where the inputs of a tile begin, and floats from row to row of it. */
typedef struct fused_place {
  const float *base[FUSED_INPUTS];
  ptrdiff_t row[FUSED_INPUTS];
} fused_place;

/* All steps over a tile that stays in cache, one after another. */
static void fused_tile_steps(const ci_fused *f, float *tile, ptrdiff_t y_row, const fused_place *place, int64_t rows,
                             int64_t cols) {
  for (const fused_step *s = f->step; s < f->step + f->steps; s++) {
    const float *from[2];
    ptrdiff_t step[2];
    float *y = tile;
    for (int i = 0; i < 2; i++) {
      const int p = s->from[i];
      const bool own = p == 0 || p == FUSED_REGISTER + FUSED_OUT, literal = p >= FUSED_LITERAL;
      step[i] = own ? y_row : literal ? 0 : place->row[p];
      from[i] = own ? tile : literal ? f->literals + (p - FUSED_LITERAL) : place->base[p];
    }
    for (int64_t r = 0; r < rows; r++, y += y_row, from[0] += step[0], from[1] += step[1]) {
      switch (s->kind) {
        case FUSED_UNARY: s->fn.unary(y, from[0], cols, s->a, s->b); break;
        case FUSED_BINARY: s->fn.binary(y, from[0], from[1], cols, s->scalar); break;
        case FUSED_TYPED: s->fn.typed(y, from[0], from[1], cols, s->scalar); break;
        default: s->fn.map(y, from[0], cols, s->argument); break;
      }
    }
  }
}

static void fused_place_at(const ci_fused *f, int64_t row, int64_t col, fused_place *place) {
  for (int i = 1; i < f->inputs; i++) {
    place->row[i] = f->row[i];
    place->base[i] = (const float *)f->in[i]->data + row * f->row[i] + col * f->col[i];
  }
}

/* Short rows that lie together are one long row beside inputs that are repeated as often. */
static void fused_short_rows(const ci_fused *f, float *y, int64_t row, int64_t rows) {
  float repeated[FUSED_REPEATED][FUSED_SMALL];
  const int64_t cols = f->width, most = FUSED_SMALL / cols;
  for (int64_t r = 0; r < rows; r += most) {
    const int64_t part = rows - r < most ? rows - r : most;
    fused_place place;
    fused_place_at(f, row + r, 0, &place);
    for (int i = 1, k = 0; i < f->inputs; i++) {
      if (f->row[i] != 0 || f->col[i] == 0) continue;
      for (int64_t at = 0; r == 0 && at < most * cols; at++) repeated[k][at] = place.base[i][at % cols];
      place.base[i] = repeated[k++];
    }
    fused_tile_steps(f, y + r * cols, 0, &place, 1, part * cols);
  }
}

static void fused_tile(const ci_fused *f, float *y, ptrdiff_t y_row, int64_t row, int64_t col, int64_t rows,
                       int64_t cols) {
  if (f->repeats && y_row == f->width && cols == f->width && rows > 1) {
    fused_short_rows(f, y, row, rows);
    return;
  }
  const int64_t most = cols < FUSED_TILE ? FUSED_TILE / cols : 1;
  for (int64_t r = 0; r < rows; r += most) {
    fused_place place;
    fused_place_at(f, row + r, col, &place);
    fused_tile_steps(f, y + r * y_row, y_row, &place, rows - r < most ? rows - r : most, cols);
  }
}

void ci_fused_rows(const ci_fused *f, float *y, ptrdiff_t y_row, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  float registers[FUSED_REGISTERS * FUSED_SMALL];
  if (f->walk.count == 0 || cols <= 0) return;
  if (f->by_tiles && cols <= FUSED_TILE) {
    fused_tile(f, y, y_row, row, col, rows, cols);
    return;
  }
  if (cols == f->width && y_row == cols) {
    fused_range(f, y, row * f->width, rows * cols, registers, FUSED_SMALL);
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    fused_range(f, y + r * y_row, (row + r) * f->width + col, cols, registers, FUSED_SMALL);
  }
}

/* ---- reading the attributes ---- */

typedef struct fused_text { /* the attributes */
  const ci_span *ops, *nodes;
  const int64_t *operands;
  const float *literals, *numbers;
  int op_count, node_count, operand_count, literal_count, number_count;
} fused_text;

/* Of a product, `nodes` has its name first. */
static ci_status fused_read(ci_kernel *k, bool product, fused_text *text) {
  CI_TRY(k_attr_strings(k, "ops", &text->ops, &text->op_count));
  CI_TRY(k_attr_ints(k, "operands", &text->operands, &text->operand_count));
  CI_TRY(k_attr_floats(k, "literals", &text->literals, &text->literal_count));
  CI_TRY(k_attr_floats(k, "numbers", &text->numbers, &text->number_count));
  CI_TRY(k_attr_strings(k, "nodes", &text->nodes, &text->node_count));
  if (text->op_count < 1 || text->op_count > FUSED_STEPS) {
    return k_fail(k, CI_INVALID_ARGUMENT, "ops has %d names, expected 1 to %d", text->op_count, FUSED_STEPS);
  }
  if (text->literal_count > FUSED_STEPS * 2) {
    return k_fail(k, CI_INVALID_ARGUMENT, "literals has %d numbers, expected at most %d", text->literal_count,
                  FUSED_STEPS * 2);
  }
  if (text->number_count > 0 && text->number_count != 2 * text->op_count) {
    return k_fail(k, CI_INVALID_ARGUMENT, "numbers has %d numbers, expected two for each of the %d steps",
                  text->number_count, text->op_count);
  }
  if (text->node_count <= 0) {
    text->nodes = NULL;
  } else if (text->node_count != text->op_count + product) {
    return k_fail(k, CI_INVALID_ARGUMENT, "nodes has %d names, expected one for each of the %d steps%s",
                  text->node_count, text->op_count, product ? " and one for the product" : "");
  } else {
    text->nodes += product;
  }
  return CI_OK;
}

/* What becomes of the steps' results while registers are given out. */
typedef struct fused_values {
  const fused_op *op[FUSED_STEPS];
  int from[FUSED_STEPS][2]; /* as in the attribute: inputs, then steps; negative: literals */
  int last[FUSED_STEPS];    /* the last step that reads a step's result */
  int at[FUSED_STEPS];      /* register */
  bool still[FUSED_STEPS];
  int input_last; /* the last step that reads an input whose memory may be the output's */
} fused_values;

static ci_status fused_operands(ci_kernel *k, const ci_fused *f, const fused_text *text, fused_values *v) {
  int next = 0;
  for (int s = 0; s < text->op_count; s++) {
    v->op[s] = fused_find(text->ops[s]);
    v->last[s] = s;
    if (v->op[s] == NULL) {
      return k_fail(k, CI_UNIMPLEMENTED, "step %d is '%.*s', which a program cannot have", s,
                    (int)(text->ops[s].length < 40 ? text->ops[s].length : 40), text->ops[s].data);
    }
    const int arity = fused_is_binary(v->op[s]) ? 2 : 1;
    for (int i = 0; i < 2; i++) {
      if (i >= arity) {
        v->from[s][i] = v->from[s][0];
        continue;
      }
      if (next >= text->operand_count) {
        return k_fail(k, CI_INVALID_ARGUMENT, "operands has %d numbers, step %d needs more", text->operand_count, s);
      }
      const int64_t operand = text->operands[next++];
      const int64_t literals = text->literal_count > 0 ? text->literal_count : 0;
      if (operand < -literals || operand >= f->inputs + s) {
        return k_fail(k, CI_INVALID_ARGUMENT,
                      "operand %lld of step %d: there are %d inputs, %d results before it and %lld literals",
                      (long long)operand, s, f->inputs, s, (long long)literals);
      }
      v->from[s][i] = (int)operand;
      if (operand >= f->inputs) v->last[operand - f->inputs] = s;
    }
  }
  if (next == text->operand_count) return CI_OK;
  return k_fail(k, CI_INVALID_ARGUMENT, "operands has %d numbers, the steps need %d", text->operand_count, next);
}

static bool fused_is_still(const ci_fused *f, const fused_values *v, int operand) {
  if (operand < 0) return true;
  return operand < f->inputs ? ci_broadcast_still(&f->walk, operand) : v->still[operand - f->inputs];
}

static int fused_slot(const ci_fused *f, const fused_values *v, int operand) {
  if (operand < 0) return FUSED_LITERAL - 1 - operand;
  return operand < f->inputs ? operand : FUSED_REGISTER + v->at[operand - f->inputs];
}

/* A register for the result of step s: the output's own memory wherever nothing there is still wanted. */
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

/* An input of the output's size may lie in the output's memory, and is read before that is written. */
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

static ci_status fused_steps(ci_kernel *k, ci_fused *f, const fused_text *text, fused_values *v) {
  f->steps = text->op_count;
  f->literals = text->literals;
  v->input_last = fused_last_read(f, v);
  for (int s = 0; s < f->steps; s++) {
    const fused_op *op = v->op[s];
    const int *from = v->from[s];
    const bool still[2] = {fused_is_still(f, v, from[0]), fused_is_still(f, v, from[1])};
    v->still[s] = still[0] && still[1] && f->walk.dims[0] > 1;
    v->at[s] = fused_register(f, v, s);
    if (v->at[s] < 0) {
      return k_fail(k, CI_UNIMPLEMENTED, "step %d needs more than %d results at the same time", s, FUSED_REGISTERS);
    }
    const float *numbers = text->number_count > 0 ? text->numbers + 2 * s : NULL;
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
  }
  return CI_OK;
}

/* Whether inputs lie as matrices beside the result, and how. */
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

/* Whether short rows may be put together: inputs are one number, one row, or lie as the result does. */
static bool fused_may_repeat(const ci_fused *f) {
  int rows = 0;
  if (!f->by_tiles || f->width < 1 || f->width > FUSED_SHORT) return false;
  for (int i = 1; i < f->inputs; i++) {
    if (f->row[i] == 0) rows += f->col[i] != 0;
    else if (f->row[i] != (ptrdiff_t)f->width || f->col[i] != 1) return false;
  }
  return rows <= FUSED_REPEATED;
}

/* The shapes of the steps, one by one, so that what does not fit is said with the name of the node it came from. */
static ci_status fused_shapes(ci_kernel *k, const ci_fused *f, const fused_text *text, const fused_values *v,
                              ci_value *result) {
  ci_value made[FUSED_STEPS], one = {.dtype = CI_FLOAT, .count = 1};
  for (int s = 0; s < text->op_count; s++) {
    const ci_value *in[2];
    for (int i = 0; i < 2; i++) {
      const int p = v->from[s][i];
      in[i] = p < 0 ? &one : p < f->inputs ? f->in[p] : &made[p - f->inputs];
    }
    made[s] = one;
    const ci_span name = text->nodes != NULL ? text->nodes[s] : (ci_span){NULL, 0};
    CI_TRY(k_broadcast_of(k, text->ops[s], name, in, 2, &made[s].rank, made[s].dims));
  }
  *result = made[text->op_count - 1];
  return CI_OK;
}

static ci_status fused_inputs(ci_kernel *k, ci_fused *f, int first) {
  for (int i = first; i < k->n_in; i++) {
    if (k->in[i] == NULL || k->in[i]->dtype != CI_FLOAT) {
      return k_fail(k, CI_UNIMPLEMENTED, "input %d is %s, expected float32", i,
                    k->in[i] == NULL ? "absent" : ci_dtype_name(k->in[i]->dtype));
    }
    if (f->inputs == FUSED_INPUTS) return k_fail(k, CI_UNIMPLEMENTED, "more than %d inputs", FUSED_INPUTS);
    f->in[f->inputs++] = k->in[i];
  }
  return CI_OK;
}

/* Fills f, which has its inputs and, of a product, the output. */
static ci_status fused_program(ci_kernel *k, ci_fused *f, const fused_text *text) {
  fused_values values;
  ci_value result;
  CI_TRY(fused_operands(k, f, text, &values));
  CI_TRY(fused_shapes(k, f, text, &values, &result));
  if (!f->product) {
    CI_TRY(k_out(k, 0, CI_FLOAT, result.rank, result.dims));
  } else if (result.rank != k->out[0]->rank ||
             memcmp(result.dims, k->out[0]->dims, (size_t)result.rank * sizeof result.dims[0]) != 0) {
    char found[160], wanted[160];
    return k_fail(k, CI_INVALID_ARGUMENT, "the program makes %s of the product %s; it must keep the shape",
                  k_describe(&result, found, sizeof found), k_describe(k->out[0], wanted, sizeof wanted));
  }
  ci_broadcast_plan(&f->walk, k->out[0], f->in, f->inputs);
  return fused_steps(k, f, text, &values);
}

ci_status ci_fused_prepare(ci_kernel *k, int first_extra, int64_t width, const ci_fused **program) {
  fused_text text;
  CI_TRY(fused_read(k, true, &text));
  ci_fused *f = k_private_more(k, sizeof *f + (size_t)text.op_count * sizeof f->step[0]);
  if (f == NULL) return k_no_memory(k);
  f->product = true;
  f->width = width;
  if (k->out[0]->dtype != CI_FLOAT) {
    return k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for float32", ci_dtype_name(k->out[0]->dtype));
  }
  f->in[f->inputs++] = k->out[0];
  CI_TRY(fused_inputs(k, f, first_extra));
  *program = f;
  CI_TRY(fused_program(k, f, &text));
  f->by_tiles = fused_as_matrices(f);
  f->repeats = fused_may_repeat(f);
  return CI_OK;
}

bool ci_fused_clamp(const ci_kernel *k, const ci_fused *f, ci_clamp *clamp) {
  const struct ci_isa_math *math = k->isa->math;
  const fused_step *step = f->step, *end = f->step + f->steps;
  int value = 0; /* where the result so far is */
  *clamp = (ci_clamp){NULL, false, -INFINITY, INFINITY};
  if (step->kind == FUSED_BINARY && step->fn.binary == math->binary[CI_MATH_add] && step->scalar == CI_NO_SCALAR) {
    const int other = step->from[0] == value ? step->from[1] : step->from[0];
    if (step->from[0] != value && step->from[1] != value) return false;
    if (other <= 0 || other >= f->inputs || f->in[other]->count != f->in[0]->count) return false;
    clamp->added = f->in[other];
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

ci_status prepare_fused_elementwise(ci_kernel *k) {
  fused_text text;
  CI_TRY(fused_read(k, false, &text));
  ci_fused *f = k_private(k, sizeof *f + (size_t)text.op_count * sizeof f->step[0]);
  if (f == NULL) return k_no_memory(k);
  CI_TRY(fused_inputs(k, f, 0));
  CI_TRY(fused_program(k, f, &text));
  const size_t threads = (size_t)(k->threads > 0 ? k->threads : 1);
  k->scratch_bytes = threads * (size_t)f->registers * FUSED_BLOCK * sizeof(float);
  for (int i = 0; i < k->n_in; i++) {
    if (k->in[i]->count == k->out[0]->count) k_in_place(k, 0, i);
  }
  return CI_OK;
}

static void fused_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_fused *f = k->private_memory;
  float *registers =
      f->registers == 0 ? NULL : (float *)k->scratch + (size_t)thread * (size_t)f->registers * FUSED_BLOCK;
  fused_range(f, (float *)k->out[0]->data + begin, begin, end - begin, registers, FUSED_BLOCK);
}

ci_status run_fused_elementwise(ci_kernel *k) {
  const int64_t n = k->out[0]->count;
  if (n == 0) return CI_OK;
  if (n <= FUSED_GRAIN) fused_part(k, 0, n, 0);
  else k_parallel(k, n, FUSED_GRAIN, fused_part, k);
  return CI_OK;
}

/* ---- products: the operator itself, then the program over all that it gave ---- */

static void fused_epilogue_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ci_fused *f = k->private_more;
  (void)thread;
  ci_fused_rows(f, (float *)k->out[0]->data + begin * f->width, f->width, begin, 0, end - begin, f->width);
}

static ci_status fused_epilogue(ci_kernel *k, ci_status status) {
  const ci_fused *f = k->private_more;
  if (status != CI_OK || k->out[0]->count == 0) return status;
  k_parallel(k, k->out[0]->count / f->width, FUSED_GRAIN / f->width + 1, fused_epilogue_part, k);
  return CI_OK;
}

/* Rows are images of a channel, or channels of a pixel. What does not fit is said with the product's own name. */
#define FUSED_PRODUCT(name, op, run, first_extra, axis)                             \
  ci_status prepare_fused_##name(ci_kernel *k) {                                    \
    const ci_fused *program;                                                        \
    CI_TRY(k_prepare_as(k, (ci_span){op, sizeof op - 1}, "nodes", prepare_##name)); \
    const int64_t width = ci_product(k->out[0]->dims, axis, k->out[0]->rank);       \
    return ci_fused_prepare(k, first_extra, width, &program);                       \
  }                                                                                 \
  ci_status run_fused_##name(ci_kernel *k) { return fused_epilogue(k, run(k)); }
FUSED_PRODUCT(conv2d, "Conv2D", run_conv2d, 2, 3)
