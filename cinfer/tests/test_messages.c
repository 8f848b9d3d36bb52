/* test_messages.c - S18: names from a file are data in messages: printable, cut, terminated, never a format. */
#include <stdlib.h>

#include "check.h"
#include "untrusted_plans.h"

enum { LONG = 1 << 20 };

/* Damages a file so that a name is in the message. */
typedef void (*damage)(ci_out *graph, ci_out *model, const char *name);

static void same_name(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  for (int i = 0; i < 2; i++) {
    ci_out node = untrusted_node(name, "", 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

static void reads_nothing(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1);
  untrusted_string(&node, CI_PB_NODE_INPUT, name);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void waits_for_nothing(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1);
  untrusted_string(&node, CI_PB_NODE_CONTROL_INPUT, name);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void no_version(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  ci_out node = untrusted_node(name, "", 0);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void many_inputs(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  ci_out source = {0}, node = untrusted_node(name, "Neg", 13);
  untrusted_string(&source, CI_PB_SOURCE_FILE, name);
  untrusted_string(&source, CI_PB_SOURCE_FUNCTION, name);
  untrusted_add(&node, CI_PB_NODE_SOURCE, &source);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void empty_attribute(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1), attribute = {0};
  untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, name);
  untrusted_add(&node, CI_PB_NODE_ATTR, &attribute);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void formal_of_root(ci_out *graph, ci_out *model, const char *name) {
  (void)model;
  untrusted_string(graph, CI_PB_GRAPH_INPUT, name);
}

static void signature_of_nothing(ci_out *graph, ci_out *model, const char *name) {
  (void)graph;
  ci_out signature = {0};
  untrusted_bind(&signature, CI_PB_SIGNATURE_OUTPUT, name, name);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void target_of_nothing(ci_out *graph, ci_out *model, const char *name) {
  (void)graph;
  ci_out signature = {0};
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, name);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void unknown_operator(ci_out *graph, ci_out *model, const char *name) {
  ci_out signature = {0}, node = untrusted_node(name, name, 1);
  untrusted_string(&node, CI_PB_NODE_DOMAIN, name);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, name);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void function_without_outputs(ci_out *graph, ci_out *model, const char *name) {
  ci_out function = {0}, node = untrusted_node(name, name, 1);
  untrusted_string(&function, CI_PB_FUNCTION_NAME, name);
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  untrusted_outputs(&node, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static const struct {
  const char *what;
  damage write;
} damages[] = {
    {"two nodes of one name", same_name},
    {"a value that nothing makes", reads_nothing},
    {"a wait for nothing", waits_for_nothing},
    {"no version", no_version},
    {"another number of inputs", many_inputs},
    {"an attribute without value", empty_attribute},
    {"a formal input of the root", formal_of_root},
    {"an output that nothing makes", signature_of_nothing},
    {"a target that is not a node", target_of_nothing},
    {"an unknown operator", unknown_operator},
    {"a function without outputs", function_without_outputs},
};

static bool printable(const char *text, size_t size) {
  const char *end = memchr(text, '\0', size);
  if (end == NULL || !ci_utf8_valid((ci_span){text, (size_t)(end - text)})) return false;
  for (const char *at = text; at < end; at++) {
    if ((unsigned char)*at < ' ' || *at == '\x7f') return false;
    if (*at == '\xc2' && (unsigned char)at[1] < 0xa0) return false;
  }
  return true;
}

static void check_error(const ci_error *error, const char *reported) {
  CHECK(printable(error->message, sizeof error->message) && strlen(error->message) > 10);
  CHECK(printable(error->node, sizeof error->node) && printable(error->op, sizeof error->op));
  CHECK(printable(error->source, sizeof error->source));
  if (reported != NULL && strstr(error->message, reported) == NULL) fprintf(stderr, "%s\n", error->message);
  CHECK(reported == NULL || strstr(error->message, reported) != NULL);
}

static void test_load(damage write, const char *name, const char *reported) {
  ci_out graph = {0}, model = {0}, whole = {0};
  ci_model *opened;
  ci_error error;
  memset(&error, 'x', sizeof error);
  write(&graph, &model, name);
  untrusted_add(&whole, CI_PB_MODEL_GRAPH, &graph);
  ci_out_bytes(&whole, model.data, model.length);
  ci_out_free(&model);
  ci_out file = untrusted_file(&whole);
  CHECK(ci_open_memory(file.data, file.length, NULL, &opened, &error) != CI_OK);
  check_error(&error, reported);
  ci_out_free(&file);
}

/* The run cannot add its input to a constant of three; names of node, input and signature are untrusted. */
static void test_run(const char *name, const char *reported) {
  ci_out graph = {0}, model = {0}, tensor = {0}, signature = {0};
  ci_out constant = untrusted_node("-c", "Constant", 13), sum = untrusted_node(name, "Add", 13);
  ci_model *opened = NULL;
  ci_session *session = NULL;
  ci_error error;
  float x[2] = {1, 2};
  ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {2}}, output = {0};
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_FLOAT);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){3}, 1);
  ci_out_field_bytes(&tensor, CI_PB_TENSOR_DATA, (const float[]){1, 2, 3}, 12);
  untrusted_attribute(&constant, "value", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_x(&graph);
  untrusted_ends(&graph, CI_PB_GRAPH_NODE, &constant);
  untrusted_string(&sum, CI_PB_NODE_INPUT, "-x");
  untrusted_string(&sum, CI_PB_NODE_INPUT, "-c");
  untrusted_ends(&graph, CI_PB_GRAPH_NODE, &sum);
  untrusted_string(&signature, CI_PB_SIGNATURE_NAME, name);
  untrusted_bind(&signature, CI_PB_SIGNATURE_INPUT, name, "-x");
  untrusted_bind(&signature, CI_PB_SIGNATURE_OUTPUT, name, name);
  untrusted_add(&model, CI_PB_MODEL_GRAPH, &graph);
  untrusted_add(&model, CI_PB_MODEL_SIGNATURE, &signature);
  ci_out file = untrusted_file(&model);
  CHECK(ci_open_memory(file.data, file.length, NULL, &opened, &error) == CI_OK);
  CHECK(ci_session_open(opened, NULL, NULL, &session, &error) == CI_OK);
  CHECK(ci_run(session, 0, &input, 1, &output, 1, &error) == CI_INVALID_ARGUMENT);
  check_error(&error, reported);
  input.dtype = CI_INT32;
  CHECK(ci_run(session, 0, &input, 1, &output, 1, &error) == CI_INVALID_ARGUMENT);
  check_error(&error, reported);
  CHECK(ci_run(session, 0, &input, 0, &output, 1, &error) == CI_INVALID_ARGUMENT);
  check_error(&error, reported);
  ci_session_close(session);
  ci_close(opened);
  ci_out_free(&file);
}

static void test_everywhere(const char *name, const char *reported) {
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) test_load(damages[i].write, name, reported);
  if (ci_utf8_valid((ci_span){name, strlen(name)})) test_run(name, reported); /* else the load refuses it */
}

static void test_what_is_printable_stays(void) {
  static const struct {
    const char *text;
    bool lines;
    const char *reported;
  } rows[] = {
      {"a\tb\nc\rd", true, "a\tb\nc?d"},
      {"a\tb\nc\rd", false, "a?b?c?d"},
      {"\xc2\xab", false, "\xc2\xab"},
      {"\xc2\x9f", true, "??"},
      {"\xc2", true, "?"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[16];
    snprintf(text, sizeof text, "%s", rows[i].text);
    ci_printable(text, rows[i].lines);
    CHECK(strcmp(text, rows[i].reported) == 0);
  }
}

int main(void) {
  char *name = malloc(LONG + 1);
  if (name == NULL) return 1;
  test_what_is_printable_stays();
  test_everywhere("a\x1b[2Jb\rc\nd\x7f", "a?[2Jb?c?d?");  /* a terminal would obey */
  test_everywhere(
      "a\xc2\x9b"
      "2Jb",
      "a??2Jb");           /* likewise, a control beyond ASCII's */
  test_everywhere("%n%s%n%x%1000000d", "%n%s%n%x%1000000d");
  test_everywhere("a\xff\xc0\xaf\xed\xa0\x80z", "a??????z"); /* no UTF-8 */
  test_everywhere(
      "Gr\xc3\xb6\xc3\x9f"
      "e/\xe6\x95\xb0",
      "Gr\xc3\xb6\xc3\x9f"
      "e/\xe6\x95\xb0");
  memset(name, 'n', LONG);
  name[LONG] = '\0';
  test_everywhere(name, NULL);
  for (size_t i = 0; i < LONG; i += 2) memcpy(name + i, "\xc3\xb6", 2); /* is cut inside a letter */
  test_everywhere(name, NULL);
  free(name);
  return CHECK_END;
}
