/* arena.c - as on a microcontroller: the model is part of the program, all memory comes out of one array, no file is
 * opened and no heap is used.
 *
 *   graphio convert net.gio small.gio --signature predict --freeze --strip
 *   graphio export-c small.gio --name net --embed
 *   cc -std=c11 -O2 arena.c net_model.c $(python -m graphio.cinfer --cflags --libs)
 */
#include <stdio.h>

#include "net.h"

enum { ARENA = 256 * 1024, ALIGN = 64 };

/* Blocks are taken from the front; the newest ones that are given back are taken again. That suits this library, which
 * takes what a model needs at open and reserve, and nothing in a run of a planned shape. */
typedef struct arena {
  size_t used, most;
  _Alignas(ALIGN) uint8_t bytes[ARENA];
} arena;

static void *arena_alloc(void *user, size_t bytes, size_t align) {
  arena *a = user;
  const size_t begin = (a->used + align - 1) / align * align;
  if (begin > ARENA || bytes > ARENA - begin) return NULL;
  a->used = begin + bytes;
  if (a->used > a->most) a->most = a->used;
  return a->bytes + begin;
}

static void arena_release(void *user, void *memory, size_t bytes) {
  arena *a = user;
  if ((uint8_t *)memory + bytes == a->bytes + a->used) a->used -= bytes;
}

static arena memory;

static int failed(const ci_error *error) {
  fprintf(stderr, "%s: %s\n", ci_status_name(error->status), error->message);
  return 1;
}

int main(void) {
  const ci_allocator allocator = {&memory, arena_alloc, arena_release};
  ci_options options = ci_defaults();
  ci_session_options with = ci_session_defaults();
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  options.allocator = with.allocator = allocator;
  options.borrow = 1; /* the array outlives the model */
  if (ci_open_memory(net_model, net_model_size, &options, &model, &error) != CI_OK) return failed(&error);
  if (ci_session_open(model, NULL, &with, &session, &error) != CI_OK) return failed(&error);
  float x[3] = {1, 2, 3};
  ci_tensor shape = {x, sizeof x, CI_FLOAT, 2, {1, 3}}, p = {0};
  if (ci_reserve(session, 0, &shape, 1, &error) != CI_OK) return failed(&error);
  const size_t before = memory.most;
  for (int i = 0; i < 100; i++) {
    if (net_predict(session, 1, x, &p, &error) != CI_OK) return failed(&error);
  }
  printf("%.6f %.6f\n", (double)((float *)p.data)[0], (double)((float *)p.data)[1]);
  printf("%zu bytes of the arena, %zu more in runs\n", before, memory.most - before);
  ci_session_close(session);
  ci_close(model);
  return 0;
}
