/* test_pack.c - packed constants: one copy for all sessions of a model, whatever their threads do, until it closes. */
#include "system/posix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "simd/isa.h"
#include "simd/linear/isa_linear.h"
#include "models.h"
#include "plan/pack.h"
#include "session/session.h"

enum { THREADS = 4, ORDERS = 24, X = 0, W = 1 };

typedef struct meter { /* an allocator that counts from any thread, and fails on request */
  atomic_long held;
  atomic_bool fails;
} meter;

static void *meter_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  void *block = atomic_load(&m->fails) ? NULL : aligned_alloc(align, (bytes + 63) / 64 * 64);
  if (block != NULL) atomic_fetch_add(&m->held, (long)bytes);
  return block;
}

static void meter_release(void *user, void *memory, size_t bytes) {
  atomic_fetch_sub(&((meter *)user)->held, (long)bytes);
  free(memory);
}

static ci_model *open_limited(meter *m, uint64_t most) {
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  if (m != NULL) options.allocator = (ci_allocator){m, meter_alloc, meter_release};
  options.limits.max_memory = most;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, &options, &model, NULL) == CI_OK);
  return model;
}

static ci_model *open_model(meter *m) { return open_limited(m, 0); }

/* A session with its plan made. */
static ci_session *open_session(ci_model *model, const ci_tensor *x) {
  ci_session *session = NULL;
  CHECK(ci_session_open(model, NULL, NULL, &session, NULL) == CI_OK);
  if (session != NULL) CHECK(ci_reserve(session, 0, x, 1, NULL) == CI_OK);
  return session;
}

/* The MatMul of x and a constant w. */
static ci_kernel *find_matmul(ci_session *session) {
  const ci_plan *plan = session->plans.at[session->plans.latest];
  for (size_t i = 0; i < plan->all_steps.count; i++) {
    ci_step *step = plan->all_steps.at[i];
    if (step->node->kernel->run == ci_run_matmul) return &step->k;
  }
  return NULL;
}

/* The elements backwards, times a factor. */
static void fill_backwards(void *to, const ci_value *value, const void *argument) {
  const float *from = value->data;
  for (int64_t i = 0; i < value->count; i++) ((float *)to)[i] = from[value->count - 1 - i] * *(const float *)argument;
}

static bool is_backwards(const float *packed, const ci_value *value, float factor) {
  const float *from = value->data;
  bool same = true;
  for (int64_t i = 0; i < value->count; i++) same = same && packed[i] == from[value->count - 1 - i] * factor;
  return same;
}

static const void *pack(ci_kernel *k, int input, uint32_t parameter) {
  const float factor = (float)(parameter + 1);
  return ci_k_packed(k, input, 1000, parameter, k->in[input]->bytes, fill_backwards, &factor);
}

typedef struct worker {
  pthread_t thread;
  ci_model *model;
  const void *found[ORDERS];
  float y[6];
  bool right;
} worker;

static void *work(void *given) {
  worker *w = given;
  float data[8] = {1, 2, 3, 4, -1, -2, -3, -4};
  ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {2, 4}};
  ci_tensor outputs[2] = {0};
  ci_session *session = open_session(w->model, &x);
  ci_kernel *k = find_matmul(session);
  w->right = k != NULL;
  for (uint32_t i = 0; i < ORDERS && w->right; i++) {
    w->found[i] = pack(k, W, i);
    w->right = w->found[i] != NULL && is_backwards(w->found[i], k->in[W], (float)(i + 1));
  }
  w->right = w->right && ci_run(session, 0, &x, 1, outputs, 2, NULL) == CI_OK && outputs[0].bytes == sizeof w->y;
  if (w->right) memcpy(w->y, outputs[0].data, sizeof w->y);
  ci_session_close(session);
  return NULL;
}

static void test_threads_share_one_copy(void) {
  for (int round = 0; round < 8; round++) {
    meter m = {0};
    worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    ci_model *model = open_model(&m);
    for (int i = 0; i < THREADS; i++) {
      workers[i].model = model;
      if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) exit(2);
    }
    for (int i = 0; i < THREADS; i++) {
      pthread_join(workers[i].thread, NULL);
      CHECK(workers[i].right);
      CHECK(memcmp(workers[i].found, workers[0].found, sizeof workers[0].found) == 0);
      CHECK(memcmp(workers[i].y, workers[0].y, sizeof workers[0].y) == 0);
    }
    ci_close(model);
    CHECK(atomic_load(&m.held) == 0);
  }
}

