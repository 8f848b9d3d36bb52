/* recurrent.c - RNN, GRU and LSTM (docs/numerics.md, "Recurrent layers").
 *
 * One matrix multiplication computes the inputs' contribution to all steps; then every row of the batch goes through
 * its steps by itself, so that threads take rows and no result depends on how many there are.
 */
#include <math.h>

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../../simd/math/isa_math.h"
#include "../../plan/pack.h"
#include "../../math/scalar_math.h"
#include "../arithmetic/integers.h"
#include "../linear/gemm.h"
#if CI_HAS(recurrent)

typedef enum rec_name {
  REC_RELU,
  REC_TANH,
  REC_SIGMOID,
  REC_SOFTSIGN,
  REC_SOFTPLUS,
  REC_AFFINE,
  REC_LEAKY_RELU,
  REC_THRESHOLDED_RELU,
  REC_SCALED_TANH,
  REC_HARD_SIGMOID,
  REC_ELU,
  REC_NAMES
} rec_name;

typedef struct rec_activation {
  const char *word;
  rec_name name;
  int numbers; /* how many of alpha and beta it has */
  double alpha, beta;
} rec_activation;

static const rec_activation rec_activations[REC_NAMES] = {
    {"relu", REC_RELU, 0, 0.0, 0.0},
    {"tanh", REC_TANH, 0, 0.0, 0.0},
    {"sigmoid", REC_SIGMOID, 0, 0.0, 0.0},
    {"softsign", REC_SOFTSIGN, 0, 0.0, 0.0},
    {"softplus", REC_SOFTPLUS, 0, 0.0, 0.0},
    {"affine", REC_AFFINE, 2, 1.0, 0.0},
    {"leakyrelu", REC_LEAKY_RELU, 1, (double)0.01f, 0.0},
    {"thresholdedrelu", REC_THRESHOLDED_RELU, 1, 1.0, 0.0},
    {"scaledtanh", REC_SCALED_TANH, 2, 1.0, 1.0},
    {"hardsigmoid", REC_HARD_SIGMOID, 2, (double)0.2f, 0.5},
    {"elu", REC_ELU, 1, 1.0, 0.0},
};

enum { REC_RNN = 1, REC_GRU = 3, REC_LSTM = 4 }; /* also the number of gates */
enum { REC_X, REC_W, REC_R, REC_B, REC_LENGTHS, REC_H0, REC_C0, REC_P, REC_INPUTS };
enum { REC_PART_WORK = 1 << 16 }; /* multiplications that are worth a thread */

typedef struct rec_matrix { /* some gates of W or of R, as the matrix multiplications read them */
  ci_matmul rule;     /* block and form are those of all gates */
  bool packed_tiles;
  int64_t units; /* of a group of ci_recurrent; 0: not in groups */
  int64_t first;      /* the first of its gates' units */
  size_t bytes;       /* of one direction in that order; 0: read in place */
  const void *packed; /* all directions, in memory of the model; NULL: each run makes a copy at `copy` */
  size_t copy;
} rec_matrix;

typedef struct rec {
  int gates, directions, per_direction;
  bool backward, batch_first, coupled, before_reset, clips;
  bool alone; /* one row with the usual functions: a step is one ci_recurrent */
  bool usual[2]; /* of a direction: float32, sigmoid and tanh, nothing clipped: the gates are one function */
  double clip;
  rec_activation f[6];
  int64_t steps, batch, width, hidden, columns; /* columns: gates * hidden */
  int32_t dtype;
  size_t item;
  rec_matrix w, r[2]; /* r[1]: the last gate of GRU, where its multiplication comes after the others */
  size_t bias, input_sums, sums, h, c, aside; /* offsets in scratch */
} rec;

typedef struct rec_job { /* one direction */
  ci_kernel *k;
  const rec *p;
  int d;
  bool backward;
  ci_operand r[2];
  const char *peephole;
} rec_job;

/* ---- vectors of float32 or float64 ---- */

static void rec_binary(const rec_job *j, int op, void *y, const void *a, const void *b, int64_t n, int scalar) {
  if (j->p->dtype == CI_FLOAT) {
    j->k->isa->math->binary[op](y, a, b, n, scalar);
    return;
  }
  const double *l = a, *r = b;
  double *to = y;
  for (int64_t i = 0; i < n; i++) {
    const double u = l[scalar == CI_SCALAR_A ? 0 : i], v = r[scalar == CI_SCALAR_B ? 0 : i];
    to[i] = op == CI_MATH_add ? u + v : op == CI_MATH_sub ? u - v : u * v;
  }
}

/* y = y op value */
static void rec_scalar(const rec_job *j, int op, void *y, double value, int64_t n) {
  const float narrow = (float)value;
  rec_binary(j, op, y, y, j->p->dtype == CI_FLOAT ? (const void *)&narrow : &value, n, CI_SCALAR_B);
}

