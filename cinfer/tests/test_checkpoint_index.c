/* test_checkpoint_index.c - indexes with right checksums and wrong content. */
#include <string.h>

#include "check.h"
#include "checkpoint/checkpoint.h"

static ci_saved_shard shards[2] = {{{"a", 1}, 64, 0}, {{"b", 1}, 64, 0}};
static ci_saved variable = {.name = {"v", 1}, .dtype = CI_FLOAT, .rank = 1, .dims = {2}, .offset = 56, .nbytes = 8};

/* The reader's status for an index with these shards and the variable. */
static ci_status judged(void) {
  const ci_index made = {.save_id = 7, .step = -1, .shards = {shards, 2, 2}, .variables = {&variable, 1, 1}};
  ci_index read;
  ci_out out = {.allocator = NULL};
  ci_error error;
  ci_checkpoint_index_encode(&made, &out);
  const ci_bytes bytes = {.data = out.data, .length = out.length};
  const ci_status status = ci_checkpoint_index_decode(NULL, &bytes, "m.index", &read, &error);
  CHECK(!out.failed && (status == CI_OK || strstr(error.message, "m.index")));
  ci_checkpoint_index_free(&read);
  ci_out_free(&out);
  return status;
}

static void test_names_of_slots(void) {
  const ci_saved before = variable;
  CHECK(judged() == CI_OK);
  variable.slot_of = (ci_span){"w", 1};
  variable.slot = (ci_span){"momentum", 8};
  CHECK(judged() == CI_OK);
  variable.slot = (ci_span){"m\0x", 3};
  CHECK(judged() == CI_DATA_LOSS);
  variable.slot = before.slot;
  variable.slot_of = (ci_span){"w\0x", 3};
  CHECK(judged() == CI_DATA_LOSS);
  variable = before;
}

static void test_shards_are_sorted_and_each_is_named_once(void) {
  shards[1].file = (ci_span){"a", 1};
  CHECK(judged() == CI_DATA_LOSS);
  shards[1].file = (ci_span){"Z", 1};
  CHECK(judged() == CI_DATA_LOSS);
  shards[1].file = (ci_span){"b", 1};
  CHECK(judged() == CI_OK);
}

/* The bytes after a variable are those of another one, or the shard's end. */
static void test_a_shard_ends_where_its_last_variable_does(void) {
  const ci_saved before = variable;
  variable.offset = 48;
  CHECK(judged() == CI_DATA_LOSS);
  variable.offset = 60;
  CHECK(judged() == CI_DATA_LOSS);
  variable = before;
  CHECK(judged() == CI_OK);
}

/* The product of the dimensions fits 64 bits, but no signed ones. */
static void test_sizes_beyond_int64(void) {
  const ci_saved before = variable;
  const uint64_t most = (uint64_t)1 << 63;
  variable.rank = 2;
  variable.dims[0] = variable.dims[1] = (int64_t)1 << 31;
  variable.dtype = CI_INT16;
  variable.nbytes = most;
  variable.offset = 0;
  shards[0].nbytes = most;
  CHECK(judged() == CI_DATA_LOSS);
  variable = before;
  shards[0].nbytes = 64;
  CHECK(judged() == CI_OK);
}

int main(void) {
  test_names_of_slots();
  test_shards_are_sorted_and_each_is_named_once();
  test_a_shard_ends_where_its_last_variable_does();
  test_sizes_beyond_int64();
  return CHECK_END;
}
