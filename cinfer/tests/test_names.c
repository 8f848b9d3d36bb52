/* test_names.c - the table of names: a name is identified by its string and its scope, however many there are. */
#include "base/names.h"

#include <string.h>

#include "check.h"

enum { MANY = 150000, LENGTH = 8, ALPHABET = 26 };

static char strings[MANY][LENGTH];

static ci_span text_of(int number) { return (ci_span){strings[number], LENGTH}; }

static void make_strings(void) {
  for (int n = 0; n < MANY; n++) {
    for (int i = 0, left = n; i < LENGTH; i++, left /= ALPHABET) strings[n][i] = (char)('a' + left % ALPHABET);
  }
}

/* Number 2n + scope is called by text n. */
static bool text_is(const void *owner, uint32_t number, const ci_key *key) {
  (void)owner;
  return number % 2 == key->scope && ci_span_same(text_of((int)(number / 2)), key->str);
}

static const ci_namer namer = {text_is, NULL};

static ci_names_result add(ci_names *names, uint32_t scope, int number) {
  return ci_names_add(NULL, names, &namer, &(ci_key){text_of(number), scope}, 2 * (uint32_t)number + scope);
}

static int64_t find(const ci_names *names, uint32_t scope, int number) {
  return ci_names_find(names, &namer, &(ci_key){text_of(number), scope});
}

/* As many as give hashes that are equal where the names are not. */
static void test_every_name_is_found_in_its_scope(void) {
  ci_names names = {0};
  uint64_t added = 0, found = 0, refused = 0;
  for (uint32_t scope = 0; scope < 2; scope++)
    for (int n = 0; n < MANY; n++) added += add(&names, scope, n) == CI_NAMES_ADDED;
  for (uint32_t scope = 0; scope < 3; scope++)
    for (int n = 0; n < MANY; n++) {
      found += find(&names, scope, n) == 2 * n + (int)scope && scope < 2;
      refused += find(&names, scope, n) == -1;
    }
  CHECK(added == 2 * MANY && found == 2 * MANY && refused == MANY);
  CHECK(add(&names, 1, MANY - 1) == CI_NAMES_DUPLICATE);
  ci_names_free(NULL, &names);
}

static void test_keys_are_the_same_by_text_and_scope(void) {
  const ci_key a = {{"ab", 2}, 0}, none = {{NULL, 0}, 0};
  CHECK(ci_key_same(a, (ci_key){{"abc", 2}, 0}) && ci_key_same(none, (ci_key){{"x", 0}, 0}));
  CHECK(!ci_key_same(a, (ci_key){{"ab", 2}, 1}) && !ci_key_same(a, (ci_key){{"ab", 1}, 0}));
  CHECK(!ci_key_same(a, (ci_key){{"ac", 2}, 0}) && !ci_key_same(a, none));
}

static void test_an_empty_table_has_no_name(void) {
  ci_names names = {0};
  CHECK(find(&names, 0, 0) == -1);
  ci_names_clear(&names);
  CHECK(find(&names, 0, 0) == -1 && add(&names, 0, 0) == CI_NAMES_ADDED && find(&names, 0, 0) == 0);
  ci_names_clear(&names);
  CHECK(find(&names, 0, 0) == -1);
  ci_names_free(NULL, &names);
}

/* Capacity that was reserved is all that is taken, and enough. */
static void test_a_table_has_the_capacity_that_it_was_given(void) {
  ci_names names = {0};
  CHECK(ci_names_reserve(NULL, &names, 1000) && names.slots == 1502);
  for (int n = 0; n < 1000; n++) CHECK(add(&names, 0, n) == CI_NAMES_ADDED);
  CHECK(names.slots == 1502 && names.count == 1000);
  for (size_t more = SIZE_MAX; more > SIZE_MAX / 8; more -= SIZE_MAX / 8) CHECK(!ci_names_reserve(NULL, &names, more));
  CHECK(find(&names, 0, 999) == 2 * 999 && ci_names_reserve(NULL, &names, 1) && names.slots == 1502);
  ci_names_free(NULL, &names);
}

/* Names chosen so that all of them belong to the same few entries are refused when they are many, and those that were
 * taken are found in larger tables, too. */
static void test_names_that_are_near_stay_near_when_the_table_grows(void) {
  static int near[MANY];
  static uint32_t hashes[2 * MANY];
  ci_names all = {0}, names = {0};
  int count = 0, taken = 0, found = 0;
  for (int n = 0; n < MANY; n++) CHECK(add(&all, 0, n) == CI_NAMES_ADDED);
  for (size_t i = 0; i < all.slots; i++)
    if (all.table[i].number > 0) hashes[all.table[i].number - 1] = all.table[i].hash;
  for (int n = 0; n < MANY; n++)
    if (hashes[2 * n] >> 26 == 63) near[count++] = n; /* the last of 64 parts: they go on at the beginning */
  CHECK(count > 1500 && ci_names_reserve(NULL, &names, 2000));
  while (taken < count && add(&names, 0, near[taken]) == CI_NAMES_ADDED) taken++;
  CHECK(taken > 500 && taken < count && add(&names, 0, near[taken]) == CI_NAMES_CROWDED);
  for (int grown = 0; grown < 7; grown++) {
    for (int i = 0; i < taken; i++) found += find(&names, 0, near[i]) == 2 * near[i];
    CHECK(ci_names_reserve(NULL, &names, 2 * names.slots));
  }
  CHECK(found == 7 * taken);
  ci_names_free(NULL, &names);
  ci_names_free(NULL, &all);
}

/* Takes every name for another one, whatever its hash. */
static bool text_is_not(const void *owner, uint32_t number, const ci_key *key) {
  return owner != NULL && number == 0 && key == NULL;
}

static void test_few_names_may_have_the_very_same_hash(void) {
  const ci_namer denies = {text_is_not, NULL};
  const ci_key key = {text_of(0), 0};
  ci_names names = {0};
  for (uint32_t n = 0; n < 8; n++) CHECK(ci_names_add(NULL, &names, &denies, &key, n) == CI_NAMES_ADDED);
  CHECK(ci_names_add(NULL, &names, &denies, &key, 8) == CI_NAMES_CROWDED && names.count == 8);
  CHECK(ci_names_find(&names, &denies, &key) == -1);
  ci_names_free(NULL, &names);
}

int main(void) {
  make_strings();
  test_few_names_may_have_the_very_same_hash();
  test_every_name_is_found_in_its_scope();
  test_keys_are_the_same_by_text_and_scope();
  test_an_empty_table_has_no_name();
  test_a_table_has_the_capacity_that_it_was_given();
  test_names_that_are_near_stay_near_when_the_table_grows();
  return CHECK_END;
}
