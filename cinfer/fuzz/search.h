/* search.h - what a target tells the search for inputs that cost much (search.c), and what it is told. */
#ifndef FUZZ_SEARCH_H
#define FUZZ_SEARCH_H
#include <stdbool.h>
#include <stdint.h>

typedef struct search_cost { /* of the input that was tried last */
  uint64_t blocks; /* basic blocks that ran, beside */
  uint64_t ahead;  /* those of what was computed while planning */
  uint64_t memory; /* bytes of heap, at most at a time */
  double part;     /* of the blocks that such an input may take; above 1 is a finding */
} search_cost;
search_cost search_cost_of_last(void);

bool search_measures(void); /* costs are asked for, whatever they are: nothing is a finding */
/* Keeps the input, tells what is broken and ends; or goes on, if that is wanted. */
void search_found(const char *promise);
#endif
