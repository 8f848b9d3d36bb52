/* crc32c.c - CRC-32C (Castagnoli) in hardware where the processor has it, else eight bytes a step by tables. */
#include <string.h>

#include "crc32c.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define CRC_HARDWARE 1
#define CRC_TARGET __attribute__((target("sse4.2")))
#define CRC_STEP_8(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define CRC_STEP_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#elif defined(__ARM_FEATURE_CRC32) && defined(__aarch64__) && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#define CRC_HARDWARE 1
#define CRC_TARGET
#define CRC_STEP_8(crc, word) __crc32cd((crc), (word))
#define CRC_STEP_1(crc, byte) __crc32cb((crc), (byte))
#endif

/* Table k holds the CRC of each byte followed by k zero bytes. A CRC is linear: an entry is the exclusive or of the
 * entries of its single bits, which are all that is written down. */
#define CRC_BASIS_0 \
  0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u
#define CRC_BASIS_1 \
  0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u
#define CRC_BASIS_2 \
  0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u
#define CRC_BASIS_3 \
  0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu
#define CRC_BASIS_4 \
  0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu
#define CRC_BASIS_5 \
  0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u
#define CRC_BASIS_6 \
  0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u
#define CRC_BASIS_7 \
  0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u
#define CRC_BIT(n, bit, value) ((((n) >> (bit)) & 1u) ? (value) : 0u)
#define CRC_1(n, a, b, c, d, e, f, g, h)                                                                             \
  (CRC_BIT(n, 0, a) ^ CRC_BIT(n, 1, b) ^ CRC_BIT(n, 2, c) ^ CRC_BIT(n, 3, d) ^ CRC_BIT(n, 4, e) ^ CRC_BIT(n, 5, f) ^ \
   CRC_BIT(n, 6, g) ^ CRC_BIT(n, 7, h))
#define CRC_4(n, ...) \
  CRC_1(n, __VA_ARGS__), CRC_1(n + 1u, __VA_ARGS__), CRC_1(n + 2u, __VA_ARGS__), CRC_1(n + 3u, __VA_ARGS__)
#define CRC_16(n, ...) \
  CRC_4(n, __VA_ARGS__), CRC_4(n + 4u, __VA_ARGS__), CRC_4(n + 8u, __VA_ARGS__), CRC_4(n + 12u, __VA_ARGS__)
#define CRC_64(n, ...) \
  CRC_16(n, __VA_ARGS__), CRC_16(n + 16u, __VA_ARGS__), CRC_16(n + 32u, __VA_ARGS__), CRC_16(n + 48u, __VA_ARGS__)
#define CRC_256(...) \
  {CRC_64(0u, __VA_ARGS__), CRC_64(64u, __VA_ARGS__), CRC_64(128u, __VA_ARGS__), CRC_64(192u, __VA_ARGS__)}
static const uint32_t crc_tables[8][256] = {CRC_256(CRC_BASIS_0), CRC_256(CRC_BASIS_1), CRC_256(CRC_BASIS_2),
                                            CRC_256(CRC_BASIS_3), CRC_256(CRC_BASIS_4), CRC_256(CRC_BASIS_5),
                                            CRC_256(CRC_BASIS_6), CRC_256(CRC_BASIS_7)};

static uint32_t crc_tabled(uint32_t crc, const uint8_t *p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    crc = crc_tables[7][low & 0xff] ^ crc_tables[6][low >> 8 & 0xff] ^ crc_tables[5][low >> 16 & 0xff] ^
          crc_tables[4][low >> 24] ^ crc_tables[3][p[4]] ^ crc_tables[2][p[5]] ^ crc_tables[1][p[6]] ^
          crc_tables[0][p[7]];
  }
  for (; n > 0; n--, p++) crc = crc >> 8 ^ crc_tables[0][(crc ^ *p) & 0xff];
  return crc;
}

#ifdef CRC_HARDWARE
CRC_TARGET static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    crc = CRC_STEP_8(crc, word);
  }
  for (; n > 0; n--, p++) crc = CRC_STEP_1(crc, *p);
  return crc;
}

static bool crc_has_hardware(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return true;
#endif
}
#endif

uint32_t ci_crc32c(uint32_t crc, const void *data, size_t bytes) {
  const uint8_t *p = data;
#ifdef CRC_HARDWARE
  if (crc_has_hardware()) return ~crc_hardware(~crc, p, bytes);
#endif
  return ~crc_tabled(~crc, p, bytes);
}

uint32_t ci_crc32c_tabled(uint32_t crc, const void *data, size_t bytes) { return ~crc_tabled(~crc, data, bytes); }
