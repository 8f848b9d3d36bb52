/* fused_program.h - a program prepared for shapes, which fused_prepare.c makes and fused.c runs. */
#ifndef CI_FUSED_PROGRAM_H
#define CI_FUSED_PROGRAM_H
#include "elementwise.h"
#include "fused.h"

enum {
  FUSED_INPUTS = CI_BROADCAST_MOST,
  FUSED_STEPS = 32,
  FUSED_REGISTERS = 8,
  FUSED_TILE = 4096, /* floats of a tile that all steps go over one by one */
  FUSED_SHORT = 64,  /* rows of at most so many floats are put together */
  FUSED_REPEATED = 2,
  FUSED_SMALL = 512,     /* floats of a block on the stack, for tiles */
  FUSED_BLOCK = 1024,    /* floats of a block in scratch */
  FUSED_GRAIN = 1 << 14, /* elements that are worth a thread */
  FUSED_OUT = FUSED_REGISTERS /* the register that is the output itself */
};

typedef enum fused_kind { FUSED_UNARY, FUSED_BINARY, FUSED_MAP, FUSED_TYPED } fused_kind;

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
  const ci_value *in[FUSED_INPUTS]; /* of a fused MatMul or convolution, 0 is its result */
  int inputs, steps, registers;
  bool gemm;   /* input 0 is the content of y */
  bool repeats;   /* short rows may be put together */
  bool by_tiles;  /* no registers, and every input is a matrix: `row` and `col` floats from one to the next */
  ptrdiff_t row[FUSED_INPUTS], col[FUSED_INPUTS];
  int64_t width;
  const float *literals;
  fused_step step[];
};

/* Runs the program for elements `at` to at + n of the output, which begin at y; registers are `block` floats each. */
CI_LOCAL void ci_fused_range(const ci_fused *f, float *y, int64_t at, int64_t n, float *registers, int64_t block);
#endif
