/* test_file.c - CRC-32C, names, reading and durable writing of files. */
#include "system/posix.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "base/crc32c.h"
#include "system/file.h"

/* Bit by bit, as the definition says. */
static uint32_t crc_of(uint32_t crc, const uint8_t *p, size_t n) {
  crc = ~crc;
  for (; n > 0; n--, p++) {
    crc ^= *p;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1u ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

enum { CRC_DATA = 40000 };

static uint32_t crc_random(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static void test_crc(void) {
  uint8_t *data = malloc(CRC_DATA);
  uint32_t state = 1;
  CHECK(data != NULL);
  for (size_t i = 0; i < CRC_DATA; i++) data[i] = (uint8_t)crc_random(&state);
  CHECK(ci_crc32c(0, "123456789", 9) == 0xe3069283u);
  CHECK(ci_crc32c(0, "", 0) == 0);
  for (int way = 0; way < ci_crc32c_ways(); way++) {
    for (uint32_t n = 0; n <= 1100; n++) { /* each length, from every alignment to 64 bytes */
      const uint8_t *at = data + n * 37 % 64;
      CHECK(ci_crc32c_by(way, n, at, n) == crc_of(n, at, n));
    }
    for (int i = 0; i < 30; i++) {
      size_t start = crc_random(&state) % 1000, n = crc_random(&state) % (CRC_DATA - 1000), part = n / 3;
      uint32_t expected = crc_of(0, data + start, n);
      CHECK(ci_crc32c_by(way, 0, data + start, n) == expected);
      CHECK(ci_crc32c_by(way, ci_crc32c_by(way, 0, data + start, part), data + start + part, n - part) == expected);
    }
  }
  CHECK(ci_crc32c(0, data, CRC_DATA) == crc_of(0, data, CRC_DATA));
  free(data);
}

static void test_names(void) {
  static const char *const good[] = {"a", "model-3.index", "A_b.0", "a..b", "a b", "loss=0.3", "\xc3\xa4", "it's", "~"};
  static const char *const bad[] = {"",     ".",    "..",  ".a",    "a/b",  "../a", "/etc/x",
                                    "a\\b", "a\"b", "a\n", "a\x7f", "\xc3", "\xff"};
  char longest[257];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(ci_file_safe_name(good[i], strlen(good[i])));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!ci_file_safe_name(bad[i], strlen(bad[i])));
  CHECK(!ci_file_safe_name("a\0b", 3));
  memset(longest, 'a', sizeof longest);
  CHECK(ci_file_safe_name(longest, 255) && !ci_file_safe_name(longest, 256));
}

static void path_of(char *path, size_t size, const char *folder, const char *name) {
  CHECK((size_t)snprintf(path, size, "%s/%s", folder, name) < size);
}

static void test_write_and_read(const char *where) {
  char prefix[300];
  const char *base;
  ci_folder folder;
  ci_writer writer;
  ci_bytes bytes;
  ci_error error;
  struct stat about;
  path_of(prefix, sizeof prefix, where, "file");
  mode_t mask = umask(027);
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, &error) == CI_OK && strcmp(base, "file") == 0);
  CHECK(ci_writer_create(&folder, "tmp-file", &writer, &error) == CI_OK);
  CHECK(ci_writer_put(&writer, "hello ", 6, &error) == CI_OK && ci_writer_put(&writer, "world", 5, &error) == CI_OK);
  CHECK(ci_writer_finish(&writer, &error) == CI_OK && writer.written == 11);
  CHECK(ci_writer_create(&folder, "tmp-file", &writer, &error) == CI_ALREADY_EXISTS);
  CHECK(strstr(error.message, "tmp-file"));
  CHECK(ci_folder_rename(&folder, "tmp-file", "file", &error) == CI_OK && ci_folder_sync(&folder, &error) == CI_OK);
  CHECK(stat(prefix, &about) == 0 && (about.st_mode & 0777) == 0640);
  umask(mask);
  CHECK(ci_folder_read(&folder, "file", 100, &bytes, &error) == CI_OK && bytes.length == 11);
  CHECK(memcmp(bytes.data, "hello world", 11) == 0 && (uintptr_t)bytes.data % 64 == 0);
  ci_file_unmap(NULL, &bytes);
  CHECK(ci_file_map(NULL, prefix, 100, &bytes, &error) == CI_OK && bytes.length == 11);
  ci_file_unmap(NULL, &bytes);
  CHECK(ci_file_map(NULL, prefix, 10, &bytes, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(ci_writer_create(&folder, "gone", &writer, &error) == CI_OK);
  ci_writer_abandon(&writer);
  ci_writer_abandon(&writer);
  CHECK(ci_folder_read(&folder, "gone", 100, &bytes, &error) == CI_NOT_FOUND);
  ci_folder_unlink(&folder, "file");
  ci_folder_close(&folder);
  ci_folder_close(&folder);
}

static void test_an_empty_file_has_nothing_to_map(const char *where) {
  char prefix[300];
  const char *base;
  ci_folder folder;
  ci_writer writer;
  ci_reader reader;
  ci_bytes bytes;
  path_of(prefix, sizeof prefix, where, "empty");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, NULL) == CI_OK);
  CHECK(ci_writer_create(&folder, "empty", &writer, NULL) == CI_OK && ci_writer_finish(&writer, NULL) == CI_OK);
  CHECK(ci_file_map(NULL, prefix, 100, &bytes, NULL) == CI_OK && bytes.length == 0 && !bytes.mapped);
  ci_file_unmap(NULL, &bytes);
  ci_file_unmap(NULL, &bytes);
  CHECK(ci_reader_open(&folder, "empty", 100, &reader, NULL) == CI_OK && ci_reader_map(&reader) == NULL);
  ci_reader_close(&reader);
  ci_folder_unlink(&folder, "empty");
  ci_folder_close(&folder);
}

