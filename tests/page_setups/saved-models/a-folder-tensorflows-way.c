#include "cinfer.h"

#include <stdio.h>

int main(void) {
  ci_error error = {0};
#include "page.c"
  fprintf(stderr, "%s\n", error.message);
  ci_close(model);
  return predict < 0;
}
