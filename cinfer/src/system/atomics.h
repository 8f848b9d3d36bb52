/* atomics.h - the atomics of C11. A compiler without them (tcc) makes a library for one thread: plain numbers. */
#ifndef CI_ATOMICS_H
#define CI_ATOMICS_H
#if !defined(__STDC_NO_ATOMICS__) && !defined(__TINYC__)
#include <stdatomic.h>
#else
#include <stdbool.h>
#define _Atomic(type) type
typedef int atomic_int;
typedef bool atomic_bool;
#define atomic_init(at, value) (*(at) = (value))
#define atomic_load(at) (*(at))
#define atomic_store(at, value) (*(at) = (value))
#define atomic_load_explicit(at, order) atomic_load(at)
#define atomic_store_explicit(at, value, order) atomic_store(at, value)
#define atomic_fetch_add(at, more) ((*(at) += (more)) - (more))
#define atomic_fetch_sub(at, less) ((*(at) -= (less)) + (less))
#define atomic_compare_exchange_weak(at, was, now) (*(at) == *(was) ? (*(at) = (now), true) : (*(was) = *(at), false))
#define atomic_compare_exchange_strong_explicit(at, was, now, good, bad) atomic_compare_exchange_weak(at, was, now)
#endif
#endif
