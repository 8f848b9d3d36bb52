/* crc32c.h - the part of crc32c.c that is not public. */
#ifndef CI_CRC32C_H
#define CI_CRC32C_H
#include "ci_common.h"

/* ci_crc32c by its tables alone, so that a machine with the instruction can test them. */
uint32_t ci_crc32c_tabled(uint32_t crc, const void *data, size_t bytes);
#endif
