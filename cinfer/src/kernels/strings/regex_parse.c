/* regex_parse.c - compiles patterns of RE2's syntax to programs; runtime/regex.py is the same in Python.
 *
 * One pass from left to right that appends each part's steps to the others. A step that a repetition or a choice
 * inserts before a part moves the part, whose jumps are relative and stay inside it. */
#include "../../base/letters.h"
#include "../../base/wire.h"
#include "regex.h"

enum { REGEX_MOST_REPEATS = 1000, REGEX_MOST_STEPS = 10000, REGEX_MOST_DEPTH = 1000, REGEX_MOST_RANGES = 20000 };
enum { REGEX_FOLD = 1, REGEX_LINES = 2, REGEX_DOT_ALL = 4, REGEX_LAZY = 8 };
enum { REGEX_ENDLESS = -1, REGEX_NONE = -1 };

typedef struct regex_reader {
  ci_kernel *k;
  regex_program *to;
  const char *begin, *at, *end;
  int flags, depth;
  regex_group *open; /* by depth; the first is the pattern */
} regex_reader;

static ci_status regex_wrong(const regex_reader *r, const char *what) {
  int position = 0;
  for (const char *at = r->begin; at < r->at; position++) (void)ci_utf8_next(&at);
  const size_t length = (size_t)(r->end - r->begin);
  return ci_k_fail(r->k, CI_INVALID_ARGUMENT, "pattern '%.*s', character %d: %s", (int)(length < 100 ? length : 100),
                   length > 0 ? r->begin : "", position, what);
}

/* ---- characters ---- */

static bool regex_peek(const regex_reader *r, const char *str) {
  const size_t length = strlen(str);
  return (size_t)(r->end - r->at) >= length && memcmp(r->at, str, length) == 0;
}

static bool regex_take(regex_reader *r, const char *str) {
  const bool found = regex_peek(r, str);
  if (found) r->at += strlen(str);
  return found;
}

static ci_status regex_next(regex_reader *r, uint32_t *c) {
  if (r->at == r->end) return regex_wrong(r, "ends too early");
  *c = ci_utf8_next(&r->at);
  return CI_OK;
}

static int regex_digit(const regex_reader *r, const char *at, int base) {
  if (at >= r->end) return -1;
  const char c = *at;
  const int found = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : base;
  return found < base ? found : -1;
}

/* ---- steps ---- */

/* Takes the next `size` steps; the first is *at. */
static ci_status regex_extend(const regex_reader *r, int32_t size, int32_t *at) {
  regex_program *to = r->to;
  if (to->step_count + (int64_t)size > REGEX_MOST_STEPS) return regex_wrong(r, "has more than 10000 steps");
  *at = to->step_count;
  to->step_count += size;
  if (to->most_steps < to->step_count) to->most_steps = to->step_count;
  return CI_OK;
}

static ci_status regex_emit(regex_reader *r, int32_t kind, int32_t operand) {
  int32_t at = 0;
  CI_TRY(regex_extend(r, 1, &at));
  if (r->to->steps != NULL) r->to->steps[at] = (regex_step){kind, operand};
  return CI_OK;
}

/* Inserts a step before those from `at` on. */
static ci_status regex_insert(regex_reader *r, int32_t at, int32_t kind, int32_t operand) {
  regex_step *steps = r->to->steps;
  const int32_t behind = r->to->step_count - at;
  CI_TRY(regex_emit(r, kind, operand));
  if (steps == NULL) return CI_OK;
  memmove(steps + at + 1, steps + at, (size_t)behind * sizeof *steps);
  steps[at] = (regex_step){kind, operand};
  return CI_OK;
}

/* The `size` steps from `begin` on once more, at the end. */
static ci_status regex_copy(regex_reader *r, int32_t begin, int32_t size) {
  int32_t at = 0;
  CI_TRY(regex_extend(r, size, &at));
  if (r->to->steps != NULL && size > 0)
    memcpy(r->to->steps + at, r->to->steps + begin, (size_t)size * sizeof *r->to->steps);
  return CI_OK;
}

/* A new part begins, which a repetition may follow. */
static void regex_part(regex_reader *r) {
  r->open[r->depth].part = r->to->step_count;
  r->open[r->depth].repeated = false;
}

/* ---- classes ---- */

