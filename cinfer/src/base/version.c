/* version.c - the numbers of the library: version, ABI and numerics. */
#include "ci_common.h"

uint32_t ci_version(void) { return CI_VERSION_MAJOR << 16 | CI_VERSION_MINOR << 8 | CI_VERSION_PATCH; }
uint32_t ci_abi(void) { return CI_ABI; }
uint32_t ci_numerics(void) { return CI_NUMERICS; }