/* y = 1 - x */
static void rec_complement(const rec_job *j, void *y, const void *x, int64_t n) {
  const float narrow = 1.0f;
  const double wide = 1.0;
  rec_binary(j, CI_MATH_sub, y, j->p->dtype == CI_FLOAT ? (const void *)&narrow : &wide, x, n, CI_SCALAR_A);
}

static double rec_value(const rec_activation *f, double v) {
  double y;
  switch (f->name) {
    case REC_RELU: return 0.0 > v ? 0.0 : v;
    case REC_TANH: return ci_tanh(v);
    case REC_SIGMOID: return ci_sigmoid(v);
    case REC_SOFTSIGN: return v / (1.0 + fabs(v));
    case REC_SOFTPLUS: return ci_softplus(v);
    case REC_AFFINE: return f->alpha * v + f->beta;
    case REC_LEAKY_RELU: return v < 0.0 ? f->alpha * v : v;
    case REC_THRESHOLDED_RELU: return v <= f->alpha ? 0.0 : v;
    case REC_SCALED_TANH: return f->alpha * ci_tanh(f->beta * v);
    case REC_HARD_SIGMOID: y = f->alpha * v + f->beta; return y < 0.0 ? 0.0 : y > 1.0 ? 1.0 : y;
    default: return v > 0.0 ? v : f->alpha * ci_expm1(v);
  }
}

static void rec_activate_float(const rec_job *j, const rec_activation *f, float *y, int64_t n) {
  const ci_unary_fn *unary = j->k->isa->math->unary;
  const float alpha = (float)f->alpha;
  switch (f->name) {
    case REC_RELU: unary[CI_MATH_relu](y, y, n, 0.0f, 0.0f); break;
    case REC_TANH: unary[CI_MATH_tanh](y, y, n, 0.0f, 0.0f); break;
    case REC_SIGMOID: unary[CI_MATH_sigmoid](y, y, n, 0.0f, 0.0f); break;
    case REC_SOFTPLUS: unary[CI_MATH_softplus](y, y, n, 0.0f, 0.0f); break;
    case REC_LEAKY_RELU: unary[CI_MATH_leaky_relu](y, y, n, alpha, 0.0f); break;
    case REC_ELU: unary[CI_MATH_elu](y, y, n, alpha, 0.0f); break;
    case REC_SCALED_TANH:
      rec_scalar(j, CI_MATH_mul, y, f->beta, n);
      unary[CI_MATH_tanh](y, y, n, 0.0f, 0.0f);
      rec_scalar(j, CI_MATH_mul, y, f->alpha, n);
      break;
    case REC_AFFINE:
    case REC_HARD_SIGMOID:
      rec_scalar(j, CI_MATH_mul, y, f->alpha, n);
      rec_scalar(j, CI_MATH_add, y, f->beta, n);
      if (f->name == REC_HARD_SIGMOID) unary[CI_MATH_clip](y, y, n, 0.0f, 1.0f);
      break;
    case REC_THRESHOLDED_RELU:
      for (int64_t i = 0; i < n; i++) y[i] = y[i] <= alpha ? 0.0f : y[i];
      break;
    default: /* softsign */
      for (int64_t i = 0; i < n; i++) y[i] = y[i] / (1.0f + fabsf(y[i]));
      break;
  }
}