static const char *const regex_group_names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                                "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
enum { REGEX_ALNUM = 0, REGEX_DIGIT = 5, REGEX_WORD = 12, REGEX_PERL_SPACE = 14, REGEX_GROUPS };
static const unsigned char regex_groups[REGEX_GROUPS][8] = { /* pairs; 0, 0: no more */
                                                            {48, 57, 65, 90, 97, 122},
                                                            {65, 90, 97, 122},
                                                            {0, 127},
                                                            {9, 9, 32, 32},
                                                            {0, 31, 127, 127},
                                                            {48, 57},
                                                            {33, 126},
                                                            {97, 122},
                                                            {32, 126},
                                                            {33, 47, 58, 64, 91, 96, 123, 126},
                                                            {9, 13, 32, 32},
                                                            {65, 90},
                                                            {48, 57, 65, 90, 95, 95, 97, 122},
                                                            {48, 57, 65, 70, 97, 102},
                                                            {9, 10, 12, 13, 32, 32}};

bool ci_regex_parse_in_group(int32_t group, uint32_t c) {
  const unsigned char *pairs = regex_groups[group];
  for (int i = 0; i < 8 && pairs[i + 1] != 0; i += 2) {
    if (c >= pairs[i] && c <= pairs[i + 1]) return true;
  }
  return false;
}

static ci_status regex_add_plain(regex_reader *r, regex_class *to, int32_t first, int32_t last) {
  if (r->to->range_count >= REGEX_MOST_RANGES) return regex_wrong(r, "has more than 20000 ranges of characters");
  if (r->to->ranges != NULL) r->to->ranges[r->to->range_count] = (regex_range){first, last};
  r->to->range_count++;
  to->count++;
  return CI_OK;
}

/* A range of characters, and the folded forms of its letters where the class folds. */
static ci_status regex_add(regex_reader *r, regex_class *to, uint32_t first, uint32_t last) {
  CI_TRY(regex_add_plain(r, to, (int32_t)first, (int32_t)last));
  if (!to->fold) return CI_OK;
  for (uint32_t c = ci_letter_next(first); c <= last; c = ci_letter_next(c + 1)) {
    const uint32_t k = ci_letter_folded(c);
    if (k < first || k > last) CI_TRY(regex_add_plain(r, to, (int32_t)k, (int32_t)k));
  }
  return CI_OK;
}

static ci_status regex_add_group(regex_reader *r, regex_class *to, int32_t group, bool others) {
  if (others) return regex_add_plain(r, to, REGEX_WITHOUT, group);
  for (int i = 0; i < 8 && regex_groups[group][i + 1] != 0; i += 2) {
    CI_TRY(regex_add(r, to, regex_groups[group][i], regex_groups[group][i + 1]));
  }
  return CI_OK;
}

static regex_class regex_class_here(const regex_reader *r) {
  return (regex_class){.begin = r->to->range_count, .fold = (r->flags & REGEX_FOLD) != 0};
}

static ci_status regex_letters(regex_reader *r, regex_class found) {
  regex_part(r);
  if (r->to->classes != NULL) r->to->classes[r->to->class_count] = found;
  return regex_emit(r, REGEX_CHAR, r->to->class_count++);
}

static ci_status regex_literal(regex_reader *r, uint32_t c) {
  regex_class found = regex_class_here(r);
  CI_TRY(regex_add(r, &found, c, c));
  return regex_letters(r, found);
}

static ci_status regex_assertion(regex_reader *r, int32_t what) {
  regex_part(r);
  return regex_emit(r, REGEX_ASSERT, what);
}

/* ---- escapes ---- */

/* \x7F or \x{10FFFF}, after the x. */
static ci_status regex_hexadecimal(regex_reader *r, uint32_t *c) {
  const bool braces = regex_take(r, "{");
  int digits = 0;
  *c = 0;
  for (int digit; digits < (braces ? 8 : 2) && (digit = regex_digit(r, r->at, 16)) >= 0; digits++, r->at++) {
    *c = *c << 4 | (uint32_t)digit;
  }
  if ((braces ? digits > 0 && regex_take(r, "}") : digits == 2) && *c <= 0x10FFFF) return CI_OK;
  return regex_wrong(r, "expected two hexadecimal digits, or {10FFFF} at most");
}

static ci_status regex_octal(regex_reader *r, uint32_t *c) {
  int digits = 1;
  const bool zero = *c == '0';
  *c -= '0';
  for (int digit; digits < 3 && (digit = regex_digit(r, r->at, 8)) >= 0; digits++, r->at++) {
    *c = *c << 3 | (uint32_t)digit;
  }
  return zero || digits > 1 ? CI_OK : regex_wrong(r, "groups cannot be referred to");
}