/* Pages of a mapped file may be given back: full ones, of this file alone. */
static void test_only_pages_of_the_file_are_forgotten(const char *where) {
  enum { PAGES = 1 << 18 };
  static const uint8_t zeros[PAGES];
  char prefix[300];
  const char *base;
  ci_folder folder;
  ci_writer writer;
  ci_bytes bytes;
  path_of(prefix, sizeof prefix, where, "pages");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, NULL) == CI_OK);
  CHECK(ci_writer_create(&folder, "pages", &writer, NULL) == CI_OK &&
        ci_writer_put(&writer, zeros, PAGES, NULL) == CI_OK);
  CHECK(ci_writer_finish(&writer, NULL) == CI_OK && ci_file_map(NULL, prefix, PAGES, &bytes, NULL) == CI_OK);
  const ci_bytes front = {.data = bytes.data, .length = PAGES / 2, .mapped = true},
                 copy = {.data = zeros, .length = PAGES};
  const ci_bytes back = {.data = bytes.data + PAGES / 2, .length = PAGES / 2, .mapped = true};
  ci_file_forget(&bytes, bytes.data + 1, PAGES - 1);
  ci_file_forget(&bytes, bytes.data + 1, 1);
  ci_file_forget(&bytes, bytes.data, 1);
  ci_file_forget(&copy, zeros, PAGES);
  ci_file_forget(&back, bytes.data, PAGES / 2);
  ci_file_forget(&front, bytes.data + PAGES / 2 + 1, 1);
  ci_file_forget(&front, bytes.data, PAGES);
  for (size_t i = 0; i < PAGES; i++) CHECK(bytes.data[i] == 0);
  ci_file_unmap(NULL, &bytes);
  ci_folder_unlink(&folder, "pages");
  ci_folder_close(&folder);
}

static void test_read_at_positions(const char *where) {
  char prefix[300], data[8];
  const char *base;
  ci_folder folder;
  ci_writer writer;
  ci_reader reader;
  ci_error error;
  path_of(prefix, sizeof prefix, where, "places");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, &error) == CI_OK);
  CHECK(ci_writer_create(&folder, "places", &writer, &error) == CI_OK);
  CHECK(ci_writer_put(&writer, "0123456789", 10, &error) == CI_OK && ci_writer_finish(&writer, &error) == CI_OK);
  CHECK(ci_reader_open(&folder, "places", 9, &reader, &error) == CI_RESOURCE_EXHAUSTED && reader.handle < 0);
  CHECK(ci_reader_open(&folder, "absent", 9, &reader, &error) == CI_NOT_FOUND && reader.handle < 0);
  CHECK(ci_reader_open(&folder, "places", 10, &reader, &error) == CI_OK && reader.size == 10);
  CHECK(ci_reader_get(&reader, 7, data, 3, &error) == CI_OK && memcmp(data, "789", 3) == 0);
  CHECK(ci_reader_get(&reader, 1, data, 8, &error) == CI_OK && memcmp(data, "12345678", 8) == 0);
  CHECK(ci_reader_get(&reader, 10, data, 0, &error) == CI_OK);
  CHECK(ci_reader_get(&reader, 3, data, 8, &error) == CI_DATA_LOSS && strstr(error.message, "ends at byte 10"));
  ci_reader_close(&reader);
  ci_reader_close(&reader);
  ci_folder_unlink(&folder, "places");
  ci_folder_close(&folder);
}

