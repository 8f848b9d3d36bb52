/* regex.c - RegexFullMatch: follows the set of steps that a match may be at, in one pass over the string. */
#include "regex.h"

#include "../../base/letters.h"
#include "../../base/wire.h"
#include "strings.h"

typedef struct regex_lists { /* in scratch: step numbers, as many as there are steps */
  int32_t *here, *next, *waiting;
  uint32_t *seen; /* when a step was last reached */
  int32_t count;  /* of `here` */
  uint32_t round;
} regex_lists;

enum { REGEX_LISTS = 5 }; /* `waiting` holds two for each step */

/* The program, its lists and the parser's open groups are one block; a first parse finds its size. */
ci_status ci_prepare_regex_full_match(ci_kernel *k) {
  static const char missing[] = "";
  regex_program sizes = {0};
  ci_span pattern;
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(ci_k_attr_s(k, "pattern", missing, &pattern));
  if (pattern.data == missing) return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute pattern is missing");
  const size_t groups = ci_regex_parse_most_open(pattern) * sizeof(regex_group);
  regex_group *open = ci_k_private(k, groups);
  if (open == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_regex_parse(k, pattern, open, &sizes));
  const size_t steps = (size_t)sizes.most_steps * sizeof *sizes.steps;
  const size_t ranges = (size_t)sizes.range_count * sizeof *sizes.ranges;
  const size_t classes = (size_t)sizes.class_count * sizeof *sizes.classes;
  regex_program *p = ci_k_private(k, sizeof *p + steps + ranges + classes + groups);
  if (p == NULL) return ci_k_no_memory(k);
  char *memory = (char *)(p + 1);
  p->steps = (regex_step *)(void *)memory;
  p->ranges = (regex_range *)(void *)(memory + steps);
  p->classes = (regex_class *)(void *)(memory + steps + ranges);
  open = (regex_group *)(void *)(memory + steps + ranges + classes);
  CI_TRY(ci_regex_parse(k, pattern, open, p));
  k->scratch_bytes = REGEX_LISTS * (size_t)p->step_count * sizeof(int32_t);
  return ci_k_out_like(k, 0, CI_BOOL, k->in[0]);
}

/* ---- characters ---- */

static bool regex_has(const regex_program *p, int32_t number, uint32_t c) {
  const regex_class *letters = &p->classes[number];
  const regex_range *range = p->ranges + letters->begin;
  const uint32_t k = letters->fold ? ci_letter_folded(c) : c;
  bool found = false;
  for (int32_t i = 0; i < letters->count && !found; i++, range++) {
    if (range->first == REGEX_WITHOUT) {
      const uint32_t large = letters->fold && k >= 'a' && k <= 'z' ? k - 'a' + 'A' : k;
      found = !ci_regex_parse_in_group(range->last, c) && !ci_regex_parse_in_group(range->last, k) &&
              !ci_regex_parse_in_group(range->last, large);
    } else {
      const uint32_t first = (uint32_t)range->first, last = (uint32_t)range->last;
      found = (c >= first && c <= last) || (k >= first && k <= last);
    }
  }
  return found != letters->negated;
}

static bool regex_is_word(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

enum { REGEX_EDGE = 0x110000 }; /* stands for an end of the text */

static bool regex_holds(int32_t what, uint32_t before, uint32_t behind) {
  switch (what) {
    case 'A': return before == REGEX_EDGE;
    case 'z': return behind == REGEX_EDGE;
    case '^': return before == REGEX_EDGE || before == '\n';
    case '$': return behind == REGEX_EDGE || behind == '\n';
    default: return (regex_is_word(before) != regex_is_word(behind)) == (what == 'b');
  }
}

/* ---- matching ---- */

/* Adds to `here` the steps that take a character or end, and are reached from one. */
static void regex_reach(const regex_program *p, regex_lists *l, int32_t from, uint32_t before, uint32_t behind) {
  int32_t waiting = 0;
  l->waiting[waiting++] = from;
  while (waiting > 0) {
    const int32_t at = l->waiting[--waiting];
    const regex_step step = p->steps[at];
    if (l->seen[at] == l->round) continue;
    l->seen[at] = l->round;
    if (step.kind == REGEX_CHAR || step.kind == REGEX_MATCH) l->here[l->count++] = at;
    if (step.kind == REGEX_SPLIT || step.kind == REGEX_JUMP) l->waiting[waiting++] = at + step.operand;
    if (step.kind == REGEX_SPLIT || (step.kind == REGEX_ASSERT && regex_holds(step.operand, before, behind)))
      l->waiting[waiting++] = at + 1;
  }
}

static void regex_begin_round(const regex_program *p, regex_lists *l) {
  l->count = 0;
  if (++l->round != 0) return;
  memset(l->seen, 0, (size_t)p->step_count * sizeof *l->seen);
  l->round = 1;
}

static bool regex_matches(const regex_program *p, regex_lists *l, ci_string str) {
  const char *at = str.data, *end = str.length > 0 ? at + str.length : at;
  uint32_t before = REGEX_EDGE, c = at == end ? REGEX_EDGE : ci_utf8_next(&at);
  regex_begin_round(p, l);
  regex_reach(p, l, 0, before, c);
  while (c != REGEX_EDGE && l->count > 0) {
    const uint32_t behind = at == end ? REGEX_EDGE : ci_utf8_next(&at);
    const int32_t count = l->count;
    int32_t *here = l->here;
    l->here = l->next;
    l->next = here;
    regex_begin_round(p, l);
    for (int32_t i = 0; i < count; i++) {
      const regex_step step = p->steps[here[i]];
      if (step.kind == REGEX_CHAR && regex_has(p, step.operand, c)) regex_reach(p, l, here[i] + 1, c, behind);
    }
    before = c;
    c = behind;
  }
  for (int32_t i = 0; c == REGEX_EDGE && i < l->count; i++) {
    if (p->steps[l->here[i]].kind == REGEX_MATCH) return true;
  }
  return false;
}

ci_status ci_run_regex_full_match(ci_kernel *k) {
  const regex_program *p = k->private_memory;
  const ci_string *x = k->in[0]->data;
  const size_t n = (size_t)p->step_count;
  int32_t *lists = k->scratch;
  regex_lists l = {.here = lists, .next = lists + n, .waiting = lists + 2 * n};
  l.seen = (uint32_t *)(lists + 4 * n);
  memset(l.seen, 0, n * sizeof *l.seen);
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    if (!ci_utf8_valid((ci_span){x[i].data, x[i].length})) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "string %lld is not UTF-8", (long long)i);
    }
    ((uint8_t *)k->out[0]->data)[i] = regex_matches(p, &l, x[i]);
  }
  return CI_OK;
}
