/* test_load_memory.c - S2: the memory of loading a file is bounded for any content. */
#include <stdlib.h>

#include "check.h"
#include "untrusted.h"
#include "models.h"

enum { FOR_ANY_FILE = 1 << 16, FOR_EACH_BYTE = 4, PLENTY = 1000, MOST_NODES = 1 << 17, FOR_EACH_NODE = 20000 };

typedef struct counter {
  size_t now, most;
} counter;

static void *counter_alloc(void *user, size_t bytes, size_t align) {
  counter *c = user;
  c->now += bytes;
  if (c->now > c->most) c->most = c->now;
  return aligned_alloc(align, ci_round_up(bytes, align));
}

static void counter_release(void *user, void *memory, size_t bytes) {
  counter *c = user;
  c->now -= bytes;
  free(memory);
}

typedef struct loaded {
  ci_status status;
  size_t most; /* bytes of memory that it took at a time */
} loaded;

static loaded load(const void *data, size_t bytes, uint64_t max_nodes, uint32_t max_load) {
  counter count = {0};
  ci_error error;
  ci_options options = ci_defaults();
  ci_model *model;
  options.borrow = 1;
  options.limits.max_nodes = max_nodes;
  options.limits.max_load = max_load;
  options.allocator = (ci_allocator){&count, counter_alloc, counter_release};
  loaded l = {.status = ci_open_memory(data, bytes, &options, &model, &error)};
  l.most = count.most;
  ci_close(model);
  CHECK(count.now == 0);
  return l;
}

static void report(const char *what, size_t bytes, loaded l) {
  const double more = l.most > FOR_ANY_FILE ? (double)(l.most - FOR_ANY_FILE) : 0;
  printf("%-40s %8zu bytes: %9zu, %6.2f times and 64 KB %s\n", what, bytes, l.most, more / (double)bytes,
         l.status == CI_OK ? "" : ci_status_name(l.status));
}

/* No more than the bound, at any size and with any limit, be it enough or not. */
static void test_bounds(const untrusted_family *family) {
  static const size_t sizes[] = {1, 100, 3000, 33000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    ci_out file = untrusted_model(family, sizes[i]);
    CHECK(!file.failed);
    for (uint32_t most = 0; most < 16; most = 2 * most + 1) {
      const size_t bound = FOR_ANY_FILE + (most == 0 ? FOR_EACH_BYTE : most) * file.length;
      CHECK(load(file.data, file.length, MOST_NODES, most).most <= bound);
    }
    ci_out_free(&file);
  }
}

/* The memory that a large file needs, and whether it loads without a raised limit. */
static void test_family(const untrusted_family *family) {
  ci_out file = untrusted_model(family, 33000);
  const loaded l = load(file.data, file.length, MOST_NODES, PLENTY);
  report(family->name, file.length, l);
  CHECK(l.status == family->status);
  const ci_status unasked = load(file.data, file.length, MOST_NODES, 0).status;
  const bool refused = family->dense && unasked == CI_RESOURCE_EXHAUSTED;
  CHECK(refused || unasked == family->status);
  CHECK(refused || !family->dense || sizeof(void *) < 8); /* structs with pointers are smaller where pointers are */
  ci_out_free(&file);
}

/* A limit of nodes bounds the cost of functions that call each other, however much memory is allowed. */
static void test_bomb_with_few_nodes(void) {
  const untrusted_family bomb = {"a function bomb, with 1000 nodes", untrusted_bomb, CI_RESOURCE_EXHAUSTED, true};
  ci_out file = untrusted_model(&bomb, 1000);
  const loaded l = load(file.data, file.length, 1000, UINT32_MAX);
  CHECK(l.status == CI_RESOURCE_EXHAUSTED && l.most <= FOR_ANY_FILE + 1000 * FOR_EACH_NODE);
  report(bomb.name, file.length, l);
  ci_out_free(&file);
}

/* The limit of nodes holds at its edge. */
static void test_many_nodes(void) {
  const untrusted_family chain = {"a chain", untrusted_chain, CI_OK, false};
  ci_out file = untrusted_model(&chain, 1001);
  CHECK(load(file.data, file.length, 1001, 0).status == CI_OK);
  CHECK(load(file.data, file.length, 1000, 0).status == CI_RESOURCE_EXHAUSTED);
  ci_out_free(&file);
}

static void test_honest(const char *name, const void *data, size_t bytes) {
  const loaded l = load(data, bytes, 0, 0);
  CHECK(l.status == CI_OK || l.status == CI_UNIMPLEMENTED); /* a custom operator */
  CHECK(l.most <= FOR_ANY_FILE);
  report(name, bytes, l);
}
#define HONEST(model) test_honest(#model, model, sizeof model)

int main(void) {
  for (int i = 0; i < UNTRUSTED_FAMILIES; i++) {
    test_bounds(&untrusted_families[i]);
    test_family(&untrusted_families[i]);
  }
  test_bomb_with_few_nodes();
  test_many_nodes();
  HONEST(model_perceptron);
  HONEST(model_packed_tiles);
  HONEST(model_everything);
  HONEST(model_sequences);
  HONEST(model_called);
  HONEST(model_found);
  HONEST(model_own);
  return CHECK_END;
}
