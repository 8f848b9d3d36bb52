/* cast.h - conversions between any two types of numbers, for Cast and for quantisation. */
#ifndef CI_CAST_H
#define CI_CAST_H
#include "elementwise.h"

enum { CI_ROUND_UP, CI_ROUND_DOWN, CI_ROUND_NEAREST }; /* to float8e8m0 */

typedef struct ci_caster { /* source -> decoded -> middle -> encoded, each part where it is needed */
  const struct ci_isa *isa;
  ci_cast_fn direct; /* all in one, or NULL */
  int32_t from, to, middle;
  size_t from_bytes, to_bytes;
  bool decodes, encodes;
  ci_cast_fn converts; /* from the decoded type to the middle type */
  bool saturate;       /* beyond the largest float8: that one, else infinity or NaN */
  int round;           /* CI_ROUND_... */
} ci_caster;

/* saturate true and CI_ROUND_UP are the operators' defaults. False: one of the types has no numbers. */
CI_LOCAL bool ci_caster_make(ci_caster *c, const struct ci_isa *isa, int32_t from, int32_t to, bool saturate,
                             int round);
CI_LOCAL void ci_caster_run(const ci_caster *c, void *y, const void *x, int64_t n);

/* Rounds a float32 once to a half type. */
CI_LOCAL float ci_round_to(int32_t dtype, float v);
#endif
