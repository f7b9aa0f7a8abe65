/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facets of third parties: an operator of one library that describes itself by a facet of its own,
 * or by one of the header's, is absorbed by a kernel of another library as built-in ones are. What
 * comes out is what comes out of the nodes one by one.
 */
#include "facet_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "build_test.h"

#include <tenon/engine.h>

enum { CHANNELS = 3, LARGEST = 2 * CHANNELS * 16 * 16 };

static int setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    acme_asked = other_runs = other_absorbed = 0;
    return tn_runtime_register_library(test->runtime, acme_entry) == TN_OK &&
                   tn_runtime_register_library(test->runtime, other_entry) == TN_OK
               ? 0
               : -1;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* x, mixed, and the operators of a list, each with one field: "Clamp", "Pool", "Cut", "Soft",
 * "Open".
 */
static void make_network(graph_test *test, uint32_t count, const char *const *ops) {
    static const int64_t extents[] = {-1, CHANNELS, -1, -1};
    const int64_t channels = CHANNELS;
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    check(tn_graph_create(test->runtime, "net", &test->graph));
    tn_tensor_id last = add_input(test->graph, "x", TN_F32, 4, extents);
    last = add_node(test->graph, "Mix", "mix", 2,
                    (tn_tensor_id[]){last, add_floats(test->graph, "w", 1, &channels)});
    for (uint32_t i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "node%u", i);
        const bool is_open = strcmp(ops[i], "Open") == 0;
        last = add_with_int(test->graph, is_open ? "Clamp" : ops[i], name, last,
                            is_open ? "is_open" : "window", is_open ? 1 : 2);
    }
    add_output(test->graph, last);
}

static tn_engine *build(graph_test *test, const int64_t (*shapes)[4], uint32_t flags,
                        const char *kernel) {
    const tn_profile_input range = {.size = sizeof range,
                                    .rank = 4,
                                    .name = "x",
                                    .minimum = shapes[0],
                                    .optimum = shapes[1],
                                    .maximum = shapes[2]};
    const tn_profile_input *ranges[] = {&range};
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .profile_input_count = 1,
                                        .profile_inputs = ranges,
                                        .flags = flags,
                                        .force_kernel = kernel};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    uint64_t bytes = 0;
    check(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    tn_plan_destroy(plan);
    return engine;
}

static float input[LARGEST];

static int64_t run(tn_engine *engine, const int64_t *shape, float *out_values) {
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    const uint64_t count = (uint64_t)(shape[0] * shape[1] * shape[2] * shape[3]);
    check(tn_context_create(engine, &context));
    check(tn_context_set_shape(context, 0, 4, shape));
    check(tn_context_bind_input(context, 0, input, count * sizeof(float)));
    check(tn_context_run(context));
    check(tn_context_output(context, 0, &output));
    memcpy(out_values, output->data, output->bytes);
    const int64_t elements = (int64_t)(output->bytes / sizeof(float));
    tn_context_destroy(context);
    return elements;
}

static const int64_t ranges[][4] = {
    {1, CHANNELS, 8, 8}, {1, CHANNELS, 12, 12}, {2, CHANNELS, 16, 16}};
static const int64_t fixed[][4] = {{1, CHANNELS, 8, 8}, {1, CHANNELS, 8, 8}, {1, CHANNELS, 8, 8}};

/* As the references compute it at the profile's ends, with `absorbed` nodes in the kernel. */
static void check_network(graph_test *test, const int64_t (*shapes)[4], const char *kernel,
                          uint32_t absorbed) {
    static float wanted[LARGEST], found[LARGEST];
    tn_engine *references = build(test, shapes, TN_BUILD_REFERENCE, NULL);
    tn_engine *fused = build(test, shapes, TN_BUILD_NO_TIMING, kernel);
    for (int i = 0; i < LARGEST; i++)
        input[i] = (float)(i * 31 % 61 - 30) / 8;
    for (int point = 0; point < 3; point += 2) {
        const int64_t count = run(references, shapes[point], wanted);
        other_runs = other_absorbed = 0;
        assert_int_equal(run(fused, shapes[point], found), count);
        assert_int_equal(other_runs, 1);
        assert_int_equal(other_absorbed, absorbed);
        assert_memory_equal(wanted, found, (size_t)count * sizeof(float));
    }
    tn_engine_release(references);
    tn_engine_release(fused);
}

