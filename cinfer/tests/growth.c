/* growth.c - S5: the work of opening a file and of a session's first run grows linearly with the file's bytes, for any
 * content. Work is counted, not timed (work.h). */
#include "../cinfer.c"
#include "check.h"
#include "untrusted_plans.h"
#include "work.h"

enum { GROWTH_LEAST = 3000, GROWTH_TIMES = 4 }; /* sizes: so many, and so many times as many */
enum { GROWTH_FEW = 900 }; /* layouts of up to 4096 values are made denser */
enum { GROWTH_CAPACITY = 4096 };                     /* bytes of an output */
static const double growth_most = 2.3 * 2.3;     /* of four times as many; n log n has 2.2 * 2.2 */

/* A run gives its error, or works. */
static void growth_run(ci_model *model, ci_error *error) {
  float x[2] = {1, 2};
  const int count = ci_output_count(model, 0);
  ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {2}}, *outputs = calloc((size_t)count, sizeof *outputs);
  char *capacities = calloc((size_t)count, GROWTH_CAPACITY);
  ci_session *session;
  CHECK(outputs != NULL && capacities != NULL);
  for (int o = 0; o < count; o++) /* the last one first */
    outputs[o] = (ci_tensor){.data = capacities + (size_t)(count - 1 - o) * GROWTH_CAPACITY, .bytes = GROWTH_CAPACITY};
  CHECK(ci_session_open(model, NULL, NULL, &session, error) == CI_OK);
  const ci_status status = ci_run(session, 0, &input, 1, outputs, count, error);
  if (status != CI_OK && status != CI_FAILED_PRECONDITION) fprintf(stderr, "%s\n", error->message);
  CHECK(status == CI_OK || status == CI_FAILED_PRECONDITION); /* variables have no value: known once it is planned */
  ci_session_close(session);
  free(outputs);
  free(capacities);
}

static double growth_work(const untrusted_family *family, size_t n, bool run, size_t *bytes) {
  ci_out file = untrusted_model(family, n);
  ci_options options = ci_defaults();
  ci_error error;
  ci_model *model;
  options.borrow = 1;
  options.limits.max_load = 1000;
  uint64_t before = work_blocks;
  const ci_status status = ci_open_memory(file.data, file.length, &options, &model, &error);
  if (run) {
    if (status != CI_OK) fprintf(stderr, "%s\n", error.message);
    before = work_blocks;
    CHECK(status == CI_OK);
    growth_run(model, &error);
  }
  const uint64_t work = work_blocks - before;
  ci_close(model);
  *bytes = file.length;
  ci_out_free(&file);
  return (double)work;
}

static void growth_of(const untrusted_family *family, bool run, size_t n) {
  size_t bytes;
  const double least = growth_work(family, n, run, &bytes);
  const double most = growth_work(family, GROWTH_TIMES * n, run, &bytes);
  printf("%-5s %-40s %6.2f times the work, %5.1f blocks a byte\n", run ? "run" : "load", family->name, most / least,
         most / (double)bytes);
  CHECK(least > 0 && most <= growth_most * least);
}

/* Values of two bytes of the file each that are all there at once, after larger and larger ones that left gaps. */
static void growth_pieces(ci_out *graph, ci_out *model, size_t n) {
  const int64_t repeats = (int64_t)n;
  ci_out pieces = untrusted_node("s", "Split", 13), signature = untrusted_signature("s");
  char name[16], before[16] = "w";
  untrusted_x(graph);
  plans_constant(graph, CI_PB_GRAPH_NODE, "-n", CI_INT64, &repeats, sizeof repeats);
  untrusted_step(graph, CI_PB_GRAPH_NODE, before, "Tile", "-x", "-n");
  untrusted_last_axis(&pieces);
  untrusted_string(&pieces, CI_PB_NODE_INPUT, before);
  for (size_t i = 0; i < 8; i++) { /* 2, 4, 8, ... times as much, of which two are there at a time */
    untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "Concat", before, before);
    memcpy(before, name, sizeof before);
  }
  untrusted_outputs(&pieces, n);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &pieces);
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, before);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

int main(void) {
  static const untrusted_family pieces = {"pieces of a value", growth_pieces, CI_OK, false};
  for (int i = 0; i < UNTRUSTED_FAMILIES; i++) growth_of(&untrusted_families[i], false, GROWTH_LEAST);
  for (int i = 0; i < UNTRUSTED_PLANS; i++) growth_of(&untrusted_plans[i], true, GROWTH_LEAST);
  growth_of(&pieces, true, GROWTH_FEW);
  return CHECK_END;
}
