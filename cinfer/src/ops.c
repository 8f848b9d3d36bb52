/* ops.c - the table of operators. */
#include <string.h>

#include "ci_kernel.h"

#define CI_OP(domain, name, since, until, min_in, max_in, min_out, max_out, flags, prepare, run) \
  {domain, #name, since, until, min_in, max_in, min_out, max_out, flags, prepare, run},
static const ci_op ops_table[] = {
#include "ops.def"
};
#undef CI_OP

static bool ops_same(const char *text, ci_span span) {
  return strlen(text) == span.length && (span.length == 0 || memcmp(text, span.data, span.length) == 0);
}

/* A row after the other: this happens once a node, at load. */
const ci_op *ci_find_op(ci_span domain, ci_span name, int64_t version) {
  for (size_t i = 0; i < sizeof ops_table / sizeof ops_table[0]; i++) {
    const ci_op *op = &ops_table[i];
    bool fits = version >= op->since && (op->until == 0 || version <= op->until);
    if (fits && ops_same(op->name, name) && ops_same(op->domain, domain)) return op;
  }
  return NULL;
}
