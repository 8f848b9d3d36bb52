/* regex.h - regular expressions of RE2's syntax as programs of steps with relative jumps. */
#ifndef CI_REGEX_H
#define CI_REGEX_H
#include "../ci_kernel.h"

enum { REGEX_CHAR, REGEX_SPLIT, REGEX_JUMP, REGEX_ASSERT, REGEX_MATCH };

typedef struct regex_step { /* SPLIT goes on at the next step, and where it points */
  int32_t kind;
  int32_t operand; /* a class; how far to go; a letter of "^$AzbB" */
} regex_step;

typedef struct regex_range {
  int32_t first, last; /* first REGEX_WITHOUT: characters outside of the group of that number (`last`) */
} regex_range;
enum { REGEX_WITHOUT = -1 };

typedef struct regex_class { /* ranges begin .. begin + count, with folded forms */
  int32_t begin, count;
  bool negated, fold;
} regex_class;

typedef struct regex_program {
  regex_step *steps; /* NULL while a pattern is measured, as the other lists */
  regex_class *classes;
  regex_range *ranges;
  int32_t step_count, class_count, range_count;
  int32_t most_steps; /* while it is read; a part that is repeated zero times goes again */
} regex_program;

typedef struct regex_group { /* an open parenthesis: where its steps, its last way and its last part begin */
  int32_t way, part, ends; /* ends: the last of its jumps to the end, each of which holds the one before */
  int flags;               /* those that hold after it */
  bool repeated;
} regex_group;

/* How many groups of a pattern are open at the same time, at most. */
size_t ci_regex_parse_most_open(ci_span pattern);
/* Reads a pattern into a program whose lists are NULL (then only their sizes are found) or large enough; `open` is for
 * ci_regex_parse_most_open groups. */
ci_status ci_regex_parse(ci_kernel *k, ci_span pattern, regex_group *open, regex_program *program);
/* Whether a group of ASCII characters (of regex_range) has a character. */
bool ci_regex_parse_in_group(int32_t group, uint32_t c);
#endif