static const char regex_plain[] = "a\af\ft\tn\nr\rv\v";

/* The character that an escape stands for, whose letter is *c. */
static ci_status regex_escaped(regex_reader *r, uint32_t *c) {
  const uint32_t letter = *c;
  for (int i = 0; regex_plain[i] != '\0'; i += 2) {
    if (letter == (unsigned char)regex_plain[i]) {
      *c = (unsigned char)regex_plain[i + 1];
      return CI_OK;
    }
  }
  if (letter >= '0' && letter <= '7') return regex_octal(r, c);
  if (letter == 'x') return regex_hexadecimal(r, c);
  if (letter == 'p' || letter == 'P' || letter == 'C') {
    return ci_k_fail(r->k, CI_UNIMPLEMENTED,
                     "the pattern has \\%c, which is not there; list the ranges of characters in "
                     "brackets",
                     (int)letter);
  }
  if (letter < 128 && !ci_regex_parse_in_group(REGEX_ALNUM, letter)) return CI_OK;
  return regex_wrong(r, "RE2 has no such escape");
}

/* The group of \d, \s or \w; REGEX_NONE: another letter. */
static int32_t regex_perl(uint32_t c, bool *others) {
  *others = c == 'D' || c == 'S' || c == 'W';
  if (c == 'd' || c == 'D') return REGEX_DIGIT;
  if (c == 's' || c == 'S') return REGEX_PERL_SPACE;
  return c == 'w' || c == 'W' ? REGEX_WORD : REGEX_NONE;
}

static ci_status regex_escape(regex_reader *r) {
  uint32_t c = 0;
  bool others;
  CI_TRY(regex_next(r, &c));
  const int32_t group = regex_perl(c, &others);
  if (c == 'A' || c == 'z' || c == 'b' || c == 'B') return regex_assertion(r, (int32_t)c);
  if (group != REGEX_NONE) {
    regex_class found = regex_class_here(r);
    CI_TRY(regex_add_group(r, &found, group, others));
    return regex_letters(r, found);
  }
  if (c == 'E') return CI_OK;
  if (c != 'Q') {
    CI_TRY(regex_escaped(r, &c));
    return regex_literal(r, c);
  }
  while (r->at != r->end && !regex_take(r, "\\E")) CI_TRY(regex_literal(r, ci_utf8_next(&r->at)));
  return CI_OK;
}

/* ---- brackets ---- */

/* [:alpha:] or [:^alpha:], if that is here. */
static ci_status regex_named(regex_reader *r, regex_class *to, bool *taken) {
  const char *begin = r->at + 2, *end;
  *taken = false;
  if (!regex_peek(r, "[:")) return CI_OK;
  const bool others = begin != r->end && *begin == '^';
  if (others) begin++;
  for (end = begin; end != r->end && *end >= 'a' && *end <= 'z';) end++;
  if (r->end - end < 2 || end[0] != ':' || end[1] != ']') return CI_OK;
  for (int32_t i = 0; i < REGEX_PERL_SPACE; i++) {
    if (!ci_span_is((ci_span){begin, (size_t)(end - begin)}, regex_group_names[i])) continue;
    *taken = true;
    r->at = end + 2;
    return regex_add_group(r, to, i, others);
  }
  return regex_wrong(r, "there is no such class");
}

/* A character of a class, an escaped one too. */
static ci_status regex_member(regex_reader *r, uint32_t *c) {
  CI_TRY(regex_next(r, c));
  if (*c != '\\') return CI_OK;
  CI_TRY(regex_next(r, c));
  return regex_escaped(r, c);
}

static ci_status regex_bracket(regex_reader *r) {
  regex_class found = regex_class_here(r);
  found.negated = regex_take(r, "^");
  for (bool first = true; first || !regex_peek(r, "]"); first = false) {
    bool taken, others;
    uint32_t low, high;
    CI_TRY(regex_named(r, &found, &taken));
    if (taken) continue;
    const bool escape = r->end - r->at > 1 && *r->at == '\\';
    const int32_t group = escape ? regex_perl((unsigned char)r->at[1], &others) : REGEX_NONE;
    if (group != REGEX_NONE) {
      r->at += 2;
      CI_TRY(regex_add_group(r, &found, group, others));
      continue;
    }
    CI_TRY(regex_member(r, &low));
    high = low;
    if (regex_peek(r, "-") && !regex_peek(r, "-]")) {
      r->at++;
      CI_TRY(regex_member(r, &high));
    }
    if (high < low) return regex_wrong(r, "a range of characters runs backwards");
    CI_TRY(regex_add(r, &found, low, high));
  }
  r->at++;
  return regex_letters(r, found);
}

