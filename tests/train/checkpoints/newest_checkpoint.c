/* newest_checkpoint.c - for each folder of the command line a line: the status and name of what ci_restore_latest
 * takes, or its message. */
#include <stdio.h>

#include "cinfer.h"

static void tell(const char *folder) {
  ci_state *state = NULL;
  ci_error error;
  ci_restored restored = {.size = sizeof restored};
  ci_status status = ci_state_open(NULL, &state, &error);
  if (status == CI_OK) status = ci_restore_latest(state, folder, NULL, &restored, &error);
  printf("%d %s\n", (int)status, status == CI_OK ? restored.name : error.message);
  ci_state_close(state);
}

int main(int count, char **folders) {
  for (int i = 1; i < count; i++) tell(folders[i]);
  return 0;
}
