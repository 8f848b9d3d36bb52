/* crc32c.c - CRC-32C (Castagnoli): by carry-less multiplication where the processor has it, else by its CRC
 * instruction, else eight bytes a step by tables. */
#include <string.h>

#include "../system/cpu.h"
#include "crc32c.h"

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
#ifdef CI_SMALL
static const uint32_t crc_tables[1][256] = {CRC_256(CRC_BASIS_0)};
#else
static const uint32_t crc_tables[8][256] = {CRC_256(CRC_BASIS_0), CRC_256(CRC_BASIS_1), CRC_256(CRC_BASIS_2),
                                            CRC_256(CRC_BASIS_3), CRC_256(CRC_BASIS_4), CRC_256(CRC_BASIS_5),
                                            CRC_256(CRC_BASIS_6), CRC_256(CRC_BASIS_7)};
#endif

static uint32_t crc_tabled(uint32_t crc, const uint8_t *p, size_t n) {
#ifndef CI_SMALL
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
    crc = crc_tables[7][low & 0xff] ^ crc_tables[6][low >> 8 & 0xff] ^ crc_tables[5][low >> 16 & 0xff] ^
          crc_tables[4][low >> 24] ^ crc_tables[3][p[4]] ^ crc_tables[2][p[5]] ^ crc_tables[1][p[6]] ^
          crc_tables[0][p[7]];
  }
#endif
  for (; n > 0; n--, p++) crc = crc >> 8 ^ crc_tables[0][(crc ^ *p) & 0xff];
  return crc;
}

/* ---- in hardware ----
 *
 * A checksum is the remainder of a polynomial over GF(2), first bit highest: a block may be replaced by another of the
 * same remainder. A lane of 128 bits, L * x^64 + H, is carried D bits on by two carry-less multiplications, L *
 * (x^(D+64) mod P) + H * (x^D mod P), and added to the lane at that position. Bits are reversed in memory, which
 * multiplies each result by x; hence the constants are FOLD(D + 63) and FOLD(D - 1) with, in Python,
 *   def FOLD(n):
 *     r = 1 << 31
 *     for _ in range(n): r = r >> 1 ^ 0x82f63b78 * (r & 1)
 *     return r << 32
 * The lanes that are left at the end are a block whose checksum from a state of zero is that of everything before. */
#if defined(__x86_64__) && defined(__GNUC__)
#define CRC_HARDWARE 1
#include <immintrin.h>
#define CRC_TARGET(isa) __attribute__((target(isa)))
#define CRC_ONE "sse4.2"
#define CRC_NARROW "sse4.2,pclmul"
#define CRC_STEP_8(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define CRC_STEP_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
typedef __m128i crc_lane;
#define CRC_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define CRC_STORE(p, lane) _mm_storeu_si128((__m128i *)(void *)(p), (lane))
#define CRC_CONSTANTS(low, high) _mm_set_epi64x((int64_t)(high), (int64_t)(low))
#define CRC_CARRY(lane, k) \
  _mm_xor_si128(_mm_clmulepi64_si128((lane), (k), 0x00), _mm_clmulepi64_si128((lane), (k), 0x11))
#define CRC_ADD(a, b) _mm_xor_si128((a), (b))

static int crc_ways(void) {
  const uint32_t has = ci_cpu();
  const int one = (has & CI_CPU_SSE42) != 0, narrow = one & ((has & CI_CPU_PCLMUL) != 0);
#ifdef CI_NO_AVX512
  const int wide = 0;
#else
  const int wide = (has & CI_CPU_VPCLMUL) != 0;
#endif
  return 1 + one + narrow + (narrow & wide);
}

#elif defined(__aarch64__) && defined(__GNUC__) && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (defined(__linux__) || defined(__APPLE__))
#define CRC_HARDWARE 1
#include <arm_neon.h>
#define CRC_TARGET(isa) /* the assembler gets its targets by a directive: compilers spell them in different ways */
typedef uint64x2_t crc_lane;
static inline uint32_t crc_step_8(uint32_t crc, uint64_t word) {
  __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  return crc;
}
static inline uint32_t crc_step_1(uint32_t crc, uint32_t byte) {
  __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
  return crc;
}
static inline crc_lane crc_carry(crc_lane lane, crc_lane k) {
  crc_lane low, high;
  __asm__(".arch_extension aes\n\tpmull %0.1q, %1.1d, %2.1d" : "=w"(low) : "w"(lane), "w"(k));
  __asm__(".arch_extension aes\n\tpmull2 %0.1q, %1.2d, %2.2d" : "=w"(high) : "w"(lane), "w"(k));
  return veorq_u64(low, high);
}
#define CRC_STEP_8 crc_step_8
#define CRC_STEP_1 crc_step_1
#define CRC_LOAD(p) vreinterpretq_u64_u8(vld1q_u8(p))
#define CRC_STORE(p, lane) vst1q_u8((p), vreinterpretq_u8_u64(lane))
#define CRC_CONSTANTS(low, high) vcombine_u64(vcreate_u64(low), vcreate_u64(high))
#define CRC_CARRY crc_carry
#define CRC_ADD veorq_u64

