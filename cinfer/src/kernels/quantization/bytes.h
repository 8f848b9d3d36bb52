/* bytes.h - convolutions of bytes over one or two axes: the image with four channels side by side, so that each tap of
 * neighbouring windows is contiguous. */
#ifndef CI_BYTES_H
#define CI_BYTES_H
#include "../../simd/linear/isa_bytes.h"
#include "../convolution/nd.h"

typedef struct ci_bytes_conv {
  int64_t groups, ic, oc;          /* channels of a group: of a few of the node's where those have one or two, */
  int64_t own_ic, own_oc;          /* the channels of the operator; outside them, an output has weights of 0 */
  int64_t quads, taps, steps;      /* fours of channels; steps of a multiplication */
  int64_t kernel[2], out[2], size[2], before[2], stride[2];
  /* of the padded image: a row's columns are sorted by their index modulo the stride */
  int64_t rows, phases, line;
  bool flat;                       /* all windows are one run of columns */
  int64_t run, c_line, c_row;      /* columns of a run; numbers from row to row of windows, and of results */
  size_t image, sums, weights;     /* bytes in scratch, in this order */
  size_t bytes;                    /* of all of them */
  const int8_t *packed;            /* the weights, or NULL: in scratch */
  ptrdiff_t *step;
} ci_bytes_conv;

/* Takes the sums of one output of an image, rows of p->out[1] numbers, p->c_line apart, and adds `add` to each. */
typedef void (*ci_bytes_take)(void *argument, int64_t image, int64_t output, const int32_t *sums, int32_t add);

typedef struct ci_bytes_job {
  ci_kernel *k;
  const ci_bytes_conv *p;
  const ci_value *x, *w, *x_zero, *w_zero; /* zero points may be NULL */
  char *scratch;
  ci_bytes_take take;
  void *argument;
} ci_bytes_job;

/* False: more than two axes, or too large. `w` is the input with the weights. */
bool ci_bytes_plan(ci_kernel *k, const ci_nd *g, int64_t groups, int w, ci_bytes_conv *p);
void ci_bytes_forward(const ci_bytes_job *job);
/* Four rows to one with their bytes side by side, `flip` changed in each. */
void ci_bytes_interleave(uint8_t *restrict y, const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d,
                         int64_t n, uint8_t flip);
#endif
