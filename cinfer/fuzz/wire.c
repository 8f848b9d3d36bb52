/* wire.c - fuzz target: container, messages, parse and verify, of bytes as they come.
 *
 * The last bits of the bytes' checksum choose how they are opened. */
#include <string.h>

#include "harness.h"

static void ask_value(const ci_model *model, int signature, int index, bool input) {
  ci_info info;
  const ci_status status = input ? ci_input(model, signature, index, &info) : ci_output(model, signature, index, &info);
  const int kind = input ? ci_input_kind(model, signature, index) : ci_output_kind(model, signature, index);
  fuzz_require(status == CI_OK && info.name != NULL && kind >= 0,
               "S3: inputs and outputs of a signature can be queried");
  fuzz_require(info.rank >= -1 && info.rank <= CI_MAX_RANK, "S3: ranks are in range");
  const int found = input ? ci_input_index(model, signature, info.name) : ci_output_index(model, signature, info.name);
  fuzz_require(found >= 0, "S3: names lead to what has them");
  for (int32_t i = 0; i < info.rank; i++) {
    fuzz_require(info.dims[i] >= -1, "S3: dimensions are known or -1");
    if (info.symbol[i] != NULL) fuzz_require(strlen(info.symbol[i]) > 0, "S3: symbols have names");
  }
}

static void ask(const ci_model *model) {
  const int signatures = ci_signature_count(model);
  for (int s = 0; s < signatures; s++) {
    fuzz_require(ci_signature(model, ci_signature_name(model, s)) == s, "S3: names of signatures are unique");
    for (int i = 0; i < ci_input_count(model, s); i++) ask_value(model, s, i, true);
    for (int i = 0; i < ci_output_count(model, s); i++) ask_value(model, s, i, false);
  }
  for (int i = 0; ci_metadata_key(model, i) != NULL; i++)
    fuzz_require(ci_metadata(model, ci_metadata_key(model, i)) != NULL, "S3: metadata are found by their keys");
}

const bool fuzz_has_tail = false, fuzz_multiplies = false;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint32_t choice = ci_crc32c(0, data, size);
  fuzz_memory memory = {.fill = (uint8_t)choice};
  ci_options options = ci_defaults();
  options.allocator = fuzz_allocator(&memory);
  options.lazy = choice >> 8 & 1;
  options.borrow = choice >> 9 & 1;
  if (choice >> 10 & 1) options.limits.max_nodes = 16;
  if (choice >> 11 & 1) options.limits.max_depth = 2;
  ci_model *model = NULL;
  ci_error error;
  const ci_status status = ci_open_memory(data, size, &options, &model, &error);
  fuzz_check_error(status, &error);
  fuzz_require((status == CI_OK) == (model != NULL), "S6: what is refused is not half open");
  if (model != NULL) ask(model);
  ci_close(model);
  fuzz_require(memory.blocks == 0 && memory.live == 0, "S6: nothing leaks");
  return 0;
}