/* y = f(y) with function `which` of the direction; the gates' sums are clipped, the LSTM cell state before h is not. */
static void rec_activate(const rec_job *j, int which, void *y, int64_t n) {
  const rec *p = j->p;
  const rec_activation *f = &p->f[j->d * p->per_direction + which];
  const bool clips = p->clips && which < 2;
  double *wide = y;
  if (p->dtype == CI_FLOAT) {
    if (clips) j->k->isa->math->unary[CI_MATH_clip](y, y, n, -(float)p->clip, (float)p->clip);
    rec_activate_float(j, f, y, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double v = wide[i];
    if (clips) v = v < -p->clip ? -p->clip : v > p->clip ? p->clip : v;
    wide[i] = rec_value(f, v);
  }
}

/* ---- one step of one row: g holds the sums of its gates, x the input's contribution ---- */

static void rec_step_rnn(const rec_job *j, const char *x, char *g, char *h) {
  const int64_t n = j->p->hidden;
  rec_binary(j, CI_MATH_add, h, x, g, n, CI_NO_SCALAR);
  rec_activate(j, 0, h, n);
}

/* Gates z and r; then, unless the reset comes after the multiplication by R, aside = r * h for the multiplication to
 * come. */
static void rec_step_gru_gates(const rec_job *j, const char *x, char *g, const char *h, char *aside) {
  const int64_t n = j->p->hidden;
  rec_binary(j, CI_MATH_add, g, x, g, 2 * n, CI_NO_SCALAR);
  rec_activate(j, 0, g, 2 * n);
  if (!j->p->before_reset) {
    rec_binary(j, CI_MATH_mul, aside, g + (size_t)n * j->p->item, h, n, CI_NO_SCALAR);
  }
}

static void rec_step_gru(const rec_job *j, const char *x, char *g, char *h, const char *bias) {
  const int64_t n = j->p->hidden;
  const size_t row = (size_t)n * j->p->item;
  char *z = g, *r = g + row, *new_h = g + 2 * row;
  if (j->p->before_reset) {
    rec_binary(j, CI_MATH_add, new_h, new_h, bias, n, CI_NO_SCALAR);
    rec_binary(j, CI_MATH_mul, new_h, r, new_h, n, CI_NO_SCALAR);
  }
  rec_binary(j, CI_MATH_add, new_h, x + 2 * row, new_h, n, CI_NO_SCALAR);
  rec_activate(j, 1, new_h, n);
  rec_binary(j, CI_MATH_mul, h, z, h, n, CI_NO_SCALAR);
  rec_complement(j, z, z, n);
  rec_binary(j, CI_MATH_mul, new_h, z, new_h, n, CI_NO_SCALAR);
  rec_binary(j, CI_MATH_add, h, new_h, h, n, CI_NO_SCALAR);
}

/* gate += P * c */
static void rec_peep(const rec_job *j, int which, char *gate, const char *c, char *aside) {
  const int64_t n = j->p->hidden;
  if (j->peephole == NULL) return;
  rec_binary(j, CI_MATH_mul, aside, j->peephole + (size_t)(which * n) * j->p->item, c, n, CI_NO_SCALAR);
  rec_binary(j, CI_MATH_add, gate, gate, aside, n, CI_NO_SCALAR);
}

static void rec_step_lstm(const rec_job *j, const char *x, char *g, char *h, char *c, char *aside) {
  const int64_t n = j->p->hidden;
  const size_t row = (size_t)n * j->p->item;
  char *i = g, *o = g + row, *f = g + 2 * row, *new_c = g + 3 * row;
  rec_binary(j, CI_MATH_add, g, x, g, 4 * n, CI_NO_SCALAR);
  rec_peep(j, 0, i, c, aside);
  rec_activate(j, 0, i, n);
  if (j->p->coupled) {
    rec_complement(j, f, i, n);
  } else {
    rec_peep(j, 2, f, c, aside);
    rec_activate(j, 0, f, n);
  }
  rec_activate(j, 1, new_c, n);
  rec_binary(j, CI_MATH_mul, c, f, c, n, CI_NO_SCALAR);
  rec_binary(j, CI_MATH_mul, new_c, i, new_c, n, CI_NO_SCALAR);
  rec_binary(j, CI_MATH_add, c, c, new_c, n, CI_NO_SCALAR);
  rec_peep(j, 1, o, c, aside);
  rec_activate(j, 0, o, n);
  if (row > 0) memcpy(aside, c, row);
  rec_activate(j, 2, aside, n);
  rec_binary(j, CI_MATH_mul, h, o, aside, n, CI_NO_SCALAR);
}

/* ---- a direction ---- */

static char *rec_at(const rec_job *j, size_t part, int64_t index, int64_t row) {
  return (char *)j->k->scratch + part + (size_t)(index * row) * j->p->item;
}

static int64_t rec_length(const rec_job *j, int64_t b) {
  const ci_kernel *k = j->k;
  if (k->n_in <= REC_LENGTHS || k->in[REC_LENGTHS] == NULL) return j->p->steps;
  return ci_read_integer(k->in[REC_LENGTHS], b);
}

/* sums of rows [begin, end) and of the gates of matrix r[which]: state times R */
static void rec_gemm(const rec_job *j, size_t state, int64_t begin, int64_t end, int which) {
  const rec *p = j->p;
  const rec_matrix *r = &p->r[which];
  const ci_matmul_part part = {.a = {rec_at(j, state, begin, p->hidden), (ptrdiff_t)p->hidden, 1},
                               .b = j->r[which],
                               .packed_tiles = r->packed_tiles,
                               .c = rec_at(j, p->sums, begin, p->columns) + (size_t)r->first * p->item,
                               .c_row = (ptrdiff_t)p->columns,
                               .m = end - begin,
                               .n = r->rule.n,
                               .k = p->hidden};
  ci_matmul_compute(&r->rule, j->k->isa, &part);
}

/* The inputs' contribution to row b in step t. */
static const char *rec_input_sums(const rec_job *j, int64_t b, int64_t t) {
  const rec *p = j->p;
  return rec_at(j, p->input_sums, p->batch_first ? b * p->steps + t : t * p->batch + b, p->columns);
}

static void rec_row(const rec_job *j, int64_t b, int64_t t, bool gates) {
  const rec *p = j->p;
  const int64_t n = p->hidden;
  const char *x = rec_input_sums(j, b, t);
  char *g = rec_at(j, p->sums, b, p->columns), *h = rec_at(j, p->h, b, n), *aside = rec_at(j, p->aside, b, n);
  if (gates) {
    rec_step_gru_gates(j, x, g, h, aside);
  } else if (p->gates == REC_RNN) {
    rec_step_rnn(j, x, g, h);
  } else if (p->usual[j->d]) {
    const ci_kernel *k = j->k;
    float *state = (void *)h;
    if (p->gates == REC_GRU) {
      k->isa->math->gru(state, state, (const void *)x, n, (const void *)g, n,
                        (const void *)rec_at(j, p->bias, p->gates, n), n);
    } else {
      k->isa->math->lstm(state, (void *)rec_at(j, p->c, b, n), (const void *)x, n, (const void *)g, n, n);
    }
  } else if (p->gates == REC_GRU) {
    rec_step_gru(j, x, g, h, rec_at(j, p->bias, p->gates, n));
  } else {
    rec_step_lstm(j, x, g, h, rec_at(j, p->c, b, n), aside);
  }
}

/* Output row of a step: the state h, or 0 after the sequence's end. */
static void rec_give(const rec_job *j, int64_t b, int64_t t, const void *h, bool ended) {
  const rec *p = j->p;
  const size_t row = (size_t)p->hidden * p->item;
  const int64_t at =
      p->batch_first ? (b * p->steps + t) * p->directions + j->d : (t * p->directions + j->d) * p->batch + b;
  if (j->k->n_out == 0 || row == 0) return;
  char *y = (char *)j->k->out[0]->data + (size_t)at * row;
  if (ended) {
    memset(y, 0, row);
  } else {
    memcpy(y, h, row);
  }
}

static void rec_rows(void *argument, int64_t begin, int64_t end, int thread) {
  const rec_job *j = argument;
  const rec *p = j->p;
  (void)thread;
  for (int64_t s = 0; s < p->steps; s++) {
    const bool twice = p->gates == REC_GRU;
    rec_gemm(j, p->h, begin, end, 0);
    for (int pass = twice && !p->usual[j->d] ? 0 : 1; pass < 2; pass++) {
      for (int64_t b = begin; b < end; b++) {
        const int64_t length = rec_length(j, b);
        if (s < length) rec_row(j, b, j->backward ? length - 1 - s : s, pass == 0);
      }
      if (pass == 0 && !p->before_reset) rec_gemm(j, p->aside, begin, end, 1);
    }
    for (int64_t b = begin; b < end; b++) {
      const int64_t length = rec_length(j, b);
      rec_give(j, b, j->backward && s < length ? length - 1 - s : s, rec_at(j, p->h, b, p->hidden), s >= length);
    }
  }
}

/* All steps of a batch of one. A step reads all of R. */
static void rec_alone(const rec_job *j) {
  const rec *p = j->p;
  const struct ci_isa_math *math = j->k->isa->math;
  void (*const step)(const ci_recurrent *) = p->gates == REC_LSTM ? math->lstm_step : math->gru_step;
  const int64_t length = rec_length(j, 0);
  float *const h = (void *)rec_at(j, p->h, 0, 0), *other = (void *)rec_at(j, p->aside, 0, 0), *now = h;
  ci_recurrent recurrent_cell = {.r = j->r[0].data,
                                 .c = (void *)rec_at(j, p->c, 0, 0),
                                 .bias = (const void *)rec_at(j, p->bias, p->gates, p->hidden),
                                 .n = p->hidden,
                                 .block = p->r[0].rule.block};
  for (int64_t s = 0; s < p->steps; s++) {
    const int64_t t = j->backward && s < length ? length - 1 - s : s;
    if (s < length) {
      recurrent_cell.x = (const void *)rec_input_sums(j, 0, t);
      recurrent_cell.h = now;
      recurrent_cell.to = now = now == h ? other : h;
      recurrent_cell.forth = !recurrent_cell.forth;
      step(&recurrent_cell);
    }
    rec_give(j, 0, t, now, s >= length);
  }
  if (now != h) memcpy(h, now, (size_t)p->hidden * sizeof *h);
}

/* The inputs' contribution to rows [begin, end) of all steps. */
typedef struct rec_input {
  const rec_job *job;
  ci_operand w;
} rec_input;

static void rec_input_rows(void *argument, int64_t begin, int64_t end, int thread) {
  const rec_input *in = argument;
  const rec_job *j = in->job;
  const rec *p = j->p;
  const ci_matmul_part part = {
      .a = {(const char *)j->k->in[REC_X]->data + (size_t)(begin * p->width) * p->item, (ptrdiff_t)p->width, 1},
      .b = in->w,
      .packed_tiles = p->w.packed_tiles,
      .c = rec_at(j, p->input_sums, begin, p->columns),
      .c_row = (ptrdiff_t)p->columns,
      .m = end - begin,
      .n = p->columns,
      .k = p->width};
  (void)thread;
  ci_matmul_compute(&p->w.rule, j->k->isa, &part);
  for (int64_t i = begin; i < end; i++) {
    char *row = rec_at(j, p->input_sums, i, p->columns);
    rec_binary(j, CI_MATH_add, row, row, (char *)j->k->scratch + p->bias, p->columns, CI_NO_SCALAR);
  }
}

/* Both biases in one, but that of GRU's last gate when it belongs inside the reset: that one follows the others. */
static void rec_bias(const rec_job *j) {
  const rec *p = j->p;
  char *bias = (char *)j->k->scratch + p->bias;
  const size_t row = (size_t)p->columns * p->item;
  memset(bias, 0, row + (size_t)p->hidden * p->item);
  if (j->k->n_in <= REC_B || j->k->in[REC_B] == NULL) return;
  const char *w = (const char *)j->k->in[REC_B]->data + 2 * (size_t)j->d * row, *r = w + row;
  const int64_t together = p->gates == REC_GRU && p->before_reset ? 2 * p->hidden : p->columns;
  const size_t done = (size_t)together * p->item;
  rec_binary(j, CI_MATH_add, bias, w, r, together, CI_NO_SCALAR);
  if (together == p->columns) return;
  memcpy(bias + done, w + done, row - done);
  memcpy(bias + row, r + done, row - done);
}

/* Copies the state of all rows between scratch and a tensor of the node; NULL: fills scratch with 0. */
static void rec_state(const rec_job *j, size_t part, char *tensor, bool out) {
  const rec *p = j->p;
  const size_t row = (size_t)p->hidden * p->item;
  for (int64_t b = 0; b < p->batch && row > 0; b++) {
    char *own = rec_at(j, part, b, p->hidden);
    const int64_t at = p->batch_first ? b * p->directions + j->d : j->d * p->batch + b;
    if (tensor == NULL) {
      memset(own, 0, row);
    } else if (out) {
      memcpy(tensor + (size_t)at * row, own, row);
    } else {
      memcpy(own, tensor + (size_t)at * row, row);
    }
  }
}

static char *rec_given(const ci_kernel *k, int i) { return k->n_in > i && k->in[i] != NULL ? k->in[i]->data : NULL; }

/* ---- W and R in the order of the matrix multiplications ---- */

typedef struct rec_fill {
  const rec_matrix *m;
  const struct ci_isa *isa;
  int directions;
  int64_t columns; /* of all gates */
} rec_fill;

/* The part of the matrix in a direction of W or R, transposed: a unit's weights are contiguous. */
static ci_operand rec_given_matrix(const rec_matrix *m, const void *data, int64_t d, int64_t columns) {
  const size_t item = ci_dtype_size(m->rule.dtype);
  const size_t at = (size_t)((d * columns + m->first) * m->rule.k) * item;
  return (ci_operand){(const char *)data + at, 1, (ptrdiff_t)m->rule.k};
}

/* In groups of units, see ci_recurrent. */
static void rec_group(const rec_matrix *m, int gates, const float *from, float *to) {
  const int64_t n = m->rule.k;
  for (int64_t unit = 0; unit < n; unit += m->units) {
    const int64_t units = n - unit < m->units ? n - unit : m->units;
    for (int64_t k = 0; k < n; k++) {
      for (int gate = 0; gate < gates; gate++, to += m->units) {
        const float *own = from + (gate * n + unit) * n + k;
        for (int64_t i = 0; i < m->units; i++) to[i] = i < units ? own[i * n] : 0.0f;
      }
    }
  }
}

static ci_operand rec_ordered(const rec_matrix *m, const struct ci_isa *isa, ci_operand from, void *to) {
  if (m->packed_tiles) return ci_matmul_pack_tiles(&m->rule, isa, from, to);
  if (m->units == 0) return ci_matmul_pack_b(&m->rule, from, to);
  rec_group(m, (int)(m->rule.n / m->rule.k), from.data, to);
  return (ci_operand){to, 0, 1};
}

static void rec_fill_packed(void *to, const ci_value *value, const void *argument) {
  const rec_fill *f = argument;
  for (int d = 0; d < f->directions; d++) {
    const ci_operand from = rec_given_matrix(f->m, value->data, d, f->columns);
    (void)rec_ordered(f->m, f->isa, from, (char *)to + (size_t)d * f->m->bytes);
  }
}

static ci_operand rec_operand(const rec_job *j, const rec_matrix *m, int input) {
  const ci_kernel *k = j->k;
  const ci_operand from = rec_given_matrix(m, k->in[input]->data, j->d, j->p->columns);
  if (m->packed != NULL) {
    const void *data = (const char *)m->packed + (size_t)j->d * m->bytes;
    if (m->rule.dots) return (ci_operand){data, 1, (ptrdiff_t)m->rule.k};
    return (ci_operand){data, m->packed_tiles ? k->isa->linear->packed_tile_width : (ptrdiff_t)m->rule.n, 1};
  }
  return m->bytes == 0 ? from : rec_ordered(m, k->isa, from, (char *)k->scratch + m->copy);
}

static void rec_direction(rec_job *j) {
  const rec *p = j->p;
  ci_kernel *k = j->k;
  rec_input in = {.job = j, .w = rec_operand(j, &p->w, REC_W)};
  j->r[0] = rec_operand(j, &p->r[0], REC_R);
  if (p->r[1].rule.n > 0) j->r[1] = rec_operand(j, &p->r[1], REC_R);
  j->peephole = rec_given(k, REC_P);
  if (j->peephole != NULL) j->peephole += (size_t)(j->d * 3 * p->hidden) * p->item;
  rec_bias(j);
  rec_state(j, p->h, rec_given(k, REC_H0), false);
  rec_state(j, p->aside, NULL, false);
  if (p->gates == REC_LSTM) rec_state(j, p->c, rec_given(k, REC_C0), false);
  const int64_t each = p->columns * (p->width > 0 ? p->width : 1), rows = p->steps * p->batch;
  ci_k_parallel(k, rows, REC_PART_WORK / each + 1, rec_input_rows, &in);
  const int64_t row_work = p->columns * p->hidden; /* of one step */
  if (p->alone) rec_alone(j);
  else ci_k_parallel(k, p->batch, REC_PART_WORK / row_work / (p->steps > 0 ? p->steps : 1) + 1, rec_rows, j);
  if (k->n_out > 1) rec_state(j, p->h, k->out[1]->data, true);
  if (k->n_out > 2) rec_state(j, p->c, k->out[2]->data, true);
}

ci_status ci_run_recurrent(ci_kernel *k) {
  const rec *p = k->private_memory;
  rec_job job = {.k = k, .p = p};
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t length = rec_length(&job, b);
    if (length >= 0 && length <= p->steps) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "sequence_lens[%lld] is %lld, outside [0, %lld]", (long long)b,
                     (long long)length, (long long)p->steps);
  }
  if (p->batch == 0 || p->hidden == 0) return CI_OK;
  for (int d = 0; d < p->directions; d++) {
    job.d = d;
    job.backward = d == 1 || p->backward;
    rec_direction(&job);
  }
  return CI_OK;
}

