/* random.c - RandomUniform, RandomNormal, RandomTruncatedNormal, RandomInteger, as schema/graphio_operators.json has
 * them: words of Philox in order, so an element's number depends on its index alone. Those whose names begin with
 * Stateless take the key from a seed, their second input; the others from a generator of the state. */
#include <math.h>

#include "../../math/philox.h"
#include "../../math/scalar_math.h"
#include "../arithmetic/integers.h"

enum { RANDOM_UNIFORM, RANDOM_NORMAL, RANDOM_TRUNCATED, RANDOM_INTEGER, RANDOM_WORDS };

typedef struct random_plan {
  int kind;
  bool seeded; /* input 1 is a seed */
  ci_span generator;
  uint64_t blocks; /* that a run takes */
} random_plan;

enum { RANDOM_GRAIN = 1 << 12 };

static ci_status random_type(ci_kernel *k, int kind, int64_t dtype) {
  if (kind < RANDOM_INTEGER) {
    if (dtype == CI_FLOAT || dtype == CI_DOUBLE) return CI_OK;
    return ci_k_fail(k, CI_UNIMPLEMENTED, "dtype %lld, expected float32 (1) or float64 (11)", (long long)dtype);
  }
  if (dtype == CI_INT32 || dtype == CI_INT64) return CI_OK;
  if (kind == RANDOM_INTEGER) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "dtype %lld, expected int32 (6) or int64 (7)", (long long)dtype);
  }
  if (dtype == CI_UINT32 || dtype == CI_UINT64) return CI_OK;
  return ci_k_fail(k, CI_UNIMPLEMENTED, "dtype %lld, expected int32 (6), int64 (7), uint32 (12) or uint64 (13)",
                   (long long)dtype);
}

/* The inputs from `first` on: the bounds of integers. */
static ci_status random_bounds(ci_kernel *k, int first, int64_t dtype) {
  for (int i = first; i < k->n_in; i++) {
    if (k->in[i] != NULL && k->in[i]->dtype == dtype && k->in[i]->count == 1) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s must be one number of type %s", i == first ? "low" : "high",
                     ci_dtype_name((int32_t)dtype));
  }
  return CI_OK;
}

static ci_status random_seed(ci_kernel *k) {
  char str[160];
  if (k->in[1]->rank == 1 && k->in[1]->count == 2) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "seed is %s, expected two integers of shape (2)",
                   ci_value_describe(k->in[1], str, sizeof str));
}

static ci_status random_prepare(ci_kernel *k, int kind, bool seeded) {
  int64_t dims[CI_MAX_RANK], dtype;
  int rank;
  ci_span generator = {0};
  CI_TRY(ci_k_attr_i(k, "dtype", kind >= RANDOM_INTEGER ? CI_INT64 : CI_FLOAT, &dtype));
  CI_TRY(random_type(k, kind, dtype));
  CI_TRY(seeded ? random_seed(k) : ci_k_attr_s(k, "generator", "", &generator));
  CI_TRY(ci_k_known_ints(k, 0, dims, CI_MAX_RANK, &rank));
  CI_TRY(ci_k_out(k, 0, (int32_t)dtype, rank, dims));
  CI_TRY(random_bounds(k, seeded ? 2 : 1, dtype));
  random_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->kind = kind;
  p->seeded = seeded;
  p->generator = generator;
  const uint64_t count = (uint64_t)k->out[0]->count;
  const bool wide = ci_dtype_size((int32_t)dtype) == 8;
  p->blocks = kind == RANDOM_TRUNCATED ? count : wide ? (count + 1) / 2 : (count + 3) / 4;
  return CI_OK;
}

ci_status ci_prepare_random_uniform(ci_kernel *k) { return random_prepare(k, RANDOM_UNIFORM, false); }
ci_status ci_prepare_random_normal(ci_kernel *k) { return random_prepare(k, RANDOM_NORMAL, false); }
ci_status ci_prepare_random_truncated_normal(ci_kernel *k) { return random_prepare(k, RANDOM_TRUNCATED, false); }
ci_status ci_prepare_random_integer(ci_kernel *k) { return random_prepare(k, RANDOM_INTEGER, false); }
ci_status ci_prepare_stateless_random_uniform(ci_kernel *k) { return random_prepare(k, RANDOM_UNIFORM, true); }
ci_status ci_prepare_stateless_random_normal(ci_kernel *k) { return random_prepare(k, RANDOM_NORMAL, true); }

ci_status ci_prepare_stateless_random_truncated_normal(ci_kernel *k) {
  return random_prepare(k, RANDOM_TRUNCATED, true);
}

ci_status ci_prepare_stateless_random_integer(ci_kernel *k) {
  const bool bare = k->n_in == 2;
  if (k->n_in == 3) return ci_k_fail(k, CI_INVALID_ARGUMENT, "low is given and high is not: give both or none");
  return random_prepare(k, bare ? RANDOM_WORDS : RANDOM_INTEGER, true);
}

struct random_job {
  int kind;
  int32_t dtype;
  uint64_t key, counter;
  int64_t count;
  void *y;
  int64_t low;
  uint64_t range; /* high - low */
};

static uint64_t random_wide(const uint32_t *word) { return word[0] | (uint64_t)word[1] << 32; }

/* SplitMix64 (Steele, Lea, Flood 2014) over both. */
static uint64_t random_mixed(uint64_t first, uint64_t second) {
  uint64_t x = first;
  for (int i = 0; i < 2; i++) {
    x = (x ^ (i == 0 ? 0 : second)) + 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    x ^= x >> 31;
  }
  return x;
}

/* The key of a generator whose graph seed and operation seed are the Philox block of this seed, as TensorFlow has it.
 */
