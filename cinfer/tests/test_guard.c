/* test_guard.c - S10: under AddressSanitizer no code may touch memory that a pool has not given out, that a block has
 * beyond its bytes, that is between packed constants, or that a step of a plan neither reads nor writes; other builds
 * reserve no memory for that. */
#include "base/guard.h"

#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "base/memory.h"
#include "models.h"
#include "plan/pack.h"
#include "session/session.h"

enum { GUARDED = CI_RED_ZONE > 0 };

static bool may_touch(const void *memory) {
#ifdef CI_GUARDED
  return !__asan_address_is_poisoned(memory);
#else
  return memory != NULL;
#endif
}

/* Whether all of a piece may be touched, and the bytes after it only in builds that do not check. */
static bool is_exact(const char *piece, size_t bytes) {
  bool all = true;
  for (size_t i = 0; i < bytes; i++) all = all && may_touch(piece + i);
  return all && may_touch(piece + bytes) == !GUARDED;
}

static void test_pieces_of_a_pool_are_apart(void) {
  static const size_t sizes[] = {1, 7, 8, 24, 100, 4000, 3, 9000, 64};
  const ci_allocator allocator = {0};
  ci_pool pool = {.allocator = &allocator};
  for (int round = 0; round < 3; round++) {
    char *piece[27] = {NULL};
    for (size_t i = 0; i < 27; i++) {
      const size_t bytes = sizes[i / 3];
      piece[i] = i % 3 == 0   ? ci_pool_alloc(&pool, bytes)
                 : i % 3 == 1 ? ci_pool_words(&pool, bytes)
                              : ci_pool_chars(&pool, bytes);
      CHECK(piece[i] != NULL && is_exact(piece[i], GUARDED ? bytes : 0));
      for (size_t at = 0; at < bytes; at++) CHECK(piece[i][at] == 0);
      memset(piece[i], 1, bytes);
    }
    for (size_t i = 0; GUARDED && i < 27; i++) CHECK(is_exact(piece[i], sizes[i / 3])); /* later ones left it so */
    ci_pool_clear(&pool);
    for (size_t i = 0; i < 27; i++) CHECK(may_touch(piece[i]) == !GUARDED);
  }
  ci_pool_release(&pool);
}

static void test_pieces_of_a_pool_lie_as_close_as_they_may(void) {
  const ci_allocator allocator = {0};
  ci_pool pool = {.allocator = &allocator};
  const char *first = ci_pool_chars(&pool, 3), *next = ci_pool_chars(&pool, 1);
  CHECK(first != NULL && next == first + 3 + CI_RED_ZONE);
  ci_pool_release(&pool);
}

static void test_a_block_has_its_bytes_and_no_more(void) {
  static const size_t sizes[] = {1, 63, 64, 65, 1000, 1 << 21, (1 << 21) + 5};
  for (size_t i = 0; GUARDED && i < sizeof sizes / sizeof *sizes; i++) {
    char *block = ci_alloc(NULL, sizes[i]);
    CHECK(block != NULL && is_exact(block, sizes[i]) && !may_touch(block - 1));
    ci_release(NULL, block, sizes[i]);
  }
}

/* ---- steps ---- */

static ci_status (*real_run)(ci_kernel *k);
static int watched, wrong;

static bool has(const ci_value *value, const char *byte) {
  const char *begin = value == NULL ? NULL : value->data;
  return begin != NULL && byte >= begin && byte < begin + value->bytes;
}

/* Counts the bytes of the arena that the step may touch and should not, or the reverse. */
static ci_status watch(ci_kernel *k) {
  const struct ci_session *session = k->node->plan->session;
  const ci_value scratch = {.data = k->scratch, .bytes = k->scratch_bytes};
  for (size_t i = 0; i < session->arena_bytes; i++) {
    const char *byte = session->arena + i;
    bool own = has(&scratch, byte);
    for (int n = 0; n < k->n_in; n++) own = own || has(k->in[n], byte);
    for (int n = 0; n < k->n_out; n++) own = own || has(k->out[n], byte);
    wrong += may_touch(byte) != (own || !GUARDED);
  }
  watched++;
  return real_run(k);
}

static void fill_packed(void *to, const ci_value *from, const void *bytes) {
  (void)from;
  memset(to, 1, *(const size_t *)bytes);
}

/* Of the weights of the MatMul, of any size. */
static void check_packed_constants(ci_kernel *k) {
  static const size_t sizes[] = {64, 100, 1, 128, 48};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const char *packed = ci_k_packed(k, 1, CI_PACK_COLUMNS, 1000 + (uint32_t)i, sizes[i], fill_packed, &sizes[i]);
    CHECK(packed != NULL && is_exact(packed, sizes[i]));
  }
}

static void test_steps_and_packed_constants_have_what_is_theirs(void) {
  float x[40], y[30], relu[30];
  const ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {10, 4}};
  ci_tensor outputs[2] = {{y, sizeof y, CI_FLOAT, 2, {10, 3}}, {relu, sizeof relu, CI_FLOAT, 2, {10, 3}}};
  ci_model *model = NULL;
  ci_session *session = NULL;
  for (int i = 0; i < 40; i++) x[i] = (float)i;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, NULL, &model, NULL) == CI_OK);
  CHECK(ci_session_open(model, NULL, NULL, &session, NULL) == CI_OK);
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, NULL) == CI_OK);
  ci_frame *root = &session->plans.at[0]->root;
  for (size_t s = 0; s < root->steps.count; s++) {
    ci_step *step = root->steps.at[s];
    real_run = step->run;
    step->run = watch;
    CHECK(ci_run(session, 0, &input, 1, outputs, 2, NULL) == CI_OK);
    step->run = real_run;
  }
  CHECK(root->steps.count >= 3 && watched == (int)root->steps.count && wrong == 0);
  for (size_t i = 0; i < session->arena_bytes; i++) CHECK(may_touch(session->arena + i));
  check_packed_constants(&root->steps.at[0]->k);
  ci_session_close(session);
  ci_close(model);
}

int main(void) {
  test_pieces_of_a_pool_are_apart();
  test_pieces_of_a_pool_lie_as_close_as_they_may();
  test_a_block_has_its_bytes_and_no_more();
  test_steps_and_packed_constants_have_what_is_theirs();
  return CHECK_END;
}
