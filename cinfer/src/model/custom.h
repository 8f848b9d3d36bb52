/* custom.h - custom operators: rows that the caller adds to the table of operators. */
#ifndef CI_CUSTOM_H
#define CI_CUSTOM_H
#include "model.h"

enum { CUSTOM_NAME = 200 }; /* bytes of a domain or name, at most */

typedef struct ci_custom {
  ci_op op; /* first: a node's kernel points at it */
  const ci_operator *host;
} ci_custom;

/* Takes the operators that a model is opened with. */
ci_status ci_custom_take(ci_model *model, const ci_operator *const *operators, int32_t count, ci_error *error);
const ci_op *ci_custom_find(const ci_model *model, ci_span domain, ci_span name, int64_t version);
#endif
