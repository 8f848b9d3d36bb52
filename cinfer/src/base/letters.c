/* letters.c - Unicode case mappings of single characters, and UTF-8. */
#include "letters.h"

#include <stddef.h>

/* Letters that have the same distance from their other case, one after the other or every second one: the first of
 * them << 9, from the first to the last << 1, whether it is every second one; and the distance. Unicode's mappings of
 * one character to one (UnicodeData.txt, fields 12 and 13); test_strings_standard.py compares them with Python's.
 */
typedef struct letters_row {
  uint32_t where;
  int32_t distance;
} letters_row;

/* clang-format off */
static const letters_row letters_to_small[] = {
    {0x8232, 32}, {0x1802c, 32}, {0x1b00c, 32}, {0x2005d, 1}, {0x26409, 1}, {0x2721d, 1}, {0x29459, 1},
    {0x2f000, -121}, {0x2f209, 1}, {0x30200, 210}, {0x30405, 1}, {0x30c00, 206}, {0x30e00, 1}, {0x31202, 205},
    {0x31600, 1}, {0x31c00, 79}, {0x31e00, 202}, {0x32000, 203}, {0x32200, 1}, {0x32600, 205}, {0x32800, 207},
    {0x32c00, 211}, {0x32e00, 209}, {0x33000, 1}, {0x33800, 211}, {0x33a00, 213}, {0x33e00, 214}, {0x34009, 1},
    {0x34c00, 218}, {0x34e00, 1}, {0x35200, 218}, {0x35800, 1}, {0x35c00, 218}, {0x35e00, 1}, {0x36202, 217},
    {0x36605, 1}, {0x36e00, 219}, {0x37000, 1}, {0x37800, 1}, {0x38800, 2}, {0x38a00, 1}, {0x38e00, 2}, {0x39000, 1},
    {0x39400, 2}, {0x39621, 1}, {0x3bc21, 1}, {0x3e200, 2}, {0x3e405, 1}, {0x3ec00, -97}, {0x3ee00, -56},
    {0x3f04d, 1}, {0x44000, -130}, {0x44421, 1}, {0x47400, 10795}, {0x47600, 1}, {0x47a00, -163}, {0x47c00, 10792},
    {0x48200, 1}, {0x48600, -195}, {0x48800, 69}, {0x48a00, 71}, {0x48c11, 1}, {0x6e005, 1}, {0x6ec00, 1},
    {0x6fe00, 116}, {0x70c00, 38}, {0x71004, 37}, {0x71800, 64}, {0x71c02, 63}, {0x72220, 32}, {0x74610, 32},
    {0x79e00, 8}, {0x7b02d, 1}, {0x7e800, -60}, {0x7ee00, 1}, {0x7f200, -7}, {0x7f400, 1}, {0x7fa04, -130},
    {0x8001e, 80}, {0x8203e, 32}, {0x8c041, 1}, {0x91469, 1}, {0x98000, 15}, {0x98219, 1}, {0x9a0bd, 1},
    {0xa624a, 48}, {0x21404a, 7264}, {0x218e00, 7264}, {0x219a00, 7264}, {0x27409e, 38864}, {0x27e00a, 8},
    {0x392054, -3008}, {0x397a04, -3008}, {0x3c0129, 1}, {0x3d3c00, -7615}, {0x3d40bd, 1}, {0x3e100e, -8},
    {0x3e300a, -8}, {0x3e500e, -8}, {0x3e700e, -8}, {0x3e900a, -8}, {0x3eb20d, -8}, {0x3ed00e, -8}, {0x3f100e, -8},
    {0x3f300e, -8}, {0x3f500e, -8}, {0x3f7002, -8}, {0x3f7402, -74}, {0x3f7800, -9}, {0x3f9006, -86}, {0x3f9800, -9},
    {0x3fb002, -8}, {0x3fb402, -100}, {0x3fd002, -8}, {0x3fd402, -112}, {0x3fd800, -7}, {0x3ff002, -128},
    {0x3ff402, -126}, {0x3ff800, -9}, {0x424c00, -7517}, {0x425400, -8383}, {0x425600, -8262}, {0x426400, 28},
    {0x42c01e, 16}, {0x430600, 1}, {0x496c32, 26}, {0x58005e, 48}, {0x58c000, 1}, {0x58c400, -10743},
    {0x58c600, -3814}, {0x58c800, -10727}, {0x58ce09, 1}, {0x58da00, -10780}, {0x58dc00, -10749}, {0x58de00, -10783},
    {0x58e000, -10782}, {0x58e400, 1}, {0x58ea00, 1}, {0x58fc02, -10815}, {0x5900c5, 1}, {0x59d605, 1}, {0x59e400, 1},
    {0x14c8059, 1}, {0x14d0035, 1}, {0x14e4419, 1}, {0x14e6479, 1}, {0x14ef205, 1}, {0x14efa00, -35332},
    {0x14efc11, 1}, {0x14f1600, 1}, {0x14f1a00, -42280}, {0x14f2005, 1}, {0x14f2c25, 1}, {0x14f5400, -42308},
    {0x14f5600, -42319}, {0x14f5800, -42315}, {0x14f5a00, -42305}, {0x14f5c00, -42308}, {0x14f6000, -42258},
    {0x14f6200, -42282}, {0x14f6400, -42261}, {0x14f6600, 928}, {0x14f681d, 1}, {0x14f8800, -48}, {0x14f8a00, -42307},
    {0x14f8c00, -35384}, {0x14f8e05, 1}, {0x14fa000, 1}, {0x14fac05, 1}, {0x14fea00, 1}, {0x1fe4232, 32},
    {0x208004e, 40}, {0x2096046, 40}, {0x20ae014, 39}, {0x20af81c, 39}, {0x20b180c, 39}, {0x20b2802, 39},
    {0x2190064, 64}, {0x231403e, 32}, {0x2dc803e, 32}, {0x3d20042, 34},
};