static void test_what_is_no_constant_is_not_packed(void) {
  meter m = {0};
  float data[4] = {1, 2, 3, 4};
  const ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {1, 4}};
  ci_model *model = open_model(&m);
  ci_session *session = open_session(model, &x);
  ci_kernel *k = find_matmul(session);
  const long before = atomic_load(&m.held);
  CHECK(pack(k, X, 0) == NULL);
  atomic_store(&m.fails, true);
  CHECK(pack(k, W, 0) == NULL); /* no memory: the kernel packs when it runs */
  CHECK(atomic_load(&m.held) == before);
  atomic_store(&m.fails, false);
  const void *first = pack(k, W, 0), *other = pack(k, W, 1);
  CHECK(first != NULL && other != NULL && first != other);
  CHECK((uintptr_t)first % 64 == 0 && (uintptr_t)other % 64 == 0);
  atomic_store(&m.fails, true);
  CHECK(pack(k, W, 0) == first && pack(k, W, 1) == other); /* an order that is there costs nothing */
  atomic_store(&m.fails, false);
  ci_close(model); /* the session keeps it */
  CHECK(is_backwards(first, k->in[W], 1.0f));
  ci_session_close(session);
  CHECK(atomic_load(&m.held) == 0);
}

static void test_packs_together_have_a_limit(meter *m) {
  enum { MOST = 4096 };
  float data[4] = {1, 2, 3, 4};
  const ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {1, 4}};
  ci_model *model = open_limited(m, MOST);
  ci_session *session = open_session(model, &x);
  ci_kernel *k = find_matmul(session);
  const void *packs[MOST / 64];
  uint32_t count = 0;
  while (count < MOST / 64 && (packs[count] = pack(k, W, count)) != NULL) count++;
  CHECK(count > 2 && count < MOST / 64 && k->in[W]->bytes * count <= MOST);
  CHECK(pack(k, W, count) == NULL);
  for (uint32_t i = 0; i < count; i++) {
    CHECK(is_backwards(packs[i], k->in[W], (float)(i + 1)));
    CHECK(pack(k, W, i) == packs[i]);
  }
  ci_session_close(session);
  ci_close(model);
  if (m != NULL) CHECK(atomic_load(&m->held) == 0);
}

static void fill_nothing(void *to, const ci_value *value, const void *argument) {
  (void)to, (void)value, (void)argument;
}

static const void *pack_bytes(ci_kernel *k, size_t bytes) {
  return ci_k_packed(k, W, 1000, 0, bytes, fill_nothing, NULL);
}

/* Of one constant, for one kernel: other sizes, or the same bytes as a tensor of another shape. */
static void test_packs_that_differ_are_different(void) {
  float data[4] = {1, 2, 3, 4};
  const ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {1, 4}};
  ci_model *model = open_limited(NULL, 1 << 20);
  ci_session *session = open_session(model, &x);
  ci_kernel *k = find_matmul(session);
  ci_value *w = k->in[W];
  const ci_value is = *w;
  const void *found[5] = {pack_bytes(k, 128), pack_bytes(k, 64)};
  w->rank = 1, w->dims[0] = 12;
  found[2] = pack_bytes(k, 128);
  w->dims[0] = 6, w->dims[1] = 2, w->rank = 2;
  found[3] = pack_bytes(k, 128);
  *w = is;
  found[4] = pack_bytes(k, 256);
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) CHECK(found[i] != NULL && found[i] != found[j]);
  CHECK(pack_bytes(k, 128) == found[0] && pack_bytes(k, 64) == found[1] && pack_bytes(k, 256) == found[4]);
  CHECK(pack_bytes(k, 1 << 20) == NULL && pack_bytes(k, PTRDIFF_MAX) == NULL && pack_bytes(k, SIZE_MAX) == NULL);
  ci_session_close(session);
  ci_close(model);
}

/* However much is expected beyond the packed bytes: a block has the capacity for it, or another one is made. */
static void test_blocks_have_capacity_for_what_is_expected(void) {
  static const size_t expected[] = {0, 4, 100, 4096, 1 << 22};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    float data[4] = {1, 2, 3, 4};
    const ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {1, 4}};
    ci_model *model = open_model(NULL);
    ci_session *session = open_session(model, &x);
    ci_kernel *k = find_matmul(session);
    const char *packs[20];
    model->packs.expected = atomic_load(&model->packs.taken) + 256 + expected[i];
    for (uint32_t n = 0; n < 20; n++) CHECK((packs[n] = pack(k, W, n)) != NULL);
    for (uint32_t n = 0; n < 20; n++)
      CHECK(is_backwards((const float *)(const void *)packs[n], k->in[W], (float)(n + 1)));
    ci_session_close(session);
    ci_close(model);
  }
}

