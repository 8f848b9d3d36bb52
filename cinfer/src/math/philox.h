/* philox.h - Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011): a block of four words for each counter. */
#ifndef CI_PHILOX_H
#define CI_PHILOX_H
#include "../base/ci_common.h"

/* Counter words: low, then high 64 bits, each low word first; key low word first. */
CI_INLINE void ci_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]) {
  uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53 * c0, b = (uint64_t)0xCD9E8D57 * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}
#endif