/* ---- groups and ways ---- */

/* Flags after "(?", from here on; whether a group follows them, rather than its end. */
static ci_status regex_flags(regex_reader *r, bool *group) {
  int flags = r->flags;
  bool negative = false, some = false;
  uint32_t c = 0;
  for (;;) {
    CI_TRY(regex_next(r, &c));
    const int flag = c == 'i'   ? REGEX_FOLD
                     : c == 'm' ? REGEX_LINES
                     : c == 's' ? REGEX_DOT_ALL
                     : c == 'U' ? REGEX_LAZY
                                : 0;
    if (c == ':' || c == ')') break;
    if (flag == 0 && (c != '-' || negative)) return regex_wrong(r, "RE2 has no such group");
    flags = flag == 0 ? flags : negative ? flags & ~flag : flags | flag;
    negative = negative || flag == 0;
    some = flag != 0;
  }
  if (!some && (negative || c == ')')) return regex_wrong(r, "flags are missing");
  r->flags = flags;
  *group = c == ':';
  return CI_OK;
}

/* The name of a group, if one is here; <= and <! begin none. */
static ci_status regex_name(regex_reader *r, bool *named) {
  const bool python = regex_peek(r, "P<");
  *named = python || (regex_peek(r, "<") && r->end - r->at > 1 && r->at[1] != '=' && r->at[1] != '!');
  if (!*named) return CI_OK;
  const char *begin = r->at += python ? 2 : 1;
  while (r->at != r->end && ci_regex_parse_in_group(REGEX_WORD, (unsigned char)*r->at)) r->at++;
  return r->at != begin && regex_take(r, ">") ? CI_OK : regex_wrong(r, "expected the name of a group, and '>'");
}

static ci_status regex_open(regex_reader *r) {
  const int outer = r->flags;
  bool named = true, group = true;
  if (regex_take(r, "?")) {
    CI_TRY(regex_name(r, &named));
    if (!named) CI_TRY(regex_flags(r, &group));
  }
  if (!group) {
    r->open[r->depth].part = REGEX_NONE;
    return CI_OK;
  }
  if (r->depth == REGEX_MOST_DEPTH) return regex_wrong(r, "parentheses nest deeper than 1000");
  regex_part(r);
  r->open[++r->depth] = (regex_group){r->to->step_count, REGEX_NONE, REGEX_NONE, outer, false};
  return CI_OK;
}

/* '|': the steps since the last one become the first of two ways. */
static ci_status regex_way(regex_reader *r) {
  regex_group *group = &r->open[r->depth];
  CI_TRY(regex_insert(r, group->way, REGEX_SPLIT, r->to->step_count - group->way + 2));
  CI_TRY(regex_emit(r, REGEX_JUMP, group->ends));
  group->ends = r->to->step_count - 1;
  group->way = r->to->step_count;
  group->part = REGEX_NONE;
  return CI_OK;
}

/* The ways of the innermost group end here. */
static void regex_close_ways(regex_reader *r) {
  int32_t end = r->open[r->depth].ends;
  while (r->to->steps != NULL && end != REGEX_NONE) {
    const int32_t before = r->to->steps[end].operand;
    r->to->steps[end].operand = r->to->step_count - end;
    end = before;
  }
}

/* ---- repetitions ---- */

/* A number of digits; beyond what is allowed it stays there. */
static bool regex_number(regex_reader *r, int32_t *value) {
  const char *begin = r->at;
  *value = 0;
  for (int digit; (digit = regex_digit(r, r->at, 10)) >= 0; r->at++) {
    *value = *value > REGEX_MOST_REPEATS ? *value : *value * 10 + digit;
  }
  return r->at != begin;
}

/* {n}, {n,} or {n,m} after the brace; anything else is left, and the brace is a letter. */
static bool regex_counts(regex_reader *r, int32_t *least, int32_t *most) {
  const char *begin = r->at;
  bool good = regex_number(r, least);
  *most = *least;
  if (good && regex_take(r, ",") && !regex_number(r, most)) *most = REGEX_ENDLESS;
  good = good && regex_take(r, "}");
  if (!good) r->at = begin;
  return good;
}

