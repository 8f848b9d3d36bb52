/* work.h - counts the work of a call, the same on every machine and in every run: basic blocks, as the compiler
 * reports them (-fsanitize-coverage=trace-pc), and for the C library's functions a block for every 16 bytes. */
#ifndef CI_TEST_WORK_H
#define CI_TEST_WORK_H
#include <stdint.h>
extern uint64_t work_blocks;
/* Called once when there are more than so many; UINT64_MAX, as at first: never. */
extern uint64_t work_most;
extern void (*work_exceeded)(void);

enum { WORK_POSITIONS = 1 << 18 };
/* how often each block ran; a counter for each, by its address: neighbours share a cache line */
typedef struct work_positions {
  uint32_t runs[WORK_POSITIONS];
  uintptr_t block[WORK_POSITIONS]; /* its address */
  uint32_t seen[WORK_POSITIONS]; /* those that ran, in the order of their first runs */
  uint32_t count;
} work_positions;
extern work_positions *work_map; /* NULL, the default: blocks are not counted one by one */
#endif