static void test_refusals(const char *where) {
  char path[300];
  const char *base;
  ci_folder folder;
  ci_bytes bytes;
  ci_reader reader;
  ci_error error;
  CHECK(ci_file_map(NULL, where, 100, &bytes, &error) == CI_INVALID_ARGUMENT); /* a folder */
  path_of(path, sizeof path, where, "absent");
  CHECK(ci_file_map(NULL, path, 100, &bytes, &error) == CI_NOT_FOUND && strstr(error.message, "absent"));
  path_of(path, sizeof path, where, "fifo");
  CHECK(mkfifo(path, 0600) == 0);
  CHECK(ci_file_map(NULL, path, 100, &bytes, &error) == CI_INVALID_ARGUMENT);
  path_of(path, sizeof path, where, "link");
  CHECK(symlink("/etc/passwd", path) == 0);
  CHECK(ci_folder_open(NULL, path, &folder, &base, &error) == CI_OK);
  CHECK(ci_folder_read(&folder, "link", 1 << 20, &bytes, &error) != CI_OK);
  CHECK(ci_reader_open(&folder, "link", 1 << 20, &reader, &error) != CI_OK);
  CHECK(ci_reader_open(&folder, "fifo", 1 << 20, &reader, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_folder_read(&folder, "fifo", 1 << 20, &bytes, &error) == CI_INVALID_ARGUMENT);
  ci_folder_unlink(&folder, "link");
  ci_folder_unlink(&folder, "fifo");
  ci_folder_close(&folder);
  path_of(path, sizeof path, where, "absent/model");
  CHECK(ci_folder_open(NULL, path, &folder, &base, &error) == CI_NOT_FOUND);
  path_of(path, sizeof path, where, "");
  CHECK(ci_folder_open(NULL, path, &folder, &base, &error) == CI_INVALID_ARGUMENT);
}

/* A file that cannot be examined may well be there: it is not deleted as if it were not. */
static void test_what_is_there(const char *where) {
  char prefix[300], longest[400];
  const char *base;
  ci_folder folder;
  ci_writer writer;
  ci_error error;
  path_of(prefix, sizeof prefix, where, "there");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, &error) == CI_OK);
  CHECK(ci_writer_create(&folder, "there", &writer, &error) == CI_OK && ci_writer_finish(&writer, &error) == CI_OK);
  memset(longest, 'a', sizeof longest);
  longest[sizeof longest - 1] = 0;
  CHECK(ci_folder_has(&folder, "there") && !ci_folder_has(&folder, "absent") && ci_folder_has(&folder, longest));
  ci_folder_close(&folder);
}

/* Systems that cannot sync a folder return EINVAL, as for pipes: that is not a failure. */
static void test_folders_that_cannot_be_synced(const char *where) {
  char prefix[300];
  const char *base;
  ci_folder folder;
  ci_error error;
  int ends[2];
  path_of(prefix, sizeof prefix, where, "any");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, &error) == CI_OK && pipe(ends) == 0);
  const int handle = folder.handle;
  folder.handle = ends[0];
  CHECK(ci_folder_sync(&folder, &error) == CI_OK);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(ci_folder_sync(&folder, &error) == CI_UNAVAILABLE && strstr(error.message, where) != NULL);
  folder.handle = handle;
  ci_folder_close(&folder);
}

#ifdef __linux__
static void test_a_full_disk_is_reported(void) {
  const ci_folder folder = {.path = (char *)(uintptr_t)"folder/"};
  ci_writer writer = {.folder = &folder, .name = "model", .handle = open("/dev/full", O_WRONLY)};
  ci_error error;
  CHECK(writer.handle >= 0 && ci_writer_put(&writer, "data", 4, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(strstr(error.message, "cannot write 'folder/model'") != NULL && close(writer.handle) == 0);
}
#endif

/* Where the file system keeps such times they do not wrap. */
static void test_times_far_away(const char *where) {
  const struct timespec later[2] = {{0, 0}, {32503680000, 0}}, earlier[2] = {{0, 0}, {-32503680000, 0}};
  char prefix[300];
  const char *base;
  ci_folder folder;
  ci_error error;
  int64_t modified = 0, arrived = 0;
  CHECK(sizeof(time_t) == 8 && sizeof(off_t) == 8);
  path_of(prefix, sizeof prefix, where, "there");
  CHECK(ci_folder_open(NULL, prefix, &folder, &base, &error) == CI_OK);
  CHECK(!ci_folder_times(&folder, "absent", &modified, &arrived));
  CHECK(utimensat(AT_FDCWD, prefix, later, 0) == 0 && ci_folder_times(&folder, "there", &modified, &arrived));
  CHECK(modified > arrived && arrived > 0);
  CHECK(utimensat(AT_FDCWD, prefix, earlier, 0) == 0);
  CHECK(ci_folder_times(&folder, "there", &modified, &arrived) && modified < 0);
  ci_folder_unlink(&folder, "there");
  ci_folder_close(&folder);
}

int main(void) {
  char where[] = "test_file_XXXXXX";
  test_crc();
  test_names();
  CHECK(mkdtemp(where) != NULL);
  test_write_and_read(where);
  test_an_empty_file_has_nothing_to_map(where);
  test_only_pages_of_the_file_are_forgotten(where);
  test_read_at_positions(where);
  test_refusals(where);
  test_what_is_there(where);
  test_folders_that_cannot_be_synced(where);
#ifdef __linux__
  test_a_full_disk_is_reported();
#endif
  test_times_far_away(where);
  CHECK(rmdir(where) == 0); /* nothing is left over */
  return CHECK_END;
}
