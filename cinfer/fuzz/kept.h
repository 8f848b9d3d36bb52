/* kept.h - the inputs that a search goes on from (search.c).
 *
 * Kept is, for each block and each power of two of how often it ran, the shortest input in which it did, and the input
 * in which it ran most often for the bytes. */
#ifndef FUZZ_KEPT_H
#define FUZZ_KEPT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mutate.h"
#include "work.h"

typedef struct kept_input {
  uint8_t *data;
  size_t size;
  uint32_t held; /* for so many reasons; none: it is no more */
  double part;   /* of the blocks that such an input may take */
} kept_input;

typedef enum kept_news { KEPT_NOTHING, KEPT_BETTER, KEPT_LEVEL } kept_news; /* LEVEL: one that no input had */

/* Takes a copy of an input if the blocks that ran in it are worth it. */
kept_news kept_add(const work_positions *positions, const uint8_t *data, size_t size, double part);
/* One of at most `longest` bytes; NULL: none was found. */
const kept_input *kept_choose(fuzz_random *random, size_t longest);

typedef struct kept_figures {
  uint32_t blocks, levels, inputs;
} kept_figures;
kept_figures kept_count(void);
#endif