/* ---- prepare ---- */

static bool rec_same_word(ci_span span, const char *lower) {
  if (span.length != strlen(lower)) return false;
  for (size_t i = 0; i < span.length; i++) {
    const char c = span.data[i];
    if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != lower[i]) return false;
  }
  return true;
}

static ci_status rec_find_activation(ci_kernel *k, ci_span given, rec_activation *found) {
  for (int i = 0; i < REC_NAMES; i++) {
    if (!rec_same_word(given, rec_activations[i].word)) continue;
    *found = rec_activations[i];
    return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute activations names no activation of ONNX: '%.*s'",
                   (int)(given.length < 40 ? given.length : 40), given.data == NULL ? "" : given.data);
}

static ci_status rec_read_activations(ci_kernel *k, rec *p) {
  const ci_span *names;
  const float *alpha, *beta;
  int count, alphas, betas, next_alpha = 0, next_beta = 0;
  const int expected = p->directions * p->per_direction;
  CI_TRY(ci_k_attr_strings(k, "activations", &names, &count));
  CI_TRY(ci_k_attr_floats(k, "activation_alpha", &alpha, &alphas));
  CI_TRY(ci_k_attr_floats(k, "activation_beta", &beta, &betas));
  if (count >= 0 && count != expected) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute activations has %d names, expected %d", count, expected);
  }
  for (int i = 0; i < expected; i++) {
    const bool sigmoid = p->gates != REC_RNN && i % p->per_direction == 0;
    p->f[i] = rec_activations[sigmoid ? REC_SIGMOID : REC_TANH];
    if (count >= 0) CI_TRY(rec_find_activation(k, names[i], &p->f[i]));
    /* Each list gives its next number to the next function that has one. */
    if (p->f[i].numbers > 0 && next_alpha < alphas) p->f[i].alpha = (double)alpha[next_alpha++];
    if (p->f[i].numbers > 1 && next_beta < betas) p->f[i].beta = (double)beta[next_beta++];
  }
  return CI_OK;
}

