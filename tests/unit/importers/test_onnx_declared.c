/* SPDX-License-Identifier: Apache-2.0 */
/* What an ONNX model declares of its outputs and of the tensors between its nodes, against what the
 * nodes compute: warnings, and the build goes on with that. */
#include "onnx_test.h"

#include <stdlib.h>
#include <tenon/builder.h>
#include <tenon/engine.h>

typedef struct declared_test {
    tn_runtime *runtime;
    char log[4096]; /* all lines */
} declared_test;

static void keep_lines(void *user, uint32_t level, const char *text) {
    declared_test *test = user;
    const size_t length = strlen(test->log);
    if (level <= TN_LOG_WARNING)
        snprintf(test->log + length, sizeof(test->log) - length, "%s\n", text);
}

static int setup(void **state) {
    declared_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .log = keep_lines,
                                        .log_user = test,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *state = test;
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    declared_test *test = *state;
    tn_runtime_release(test->runtime);
    free(test);
    return 0;
}

typedef struct declared_row {
    const char *input;            /* the shape of x */
    int middle_type, output_type; /* as declared of x -> Relu a -> Cast to i64 b -> y */
    const char *middle, *output;  /* shapes; null: none */
    const char *log;              /* all of it */
} declared_row;

#define OUTPUT_LINE(declared, made)                                                                \
    "output 'y' is declared as " declared ", but its node computes " made                          \
    ", which is what it will hold\n"
#define MIDDLE_LINE(declared, made)                                                                \
    "1 tensor between the nodes is not as the model declares: 'a' is declared as " declared        \
    ", but its node computes " made "\n"

static const declared_row rows[] = {
    {"2,3", ONNX_F32, ONNX_I64, "2,3", "2,3", ""},
    {"2,3", ONNX_F32, ONNX_I64, NULL, NULL, ""},
    {"2,3", ONNX_F32, ONNX_I64, "?,N", "=?,3", ""},
    {"2,3", ONNX_F32, ONNX_I64, "-1,=-1", "=unk__1,-5", ""},
    {"2,3", 0, 0, "2,3", NULL, ""},
    {"2,3", ONNX_COMPLEX64, 99, "2,3", "2,3", ""}, /* in terms that are not ours */
    {"2,3", ONNX_F32, ONNX_I64, "1,1,1,1,1,1,1,1,1", "2,3", ""},
    {"2,3", ONNX_F32, ONNX_I64, "2,3", "2,4", OUTPUT_LINE("i64[2, 4]", "i64[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I64, "2,3", "N,4", OUTPUT_LINE("i64[?, 4]", "i64[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I64, "2,3", "6", OUTPUT_LINE("i64[6]", "i64[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I64, "2,3", "", OUTPUT_LINE("i64[]", "i64[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I32, "2,3", "2,3", OUTPUT_LINE("i32[2, 3]", "i64[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I32, "2,3", NULL, OUTPUT_LINE("i32", "i64[2, 3]")},
    {"2,3", ONNX_F16, ONNX_I64, "2,3", "2,3", MIDDLE_LINE("f16[2, 3]", "f32[2, 3]")},
    {"2,3", ONNX_F32, ONNX_I64, "3,2", "2,3", MIDDLE_LINE("f32[3, 2]", "f32[2, 3]")},
    {"2,3", ONNX_F16, ONNX_I32, "2,3", "2,4",
     OUTPUT_LINE("i32[2, 4]", "i64[2, 3]") MIDDLE_LINE("f16[2, 3]", "f32[2, 3]")},
    /* an extent that an open one decides may be declared as it was when the model was made */
    {"N,3", ONNX_F32, ONNX_I64, "8,3", "8,3", ""},
    {"N,3", ONNX_F32, ONNX_I64, "8,3", "8,4", OUTPUT_LINE("i64[8, 4]", "i64[1, 3]")},
};

static void declare(onnx_part *graph, uint32_t field, const char *name, int type,
                    const char *shape) {
    onnx_part value = onnx_value(name, type, shape);
    onnx_part_move(graph, field, &value);
}

static tn_graph *read(declared_test *test, const declared_row *row) {
    onnx_part graph = onnx_graph("g"), cast = onnx_node("Cast", "cast", "", "a", "y");
    tn_graph *made = NULL;
    onnx_graph_input(&graph, "x", ONNX_F32, row->input);
    onnx_graph_node(&graph, "Relu", "relu", "", "x", "a");
    onnx_node_add(&cast, onnx_attribute_int("to", ONNX_I64));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &cast);
    declare(&graph, ONNX_GRAPH_OUTPUT, "y", row->output_type, row->output);
    declare(&graph, ONNX_GRAPH_VALUE_INFO, "a", row->middle_type, row->middle);
    declare(&graph, ONNX_GRAPH_VALUE_INFO, "nobody", ONNX_F32, "5");
    declare(&graph, ONNX_GRAPH_VALUE_INFO, "x", ONNX_I8,
            "5"); /* an input is as it declares itself */
    onnx_part model = onnx_model(&graph, "", 21);
    const tn_status status =
        tn_graph_parse_onnx(test->runtime, model.data, model.bytes, NULL, &made);
    onnx_part_free(&model);
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return made;
}

static void build(tn_graph *graph) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    if (tn_build(graph, &options, &plan) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    tn_plan_destroy(plan);
}

static void test_differences_are_said_and_are_no_errors(void **state) {
    declared_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        tn_graph *graph = read(test, &rows[i]);
        test->log[0] = '\0';
        build(graph);
        if (strcmp(test->log, rows[i].log) != 0)
            fail_msg("row %zu: '%s', not '%s'", i, test->log, rows[i].log);
        tn_graph_destroy(graph);
    }
}

/* A search builds a graph many times. */
static void test_a_graph_is_compared_once(void **state) {
    declared_test *test = *state;
    const declared_row row = {"2,3", ONNX_F32, ONNX_I32, "2,3", "2,3", ""};
    tn_graph *graph = read(test, &row);
    build(graph);
    assert_true(test->log[0] != '\0');
    test->log[0] = '\0';
    build(graph);
    assert_string_equal(test->log, "");
    tn_graph_destroy(graph);
}

/* In the graph, and in a plan of it. Axes are called "N", not at all, and by what is no name. */
static void test_outputs_keep_the_names_of_their_extents(void **state) {
    declared_test *test = *state;
    const declared_row row = {"N,3,?", ONNX_F32, ONNX_I64, "N,3,?", "N,3,=unk__7", ""};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_graph *graph = read(test, &row);
    const tn_port_info *output = tn_graph_output(graph, 0);
    assert_string_equal(output->names[0], "N");
    assert_null(output->names[1]);
    assert_null(output->names[2]);
    assert_int_equal(tn_build(graph, &options, &plan), TN_OK);
    assert_int_equal(tn_engine_load_plan(test->runtime, plan, NULL, &engine), TN_OK);
    output = tn_engine_output(engine, 0);
    assert_int_equal(output->rank, 3);
    assert_int_equal(output->extents[0], -1);
    assert_string_equal(output->names[0], "N");
    assert_null(output->names[1]);
    assert_null(output->names[2]);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_differences_are_said_and_are_no_errors, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_graph_is_compared_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outputs_keep_the_names_of_their_extents, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
