#include "page.c"

#include <stdio.h>
#include <string.h>

static int there(const char *name) {
  FILE *file = fopen(name, "rb");
  return file != NULL && fclose(file) == 0;
}

/* Trained twice: the second begins where the first has saved, and the three newest stay. */
int main(void) {
  ci_model *model = NULL;
  ci_error error;
  ci_restored found = {.size = sizeof found};
  ci_state *state = NULL;
  if (ci_open("net.gio", NULL, &model, &error) || train(model, "run", 150, &error) ||
      train(model, "run", 450, &error) || ci_state_open(NULL, &state, &error) ||
      ci_restore_latest(state, "run", NULL, &found, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  ci_state_close(state);
  ci_close(model);
  return found.step != 400 || !there("run/net-200.index") || there("run/net-100.index");
}
