/* mapping.h - mapped files whose bytes are the values of variables until these are assigned. */
#ifndef CI_MAPPING_H
#define CI_MAPPING_H
#include "file.h"

typedef struct ci_mapping ci_mapping; /* counted: each open or hold is followed by one drop */

/* Maps an entire file privately: writes to the memory do not reach the file. where: the checkpoint's name in messages.
 * NULL: it cannot be mapped, here or at all, and must be read. */
ci_mapping *ci_mapping_open(const ci_allocator *allocator, const ci_reader *reader, const char *where);
ci_mapping *ci_mapping_hold(ci_mapping *mapping);
void ci_mapping_drop(ci_mapping *mapping); /* NULL: nothing */
/* Some bytes of it as elements of `item` bytes in little-endian order; NULL: not inside, not aligned, or of another
 * order than this machine's. */
void *ci_mapping_at(const ci_mapping *mapping, uint64_t offset, uint64_t bytes, size_t item);
const char *ci_mapping_where(const ci_mapping *mapping);
#endif
