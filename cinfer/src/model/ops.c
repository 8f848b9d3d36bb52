/* ops.c - the table of operators, and the names of those that this build leaves out. */
#include <string.h>

#include "model.h"

#define CI_FAMILY(family)
#define CI_TAKES(family) CI_HAS(family)
#define CI_OP(domain, name, since, until, min_in, max_in, min_out, max_out, flags, types, prepare, run) \
  {domain, #name, since, until, min_in, max_in, min_out, max_out, flags, types, prepare, run},
static const ci_op ops_table[] = {
#include "../ops.def"
};
#undef CI_OP
#undef CI_TAKES
#undef CI_FAMILY

static bool ops_same(const char *str, ci_span span) {
  return strlen(str) == span.length && (span.length == 0 || memcmp(str, span.data, span.length) == 0);
}

/* A row after the other: this happens once a node, at load. */
const ci_op *ci_op_find(ci_span domain, ci_span name, int64_t version) {
  for (size_t i = 0; i < sizeof ops_table / sizeof ops_table[0]; i++) {
    const ci_op *op = &ops_table[i];
    if (name.length == 0 || op->name[0] != name.data[0]) continue;
    bool fits = version >= op->since && (op->until == 0 || version <= op->until);
    if (fits && ops_same(op->name, name) && ops_same(op->domain, domain)) return op;
  }
  return NULL;
}

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif
/* Names one after the other: "=family", then its operators. No operator has one name in two domains and families. */
#define CI_FAMILY(family) "=" #family "\0"
#define CI_TAKES(family) !CI_HAS(family)
#define CI_OP(domain, name, since, until, min_in, max_in, min_out, max_out, flags, types, prepare, run) #name "\0"
static const char ops_left_out[] = {
#include "../ops.def"
    "=\0"};
#undef CI_OP
#undef CI_TAKES
#undef CI_FAMILY

const char *ci_op_left_out(ci_span name) {
  const char *family = NULL;
  for (const char *at = ops_left_out; strcmp(at, "=") != 0; at += strlen(at) + 1) {
    if (at[0] == '=') family = at + 1;
    else if (ops_same(at, name)) return family;
  }
  return NULL;
}