static ci_status regex_repeat(regex_reader *r, int32_t least, int32_t most) {
  regex_group *group = &r->open[r->depth];
  if (least > REGEX_MOST_REPEATS || most > REGEX_MOST_REPEATS || (most >= 0 && most < least)) {
    return regex_wrong(r, "bad repetition: at most 1000 times, and in order");
  }
  (void)regex_take(r, "?");
  if (group->part < 0 || group->repeated) return regex_wrong(r, "a repetition follows nothing that can be repeated");
  group->repeated = true;
  const int32_t begin = group->part, size = r->to->step_count - begin;
  if (most == 0) {
    r->to->step_count = begin;
    return CI_OK;
  }
  int32_t body = begin; /* the offset of a copy of the part */
  if (least == 0) {     /* the first copy may be left out */
    const int32_t over = most == REGEX_ENDLESS ? size + 2 : most * (size + 1);
    CI_TRY(regex_insert(r, begin, REGEX_SPLIT, over));
    body++;
    if (most == REGEX_ENDLESS) return regex_emit(r, REGEX_JUMP, -size - 1);
  }
  for (int32_t i = 1; i < least; i++) CI_TRY(regex_copy(r, body, size));
  if (most == REGEX_ENDLESS) {
    CI_TRY(regex_emit(r, REGEX_SPLIT, 2));
    return regex_emit(r, REGEX_JUMP, -size - 1);
  }
  for (int32_t left = most - (least > 0 ? least : 1); left > 0; left--) {
    CI_TRY(regex_emit(r, REGEX_SPLIT, left * (size + 1)));
    CI_TRY(regex_copy(r, body, size));
  }
  return CI_OK;
}

/* ---- patterns ---- */

static ci_status regex_dot(regex_reader *r) {
  regex_class found = {.begin = r->to->range_count, .negated = true};
  if ((r->flags & REGEX_DOT_ALL) == 0) CI_TRY(regex_add(r, &found, '\n', '\n'));
  return regex_letters(r, found);
}

static ci_status regex_one(regex_reader *r) {
  const bool lines = (r->flags & REGEX_LINES) != 0;
  int32_t least, most;
  uint32_t c = 0;
  CI_TRY(regex_next(r, &c));
  switch (c) {
    case '(': return regex_open(r);
    case '|': return regex_way(r);
    case '[': return regex_bracket(r);
    case '.': return regex_dot(r);
    case '^': return regex_assertion(r, lines ? '^' : 'A');
    case '$': return regex_assertion(r, lines ? '$' : 'z');
    case '\\': return regex_escape(r);
    case '*': return regex_repeat(r, 0, REGEX_ENDLESS);
    case '+': return regex_repeat(r, 1, REGEX_ENDLESS);
    case '?': return regex_repeat(r, 0, 1);
    case '{': return regex_counts(r, &least, &most) ? regex_repeat(r, least, most) : regex_literal(r, c);
    case ')':
      if (r->depth == 0) return regex_wrong(r, "a ')' closes nothing");
      regex_close_ways(r);
      r->flags = r->open[r->depth--].flags;
      return CI_OK;
    default: return regex_literal(r, c);
  }
}

size_t ci_regex_parse_most_open(ci_span pattern) {
  size_t found = 1; /* the pattern itself */
  for (size_t i = 0; i < pattern.length && found <= REGEX_MOST_DEPTH; i++) found += pattern.data[i] == '(';
  return found;
}

ci_status ci_regex_parse(ci_kernel *k, ci_span pattern, regex_group *open, regex_program *program) {
  const char *str = pattern.length > 0 ? pattern.data : "";
  regex_reader r = {.k = k, .to = program, .begin = str, .at = str, .end = str + pattern.length, .open = open};
  program->step_count = program->class_count = program->range_count = program->most_steps = 0;
  if (!ci_utf8_valid(pattern)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the pattern is not UTF-8");
  r.open[0] = (regex_group){0, REGEX_NONE, REGEX_NONE, 0, false};
  while (r.at != r.end) CI_TRY(regex_one(&r));
  if (r.depth > 0) return regex_wrong(&r, "a '(' is not closed");
  regex_close_ways(&r);
  return regex_emit(&r, REGEX_MATCH, 0);
}
