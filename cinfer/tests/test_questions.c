/* test_questions.c - queries of models and of the library, and the errors of wrong arguments. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "base/ci_common.h"
#include "base/memory.h"
#include "models.h"

enum { PREDICT = 0, NO_SIGNATURE = 1 };

static ci_model *open_perceptron(void) {
  ci_model *model = NULL;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, NULL, &model, NULL) == CI_OK);
  return model;
}

static void test_inputs_and_outputs_have_numbers_and_names(void) {
  ci_model *model = open_perceptron();
  CHECK(ci_signature_count(model) == 1 && ci_signature(model, "predict") == PREDICT);
  CHECK(strcmp(ci_signature_name(model, PREDICT), "predict") == 0);
  CHECK(ci_input_index(model, PREDICT, "x") == 0 && ci_output_index(model, PREDICT, "relu") == 1);
  CHECK(ci_input_kind(model, PREDICT, 0) == CI_KIND_TENSOR && ci_output_kind(model, PREDICT, 1) == CI_KIND_TENSOR);
  ci_info info;
  CHECK(ci_input(model, PREDICT, 0, &info) == CI_OK && strcmp(info.name, "x") == 0 && info.dtype == CI_FLOAT);
  CHECK(ci_output(model, PREDICT, 1, &info) == CI_OK && strcmp(info.name, "relu") == 0);
  ci_close(model);
}

static void test_questions_about_what_is_not_there(void) {
  ci_model *model = open_perceptron();
  const int signatures[] = {-1, NO_SIGNATURE, INT32_MAX};
  ci_info info;
  CHECK(ci_signature(model, "train") == -1 && ci_signature(model, NULL) == -1);
  CHECK(ci_input_index(model, PREDICT, "z") == -1 && ci_input_index(model, PREDICT, NULL) == -1);
  CHECK(ci_output_index(model, PREDICT, "z") == -1);
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
    const int s = signatures[i];
    CHECK(ci_signature_name(model, s) == NULL && ci_input_count(model, s) == 0 && ci_output_count(model, s) == 0);
    CHECK(ci_input_index(model, s, "x") == -1 && ci_output_index(model, s, "y") == -1);
    CHECK(ci_input(model, s, 0, &info) == CI_OUT_OF_RANGE && ci_output(model, s, 0, &info) == CI_OUT_OF_RANGE);
    CHECK(ci_input_kind(model, s, 0) == -1 && ci_output_kind(model, s, 0) == -1);
    CHECK(ci_metadata_key(model, s) == NULL);
  }
  for (int index = -1; index < 3; index += 3) {
    CHECK(ci_input(model, PREDICT, index, &info) == CI_OUT_OF_RANGE);
    CHECK(ci_output(model, PREDICT, index, &info) == CI_OUT_OF_RANGE);
    CHECK(ci_input_kind(model, PREDICT, index) == -1 && ci_output_kind(model, PREDICT, index) == -1);
  }
  CHECK(ci_input(model, PREDICT, 0, NULL) == CI_OUT_OF_RANGE);
  CHECK(ci_metadata(model, "nothing") == NULL && ci_metadata(model, NULL) == NULL);
  ci_close(model);
}

static void test_metadata_is_found_by_its_key(void) {
  ci_model *model = NULL;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, NULL, &model, NULL) == CI_OK);
  for (int i = 0; ci_metadata_key(model, i) != NULL; i++) CHECK(ci_metadata(model, ci_metadata_key(model, i)) != NULL);
  ci_close(model);
}

static void test_no_model_has_nothing(void) {
  ci_info info;
  CHECK(ci_signature_count(NULL) == 0 && ci_signature(NULL, "predict") == -1);
  CHECK(ci_signature_name(NULL, 0) == NULL && ci_input_count(NULL, 0) == 0 && ci_output_count(NULL, 0) == 0);
  CHECK(ci_input_index(NULL, 0, "x") == -1 && ci_output_index(NULL, 0, "x") == -1);
  CHECK(ci_input(NULL, 0, 0, &info) == CI_OUT_OF_RANGE && ci_output(NULL, 0, 0, &info) == CI_OUT_OF_RANGE);
  CHECK(ci_metadata(NULL, "k") == NULL && ci_metadata_key(NULL, 0) == NULL && strcmp(ci_isa_name(NULL), "") == 0);
  ci_close(NULL);
}

static void test_models_that_cannot_be_opened(void) {
  ci_error error;
  ci_model *model = (ci_model *)&error;
  ci_options options = ci_defaults();
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, NULL, NULL, &error) == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "model is NULL") != NULL);
  CHECK(ci_open(NULL, NULL, &model, &error) == CI_INVALID_ARGUMENT && model == NULL);
  CHECK(ci_open("nowhere.gio", NULL, NULL, NULL) == CI_INVALID_ARGUMENT);
  CHECK(ci_open_memory(NULL, 1, NULL, &model, &error) == CI_INVALID_ARGUMENT && model == NULL);
  options.abi++;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, &options, &model, &error) == CI_INVALID_ARGUMENT);
  options = ci_defaults();
  options.isa = 99;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, &options, &model, &error) == CI_UNIMPLEMENTED);
  CHECK(model == NULL && strstr(error.message, "instruction set 99") != NULL);
}

/* A program compiled when ci_options had fewer fields: the others have their defaults, and the file's bytes are copied.
 */
