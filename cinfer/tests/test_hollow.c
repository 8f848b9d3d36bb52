/* test_hollow.c - tensors without elements: next to an axis of size 0 others may be of any size. */
#include <stdbool.h>

#include "check.h"
#include "cinfer.h"
#include "models.h"

static const int64_t sizes[] = {0, 1, 3, INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MAX / 2 + 2, INT64_MAX - 1, INT64_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Where addresses are small, so are axes. */
static bool is_size(int64_t n) { return (uint64_t)n <= SIZE_MAX; }

static ci_status run(ci_session *session, const ci_model *model, const char *name, const ci_tensor *inputs) {
  const int signature = ci_signature(model, name);
  ci_tensor output = {0};
  const ci_status status = ci_run(session, signature, inputs, ci_input_count(model, signature), &output, 1, NULL);
  CHECK(status != CI_OK || output.bytes == 0);
  return status;
}

int main(void) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  CHECK(ci_open_memory(model_hollow, sizeof model_hollow, NULL, &model, NULL) == CI_OK);
  CHECK(ci_session_open(model, NULL, NULL, &session, NULL) == CI_OK);
  for (int i = 0; i < SIZES && is_size(sizes[i]); i++) {
    const int64_t n = sizes[i];
    const ci_tensor rows = {.dtype = CI_FLOAT, .rank = 2, .dims = {0, n}};
    CHECK(run(session, model, "hardmax", &rows) == CI_OK);
    const ci_tensor images = {.dtype = CI_FLOAT, .rank = 3, .dims = {0, 3, n}};
    CHECK(run(session, model, "normalize", &images) == CI_OK);
    /* from 2 (n - 1) numbers, of which there are at least one and at most what memory holds */
    const ci_tensor wave = {.dtype = CI_FLOAT, .rank = 3, .dims = {0, n, 2}};
    CHECK(run(session, model, "wave", &wave) == (n < 2 ? CI_INVALID_ARGUMENT : n == 3 ? CI_OK : CI_RESOURCE_EXHAUSTED));
    for (int j = 0; j < SIZES && is_size(sizes[j]); j++) {
      const ci_tensor both[2] = {{.dtype = CI_FLOAT, .rank = 3, .dims = {0, n, n}},
                                 {.dtype = CI_FLOAT, .rank = 3, .dims = {0, n, sizes[j]}}};
      const ci_status expected = n == 0 || (n <= 3 && sizes[j] <= 3) ? CI_OK : CI_RESOURCE_EXHAUSTED;
      CHECK(run(session, model, "solve", both) == expected);
    }
  }
  ci_session_close(session);
  ci_close(model);
  return CHECK_END;
}
