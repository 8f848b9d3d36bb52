/* search.c - looks for inputs that cost much; a fuzzer that any compiler builds.
 *
 *   fuzz_cost [-seed=N] [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] [-artifact_prefix=PATH] [-keep_going=1]
 *             FOLDER ...
 *   fuzz_cost [-measure=1] FILE ...        tries these once; with -measure=1 their costs are printed
 *
 * It takes libFuzzer's flags as far as they mean something here, and reports as libFuzzer does. The first folder is
 * the corpus, to which it writes. An input is kept if a block runs about twice as often as in all before, or if it is
 * smaller than what was kept for the same: so it climbs by doubling, and what multiplies is climbed fastest. */
#define _POSIX_C_SOURCE 200809L
#include "search.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ci_common.h"
#include "harness.h"
#include "mutate.h"
#include "work.h"

enum { LEVELS = 32, MOST_INPUTS = 1 << 16, DEFAULT_LENGTH = 4096, LARGEST_FILE = 1 << 26, HOTTEST = 12 };

typedef struct search_input {
  uint8_t *data;
  size_t size;
  uint32_t held; /* levels for which it is kept; none: it is no more */
  double part;
} search_input;

static struct {
  search_input inputs[MOST_INPUTS];
  uint32_t count, kept;
  uint32_t holder[WORK_PLACES][LEVELS]; /* the input, and one, that reaches it with the fewest bytes */
  uint32_t places, levels;
  uint64_t tried;
  double most; /* part of what is allowed */
  size_t most_size;
} corpus;

static struct {
  uint64_t runs, seconds, seed;
  size_t length;
  bool measure, keep_going;
  const char *prefix, *folder;
} flags = {.runs = UINT64_MAX, .seconds = UINT64_MAX, .seed = 1, .length = DEFAULT_LENGTH, .prefix = "./"};

static struct {
  const uint8_t *data;
  size_t size;
} current; /* what a finding is about */

static work_places places;
static fuzz_random chance;

bool search_measures(void) { return flags.measure; }

/* ---- files ---- */

static void write_input(const char *before, const char *kind, const uint8_t *data, size_t size) {
  char path[4096];
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 1099511628211u;
  snprintf(path, sizeof path, "%s%s%016llx", before, kind, (unsigned long long)hash);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, data, size) != (ssize_t)size) fprintf(stderr, "%s cannot be written\n", path);
  else if (kind[0] != '\0') fprintf(stderr, "the input is in %s\n", path);
  if (file >= 0) close(file);
}

static int by_runs(const void *a, const void *b) {
  const uint32_t left = places.runs[*(const uint16_t *)a], right = places.runs[*(const uint16_t *)b];
  return (left < right) - (left > right);
}

/* For addr2line. */
static void show_hottest(void) {
  qsort(places.seen, places.count, sizeof places.seen[0], by_runs);
  for (uint32_t i = 0; i < HOTTEST && i < places.count; i++)
    fprintf(stderr, "%9u times the block before 0x%zx\n", places.runs[places.seen[i]],
            (size_t)places.block[places.seen[i]]);
}

/* Of SIGABRT and SIGSEGV. */
static void crashed(int number) {
  (void)number;
  work_map = NULL;
  write_input(flags.prefix, "crash-", current.data, current.size);
  _exit(77);
}

void search_found(const char *promise) {
  fprintf(stderr, "#%llu\tbroken promise: %s\n", (unsigned long long)corpus.tried, promise);
  if (!flags.keep_going) show_hottest();
  write_input(flags.prefix, "crash-", current.data, current.size);
  if (!flags.keep_going) _exit(77);
}

static uint8_t *read_input(const char *path, size_t *size) {
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > LARGEST_FILE) return NULL;
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc((size_t)about.st_size + 1);
  *size = file != NULL && data != NULL ? fread(data, 1, (size_t)about.st_size, file) : 0;
  if (file != NULL) fclose(file);
  return data;
}

/* ---- one input ---- */

static void run_input(const uint8_t *data, size_t size) {
  for (uint32_t i = 0; i < places.count; i++) places.runs[places.seen[i]] = 0;
  places.count = 0;
  current.data = data;
  current.size = size;
  corpus.tried++;
  work_map = &places;
  (void)LLVMFuzzerTestOneInput(data, size);
  work_map = NULL;
}

