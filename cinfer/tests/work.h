/* work.h - counts what a call does, the same on every machine and in every run: basic blocks, as the compiler reports
 * them (-fsanitize-coverage=trace-pc), and for the C library's functions a block for every 16 bytes. */
#ifndef CI_TEST_WORK_H
#define CI_TEST_WORK_H
#include <stdint.h>
extern uint64_t work_blocks;
#endif
