/* strings.h - shared functions of the kernels of strings: memory, inputs, ends. */
#ifndef CI_STRING_H
#define CI_STRING_H
#include "../ci_kernel.h"

/* Adds a length to the bytes of strings; more than the session's limit is an error. */
CI_LOCAL ci_status ci_string_add(ci_kernel *k, size_t *bytes, size_t length);
/* In run: memory for strings that lasts until the next run. A kernel that takes some has CI_OP_STATEFUL, or none while
 * `ahead` is set, since a result that is computed before the run must last longer. */
CI_LOCAL ci_status ci_string_memory(ci_kernel *k, size_t bytes, char **str);
/* Copies bytes; returns where the next ones go. */
CI_LOCAL char *ci_string_append(char *to, const void *from, size_t length);
/* Refuses an input that does not have strings. */
CI_LOCAL ci_status ci_string_input(ci_kernel *k, int i);
CI_LOCAL bool ci_string_is_space(char c); /* of ASCII */
/* A string without the white space at its ends, in the same memory. */
CI_LOCAL ci_string ci_string_stripped(ci_string str);
#endif
