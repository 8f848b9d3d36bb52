/* posix.h - requests POSIX.1-2008 from the C library under -std=c11, and MinGW for C11's; included before any other
 * header.
 */
#ifndef CI_POSIX_H
#define CI_POSIX_H
#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)
#define __USE_MINGW_ANSI_STDIO 1 /* %zu and %lld */
#endif
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#if (defined(__linux__) || defined(__wasi__)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* MADV_HUGEPAGE, sync_file_range, getentropy */
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1 /* F_FULLFSYNC */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#if _FILE_OFFSET_BITS == 64 && !defined(_TIME_BITS)
#define _TIME_BITS 64 /* glibc on 32-bit machines: times after 2038 */
#endif
#endif