static const letters_row letters_to_large[] = {
    {0xc232, -32}, {0x16a00, 743}, {0x1c02c, -32}, {0x1f00c, -32}, {0x1fe00, 121}, {0x2025d, -1}, {0x26200, -232},
    {0x26609, -1}, {0x2741d, -1}, {0x29659, -1}, {0x2f409, -1}, {0x2fe00, -300}, {0x30000, 195}, {0x30605, -1},
    {0x31000, -1}, {0x31800, -1}, {0x32400, -1}, {0x32a00, 97}, {0x33200, -1}, {0x33400, 163}, {0x33c00, 130},
    {0x34209, -1}, {0x35000, -1}, {0x35a00, -1}, {0x36000, -1}, {0x36805, -1}, {0x37200, -1}, {0x37a00, -1},
    {0x37e00, 56}, {0x38a00, -1}, {0x38c00, -2}, {0x39000, -1}, {0x39200, -2}, {0x39600, -1}, {0x39800, -2},
    {0x39c1d, -1}, {0x3ba00, -79}, {0x3be21, -1}, {0x3e400, -1}, {0x3e600, -2}, {0x3ea00, -1}, {0x3f24d, -1},
    {0x44621, -1}, {0x47800, -1}, {0x47e02, 10815}, {0x48400, -1}, {0x48e11, -1}, {0x4a000, 10783}, {0x4a200, 10780},
    {0x4a400, 10782}, {0x4a600, -210}, {0x4a800, -206}, {0x4ac02, -205}, {0x4b200, -202}, {0x4b600, -203},
    {0x4b800, 42319}, {0x4c000, -205}, {0x4c200, 42315}, {0x4c600, -207}, {0x4ca00, 42280}, {0x4cc00, 42308},
    {0x4d000, -209}, {0x4d200, -211}, {0x4d400, 42308}, {0x4d600, 10743}, {0x4d800, 42305}, {0x4de00, -211},
    {0x4e200, 10749}, {0x4e400, -213}, {0x4ea00, -214}, {0x4fa00, 10727}, {0x50000, -218}, {0x50400, 42307},
    {0x50600, -218}, {0x50e00, 42282}, {0x51000, -218}, {0x51200, -69}, {0x51402, -217}, {0x51800, -71},
    {0x52400, -219}, {0x53a00, 42261}, {0x53c00, 42258}, {0x68a00, 84}, {0x6e205, -1}, {0x6ee00, -1}, {0x6f604, 130},
    {0x75800, -38}, {0x75a04, -37}, {0x76220, -32}, {0x78400, -31}, {0x78610, -32}, {0x79800, -64}, {0x79a02, -63},
    {0x7a000, -62}, {0x7a200, -57}, {0x7aa00, -47}, {0x7ac00, -54}, {0x7ae00, -8}, {0x7b22d, -1}, {0x7e000, -86},
    {0x7e200, -80}, {0x7e400, 7}, {0x7e600, -116}, {0x7ea00, -96}, {0x7f000, -1}, {0x7f600, -1}, {0x8603e, -32},
    {0x8a01e, -80}, {0x8c241, -1}, {0x91669, -1}, {0x98419, -1}, {0x99e00, -15}, {0x9a2bd, -1}, {0xac24a, -48},
    {0x21a054, 3008}, {0x21fa04, 3008}, {0x27f00a, -8}, {0x390000, -6254}, {0x390200, -6253}, {0x390400, -6244},
    {0x390602, -6242}, {0x390a00, -6243}, {0x390c00, -6236}, {0x390e00, -6181}, {0x391000, 35266}, {0x3af200, 35332},
    {0x3afa00, 3814}, {0x3b1c00, 35384}, {0x3c0329, -1}, {0x3d3600, -59}, {0x3d42bd, -1}, {0x3e000e, 8},
    {0x3e200a, 8}, {0x3e400e, 8}, {0x3e600e, 8}, {0x3e800a, 8}, {0x3ea20d, 8}, {0x3ec00e, 8}, {0x3ee002, 74},
    {0x3ee406, 86}, {0x3eec02, 100}, {0x3ef002, 128}, {0x3ef402, 112}, {0x3ef802, 126}, {0x3f6002, 8},
    {0x3f7c00, -7205}, {0x3fa002, 8}, {0x3fc002, 8}, {0x3fca00, 7}, {0x429c00, -28}, {0x42e01e, -16}, {0x430800, -1},
    {0x49a032, -26}, {0x58605e, -48}, {0x58c200, -1}, {0x58ca00, -10795}, {0x58cc00, -10792}, {0x58d009, -1},
    {0x58e600, -1}, {0x58ec00, -1}, {0x5902c5, -1}, {0x59d805, -1}, {0x59e600, -1}, {0x5a004a, -7264},
    {0x5a4e00, -7264}, {0x5a5a00, -7264}, {0x14c8259, -1}, {0x14d0235, -1}, {0x14e4619, -1}, {0x14e6679, -1},
    {0x14ef405, -1}, {0x14efe11, -1}, {0x14f1800, -1}, {0x14f2205, -1}, {0x14f2800, 48}, {0x14f2e25, -1},
    {0x14f6a1d, -1}, {0x14f9005, -1}, {0x14fa200, -1}, {0x14fae05, -1}, {0x14fec00, -1}, {0x156a600, -928},
    {0x156e09e, -38864}, {0x1fe8232, -32}, {0x208504e, -40}, {0x209b046, -40}, {0x20b2e14, -39}, {0x20b461c, -39},
    {0x20b660c, -39}, {0x20b7602, -39}, {0x2198064, -64}, {0x231803e, -32}, {0x2dcc03e, -32}, {0x3d24442, -34},
};
/* clang-format on */

