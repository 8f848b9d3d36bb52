/* isa_linear_plain_impl.h - matrix multiplication of float64 with two roundings a term, of int32 and uint32, which
 * wrap: included once per instruction set. */
/* clang-format off */
#if CI_HAS_GEMM
#if CI_VL > 1
#define CI_PLAIN_VECTOR(T) typedef T CI_N(some_##T) __attribute__((vector_size(4 * CI_VL)));
#endif
#if CI_VL > 4
#define CI_PLAIN_LOAD(v, p)                                            \
  {                                                                    \
    const vf loaded = v_load_part((const void *)(p), words, 0.0f);     \
    memcpy(&(v), &loaded, sizeof loaded);                              \
  }
#define CI_PLAIN_STORE(p, v)                                           \
  {                                                                    \
    vf stored;                                                         \
    memcpy(&stored, &(v), sizeof stored);                              \
    v_store_part((void *)(p), words, stored);                          \
  }
#elif CI_VL > 1 /* whose v_load_part reads floats one by one */
#define CI_PLAIN_LOAD(v, p)                                            \
  {                                                                    \
    if (words == CI_VL) memcpy(&(v), (p), 4 * CI_VL);                  \
    else memcpy(&(v), (p), 4 * (size_t)words);                         \
  }
#define CI_PLAIN_STORE(p, v) memcpy((p), &(v), 4 * (size_t)words);
#else
#define CI_PLAIN_VECTOR(T) typedef T CI_N(some_##T);
#define CI_PLAIN_LOAD(v, p) (v) = *p;
#define CI_PLAIN_STORE(p, v) *p = (v);
#endif

/* Rows that are not there are the last one again. */
#define CI_PLAIN_START(r, T)                        \
  const T *const a##r = a;                      \
  CI_N(some_##T) sum##r = zero;                 \
  if (r + 1 < rows) a += t->a_row;
#define CI_PLAIN_STEP(r, T)                           \
  {                                               \
    const CI_N(some_##T) term = w * a##r[at];     \
    sum##r = sum##r + term;                       \
  }
#define CI_PLAIN_TOTAL(r, T) total[r] = sum##r;

/* See isa_linear.h. */
#define CI_PLAIN_BLOCK(T, R)                                                                               \
  CI_PLAIN_VECTOR(T)                                                                                       \
  static void CI_N(plain_##T)(const ci_tile *t, int rows, int words, int64_t length, bool add) {       \
    const CI_N(some_##T) zero = {0};                                                                   \
    const T *a = (const void *)t->a, *b = (const void *)t->b;                                          \
    T *c = (void *)t->c;                                                                               \
    CI_N(some_##T) total[6], w = zero;                                                                        \
    ptrdiff_t at = 0;                                                                                  \
    (void)words;                                                                                       \
    CI_##R(CI_PLAIN_START, T)                                                                              \
    for (; length > 0; length--, at += t->a_k, b += t->b_k) {                                          \
      CI_PLAIN_LOAD(w, b)                                                                                  \
      CI_##R(CI_PLAIN_STEP, T)                                                                             \
    }                                                                                                  \
    CI_##R(CI_PLAIN_TOTAL, T)                                                                              \
    for (int r = 0; r < rows; r++, c += t->c_row) {                                                    \
      if (add) {                                                                                       \
        CI_PLAIN_LOAD(w, c)                                                                                \
        total[r] = w + total[r];                                                                       \
      }                                                                                                \
      CI_PLAIN_STORE(c, total[r])                                                                          \
    }                                                                                                  \
  }
#if CI_VL > 1
CI_PLAIN_BLOCK(double, R6)
CI_PLAIN_BLOCK(uint32_t, R4)
enum { CI_N(PLAIN_ROWS) = 6 };
#else
CI_PLAIN_BLOCK(double, R4)
CI_PLAIN_BLOCK(uint32_t, R4)
enum { CI_N(PLAIN_ROWS) = 4 };
#endif
#undef CI_PLAIN_BLOCK
#undef CI_PLAIN_START
#undef CI_PLAIN_STEP
#undef CI_PLAIN_TOTAL
#undef CI_PLAIN_VECTOR
#undef CI_PLAIN_LOAD
#undef CI_PLAIN_STORE
/* clang-format on */
#endif