static uint64_t random_key(const ci_value *seed) {
  uint64_t given[2];
  uint32_t word[4];
  memcpy(given, seed->data, sizeof given); /* a caller's array may have any alignment */
  ci_philox(0x02461E293EC8F720, given[0], given[1], word);
  return random_mixed(random_wide(word), random_wide(word + 2));
}

/* The upper 64 bits of the result of multiplying two 64-bit numbers. */
static uint64_t random_mul_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), cross = (middle & 0xffffffff) + a0 * b1;
  return a1 * b1 + (middle >> 32) + (cross >> 32);
}

static void random_pair(double u1, double u2, double *y) {
  const double r = sqrt(-2.0 * ci_log(u1));
  double cosine, sine;
  ci_circle(u2, &cosine, &sine);
  y[0] = r * cosine;
  y[1] = r * sine;
}

static void random_pair32(const uint32_t *word, double *y) {
  random_pair(((word[0] >> 8) + 1) * 0x1p-24, (word[1] >> 8) * 0x1p-24, y);
}

/* One block: four elements of 32 bits. */
static void random_block32(const struct random_job *job, const uint32_t *word, void *out) {
  if (job->kind == RANDOM_WORDS) {
    memcpy(out, word, 16);
  } else if (job->kind == RANDOM_INTEGER) {
    for (int i = 0; i < 4; i++) {
      const uint32_t above = (uint32_t)(word[i] * job->range >> 32);
      ((int32_t *)out)[i] = (int32_t)((uint32_t)job->low + above);
    }
  } else if (job->kind == RANDOM_UNIFORM) {
    for (int i = 0; i < 4; i++) ((float *)out)[i] = (float)(word[i] >> 8) * 0x1p-24f;
  } else {
    double y[4];
    random_pair32(word, y);
    random_pair32(word + 2, y + 2);
    for (int i = 0; i < 4; i++) ((float *)out)[i] = (float)y[i];
  }
}

/* One block: two elements of 64 bits. */
static void random_block64(const struct random_job *job, const uint32_t *word, void *out) {
  const uint64_t w[2] = {random_wide(word), random_wide(word + 2)};
  if (job->kind == RANDOM_WORDS) {
    memcpy(out, w, sizeof w);
  } else if (job->kind == RANDOM_INTEGER) {
    for (int i = 0; i < 2; i++) {
      ((int64_t *)out)[i] = (int64_t)((uint64_t)job->low + random_mul_high(w[i], job->range));
    }
  } else if (job->kind == RANDOM_UNIFORM) {
    for (int i = 0; i < 2; i++) ((double *)out)[i] = (double)(w[i] >> 11) * 0x1p-53;
  } else {
    random_pair((double)((w[0] >> 11) + 1) * 0x1p-53, (double)(w[1] >> 11) * 0x1p-53, out);
  }
}

static void random_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct random_job *job = argument;
  const bool wide = ci_dtype_size(job->dtype) == 8;
  const int64_t per_block = wide ? 2 : 4;
  (void)thread;
  for (int64_t block = begin; block < end; block++) {
    uint32_t word[4];
    union { /* of the last block, which may be cut */
      float f[4];
      int32_t i[4];
      double d[2];
      int64_t l[2];
    } buffer;
    const int64_t at = block * per_block, left = job->count - at;
    char *y = (char *)job->y + (size_t)block * 16;
    void *out = left >= per_block ? (void *)y : &buffer;
    ci_philox(job->key, job->counter + (uint64_t)block, 0, word);
    if (wide) {
      random_block64(job, word, out);
    } else {
      random_block32(job, word, out);
    }
    if (left < per_block) memcpy(y, &buffer, (size_t)left * (wide ? 8 : 4));
  }
}

/* An element tries block after block until one of its four normals is inside (-2, 2). */
static double random_truncated(const struct random_job *job, int64_t element) {
  for (uint64_t attempt = 1;; attempt++) {
    uint32_t word[4];
    double y[4];
    ci_philox(job->key, job->counter + (uint64_t)element, attempt, word);
    random_pair32(word, y);
    random_pair32(word + 2, y + 2);
    for (int i = 0; i < 4; i++) {
      if (y[i] > -2.0 && y[i] < 2.0) return y[i];
    }
  }
}

static void random_truncated_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct random_job *job = argument;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const double y = random_truncated(job, i);
    if (job->dtype == CI_FLOAT) {
      ((float *)job->y)[i] = (float)y;
    } else {
      ((double *)job->y)[i] = y;
    }
  }
}

/* The bounds, which are inputs `first` and the next. */
static ci_status random_range(ci_kernel *k, int first, struct random_job *job) {
  const int64_t high = ci_read_integer(k->in[first + 1], 0);
  job->low = ci_read_integer(k->in[first], 0);
  if (high <= job->low) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "high is %lld, it must be above low, which is %lld", (long long)high,
                     (long long)job->low);
  }
  job->range = (uint64_t)high - (uint64_t)job->low;
  return CI_OK;
}

ci_status ci_run_random(ci_kernel *k) {
  const random_plan *p = k->private_memory;
  struct random_job job = {.kind = p->kind, .dtype = k->out[0]->dtype, .count = k->out[0]->count, .y = k->out[0]->data};
  if (p->kind == RANDOM_INTEGER) CI_TRY(random_range(k, p->seeded ? 2 : 1, &job));
  if (p->seeded) {
    job.key = random_key(k->in[1]);
  } else {
    CI_TRY(ci_k_draw(k, p->generator, p->blocks, &job.key, &job.counter));
  }
  ci_k_parallel(k, (int64_t)p->blocks, RANDOM_GRAIN, p->kind == RANDOM_TRUNCATED ? random_truncated_part : random_part,
                &job);
  return CI_OK;
}