static uint32_t level_of(uint32_t runs) {
  uint32_t level = 0;
  while (runs >>= 1) level++;
  return level;
}

static uint32_t *holder_of(uint32_t seen) {
  const uint16_t place = places.seen[seen];
  return &corpus.holder[place][level_of(places.runs[place])];
}

static bool is_better(uint32_t held, size_t size) { return held == 0 || size < corpus.inputs[held - 1].size; }

static void drop(search_input *input) {
  free(input->data);
  input->data = NULL;
  input->size = 0;
  corpus.kept--;
}

static void take(uint32_t *holder, uint32_t number) {
  if (*holder == 0) {
    corpus.levels++;
  } else {
    search_input *before = &corpus.inputs[*holder - 1];
    if (--before->held == 0) drop(before);
  }
  *holder = number + 1;
  corpus.inputs[number].held++;
}

static uint32_t free_number(void) {
  if (corpus.count < MOST_INPUTS) return corpus.count++;
  for (uint32_t i = 0; i < MOST_INPUTS; i++) {
    if (corpus.inputs[i].data == NULL) return i;
  }
  return MOST_INPUTS;
}

static bool is_new(size_t size) {
  for (uint32_t i = 0; i < places.count; i++) {
    if (is_better(*holder_of(i), size)) return true;
  }
  return false;
}

/* Keeps it if it shows anything new; `made`: it came from a change, and the corpus on the disk gets it. */
static void keep_input(const uint8_t *data, size_t size, bool made) {
  const double part = search_cost_of_last().part;
  if (part > 1) return; /* a finding, which is no help to find others */
  if (part > corpus.most) {
    corpus.most = part;
    corpus.most_size = size;
  }
  if (!is_new(size)) return;
  const uint32_t number = free_number();
  if (number == MOST_INPUTS) return;
  search_input *input = &corpus.inputs[number];
  *input = (search_input){.data = malloc(size + 1), .size = size, .part = part};
  if (input->data == NULL) return;
  memcpy(input->data, data, size);
  corpus.kept++;
  bool opens = false; /* a level that none had: what is only smaller is not worth a file */
  for (uint32_t i = 0; i < places.count; i++) {
    uint32_t *holder = holder_of(i);
    opens = opens || *holder == 0;
    if (is_better(*holder, size)) take(holder, number);
  }
  if (made && opens && flags.folder != NULL) write_input(flags.folder, "", data, size);
}

/* ---- changes of bytes, as libFuzzer gives them to a mutator ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
  const size_t at = size > 0 ? fuzz_below(&chance, (uint32_t)size) : 0;
  const size_t part = 1 + fuzz_below(&chance, 8);
  switch (fuzz_below(&chance, 4)) {
    case 0: /* bytes go */
      if (size < at + part + 1) return size;
      memmove(data + at, data + at + part, size - at - part);
      return size - part;
    case 1: /* bytes come, maybe those that stand there once more */
      if (size + part > most) return size;
      memmove(data + at + part, data + at, size - at);
      for (size_t i = 0; i < part && fuzz_one_in(&chance, 2); i++) data[at + i] = (uint8_t)fuzz_below(&chance, 256);
      return size + part;
    default:
      if (size > 0) data[at] = (uint8_t)(fuzz_one_in(&chance, 2) ? fuzz_below(&chance, 256) : data[at] ^ 1u << at % 8);
      return size;
  }
}

/* ---- the search ---- */

/* One input of two is the dearest of a few: the dearest of all are slow. */
static const search_input *choose(void) {
  const search_input *best = NULL;
  const uint32_t tries = fuzz_one_in(&chance, 2) ? 4 : 1;
  for (uint32_t i = 0; i < tries || best == NULL; i++) {
    const search_input *input = &corpus.inputs[fuzz_below(&chance, corpus.count)];
    if (input->data != NULL && (best == NULL || input->part > best->part)) best = input;
  }
  return best;
}

static size_t change(uint8_t *room) {
  const search_input *input = choose();
  size_t size = input->size < flags.length ? input->size : flags.length;
  if (fuzz_one_in(&chance, 8)) {
    const search_input *other = choose();
    size = LLVMFuzzerCustomCrossOver(input->data, input->size, other->data, other->size, room, flags.length,
                                     fuzz_below(&chance, UINT32_MAX));
    if (size > 0) return size;
    size = input->size < flags.length ? input->size : flags.length;
  }
  memcpy(room, input->data, size);
  for (uint32_t changes = 1 + fuzz_below(&chance, 3); changes > 0; changes--)
    size = LLVMFuzzerCustomMutator(room, size, flags.length, fuzz_below(&chance, UINT32_MAX));
  return size;
}