static ci_status rec_read_attributes(ci_kernel *k, rec *p) {
  ci_span direction;
  int64_t layout = 0, coupled = 0, before = 0;
  const ci_value *r = k->in[REC_R];
  const int64_t columns = r->rank == 3 ? r->dims[2] : 0;
  int64_t hidden = 0;
  CI_TRY(ci_k_attr_s(k, "direction", "forward", &direction));
  CI_TRY(ci_k_attr_i(k, "layout", 0, &layout));
  CI_TRY(ci_k_attr_i(k, "hidden_size", columns, &hidden));
  if (p->gates == REC_LSTM) CI_TRY(ci_k_attr_i(k, "input_forget", 0, &coupled));
  if (p->gates == REC_GRU) CI_TRY(ci_k_attr_i(k, "linear_before_reset", 0, &before));
  CI_TRY(ci_k_attr_f(k, "clip", 0.0, &p->clip));
  const bool both = ci_span_is(direction, "bidirectional");
  p->backward = ci_span_is(direction, "reverse");
  if (!both && !p->backward && !ci_span_is(direction, "forward")) {
    return ci_k_fail(
        k, CI_INVALID_ARGUMENT, "attribute direction is '%.*s', expected forward, reverse or bidirectional",
        (int)(direction.length < 40 ? direction.length : 40), direction.data == NULL ? "" : direction.data);
  }
  if (layout != 0 && layout != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute layout is %lld, expected 0 or 1", (long long)layout);
  }
  if (!(p->clip >= 0.0))
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute clip is %g, expected more than 0", p->clip);
  if (r->rank == 3 && hidden != columns) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute hidden_size is %lld, R has %lld columns", (long long)hidden,
                     (long long)columns);
  }
  p->directions = both ? 2 : 1;
  p->batch_first = layout == 1;
  p->coupled = coupled != 0;
  p->before_reset = before != 0;
  p->clips = p->clip > 0.0;
  return rec_read_activations(k, p);
}

