/* search.c - looks for inputs that cost much; a fuzzer that any compiler builds.
 *
 *   fuzz_cost [-seed=N] [-runs=N] [-max_total_time=SECONDS] [-max_len=BYTES] [-artifact_prefix=PATH] [-keep_going=1]
 *             FOLDER ...
 *   fuzz_cost [-measure=1] FILE ...        tries these once; with -measure=1 their costs are printed
 *
 * It takes libFuzzer's flags as far as they mean something here, and reports as libFuzzer does. The first folder is
 * the corpus, to which it writes. It goes on from inputs that run a block twice as often as all before, that are
 * shorter, or denser (kept.h): so it climbs by doubling, and costs that multiply are climbed fastest. Most inputs are
 * short, as these are quick; some have the full length, in which findings of short ones grow. */
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

#include "base/ci_common.h"
#include "harness.h"
#include "kept.h"
#include "mutate.h"
#include "work.h"

enum { DEFAULT_LENGTH = 4096, LARGEST_FILE = 1 << 26, HOTTEST = 12 };

static struct {
  uint64_t tried;
  double most; /* part of the bound */
  size_t most_size;
} done;

static struct {
  uint64_t runs, seconds, seed;
  size_t length;
  bool measure, keep_going;
  const char *prefix, *folder;
} flags = {.runs = UINT64_MAX, .seconds = UINT64_MAX, .seed = 1, .length = DEFAULT_LENGTH, .prefix = "./"};

static struct {
  const uint8_t *data;
  size_t size;
} current; /* the subject of a finding */

static work_positions positions;
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
  const uint32_t left = positions.runs[*(const uint32_t *)a], right = positions.runs[*(const uint32_t *)b];
  return (left < right) - (left > right);
}

/* For addr2line. */
static void show_hottest(void) {
  qsort(positions.seen, positions.count, sizeof positions.seen[0], by_runs);
  for (uint32_t i = 0; i < HOTTEST && i < positions.count; i++)
    fprintf(stderr, "%9u times the block before 0x%zx\n", positions.runs[positions.seen[i]],
            (size_t)positions.block[positions.seen[i]]);
}

/* Of SIGABRT and SIGSEGV. */
static void crashed(int number) {
  (void)number;
  work_map = NULL;
  write_input(flags.prefix, "crash-", current.data, current.size);
  _exit(77);
}

void search_found(const char *promise) {
  fprintf(stderr, "#%llu\tbroken promise: %s\n", (unsigned long long)done.tried, promise);
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
  for (uint32_t i = 0; i < positions.count; i++) positions.runs[positions.seen[i]] = 0;
  positions.count = 0;
  current.data = data;
  current.size = size;
  done.tried++;
  work_map = &positions;
  (void)LLVMFuzzerTestOneInput(data, size);
  work_map = NULL;
}

/* Keeps it if it shows anything new; `made`: it came from a change, and the corpus on the disk gets it. */
static void keep_input(const uint8_t *data, size_t size, bool made) {
  const double part = search_cost_of_last().part;
  if (part > 1) return; /* a finding, which does not help to find others */
  if (part > done.most) {
    done.most = part;
    done.most_size = size;
  }
  const kept_news news = kept_add(&positions, data, size, part); /* one that is only better is not worth a file */
  if (made && news == KEPT_LEVEL && flags.folder != NULL) write_input(flags.folder, "", data, size);
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
    case 1: /* insert bytes, perhaps a copy of those at that position */
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

/* Of sixteen inputs, one may have the full length. */
static size_t any_length(void) {
  static const uint32_t lengths[] = {512,  512,  1024, 1024, 1024, 1024, 1024,  2048,
                                     2048, 2048, 2048, 4096, 4096, 8192, 16384, UINT32_MAX};
  const size_t length = lengths[fuzz_below(&chance, sizeof lengths / sizeof lengths[0])];
  return length < flags.length ? length : flags.length;
}

static size_t cross(uint8_t *buffer, const kept_input *input, size_t longest) {
  const kept_input *other = kept_choose(&chance, longest);
  if (other == NULL) return 0;
  return LLVMFuzzerCustomCrossOver(input->data, input->size, other->data, other->size, buffer, longest,
                                   fuzz_below(&chance, UINT32_MAX));
}

/* Writes another input, and returns its length; 0: no input was made. */
static size_t change(uint8_t *buffer) {
  const size_t longest = any_length();
  const kept_input *input = kept_choose(&chance, longest);
  if (input == NULL) return 0;
  if (fuzz_one_in(&chance, 8)) return cross(buffer, input, longest);
  size_t size = input->size;
  memcpy(buffer, input->data, size);
  for (uint32_t changes = 1 + fuzz_below(&chance, 3); changes > 0; changes--)
    size = LLVMFuzzerCustomMutator(buffer, size, longest, fuzz_below(&chance, UINT32_MAX));
  return size == input->size && memcmp(buffer, input->data, size) == 0 ? 0 : size;
}

static void report(const char *what) {
  const kept_figures kept = kept_count();
  fprintf(stderr, "#%llu\t%s cov: %u ft: %u corp: %u most: %.3f of what is allowed, by %zu bytes\n",
          (unsigned long long)done.tried, what, kept.blocks, kept.levels, kept.inputs, done.most, done.most_size);
}

static bool try_one(uint8_t *buffer) {
  const size_t size = change(buffer);
  if (size == 0) return true;
  uint8_t *exact = malloc(size);
  if (exact == NULL) return false;
  memcpy(exact, buffer, size);
  run_input(exact, size);
  keep_input(exact, size, true);
  free(exact);
  return true;
}

static int search(void) {
  uint8_t *buffer = malloc(flags.length + 1);
  const time_t started = time(NULL);
  if (buffer == NULL || kept_count().inputs == 0) return fprintf(stderr, "there is no input to begin with\n"), 1;
  report("INITED");
  for (uint64_t runs = 0; runs < flags.runs; runs++) {
    if (runs % 64 == 0 && (uint64_t)(time(NULL) - started) >= flags.seconds) break;
    if (!try_one(buffer)) return 1;
    if ((runs & (runs + 1)) == 0 && runs > 1000) report("pulse");
  }
  report("DONE");
  fprintf(stderr, "stat::number_of_executed_units: %llu\n", (unsigned long long)done.tried);
  free(buffer);
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
    printf("%zu %llu %llu %llu %s\n", size, (unsigned long long)cost.blocks, (unsigned long long)cost.memory,
           (unsigned long long)cost.ahead, path);
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
