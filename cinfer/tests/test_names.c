/* test_names.c - the table of names: a name is its text in its scope, however many there are. */
#include "names.h"

#include <string.h>

#include "check.h"

enum { MANY = 150000, LENGTH = 8, ALPHABET = 26 };

static char texts[MANY][LENGTH];

static ci_span text_of(int number) { return (ci_span){texts[number], LENGTH}; }

static void make_texts(void) {
  for (int n = 0; n < MANY; n++) {
    for (int i = 0, left = n; i < LENGTH; i++, left /= ALPHABET) texts[n][i] = (char)('a' + left % ALPHABET);
  }
}

static ci_names_result add(ci_names *names, uint32_t scope, int number) {
  const ci_name name = {.text = text_of(number), .scope = scope, .first = number};
  return ci_names_add(NULL, names, &name);
}

/* As many as give hashes that are equal where the scopes are not. */
static void test_every_name_is_found_in_its_scope(void) {
  ci_names names = {0};
  uint64_t added = 0, found = 0, refused = 0;
  for (uint32_t scope = 0; scope < 2; scope++)
    for (int n = 0; n < MANY; n++) added += add(&names, scope, n) == CI_NAMES_ADDED;
  for (uint32_t scope = 0; scope < 3; scope++)
    for (int n = 0; n < MANY; n++) {
      const ci_name *name = ci_names_find(&names, scope, text_of(n));
      found += name != NULL && name->scope == scope && name->first == n;
      refused += name == NULL;
    }
  CHECK(added == 2 * MANY && found == 2 * MANY && refused == MANY);
  CHECK(add(&names, 1, MANY - 1) == CI_NAMES_DUPLICATE);
  ci_names_free(NULL, &names);
}

/* As many as may be near each other in a small table are found in larger ones, too. */
static void test_names_that_are_near_stay_near_when_the_table_grows(void) {
  static int near[MANY];
  ci_names all = {0}, names = {0};
  int count = 0, found = 0;
  for (int n = 0; n < MANY; n++) {
    CHECK(add(&all, 0, n) == CI_NAMES_ADDED);
    if (all.at[n].hash % 512 < 16) near[count++] = n;
  }
  CHECK(ci_names_reserve(NULL, &names, 256) && names.places == 512);
  for (int i = 0; i < 240; i++) CHECK(add(&names, 0, near[i]) == CI_NAMES_ADDED);
  while (names.places < 1 << 16) {
    CHECK(ci_names_reserve(NULL, &names, names.places / 2 - names.count + 1)); /* twice the places */
    for (int i = 0; i < count; i++) {
      const ci_name *name = ci_names_find(&names, 0, text_of(near[i]));
      found += i < 240 ? name != NULL && name->first == near[i] : name == NULL;
    }
  }
  CHECK(count > 1000 && found == 7 * count);
  ci_names_free(NULL, &names);
  ci_names_free(NULL, &all);
}

int main(void) {
  make_texts();
  test_every_name_is_found_in_its_scope();
  test_names_that_are_near_stay_near_when_the_table_grows();
  return CHECK_END;
}