/* Input i, if it is there, must have the type of X (int32 for the lengths) and these dimensions. */
static ci_status rec_check(ci_kernel *k, const rec *p, int i, const char *name, int rank, const int64_t *dims) {
  char found[2][160];
  ci_value requested = {.dtype = i == REC_LENGTHS ? CI_INT32 : p->dtype, .rank = rank};
  if (k->n_in <= i || k->in[i] == NULL) return CI_OK;
  const ci_value *v = k->in[i];
  memcpy(requested.dims, dims, (size_t)rank * sizeof *dims);
  if (v->dtype == requested.dtype && ci_shape_same(v->rank, v->dims, rank, dims)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s", name,
                   ci_value_describe(v, found[0], sizeof found[0]),
                   ci_value_describe(&requested, found[1], sizeof found[1]));
}

static ci_status rec_check_inputs(ci_kernel *k, rec *p) {
  const ci_value *x = k->in[REC_X], *r = k->in[REC_R];
  char found[2][160];
  if ((x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) || x->rank != 3 || r->rank != 3) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "X is %s and R is %s, expected float32 or float64 of rank 3",
                     ci_value_describe(x, found[0], sizeof found[0]), ci_value_describe(r, found[1], sizeof found[1]));
  }
  p->dtype = x->dtype;
  p->item = ci_dtype_size(x->dtype);
  p->steps = x->dims[p->batch_first];
  p->batch = x->dims[!p->batch_first];
  p->width = x->dims[2];
  p->hidden = r->dims[2];
  const int64_t d = p->directions, n = p->hidden;
  if (n > INT32_MAX) return ci_k_fail(k, CI_INVALID_ARGUMENT, "R has %lld columns", (long long)n);
  p->columns = p->gates * n;
  CI_TRY(rec_check(k, p, REC_W, "W", 3, (int64_t[]){d, p->columns, p->width}));
  CI_TRY(rec_check(k, p, REC_R, "R", 3, (int64_t[]){d, p->columns, n}));
  CI_TRY(rec_check(k, p, REC_B, "B", 2, (int64_t[]){d, 2 * p->columns}));
  CI_TRY(rec_check(k, p, REC_LENGTHS, "sequence_lens", 1, &p->batch));
  const int64_t state[3] = {p->batch_first ? p->batch : d, p->batch_first ? d : p->batch, n};
  CI_TRY(rec_check(k, p, REC_H0, "initial_h", 3, state));
  CI_TRY(rec_check(k, p, REC_C0, "initial_c", 3, state));
  CI_TRY(rec_check(k, p, REC_P, "P", 2, (int64_t[]){d, 3 * n}));
  const int64_t wide[2][4] = {{p->steps, d, p->batch, n}, {p->batch, p->steps, d, n}};
  if (k->n_out > 0) CI_TRY(ci_k_out(k, 0, p->dtype, 4, wide[p->batch_first]));
  for (int i = 1; i < k->n_out; i++) CI_TRY(ci_k_out(k, i, p->dtype, 3, state));
  return CI_OK;
}