static bool is_weights(const float *w) {
  bool right = w != NULL;
  for (int i = 0; right && i < 128; i++) right = w[i] == (float)i / 8.0f;
  return right;
}

static ci_model *open_packed_tiles(meter *m, int32_t isa) {
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  options.allocator = (ci_allocator){m, meter_alloc, meter_release};
  options.isa = isa;
  options.borrow = 1;
  CHECK(ci_open_memory(model_packed_tiles, sizeof model_packed_tiles, &options, &model, NULL) == CI_OK);
  return model;
}

/* A MatMul reads weights of the file in place if its packed tiles are as wide; nothing is packed then. */
static void test_packed_tiles_of_the_file_are_read_in_place(int32_t isa) {
  meter m = {0};
  float data[8] = {1, 2, 3, 4, -1, -2, -3, -4};
  ci_tensor x = {.data = data, .bytes = sizeof data, .dtype = CI_FLOAT, .rank = 2, .dims = {2, 4}}, y = {0};
  ci_model *model = open_packed_tiles(&m, isa);
  const bool as_wide = model->isa->linear->packed_tile_width == 32;
  ci_session *session = open_session(model, &x);
  ci_kernel *k = find_matmul(session);
  const char *found = ci_k_packed_tiles(k, W, 32, true), *file = (const char *)model_packed_tiles;
  CHECK(found >= file && found < file + sizeof model_packed_tiles);
  CHECK(ci_k_packed_tiles(k, W, 32, false) == NULL && ci_k_packed_tiles(k, W, 16, true) == NULL &&
        ci_k_packed_tiles(k, X, 32, true) == NULL);
  CHECK((atomic_load(&model->packs.taken) == 0) == as_wide);
  CHECK(ci_run(session, 0, &x, 1, &y, 1, NULL) == CI_OK && y.dims[1] == 32);
  for (int i = 0; i < 32; i++) CHECK(((const float *)y.data)[i] == 10.0f * (float)i / 8.0f + 80.0f);
  k->in[W]->dims[0] = 2, k->in[W]->dims[1] = 64; /* the same bytes as another matrix */
  CHECK(ci_k_packed_tiles(k, W, 32, true) == NULL);
  ci_session_close(session);
  ci_close(model);
  CHECK(atomic_load(&m.held) == 0);
}

/* Other readers share one copy in row-major order, for which there may be no memory. */
static void test_packed_tiles_are_row_major_for_others(int32_t isa) {
  meter m = {0};
  ci_model *model = open_packed_tiles(&m, isa);
  ci_session *sessions[2];
  ci_tensor outputs[2][2] = {{{0}}};
  ci_error error;
  for (int i = 0; i < 2; i++) CHECK(ci_session_open(model, NULL, NULL, &sessions[i], NULL) == CI_OK);
  atomic_store(&m.fails, true);
  CHECK(ci_run(sessions[0], 1, NULL, 0, outputs[0], 2, &error) == CI_RESOURCE_EXHAUSTED);
  atomic_store(&m.fails, false);
  for (int i = 0; i < 2; i++) {
    outputs[i][0].data = outputs[i][1].data = NULL;
    CHECK(ci_run(sessions[i], 1, NULL, 0, outputs[i], 2, NULL) == CI_OK);
    CHECK(is_weights(outputs[i][0].data) && ((const float *)outputs[i][1].data)[127] == 127 / 4.0f);
  }
  ci_constant *w = &model->constants.at[0];
  CHECK(w->packed_tile_width == 32 && is_weights(ci_pack_constant_plain(model, w)));
  CHECK(ci_pack_constant_plain(model, w) == ci_pack_constant_plain(model, w) &&
        ci_pack_constant_plain(model, w) != w->data);
  for (int i = 0; i < 2; i++) ci_session_close(sessions[i]);
  ci_close(model);
  CHECK(atomic_load(&m.held) == 0);
}

int main(void) {
  meter m = {0};
  static const int32_t isas[] = {CI_ISA_BEST, CI_ISA_PORTABLE};
  for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
    test_packed_tiles_of_the_file_are_read_in_place(isas[i]);
    test_packed_tiles_are_row_major_for_others(isas[i]);
  }
  test_packs_together_have_a_limit(&m);
  test_packs_together_have_a_limit(NULL);
  test_threads_share_one_copy();
  test_what_is_no_constant_is_not_packed();
  test_packs_that_differ_are_different();
  test_blocks_have_capacity_for_what_is_expected();
  return CHECK_END;
}