typedef struct letters_table {
  const letters_row *rows;
  size_t count;
} letters_table;

#define LETTERS_TABLE(rows) \
  (letters_table) { rows, sizeof(rows) / sizeof *(rows) }

/* How many rows begin at or before c. */
static size_t letters_before(letters_table table, uint32_t c) {
  size_t low = 0, high = table.count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (table.rows[middle].where >> 9 <= c) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint32_t letters_find(letters_table table, uint32_t c) {
  const size_t found = letters_before(table, c);
  if (found == 0) return c;
  const letters_row row = table.rows[found - 1];
  const uint32_t beyond = c - (row.where >> 9);
  if (beyond > (row.where >> 1 & 0xff) || (row.where & beyond & 1) != 0) return c;
  return (uint32_t)((int32_t)c + row.distance);
}

static uint32_t letters_next(letters_table table, uint32_t c) {
  const size_t found = letters_before(table, c);
  if (found > 0) {
    const uint32_t where = table.rows[found - 1].where, beyond = c - (where >> 9);
    if (beyond <= (where >> 1 & 0xff)) return c + (where & beyond & 1);
  }
  return found < table.count ? table.rows[found].where >> 9 : UINT32_MAX;
}

uint32_t ci_letter_small(uint32_t c) { return letters_find(LETTERS_TABLE(letters_to_small), c); }

uint32_t ci_letter_large(uint32_t c) { return letters_find(LETTERS_TABLE(letters_to_large), c); }

uint32_t ci_letter_folded(uint32_t c) {
  if (c == 0x131) return c; /* the dotless i differs from i, though its capital is I */
  return ci_letter_small(ci_letter_large(ci_letter_small(c)));
}

uint32_t ci_letter_next(uint32_t c) {
  const uint32_t small = letters_next(LETTERS_TABLE(letters_to_small), c);
  const uint32_t large = letters_next(LETTERS_TABLE(letters_to_large), c);
  return small < large ? small : large;
}

/* ---- UTF-8 ---- */

uint32_t ci_utf8_next(const char **at) {
  const unsigned char *s = (const unsigned char *)*at;
  const int more = s[0] < 0x80 ? 0 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
  uint32_t c = more == 0 ? s[0] : s[0] & (0x3fu >> more);
  for (int i = 1; i <= more; i++) c = c << 6 | (s[i] & 0x3fu);
  *at += more + 1;
  return c;
}

size_t ci_utf8_put(uint32_t c, char to[4]) {
  const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length; i-- > 1; c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
  to[0] = (char)(marks[length] | c);
  return length;
}
