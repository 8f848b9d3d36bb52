/* crc32c.h - the part of crc32c.c that is not public. */
#ifndef CI_CRC32C_H
#define CI_CRC32C_H
#include "ci_common.h"

/* How many ways of computing it this machine has: tables, CRC instruction, carry-less multiplications, wide ones. */
int ci_crc32c_ways(void);

/* ci_crc32c in one of them, from 0, so that a machine that has them all can test them all. */
uint32_t ci_crc32c_by(int way, uint32_t crc, const void *data, size_t bytes);
#endif
