/* classify.c - reads rows of 13 numbers, prints the class of each and the probabilities of all classes.
 *
 *   ./classify wine.gio < rows.txt        wine.gio and wine.h: sklearn_to_c.py
 */
#include <stdio.h>

#include "wine.h"

enum { COLUMNS = 13 };

/* 1: a row was read, 0: there are no more, -1: something else than a number. */
static int read_row(float row[COLUMNS]) {
  for (int i = 0; i < COLUMNS; i++) {
    const int got = scanf("%f", &row[i]);
    if (got != 1) return got == EOF && i == 0 ? 0 : -1;
  }
  return 1;
}

static ci_status classify(ci_session *session, const float row[COLUMNS], ci_error *error) {
  ci_tensor label = {0}, chances = {0};
  const ci_status status = wine_predict(session, 1, row, &label, &chances, error);
  if (status != CI_OK) return status;
  printf("%lld", (long long)*(const int64_t *)label.data);
  for (size_t i = 0; i < chances.bytes / sizeof(float); i++) printf(" %.9g", (double)((const float *)chances.data)[i]);
  putchar('\n');
  return CI_OK;
}

int main(int argc, char **argv) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  float row[COLUMNS];
  int more = 0;
  ci_status status = ci_open(argc > 1 ? argv[1] : "wine.gio", NULL, &model, &error);
  if (status == CI_OK) status = ci_session_open(model, NULL, NULL, &session, &error);
  while (status == CI_OK && (more = read_row(row)) == 1) status = classify(session, row, &error);
  if (status != CI_OK) fprintf(stderr, "%s: %s\n", ci_status_name(status), error.message);
  if (more < 0) fprintf(stderr, "a row has %d numbers\n", COLUMNS);
  ci_session_close(session);
  ci_close(model);
  return status != CI_OK || more < 0;
}
