/* test_limits.c - S4 and S8: limits hold at their edges, and the deepest nesting fits a small stack. */
#include <pthread.h>

#include "check.h"
#include "untrusted.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { SMALL_STACK = 4 << 20 }; /* sanitizers make frames larger */
#else
enum { SMALL_STACK = 96 << 10 }; /* tools/static_analysis.py stack reports less for ci_open */
#endif

static const untrusted_family deep_bodies = {"bodies 16 deep", untrusted_deep, CI_OK, false};
static const untrusted_family deep_calls = {"calls 15 deep", untrusted_deep_calls, CI_OK, true};

static ci_status opened(const ci_out *file, uint32_t max_depth) {
  ci_options options = ci_defaults();
  ci_error error;
  ci_model *model;
  options.limits.max_depth = max_depth;
  const ci_status status = ci_open_memory(file->data, file->length, &options, &model, &error);
  if (status != CI_OK) CHECK(strlen(error.message) > 10);
  ci_close(model);
  return status;
}

static void test_depth(void) {
  ci_out file = untrusted_model(&deep_bodies, 1);
  CHECK(opened(&file, 16) == CI_OK);
  CHECK(opened(&file, 0) == CI_OK); /* the default is 16 */
  CHECK(opened(&file, 15) == CI_RESOURCE_EXHAUSTED);
  CHECK(opened(&file, 1) == CI_RESOURCE_EXHAUSTED);
  ci_out_free(&file);
}

static void *open_deepest(void *argument) {
  ci_out bodies = untrusted_model(&deep_bodies, 100), calls = untrusted_model(&deep_calls, 1);
  (void)argument;
  CHECK(opened(&bodies, 0) == CI_OK);
  CHECK(opened(&calls, 0) == CI_OK);
  ci_out_free(&bodies);
  ci_out_free(&calls);
  return NULL;
}

static void test_small_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, SMALL_STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, open_deepest, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

int main(void) {
  test_depth();
  test_small_stack();
  return CHECK_END;
}