static void test_options_of_an_older_program(void) {
  ci_error error;
  ci_model *model = NULL;
  ci_session *session = NULL;
  float x[4] = {0};
  const ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {1, 4}};
  ci_tensor outputs[2] = {{0}};
  ci_options options = ci_defaults();
  unsigned char *data = malloc(sizeof model_perceptron);
  if (data == NULL) return;
  memcpy(data, model_perceptron, sizeof model_perceptron);
  memset((char *)&options + offsetof(ci_options, lazy), 0xff, sizeof options - offsetof(ci_options, lazy));
  options.size = offsetof(ci_options, lazy);
  CHECK(ci_open_memory(data, sizeof model_perceptron, &options, &model, &error) == CI_OK);
  free(data);
  CHECK(ci_session_open(model, NULL, NULL, &session, &error) == CI_OK);
  CHECK(ci_run(session, PREDICT, &input, 1, outputs, 2, &error) == CI_OK);
  ci_session_close(session);
  ci_close(model);
}

/* Options that a program filled itself, without ..._defaults(): none of their limits would count. */
static void test_options_without_a_size_are_refused(void) {
  const ci_options model_options = {.limits = {.max_nodes = 1}};
  const ci_session_options session_options = {.size = sizeof(size_t)};
  const ci_state_options state_options = {.size = 3};
  const ci_save_options save_options = {.step = 1};
  const ci_restore_options restore_options = {.size = 0};
  ci_error error;
  ci_model *none = NULL, *model = open_perceptron();
  ci_session *session = NULL;
  ci_state *no_state = NULL, *state = NULL;
  CHECK(ci_state_open(NULL, &state, &error) == CI_OK);
  const ci_status statuses[] = {
      ci_open_memory(model_perceptron, sizeof model_perceptron, &model_options, &none, &error),
      ci_session_open(model, NULL, &session_options, &session, &error),
      ci_state_open(&state_options, &no_state, &error),
      ci_save_with(state, model, "no folder/save", &save_options, &error),
      ci_restore_with(state, "./no checkpoint", &restore_options, NULL, &error),
  };
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) CHECK(statuses[i] == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "size is 0: begin with those that ci_restore_defaults() gives") != NULL);
  CHECK(none == NULL && session == NULL && no_state == NULL);
  ci_state_close(state);
  ci_close(model);
}

static void test_a_value_needs_a_position(void) {
  const ci_info info = {.name = "v", .dtype = CI_FLOAT};
  ci_error error;
  ci_state *state = NULL;
  int index = -1;
  CHECK(ci_state_open(NULL, &state, &error) == CI_OK);
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  CHECK(ci_variable_view(state, index, NULL, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "NULL") != NULL);
  CHECK(ci_variable_set(state, index, NULL, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "NULL") != NULL);
  CHECK(ci_variable_view(state, index + 1, NULL, &error) == CI_OUT_OF_RANGE);
  CHECK(ci_variable_set(state, index + 1, NULL, &error) == CI_OUT_OF_RANGE);
  ci_state_close(state);
}