#ifdef __linux__
#include <sys/auxv.h>
static int crc_ways(void) {
  const int one = (getauxval(AT_HWCAP) & 1ul << 7) != 0;
  return 1 + one + (one & ((getauxval(AT_HWCAP) & 1ul << 4) != 0));
}
#else
static int crc_ways(void) { return 3; }
#endif
#endif

#ifdef CRC_HARDWARE
CRC_TARGET(CRC_ONE) static uint32_t crc_one(uint32_t crc, const uint8_t *p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    crc = CRC_STEP_8(crc, word);
  }
  for (; n > 0; n--, p++) crc = CRC_STEP_1(crc, *p);
  return crc;
}

enum { CRC_NARROW_BYTES = 64, CRC_WIDE_BYTES = 256 };

/* Four lanes of 128 bits. */
CRC_TARGET(CRC_NARROW) static uint32_t crc_narrow(uint32_t crc, const uint8_t *p, size_t n) {
  if (n < 2 * CRC_NARROW_BYTES) return crc_one(crc, p, n);
  const crc_lane k = CRC_CONSTANTS(0x1c19243b00000000u, 0x75bba45b00000000u); /* FOLD(575), FOLD(511) */
  uint8_t block[CRC_NARROW_BYTES];
  crc_lane a = CRC_ADD(CRC_LOAD(p), CRC_CONSTANTS(crc, 0u)), b = CRC_LOAD(p + 16);
  crc_lane c = CRC_LOAD(p + 32), d = CRC_LOAD(p + 48);
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    a = CRC_ADD(CRC_CARRY(a, k), CRC_LOAD(p));
    b = CRC_ADD(CRC_CARRY(b, k), CRC_LOAD(p + 16));
    c = CRC_ADD(CRC_CARRY(c, k), CRC_LOAD(p + 32));
    d = CRC_ADD(CRC_CARRY(d, k), CRC_LOAD(p + 48));
  }
  CRC_STORE(block, a);
  CRC_STORE(block + 16, b);
  CRC_STORE(block + 32, c);
  CRC_STORE(block + 48, d);
  return crc_one(crc_one(0, block, sizeof block), p, n);
}
#endif

#if defined(CRC_HARDWARE) && defined(__x86_64__) && !defined(CI_NO_AVX512)
#define CRC_WIDE 1
#define CRC_LOAD_4(p) _mm512_loadu_si512(p)
#define CRC_ON_4(lanes, k, p)                                             \
  _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128((lanes), (k), 0x00), \
                            _mm512_clmulepi64_epi128((lanes), (k), 0x11), CRC_LOAD_4(p), 0x96 /* a ^ b ^ c */)

/* The same with four times four lanes. */
CRC_TARGET("avx512f,vpclmulqdq") static uint32_t crc_wide(uint32_t crc, const uint8_t *p, size_t n) {
  if (n < 2 * CRC_WIDE_BYTES) return crc_narrow(crc, p, n);
  const __m512i k =
      _mm512_broadcast_i32x4(CRC_CONSTANTS(0xe9a5d8be00000000u, 0x1426a81500000000u)); /* FOLD(2111), FOLD(2047) */
  uint8_t block[CRC_WIDE_BYTES];
  __m512i a = _mm512_xor_si512(CRC_LOAD_4(p), _mm512_maskz_set1_epi32(1, (int)crc));
  __m512i b = CRC_LOAD_4(p + 64), c = CRC_LOAD_4(p + 128), d = CRC_LOAD_4(p + 192);
  for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
    a = CRC_ON_4(a, k, p);
    b = CRC_ON_4(b, k, p + 64);
    c = CRC_ON_4(c, k, p + 128);
    d = CRC_ON_4(d, k, p + 192);
  }
  _mm512_storeu_si512(block, a);
  _mm512_storeu_si512(block + 64, b);
  _mm512_storeu_si512(block + 128, c);
  _mm512_storeu_si512(block + 192, d);
  return crc_narrow(crc_narrow(0, block, sizeof block), p, n);
}
#endif

int ci_crc32c_ways(void) {
#ifdef CRC_HARDWARE
  return crc_ways(); /* without branches: each but the first needs the one before */
#else
  return 1;
#endif
}

uint32_t ci_crc32c_by(int way, uint32_t crc, const void *data, size_t bytes) {
#ifdef CRC_WIDE
  if (way == 3) return ~crc_wide(~crc, data, bytes);
#endif
#ifdef CRC_HARDWARE
  if (way == 2) return ~crc_narrow(~crc, data, bytes);
  if (way == 1) return ~crc_one(~crc, data, bytes);
#endif
  (void)way;
  return ~crc_tabled(~crc, data, bytes);
}

uint32_t ci_crc32c(uint32_t crc, const void *data, size_t bytes) {
  return ci_crc32c_by(ci_crc32c_ways() - 1, crc, data, bytes);
}
