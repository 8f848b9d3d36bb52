/* parse.h - the parser of a graph: the state that parse.c and functions.c share. */
#ifndef CI_PARSE_H
#define CI_PARSE_H
#include "model.h"

typedef struct ci_function { /* a body, by spans */
  ci_span domain, name;
  uint64_t version;
  ci_span message;
} ci_function;

typedef struct ci_parser {
  ci_model *model;
  ci_error *error;
  const ci_function *functions; /* sorted */
  size_t function_count;
  size_t stored; /* tensors of the model, which come before the inline ones */
} ci_parser;

/* Where names are looked up: a graph, and inside an inlined call the call. */
typedef struct ci_scope {
  int32_t graph;
  int32_t call;   /* the call that is open, or CI_NONE */
  int32_t calls;  /* how many are open around */
  /* the scope of its names in the table, 0 outside of calls; that of its attributes is the next number */
  uint32_t names;
  uint32_t attrs, attr_count; /* of the calling node */
  uint32_t controls, control_count; /* of the calling node: every inner node has them too */
} ci_scope;

ci_status ci_parse_memory(ci_parser *p);
ci_status ci_parse_too_many(ci_parser *p);
ci_status ci_parse_damaged(ci_parser *p, const char *what, ci_span name);
/* The same of a node that scope has. */
ci_status ci_parse_damaged_node(ci_parser *p, const ci_scope *scope, const char *what, ci_span name);
ci_status ci_parse_node(ci_parser *p, const ci_scope *scope, const ci_field *field);
/* The value that a name means, seen from scope; checks that captures are listed. */
ci_status ci_parse_ref(ci_parser *p, const ci_scope *scope, ci_span name, int32_t *edge);
/* Puts a name into the table; text and scope of the entry are filled in. */
ci_status ci_parse_name(ci_parser *p, uint32_t scope, const ci_field *name, ci_named entry);
bool ci_parse_is_named(const ci_parser *p, uint32_t scope, ci_span name);
int32_t ci_parse_edge(ci_parser *p, ci_edge edge); /* CI_NONE: no memory */

/* functions.c */
const ci_function *ci_function_find(const ci_parser *p, ci_span domain, ci_span name, int64_t version);
uint32_t ci_function_outputs(const ci_function *function); /* how many it has */
/* Parses the body in place of a node whose inputs, attributes and outputs are there already. */
ci_status ci_function_inline(ci_parser *p, const ci_scope *scope, const ci_function *function, const ci_node *call,
                             ci_span name);
#endif