/* Reserves rows * columns elements at the end of scratch. */
static bool rec_reserve(ci_kernel *k, const rec *p, size_t *offset, int64_t rows, int64_t columns) {
  size_t bytes = p->item;
  if (!ci_mul_size(bytes, (uint64_t)rows, &bytes) || !ci_mul_size(bytes, (uint64_t)columns, &bytes)) return false;
  *offset = k->scratch_bytes;
  return bytes < PTRDIFF_MAX - 64 && ci_add_size(k->scratch_bytes, ci_round_up(bytes, 64), &k->scratch_bytes);
}

/* Gates [first, last) of W or R, by the rule of all of them. */
static bool rec_matrix_make(ci_kernel *k, const rec *p, rec_matrix *m, int input, int first, int last) {
  ci_matmul_rule(&m->rule, p->dtype, p->columns, k->in[input]->dims[2]);
  m->first = first * p->hidden;
  m->rule.n = (last - first) * p->hidden;
  size_t all;
  if (input == REC_R && p->alone) {
    m->units = p->gates == REC_LSTM ? k->isa->math->lstm_units : k->isa->math->gru_units;
    const size_t units = ci_round_up((size_t)p->hidden, (size_t)m->units);
    if (!ci_mul_size(units, (uint64_t)p->columns * sizeof(float), &m->bytes)) return false;
  } else {
    m->bytes = ci_matmul_packed_tile_bytes(&m->rule, k->isa);
    m->packed_tiles = m->bytes > 0;
    if (!m->packed_tiles) m->bytes = ci_matmul_b_bytes(&m->rule, 1, (ptrdiff_t)m->rule.k);
  }
  if (m->bytes == 0 || !ci_mul_size(m->bytes, (uint64_t)p->directions, &all)) return m->bytes == 0;
  const rec_fill fill = {m, k->isa, p->directions, p->columns};
  const uint32_t which = (uint32_t)((m->units > 0) << 16 | p->directions << 8 | first << 4 | last);
  m->packed = ci_k_packed(k, input, CI_PACK_RECURRENT, which, all, rec_fill_packed, &fill);
  return m->packed != NULL || rec_reserve(k, p, &m->copy, (int64_t)(m->bytes / p->item), 1);
}

