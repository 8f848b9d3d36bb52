/* search.h - the interface between a fuzz target and the search for inputs that cost much (search.c). */
#ifndef FUZZ_SEARCH_H
#define FUZZ_SEARCH_H
#include <stdbool.h>
#include <stdint.h>

typedef struct search_cost { /* of the input that was tried last */
  uint64_t blocks; /* basic blocks that ran, without those of `ahead` */
  uint64_t ahead;  /* those of constant folding */
  uint64_t memory; /* bytes of heap, at most at a time */
  double part;     /* of the blocks that such an input may take; above 1 is a finding */
} search_cost;
search_cost search_cost_of_last(void);

bool search_measures(void); /* only costs are measured: nothing is a finding */
/* Keeps the input, reports the broken promise and ends; or goes on with -keep_going=1. */
void search_found(const char *promise);
#endif