static void report(const char *what) {
  fprintf(stderr, "#%llu\t%s cov: %u ft: %u corp: %u most: %.3f of what is allowed, by %zu bytes\n",
          (unsigned long long)corpus.tried, what, corpus.places, corpus.levels, corpus.kept, corpus.most,
          corpus.most_size);
}

static void count_places(void) {
  corpus.places = 0;
  for (uint32_t p = 0; p < WORK_PLACES; p++) {
    uint32_t held = 0;
    for (int level = 0; level < LEVELS; level++) held |= corpus.holder[p][level];
    corpus.places += held != 0;
  }
}

static int search(void) {
  uint8_t *room = malloc(flags.length + 1);
  const time_t started = time(NULL);
  if (room == NULL || corpus.kept == 0) return fprintf(stderr, "there is no input to begin with\n"), 1;
  count_places();
  report("INITED");
  for (uint64_t runs = 0; runs < flags.runs; runs++) {
    if (runs % 64 == 0 && (uint64_t)(time(NULL) - started) >= flags.seconds) break;
    const size_t size = change(room);
    uint8_t *exact = malloc(size + 1);
    if (exact == NULL) return 1;
    memcpy(exact, room, size);
    run_input(exact, size);
    keep_input(exact, size, true);
    free(exact);
    if ((runs & (runs + 1)) == 0 && runs > 1000) {
      count_places();
      report("pulse");
    }
  }
  count_places();
  report("DONE");
  fprintf(stderr, "stat::number_of_executed_units: %llu\n", (unsigned long long)corpus.tried);
  free(room);
  return 0;
}

/* ---- the command line ---- */

static void take_input(const char *path) {
  size_t size;
  uint8_t *data = read_input(path, &size);
  if (data == NULL) return;
  run_input(data, size);
  const search_cost cost = search_cost_of_last();
  if (flags.measure)
    printf("%zu %llu %llu %s\n", size, (unsigned long long)cost.blocks, (unsigned long long)cost.memory, path);
  else keep_input(data, size, false);
  free(data);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void take_folder(const char *folder) {
  struct dirent **entries;
  const int count = scandir(folder, &entries, NULL, by_name);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    take_input(path);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

static bool take_flag(const char *text) {
  static char prefix[2048];
  const char *value = strchr(text, '=');
  if (text[0] != '-' || value == NULL) return text[0] == '-';
  const size_t length = (size_t)(++value - text);
  const uint64_t number = strtoull(value, NULL, 10);
  if (strncmp(text, "-seed=", length) == 0) flags.seed = number;
  else if (strncmp(text, "-runs=", length) == 0) flags.runs = number;
  else if (strncmp(text, "-max_total_time=", length) == 0) flags.seconds = number;
  else if (strncmp(text, "-max_len=", length) == 0) flags.length = (size_t)number;
  else if (strncmp(text, "-measure=", length) == 0) flags.measure = number != 0;
  else if (strncmp(text, "-keep_going=", length) == 0) flags.keep_going = number != 0;
  else if (strncmp(text, "-artifact_prefix=", length) == 0) {
    snprintf(prefix, sizeof prefix, "%s", value);
    flags.prefix = prefix;
  }
  return true;
}

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int main(int count, char **arguments) {
  static char first[4096];
  bool searches = false;
  for (int i = 1; i < count; i++) (void)take_flag(arguments[i]);
  chance.state = flags.seed;
  (void)signal(SIGABRT, crashed);
  (void)signal(SIGSEGV, crashed);
  for (int i = 1; i < count; i++) {
    if (arguments[i][0] == '-') continue;
    if (!is_folder(arguments[i])) {
      take_input(arguments[i]);
      continue;
    }
    take_folder(arguments[i]);
    if (flags.folder != NULL) continue;
    snprintf(first, sizeof first, "%s/", arguments[i]);
    flags.folder = first;
    searches = !flags.measure;
  }
  return searches ? search() : 0;
}