static bool rec_matrices(ci_kernel *k, rec *p) {
  const bool twice = p->gates == REC_GRU && !p->before_reset;
  return rec_matrix_make(k, p, &p->w, REC_W, 0, p->gates) &&
         rec_matrix_make(k, p, &p->r[0], REC_R, 0, twice ? 2 : p->gates) &&
         (!twice || rec_matrix_make(k, p, &p->r[1], REC_R, 2, 3));
}

static bool rec_is_usual(const rec *p, int direction, bool peepholes) {
  const rec_activation *f = &p->f[direction * p->per_direction];
  for (int i = 0; i < p->per_direction; i++) {
    if (f[i].name != (i == 0 ? REC_SIGMOID : REC_TANH)) return false;
  }
  if (p->dtype != CI_FLOAT || p->clips || peepholes) return false;
  return p->gates == REC_LSTM ? !p->coupled : p->gates == REC_GRU && p->before_reset;
}

static ci_status rec_prepare(ci_kernel *k, int gates, int per_direction) {
  rec *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->gates = gates;
  p->per_direction = per_direction;
  CI_TRY(rec_read_attributes(k, p));
  CI_TRY(rec_check_inputs(k, p));
  if (p->batch == 0 || p->hidden == 0) return CI_OK;
  const bool peepholes = k->n_in > REC_P && k->in[REC_P] != NULL;
  p->alone = p->batch == 1;
  for (int d = 0; d < p->directions; d++) {
    p->usual[d] = rec_is_usual(p, d, peepholes);
    p->alone = p->alone && p->usual[d];
  }
  size_t all_rows;
  const bool fits = ci_mul_size((uint64_t)p->steps, (uint64_t)p->batch, &all_rows) && ci_at_most(all_rows, INT64_MAX) &&
                    rec_reserve(k, p, &p->input_sums, (int64_t)all_rows, p->columns) && rec_matrices(k, p) &&
                    rec_reserve(k, p, &p->bias, p->gates + 1, p->hidden) &&
                    rec_reserve(k, p, &p->sums, p->batch, p->columns) &&
                    rec_reserve(k, p, &p->h, p->batch, p->hidden) && rec_reserve(k, p, &p->c, p->batch, p->hidden) &&
                    rec_reserve(k, p, &p->aside, p->batch, p->hidden);
  if (!fits) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the sequences need more memory than this machine can hold");
  return CI_OK;
}

ci_status ci_prepare_rnn(ci_kernel *k) { return rec_prepare(k, REC_RNN, 1); }
ci_status ci_prepare_gru(ci_kernel *k) { return rec_prepare(k, REC_GRU, 2); }
ci_status ci_prepare_lstm(ci_kernel *k) { return rec_prepare(k, REC_LSTM, 3); }
#endif