#define NETWORK(test, ...)                                                                         \
    make_network(test, (uint32_t)TN_COUNT(((const char *const[]){__VA_ARGS__})),                   \
                 (const char *const[]){__VA_ARGS__})

static void test_a_third_partys_facet_is_absorbed(void **state) {
    NETWORK(*state, "Clamp");
    check_network(*state, ranges, "Mix=mix_other", 1);
    NETWORK(*state, "Clamp", "Clamp", "Clamp");
    check_network(*state, ranges, "Mix=mix_other", 3);
}

static void test_a_third_partys_pooling_is_absorbed_as_windows(void **state) {
    NETWORK(*state, "Pool");
    check_network(*state, ranges, "Mix=mix_other", 1);
    NETWORK(*state, "Clamp", "Pool");
    check_network(*state, ranges, "Mix=mix_other", 2);
    NETWORK(*state, "Pool", "Clamp"); /* which the kernel does not accept after it */
    check_network(*state, ranges, "Mix=mix_other", 1);
}

static void test_variants_that_are_not_listed_are_not_offered(void **state) {
    NETWORK(*state, "Open");
    check_network(*state, ranges, "Mix=mix_other", 0);
    NETWORK(*state, "Clamp"); /* a list without variants means none of them */
    check_network(*state, ranges, "Mix=mix_variants", 0);
}

static void test_a_kernel_that_lists_nothing_absorbs_nothing(void **state) {
    NETWORK(*state, "Clamp", "Clamp");
    check_network(*state, ranges, "Mix=mix_nothing", 0);
}

/* The operator has an expression alone: the host has the row function. */
static void test_an_expression_is_absorbed_as_a_row(void **state) {
    NETWORK(*state, "Soft");
    check_network(*state, ranges, "Mix=mix_rows", 1);
    NETWORK(*state, "Soft", "Soft", "Clamp");
    check_network(*state, ranges, "Mix=mix_rows", 2);
}

static void test_descriptions_that_change_with_the_shape_are_not_fused(void **state) {
    NETWORK(*state, "Clamp", "Cut");
    check_network(*state, fixed, "Mix=mix_other", 2);
    check_network(*state, ranges, "Mix=mix_other", 1);
}

/* The struct that a kernel gets has the lifetime of the engine, with the names of its own list. */
static void test_nodes_are_asked_once_for_each_name(void **state) {
    graph_test *test = *state;
    build_stage stage;
    NETWORK(test, "Clamp");
    const tn_profile_input range = {.size = sizeof range,
                                    .rank = 4,
                                    .name = "x",
                                    .minimum = ranges[0],
                                    .optimum = ranges[1],
                                    .maximum = ranges[2]};
    const tn_profile_input *list[] = {&range};
    const tn_builder_options options = {
        .size = sizeof options, .profile_input_count = 1, .profile_inputs = list};
    stage_infer(&stage, test->graph, &options);
    const tn_inference *points = stage.shapes.points[1];
    const tn_tensor *tensors[64];
    for (size_t t = 0; t < test->graph->tensor_count; t++)
        tensors[t] = &points->tensors[t].storage.tensor;
    uint32_t node = 0;
    while (strcmp(test->graph->nodes[node].name, "node0") != 0)
        node++;
    const tn_tensor_id chained = test->graph->nodes[node].inputs[0];
    tn_link link;
    const tn_facet *first = NULL, *again = NULL, *none = NULL;
    acme_asked = 0;
    check(tn_link_init(&link, stage.arena, test->graph, node, chained, tensors));
    check(tn_link_facet_of(&link, ACME_CLAMP, &first));
    check(tn_link_facet_of(&link, ACME_CLAMP, &again));
    check(tn_link_facet_of(&link, ACME_CUT, &none));
    check(tn_link_facet_of(&link, ACME_CUT, &none));
    assert_ptr_equal(first, again);
    assert_null(none);
    assert_int_equal(acme_asked, 2);
    assert_string_equal(first->variant, "closed");
    assert_true(((const acme_clamp *)first->what)->high == 1);
    stage_end(&stage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_third_partys_facet_is_absorbed),
        TEST(test_a_third_partys_pooling_is_absorbed_as_windows),
        TEST(test_variants_that_are_not_listed_are_not_offered),
        TEST(test_a_kernel_that_lists_nothing_absorbs_nothing),
        TEST(test_an_expression_is_absorbed_as_a_row),
        TEST(test_descriptions_that_change_with_the_shape_are_not_fused),
        TEST(test_nodes_are_asked_once_for_each_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
