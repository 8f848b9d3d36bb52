/* guard.h - marks memory that may not be touched: AddressSanitizer, which knows only the bounds of blocks, then also
 * sees an overflow within a block that several values share. Other builds have no code for it. */
#ifndef CI_GUARD_H
#define CI_GUARD_H

#if defined(__SANITIZE_ADDRESS__)
#define CI_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CI_GUARDED 1
#endif
#endif

#ifdef CI_GUARDED
#include <sanitizer/asan_interface.h>
#define CI_FORBID(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define CI_PERMIT(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
enum { CI_RED_ZONE = 16 }; /* bytes between two pieces of a block */
#else
#define CI_FORBID(memory, bytes) ((void)0)
#define CI_PERMIT(memory, bytes) ((void)0)
enum { CI_RED_ZONE = 0 };
#endif
#endif
