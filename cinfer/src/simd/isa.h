/* isa.h - the vector functions that this machine can run. All instruction sets give the same bits. */
#ifndef CI_ISA_H
#define CI_ISA_H
#include "../base/ci_common.h"

struct ci_isa_math;   /* isa_math.h */
struct ci_isa_linear; /* isa_linear.h */
struct ci_isa_move;   /* isa_move.h */
struct ci_isa_bytes;  /* isa_bytes.h */

struct ci_isa {
  int32_t id;       /* CI_ISA_... */
  const char *name; /* "avx512" */
  const struct ci_isa_math *math;
  const struct ci_isa_linear *linear;
  const struct ci_isa_move *move;
  const struct ci_isa_bytes *bytes;
};

/* Those of this build, as isa_sets.h defines. */
extern const struct ci_isa ci_isa_portable, ci_isa_avx2, ci_isa_avx512, ci_isa_avx512_vnni, ci_isa_neon, ci_isa_simd128;

/* CI_ISA_BEST gives the fastest; NULL: this processor or this build lacks it. */
const struct ci_isa *ci_isa_find(int32_t id);
/* A handful of results with known bits. False: this build, or the way it was compiled, breaks docs/numerics.md. */
bool ci_isa_self_check(const struct ci_isa *isa);
#endif
