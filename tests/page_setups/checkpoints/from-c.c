#include "page.c"

#include <stdio.h>
#include <string.h>

/* Trained twice: the second begins where the first has saved. */
int main(void) {
  ci_model *model = NULL;
  ci_error error;
  ci_restored found = {.size = sizeof found};
  ci_state *state = NULL;
  if (ci_open("net.gio", NULL, &model, &error) || train(model, "run", "run/net", 150, &error) ||
      train(model, "run", "run/net", 300, &error) || ci_state_open(NULL, &state, &error) ||
      ci_restore_latest(state, "run", NULL, &found, &error))
    return fprintf(stderr, "%s\n", error.message), 1;
  ci_state_close(state);
  ci_close(model);
  return found.step != 300;
}
