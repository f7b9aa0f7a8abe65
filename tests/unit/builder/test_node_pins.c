/* SPDX-License-Identifier: Apache-2.0 */
/* Pins of single nodes: their kernels, combinations and types, alone; and what is refused. */
#include "build_test.h"

/* x -> Mix "first" -> Mix "second" -> Relu "relu" -> y, and a view. */
static void make_network(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3));
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(20));
    tn_tensor_id first = add_node(graph, "Mix", "first", 2, TENSORS(x, w));
    tn_tensor_id second = add_node(graph, "Mix", "second", 2, TENSORS(first, w));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", second);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", x);
    add_output(graph, add_node(graph, "Reshape", "view", 2, TENSORS(relu, shape)));
}

static tn_status build_pinned(tn_graph *graph, uint32_t count, const char *const *pins,
                              const char *forced, tn_plan **out_plan) {
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .force_kernel = forced,
                                        .pins = pins,
                                        .pin_count = count};
    return tn_build(graph, &options, out_plan);
}

#define PINS(...)                                                                                  \
    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]) {           \
        __VA_ARGS__                                                                                \
    }

/* What the report says of a node, up to its end. */
static const char *node_of(const tn_plan *plan, const char *name, char *text, size_t bytes) {
    char begin[64];
    snprintf(begin, sizeof begin, "{\"name\": \"%s\", \"op\"", name);
    const char *at = strstr(tn_plan_report(plan), begin);
    snprintf(text, bytes, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    return text;
}

static void test_a_pin_names_the_kernel_of_one_node(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    char text[4096];
    make_network(test->graph);
    assert_int_equal(build_pinned(test->graph, PINS("first=mix_plain"), "Mix=mix_fused", &plan),
                     TN_OK);
    assert_non_null(strstr(node_of(plan, "first", text, sizeof text), "\"kernel\": \"mix_plain\""));
    assert_non_null(strstr(text, "\"pinned\": {\"kernel\": \"mix_plain\"}"));
    assert_non_null(
        strstr(node_of(plan, "second", text, sizeof text), "\"kernel\": \"mix_fused\""));
    assert_null(strstr(text, "\"pinned\""));
    assert_non_null(strstr(text, "\"absorbed\": [\"relu\"]"));
    tn_plan_destroy(plan);
}

static void test_a_pinned_node_is_not_absorbed(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    char text[4096];
    make_network(test->graph);
    assert_int_equal(build_pinned(test->graph, PINS("relu=reference"), "Mix=mix_fused", &plan),
                     TN_OK);
    assert_non_null(strstr(node_of(plan, "second", text, sizeof text), "\"absorbed\": []"));
    assert_non_null(strstr(node_of(plan, "relu", text, sizeof text), "\"kernel\": \"reference\""));
    tn_plan_destroy(plan);
}

static void test_a_pin_names_a_combination_whatever_its_spaces(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    char text[4096];
    make_network(test->graph);
    assert_int_equal(
        build_pinned(test->graph, PINS("first=mix_c16:f32:c16,f32->f32:c16"), NULL, &plan), TN_OK);
    assert_non_null(strstr(node_of(plan, "first", text, sizeof text), "\"kernel\": \"mix_c16\""));
    assert_non_null(strstr(text, "c16"));
    tn_plan_destroy(plan);
}

static void test_what_cannot_be_pinned_is_said(void **state) {
    graph_test *test = *state;
    static const struct {
        const char *pin;
        tn_status status;
        const char *says;
    } cases[] = {
        {"frist=mix_plain", TN_ERROR_NOT_FOUND,
         "there is no node 'frist' to be pinned; the nearest is 'first'"},
        {"first=mix_plian", TN_ERROR_NOT_FOUND, "the nearest is 'mix_plain'"},
        {"first=mix_plain:f64 -> f64", TN_ERROR_UNSUPPORTED, "in the combination 'f64 -> f64'"},
        {"view=mix_plain", TN_ERROR_UNSUPPORTED, "gives the same elements another shape"},
        {"first=fp16", TN_ERROR_ARGUMENT, "build with precision fp16"},
        {"first", TN_ERROR_ARGUMENT, "not of the form NODE=KERNEL"},
        {"first=", TN_ERROR_ARGUMENT, "not of the form NODE=KERNEL"},
        {"=mix_plain", TN_ERROR_ARGUMENT, "not of the form NODE=KERNEL"},
        {NULL, TN_ERROR_ARGUMENT, "not of the form NODE=KERNEL"},
    };
    make_network(test->graph);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_plan *plan = NULL;
        assert_int_equal(build_pinned(test->graph, PINS(cases[i].pin), NULL, &plan),
                         cases[i].status);
        assert_null(plan);
        if (!strstr(tn_last_error()->message, cases[i].says))
            fail_msg("'%s': %s", cases[i].pin ? cases[i].pin : "null", tn_last_error()->message);
    }
}

static void test_pins_that_contradict_each_other_are_refused(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    make_network(test->graph);
    assert_int_equal(
        build_pinned(test->graph, PINS("first=mix_plain", "first=mix_fused"), NULL, &plan),
        TN_ERROR_ARGUMENT);
    assert_error("the node's kernel is pinned twice", NULL);
    assert_int_equal(build_pinned(test->graph, 1, NULL, NULL, &plan), TN_ERROR_ARGUMENT);
}

static void test_a_node_that_the_passes_took_is_said(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id same = add_unary(test->graph, "Same", "identity", x);
    add_output(test->graph, add_unary(test->graph, "Relu", "relu", same));
    assert_int_equal(build_pinned(test->graph, PINS("identity=reference"), NULL, &plan),
                     TN_ERROR_NOT_FOUND);
    assert_error("is no node of the network as it is built", NULL);
}

static void test_a_lower_type_is_pinned_and_kept_out(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    char text[4096];
    make_network(test->graph);
    tn_builder_options options = {.size = sizeof options,
                                  .threads = 1,
                                  .flags = TN_BUILD_NO_TIMING,
                                  .precision = TN_PRECISION_F16,
                                  .pins = (const char *const[]){"first=fp32"},
                                  .pin_count = 1};
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_OK);
    node_of(plan, "first", text, sizeof text);
    assert_null(strstr(text, "\"type\": \"f16\", \"format\""));
    assert_non_null(strstr(text, "\"pinned\": {\"type\": \"f32\"}"));
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_a_pin_names_the_kernel_of_one_node),
        BUILD_TEST(test_a_pinned_node_is_not_absorbed),
        BUILD_TEST(test_a_pin_names_a_combination_whatever_its_spaces),
        BUILD_TEST(test_what_cannot_be_pinned_is_said),
        BUILD_TEST(test_pins_that_contradict_each_other_are_refused),
        BUILD_TEST(test_a_node_that_the_passes_took_is_said),
        BUILD_TEST(test_a_lower_type_is_pinned_and_kept_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
