/* test_regex.c - S10: a pattern's first parse finds how much memory the second one writes, and no step of its program
 * points outside of it, whatever is repeated how often. */
#include "kernels/strings/regex.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "session/session.h"

enum { PATTERNS = 20000, LONGEST = 400, BEHIND = 64, UNTOUCHED = 0xa5 };

static uint32_t seed = 1;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

#define PICK(words) words[draw((uint32_t)(sizeof words / sizeof *words))]

static const char *const atoms[] = {
    "a",     "k",    "K", "\xc3\x9f",     ".",        "^",   "$",       "\\b",      "\\A",          "\\d", "\\W",
    "[a-k]", "[^s]", "{", "[[:^alpha:]]", "[\\Wi-k]", "\\z", "\\x{4b}", "\\Qak\\E", "[A-\xc3\xbf]", "()",  "(|)"};
static const char *const begins[] = {"(", "(?:", "(?i:", "(?m-s:", "(?P<k>", "(?sU:"};
static const char *const repeats[] = {"*",     "+",     "?",   "*?",    "{0}",   "{0,}", "{0,0}",
                                      "{0,3}", "{1,2}", "{2}", "{2,}?", "{3,4}", "{1}",  "{0}?"};

/* Parts in groups in groups, many of them repeated: most are patterns, some are not. */
static void write_pattern(char *to) {
  int depth = 0;
  *to = '\0';
  for (uint32_t parts = 1 + draw(14); parts > 0; parts--) {
    const uint32_t what = draw(8);
    const bool closes = what == 0 && depth > 0, opens = what == 1 || what == 2;
    strcat(to, closes                      ? ")"
               : opens                     ? PICK(begins)
               : what == 3                 ? "|"
               : what == 4 && draw(4) == 0 ? "(?i)"
                                           : PICK(atoms));
    depth += opens - closes;
    if (!opens && what != 3 && draw(2) == 0) strcat(to, PICK(repeats));
  }
  for (; depth > 0; depth--) {
    strcat(to, ")");
    if (draw(2) == 0) strcat(to, PICK(repeats));
  }
}

/* A list of exactly so many bytes followed by others, which have to stay unchanged. */
static void *guarded(size_t bytes) {
  unsigned char *list = malloc(bytes + BEHIND);
  if (list == NULL) exit(2);
  memset(list, UNTOUCHED, bytes + BEHIND);
  return list;
}

static bool give_back(void *list, size_t bytes) {
  bool whole = true;
  for (size_t i = bytes; i < bytes + BEHIND; i++) whole = whole && ((unsigned char *)list)[i] == UNTOUCHED;
  free(list);
  return whole;
}

static bool is_closed(const regex_program *p) {
  bool closed = p->step_count > 0 && p->steps[p->step_count - 1].kind == REGEX_MATCH;
  for (int32_t i = 0; i < p->step_count; i++) {
    const regex_step step = p->steps[i];
    const bool jumps = step.kind == REGEX_SPLIT || step.kind == REGEX_JUMP;
    closed = closed && step.kind >= REGEX_CHAR && step.kind <= REGEX_MATCH;
    if (jumps) closed = closed && i + step.operand >= 0 && i + step.operand < p->step_count;
    if (step.kind == REGEX_CHAR) closed = closed && step.operand >= 0 && step.operand < p->class_count;
  }
  for (int32_t i = 0; i < p->class_count; i++)
    closed = closed && p->classes[i].begin >= 0 && p->classes[i].count <= p->range_count - p->classes[i].begin;
  return closed;
}

/* Whether it is a pattern. */
static bool check_pattern(ci_kernel *k, const char *text) {
  const ci_span pattern = {text, strlen(text)};
  const size_t groups = ci_regex_parse_most_open(pattern) * sizeof(regex_group);
  regex_program sizes = {0}, p = {0};
  regex_group *open = guarded(groups);
  const bool good = ci_regex_parse(k, pattern, open, &sizes) == CI_OK;
  const size_t steps = (size_t)sizes.most_steps * sizeof *p.steps;
  const size_t ranges = (size_t)sizes.range_count * sizeof *p.ranges;
  const size_t classes = (size_t)sizes.class_count * sizeof *p.classes;
  p.steps = guarded(steps);
  p.ranges = guarded(ranges);
  p.classes = guarded(classes);
  if (good) CHECK(ci_regex_parse(k, pattern, open, &p) == CI_OK && p.step_count == sizes.step_count && is_closed(&p));
  const bool inside[] = {give_back(open, groups), give_back(p.steps, steps), give_back(p.ranges, ranges),
                         give_back(p.classes, classes)};
  CHECK(inside[0] && inside[1] && inside[2] && inside[3]);
  return good;
}

static void test_programs_lie_in_the_memory_that_was_measured(ci_kernel *k) {
  char text[LONGEST];
  int good = 0;
  for (int i = 0; i < PATTERNS; i++) {
    write_pattern(text);
    const int before = check_failures;
    good += check_pattern(k, text);
    if (check_failures != before) fprintf(stderr, "pattern %d: %s\n", i, text);
  }
  CHECK(good > PATTERNS / 2 && good < PATTERNS);
}

static void test_parts_that_are_repeated_zero_times_have_memory_while_they_are_read(ci_kernel *k) {
  static const char *const patterns[] = {"(?i:((^|^)){0})",  "(a|b|c){0}",   "((((a){0}|b){0}|c){0}|d){0}",
                                         "a{1000}{0}",       "(a{1000}){0}", "(?:){0}",
                                         "[a-z]{0}[^k]{0,0}"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    CHECK(check_pattern(k, patterns[i]) == (strcmp(patterns[i], "a{1000}{0}") != 0)); /* a repetition of one */
}

int main(void) {
  ci_plan plan = {.signature = 0};
  ci_step step = {.plan = &plan};
  ci_kernel k = {.node = &step}; /* errors go nowhere */
  test_programs_lie_in_the_memory_that_was_measured(&k);
  test_parts_that_are_repeated_zero_times_have_memory_while_they_are_read(&k);
  return CHECK_END;
}