/* A missing folder is not an error, and none is reported. */
static void test_no_folder_has_no_checkpoint(void) {
  ci_error error = {.status = CI_INTERNAL, .message = "old"};
  ci_restored restored = {.size = sizeof restored};
  ci_state *state = NULL;
  CHECK(ci_state_open(NULL, &state, NULL) == CI_OK);
  CHECK(ci_restore_latest(state, "there is no such folder", NULL, &restored, &error) == CI_OK);
  CHECK(restored.name[0] == '\0' && restored.step == -1 && error.message[0] == '\0' && error.status == CI_OK);
  ci_state_close(state);
}

static void test_a_depth_beyond_the_stack_is_not_granted(void) {
  ci_model *model = NULL;
  ci_options options = ci_defaults();
  options.limits.max_depth = UINT32_MAX;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, &options, &model, NULL) == CI_OK);
  ci_close(model);
}

static void test_the_library_says_what_it_is(void) {
  const uint32_t version = CI_VERSION_MAJOR << 16 | CI_VERSION_MINOR << 8 | CI_VERSION_PATCH;
  CHECK(ci_version() == version && ci_abi() == CI_ABI && ci_numerics() == CI_NUMERICS);
}

static void test_statuses_have_the_names_of_tensorflow(void) {
  static const struct {
    ci_status status;
    const char *name;
  } rows[] = {
      {CI_OK, "OK"},
      {CI_CANCELLED, "CANCELLED"},
      {CI_UNKNOWN, "UNKNOWN"},
      {CI_INVALID_ARGUMENT, "INVALID_ARGUMENT"},
      {CI_NOT_FOUND, "NOT_FOUND"},
      {CI_ALREADY_EXISTS, "ALREADY_EXISTS"},
      {CI_RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"},
      {CI_FAILED_PRECONDITION, "FAILED_PRECONDITION"},
      {CI_OUT_OF_RANGE, "OUT_OF_RANGE"},
      {CI_UNIMPLEMENTED, "UNIMPLEMENTED"},
      {CI_INTERNAL, "INTERNAL"},
      {CI_UNAVAILABLE, "UNAVAILABLE"},
      {CI_DATA_LOSS, "DATA_LOSS"},
      {(ci_status)10, "ABORTED"},
      {(ci_status)99, "UNKNOWN"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK(strcmp(ci_status_name(rows[i].status), rows[i].name) == 0);
  }
}

static void test_element_types_have_sizes_and_names(void) {
  static const struct {
    int32_t dtype;
    size_t bytes;
    int bits;
    const char *name;
  } rows[] = {
      {-1, 0, 0, "unknown"},         {0, 0, 0, "undefined"},          {CI_FLOAT, 4, 32, "float32"},
      {CI_INT4, 1, 4, "int4"},       {CI_UINT2, 1, 2, "uint2"},       {CI_COMPLEX128, 16, 128, "complex128"},
      {CI_INT2, 1, 2, "int2"},       {CI_INT2 + 1, 0, 0, "unknown"},  {INT32_MAX, 0, 0, "unknown"},
      {CI_NOTHING, 0, 0, "nothing"}, {CI_SEQUENCE, 0, 0, "sequence"}, {INT32_MIN, 0, 0, "unknown"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK(ci_dtype_size(rows[i].dtype) == rows[i].bytes && ci_dtype_bits(rows[i].dtype) == rows[i].bits);
    CHECK(strcmp(ci_dtype_name(rows[i].dtype), rows[i].name) == 0);
  }
}

static void test_packed_elements_fill_their_last_byte_with_zeros(void) {
  uint8_t packed[2], elements[5];
  const uint8_t codes[] = {1, 2, 3, 0, 2};
  ci_dtype_pack(CI_UINT2, packed, codes, 5);
  CHECK(packed[0] == 0x39 && packed[1] == 2);
  CHECK(ci_dtype_unpack(CI_UINT2, elements, packed, 5) && memcmp(elements, codes, 5) == 0);
  CHECK(ci_dtype_unpack(CI_UINT2, elements, packed, 4) && memcmp(elements, codes, 4) == 0);
  packed[1] = 0x12;
  CHECK(!ci_dtype_unpack(CI_UINT2, elements, packed, 5));
}

/* ---- memory ---- */

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
/* Sanitizers end the program instead. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
    HAS_FEATURE(memory_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define MALLOC_MAY_FAIL 0
#else
#define MALLOC_MAY_FAIL 1
#endif

static void test_sizes_that_no_machine_has_are_refused(void) {
  const ci_allocator own = {0};
  ci_pool pool = {.allocator = &own};
  CI_LIST(int64_t) list = {NULL, 0, 0};
  CHECK(ci_alloc_uncleared(&own, SIZE_MAX) == NULL && ci_alloc_uncleared(NULL, SIZE_MAX - 64) == NULL);
  CHECK(ci_alloc(&own, SIZE_MAX) == NULL && ci_alloc_sparse(&own, SIZE_MAX) == NULL);
  if (MALLOC_MAY_FAIL) CHECK(ci_alloc(&own, SIZE_MAX / 4) == NULL);
  CHECK(ci_pool_alloc(&pool, SIZE_MAX) == NULL && ci_pool_alloc(&pool, SIZE_MAX - 64) == NULL);
  CHECK(!CI_LIST_GROW_BY(&own, &list, SIZE_MAX) && !CI_LIST_GROW_BY(&own, &list, SIZE_MAX / 7));
  CHECK(CI_LIST_GROW(&own, &list));
  list.count = 1;
  CHECK(!CI_LIST_GROW_BY(&own, &list, SIZE_MAX) && list.capacity > 0);
  CI_LIST_FREE(&own, &list);
  ci_pool_release(&pool);
}

static void test_pools_give_cleared_memory_again(void) {
  const ci_allocator own = {0};
  ci_pool pool = {.allocator = &own};
  for (int round = 0; round < 3; round++) {
    for (size_t bytes = 0; bytes < 100000; bytes = 3 * bytes + 100) {
      char *block = ci_pool_alloc(&pool, bytes);
      CHECK(block != NULL && (uintptr_t)block % 64 == 0);
      for (size_t i = 0; i < bytes; i++) CHECK(block[i] == 0);
      memset(block, 1, bytes);
    }
    ci_pool_clear(&pool);
    CHECK(ci_pool_alloc(&pool, (size_t)100000 << round) != NULL); /* not what the first spare block has */
    ci_pool_clear(&pool);
  }
  ci_pool_release(&pool);
}

static void *held_alloc(void *user, size_t bytes, size_t align) {
  char *at = user;
  (void)bytes;
  return at + (align - (uintptr_t)at % align) % align;
}

/* A caller who never frees need not give a function for it. */
static void test_an_allocator_may_have_no_release(void) {
  char buffer[256] = {1};
  const ci_allocator given = {.user = buffer, .alloc = held_alloc};
  char *memory = ci_alloc(&given, 64);
  CHECK(memory != NULL && memory[0] == 0 && memory[63] == 0);
  ci_release(&given, memory, 64);
  CHECK(ci_alloc_sparse(&given, 64) == NULL);
}

/* Large pages are requested only for memory that is about to be written; the rest of such a block costs nothing. */
static void test_of_a_sparse_block_any_part_may_be_used(void) {
  enum { MEGABYTE = 1 << 20 };
  const ci_allocator own = {0};
  const size_t bytes = 12 * (size_t)MEGABYTE;
  char *block = ci_alloc_sparse(&own, bytes);
  if (block == NULL) return; /* a system without large pages */
  ci_sparse_use(block, 0, 100, 0);
  ci_sparse_use(block, 100, 5 * MEGABYTE, 0);
  ci_sparse_use(block, 5 * MEGABYTE, 6 * MEGABYTE + 1, 3 * MEGABYTE);
  memset(block, 1, 6 * MEGABYTE + 1);
  CHECK(block[6 * MEGABYTE] == 1);
  ci_release(&own, block, bytes);
}

int main(void) {
  test_inputs_and_outputs_have_numbers_and_names();
  test_questions_about_what_is_not_there();
  test_metadata_is_found_by_its_key();
  test_no_model_has_nothing();
  test_models_that_cannot_be_opened();
  test_options_of_an_older_program();
  test_options_without_a_size_are_refused();
  test_a_value_needs_a_position();
  test_no_folder_has_no_checkpoint();
  test_a_depth_beyond_the_stack_is_not_granted();
  test_the_library_says_what_it_is();
  test_statuses_have_the_names_of_tensorflow();
  test_element_types_have_sizes_and_names();
  test_packed_elements_fill_their_last_byte_with_zeros();
  test_sizes_that_no_machine_has_are_refused();
  test_pools_give_cleared_memory_again();
  test_an_allocator_may_have_no_release();
  test_of_a_sparse_block_any_part_may_be_used();
  return CHECK_END;
}
