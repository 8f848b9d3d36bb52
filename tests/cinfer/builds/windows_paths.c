/* windows_paths.c - models and checkpoints under names that no code page of Windows has all of.
 *
 * A program for Windows, also under wine. Argument: a folder that exists; below it everything is made and read. Returns
 * 0 when all held, else says what did not. */
#include <stdio.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "cinfer.h"

#define NAME "\xe6\xa8\xa1\xe5\x9e\x8b-\xc3\xa4\xd0\xb6" /* Chinese, German, Cyrillic */
#define WIDE_NAME L"\x6a21\x578b-\x00e4\x0436"

static int failures;
#define CHECK(condition) \
  (void)((condition) || (failures++, printf("line %d: %s; %s\n", __LINE__, #condition, error.message)))

static ci_error error;

static ci_state *state_with(float number) {
  const ci_info info = {.name = "w", .dtype = CI_FLOAT, .rank = 0};
  ci_state *state = NULL;
  int index = -1;
  ci_tensor value = {&number, sizeof number, CI_FLOAT, 0, {0}};
  CHECK(ci_state_open(NULL, &state, &error) == CI_OK);
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  CHECK(ci_variable_set(state, index, &value, &error) == CI_OK);
  return state;
}

static float number_of(const ci_state *state) {
  ci_tensor value;
  CHECK(ci_variable_view(state, 0, &value, &error) == CI_OK);
  return *(const float *)value.data;
}

/* Whether Windows itself knows a file by that name. */
static int is_there(const wchar_t *folder, const wchar_t *name) {
  wchar_t path[MAX_PATH];
  return swprintf(path, MAX_PATH, L"%ls\\%ls", folder, name) > 0 && GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

static void test_checkpoints(const char *folder, const wchar_t *wide) {
  char prefix[MAX_PATH];
  ci_save_options options = ci_save_defaults();
  ci_restored restored = {.size = sizeof restored};
  snprintf(prefix, sizeof prefix, "%s/" NAME "-1", folder);
  for (options.step = 1; options.step <= 3; options.step++) {
    prefix[strlen(prefix) - 1] = (char)('0' + options.step);
    options.max_to_keep = 2;
    ci_state *state = state_with((float)options.step);
    CHECK(ci_save_with(state, NULL, prefix, &options, &error) == CI_OK);
    ci_state_close(state);
  }
  CHECK(is_there(wide, WIDE_NAME L"-3.index") && !is_there(wide, WIDE_NAME L"-1.index"));
  ci_state *state = state_with(0.0f);
  CHECK(ci_restore_latest(state, folder, NULL, &restored, &error) == CI_OK);
  CHECK(strcmp(restored.name, NAME "-3") == 0 && restored.step == 3 && number_of(state) == 3.0f);
  prefix[strlen(prefix) - 1] = '2';
  CHECK(ci_restore(state, prefix, NULL, &error) == CI_OK && number_of(state) == 2.0f);
  ci_state_close(state);
}

static void test_a_model(const char *folder, const wchar_t *wide) {
  wchar_t path[MAX_PATH];
  char name[MAX_PATH];
  ci_model *model = NULL;
  DWORD written = 0;
  snprintf(name, sizeof name, "%s/" NAME ".gio", folder);
  CHECK(ci_open(name, NULL, &model, &error) == CI_NOT_FOUND && strstr(error.message, NAME) != NULL);
  swprintf(path, MAX_PATH, L"%ls\\%ls.gio", wide, WIDE_NAME);
  HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
  CHECK(file != INVALID_HANDLE_VALUE && WriteFile(file, "no model", 8, &written, NULL) && written == 8);
  CloseHandle(file);
  CHECK(ci_open(name, NULL, &model, &error) == CI_DATA_LOSS); /* it was read */
}

static void test_what_is_no_utf8(const char *folder) {
  char name[MAX_PATH];
  ci_model *model = NULL;
  snprintf(name, sizeof name, "%s/\xe4.gio", folder); /* Latin-1 */
  CHECK(ci_open(name, NULL, &model, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "is not UTF-8") != NULL);
}

int main(int argc, char **argv) {
  char folder[MAX_PATH];
  wchar_t wide[MAX_PATH];
  if (argc < 2) return 2;
  snprintf(folder, sizeof folder, "%s/" NAME, argv[1]);
  swprintf(wide, MAX_PATH, L"%hs\\%ls", argv[1], WIDE_NAME);
  CHECK(CreateDirectoryW(wide, NULL));
  test_checkpoints(folder, wide);
  test_a_model(folder, wide);
  test_what_is_no_utf8(folder);
  return failures > 0;
}
