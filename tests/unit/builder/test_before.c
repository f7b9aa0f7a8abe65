/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps before an input: a kernel of a third party absorbs conversions, factors, sums and facets of
 * other libraries that lead to one of its inputs. What comes out is what comes out of the nodes one
 * by one, in builds, in plans that were written and read, and for shapes that the fusion does not
 * hold for.
 */
#include "before_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "build_test.h"

#include <math.h>
#include <tenon/calibration.h>
#include <tenon/engine.h>

enum { CHANNELS = 3, LARGEST = 2 * CHANNELS * 16 * 16 };

static int setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    fore_runs = fore_before = fore_after = 0;
    return tn_runtime_register_library(test->runtime, acme_entry) == TN_OK &&
                   tn_runtime_register_library(test->runtime, other_entry) == TN_OK &&
                   tn_runtime_register_library(test->runtime, fore_entry) == TN_OK
               ? 0
               : -1;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* ----------------------------------------------------------------------------------------------
 * networks: a and b, of which each has nodes of a list, joined, and nodes of a list behind */

typedef struct network {
    const char *before_a[4], *before_b[4], *after[4];
    bool is_fixed;    /* in its shape */
    bool is_shared;   /* what leads to the first input is an output, too */
    const char *type; /* of a: "u8", else floats */
} network;

static tn_tensor_id add_op(graph_test *test, const char *op, tn_tensor_id x, tn_tensor_id other) {
    static const int64_t channels = CHANNELS, whole[] = {1, CHANNELS, 8, 8};
    tn_graph *graph = test->graph;
    char name[32], constant[32];
    snprintf(name, sizeof(name), "%s%zu", op, graph->node_count);
    snprintf(constant, sizeof(constant), "c%zu", graph->node_count);
    if (strcmp(op, "Gain") == 0 || strcmp(op, "Mix") == 0)
        return add_node(graph, op, name, 2,
                        (tn_tensor_id[]){x, add_floats(graph, constant, 1, &channels)});
    if (strcmp(op, "Bend") == 0) {
        const tn_tensor_id w = add_floats(graph, constant, 1, &channels);
        return add_node(graph, op, name, 3,
                        (tn_tensor_id[]){x, w, add_floats(graph, "bend_b", 1, &channels)});
    }
    if (strcmp(op, "Plus") == 0)
        return add_node(graph, op, name, 2,
                        (tn_tensor_id[]){x, add_floats(graph, constant, 4, whole)});
    if (strcmp(op, "Sum") == 0) /* with what a run provides */
        return add_node(graph, "Plus", name, 2, (tn_tensor_id[]){x, other});
    if (strcmp(op, "Clamp") == 0 || strcmp(op, "Cut") == 0)
        return add_with_int(graph, op, name, x, "window", 2);
    return add_unary(graph, op, name, x);
}

static tn_tensor_id add_ops(graph_test *test, const char *const *ops, tn_tensor_id x,
                            tn_tensor_id other) {
    for (uint32_t i = 0; i < 4 && ops[i]; i++)
        x = add_op(test, ops[i], x, other);
    return x;
}

static const int64_t fixed[] = {1, CHANNELS, 8, 8}, open[] = {-1, CHANNELS, -1, -1};

static void make_network(graph_test *test, const network *net) {
    const int64_t *extents = net->is_fixed ? fixed : open;
    const bool is_bytes = net->type && strcmp(net->type, "u8") == 0;
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    check(tn_graph_create(test->runtime, "net", &test->graph));
    const tn_tensor_id a = add_input(test->graph, "a", is_bytes ? TN_U8 : TN_F32, 4, extents),
                       b = add_input(test->graph, "b", TN_F32, 4, extents);
    const tn_tensor_id first = add_ops(test, net->before_a, a, b),
                       second = add_ops(test, net->before_b, b, b);
    tn_tensor_id joined = add_node(test->graph, "Meet", "join", 2, (tn_tensor_id[]){first, second});
    add_output(test->graph, add_ops(test, net->after, joined, b));
    if (net->is_shared) add_output(test->graph, first);
}

/* ----------------------------------------------------------------------------------------------
 * builds and runs */

static const int64_t ranges[][4] = {
    {1, CHANNELS, 8, 8}, {1, CHANNELS, 12, 12}, {2, CHANNELS, 16, 16}};

static tn_plan *build(graph_test *test, const network *net, uint32_t flags, const char *kernel,
                      uint32_t precision) {
    tn_profile_input inputs[2];
    const tn_profile_input *pointers[2];
    tn_plan *plan = NULL;
    for (int i = 0; i < 2; i++) {
        inputs[i] = (tn_profile_input){.size = sizeof(tn_profile_input),
                                       .rank = 4,
                                       .name = i == 0 ? "a" : "b",
                                       .minimum = net->is_fixed ? fixed : ranges[0],
                                       .optimum = net->is_fixed ? fixed : ranges[1],
                                       .maximum = net->is_fixed ? fixed : ranges[2]};
        pointers[i] = &inputs[i];
    }
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .profile_input_count = 2,
                                        .profile_inputs = pointers,
                                        .flags = flags,
                                        .precision = precision,
                                        .force_kernel = kernel};
    check(tn_build(test->graph, &options, &plan));
    return plan;
}

static tn_engine *load(graph_test *test, tn_plan *plan) {
    tn_engine *engine = NULL;
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    tn_plan_destroy(plan);
    return engine;
}

static float floats[LARGEST];
static uint8_t bytes_of_a[LARGEST];

static int64_t run(tn_engine *engine, const network *net, const int64_t *shape, float *out_values) {
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    const bool is_bytes = net->type && strcmp(net->type, "u8") == 0;
    const uint64_t count = (uint64_t)(shape[0] * shape[1] * shape[2] * shape[3]);
    check(tn_context_create(engine, &context));
    for (uint32_t i = 0; i < 2; i++) {
        const bool is_a = i == 0 && is_bytes;
        if (!net->is_fixed) check(tn_context_set_shape(context, i, 4, shape));
        check(tn_context_bind_input(context, i, is_a ? (const void *)bytes_of_a : floats,
                                    is_a ? count : count * sizeof(float)));
    }
    check(tn_context_run(context));
    check(tn_context_output(context, 0, &output));
    memcpy(out_values, output->data, output->bytes);
    const int64_t elements = (int64_t)(output->bytes / sizeof(float));
    tn_context_destroy(context);
    return elements;
}

static void fill(void) {
    for (int i = 0; i < LARGEST; i++) {
        floats[i] = (float)(i * 31 % 61 - 30) / 8;
        bytes_of_a[i] = (uint8_t)(i * 37 % 251);
    }
}

/* As the references compute it, with so many steps before the input and after the kernel. */
static void check_run(graph_test *test, const network *net, const char *kernel,
                      const int64_t *shape, uint32_t before, uint32_t after) {
    static float wanted[LARGEST], found[LARGEST];
    tn_engine *references = load(test, build(test, net, TN_BUILD_REFERENCE, NULL, 0));
    tn_engine *fused = load(test, build(test, net, TN_BUILD_NO_TIMING, kernel, 0));
    fill();
    const int64_t count = run(references, net, shape, wanted);
    fore_runs = fore_before = fore_after = 0;
    assert_int_equal(run(fused, net, shape, found), count);
    assert_int_equal(fore_runs, 1);
    assert_int_equal(fore_before, before);
    assert_int_equal(fore_after, after);
    assert_memory_equal(wanted, found, (size_t)count * sizeof(float));
    tn_engine_release(references);
    tn_engine_release(fused);
}

static void check_network(graph_test *test, const network *net, uint32_t before, uint32_t after) {
    make_network(test, net);
    for (int point = 0; point < (net->is_fixed ? 1 : 3); point += 2)
        check_run(test, net, "Meet=join_fore", net->is_fixed ? fixed : ranges[point], before,
                  after);
}

/* ----------------------------------------------------------------------------------------------
 * tests */

static void test_a_conversion_is_absorbed_before_an_input(void **state) {
    const network net = {.before_a = {"Widen"}, .type = "u8"};
    check_network(*state, &net, 1, 0);
    assert_int_equal(fore_stored, TN_U8);
}

static void test_a_chain_is_absorbed_with_its_operands(void **state) {
    const network bytes = {.before_a = {"Widen", "Gain"}, .type = "u8"},
                  two = {.before_a = {"Bend", "Gain"}},
                  mixed = {.before_a = {"Gain", "Clamp", "Gain"}, .after = {"Clamp"}},
                  whole = {.before_a = {"Plus", "Clamp"}, .is_fixed = true},
                  provided = {.before_a = {"Clamp", "Sum"}, .before_b = {NULL}};
    check_network(*state, &bytes, 2, 0);
    check_network(*state, &two, 2, 0);
    check_network(*state, &mixed, 3, 1);
    check_network(*state, &whole, 2, 0);
    check_network(*state, &provided, 2, 0);
}

/* The second one's factor is not listed: what is nearest the kernel is absorbed. */
static void test_each_input_has_its_own_list(void **state) {
    const network net = {.before_b = {"Gain", "Clamp"}}, none = {.before_b = {"Clamp", "Gain"}};
    check_network(*state, &net, 1, 0);
    check_network(*state, &none, 0, 0);
}

static void test_one_input_has_a_chain_at_most(void **state) {
    const network net = {.before_a = {"Gain", "Clamp"}, .before_b = {"Clamp"}};
    check_network(*state, &net, 2, 0);
}

static void test_what_others_read_is_not_absorbed(void **state) {
    const network net = {.before_a = {"Clamp"}, .is_shared = true};
    check_network(*state, &net, 0, 0);
}

/* Another description for every width, unless there is one alone. */
static void test_what_changes_with_the_shape_is_not_absorbed(void **state) {
    const network one = {.before_a = {"Clamp", "Cut"}, .before_b = {"Cut"}, .is_fixed = true},
                  all = {.before_a = {"Clamp", "Cut"}, .before_b = {"Cut"}};
    check_network(*state, &one, 2, 0);
    check_network(*state, &all, 0, 0);
}

/* No point of the profile has this width. */
static void test_a_shape_that_breaks_a_chain_is_computed_without_it(void **state) {
    graph_test *test = *state;
    static const int64_t odd[] = {1, CHANNELS, 10, 9};
    const network net = {.before_a = {"Gain", "Trim"}, .before_b = {"Trim"}};
    check_network(test, &net, 2, 0);
    check_run(test, &net, "Meet=join_fore", odd, 0, 0);
}

/* Whose combination names no type: floats, as its port has, and no bytes. */
static void test_an_open_combination_has_the_types_of_the_port(void **state) {
    const network bytes = {.before_a = {"Widen"}, .type = "u8"}, floating = {.before_a = {"Clamp"}};
    make_network(*state, &bytes);
    check_run(*state, &bytes, "Meet=join_every", ranges[0], 0, 0);
    make_network(*state, &floating);
    check_run(*state, &floating, "Meet=join_every", ranges[0], 1, 0);
}

/* The kernel overwrites its input where it may: not one that it converts. */
static void test_nothing_is_written_on_what_a_chain_reads(void **state) {
    const network net = {.before_a = {"Mix", "Trim", "Clamp"}, .before_b = {"Trim"}};
    check_network(*state, &net, 2, 0);
    build_stage stage;
    lower_or_fail(&stage, ((graph_test *)*state)->graph,
                  (tn_lower_options){.no_timing = true, .forced = "Meet=join_fore"});
    assert_false(step_of(&stage, "join")->is_in_place);
    stage_end(&stage);
}

static void test_lower_types_are_those_of_what_is_stored(void **state) {
    static float wanted[LARGEST], found[LARGEST];
    graph_test *test = *state;
    const network net = {.before_a = {"Clamp"}, .is_fixed = true};
    make_network(test, &net);
    tn_engine *exact = load(test, build(test, &net, TN_BUILD_REFERENCE, NULL, 0));
    tn_engine *lower =
        load(test, build(test, &net, TN_BUILD_NO_TIMING, "Meet=join_half", TN_PRECISION_F16));
    fill();
    const int64_t count = run(exact, &net, fixed, wanted);
    fore_runs = fore_before = 0;
    assert_int_equal(run(lower, &net, fixed, found), count);
    assert_int_equal(fore_before, 1);
    assert_int_equal(fore_stored, TN_F16);
    for (int64_t i = 0; i < count; i++)
        assert_true(fabsf(found[i] - wanted[i]) <= 0.01f);
    tn_engine_release(exact);
    tn_engine_release(lower);
}

/* The scale is that of the stored tensor; what is between it and the kernel needs none. */
static void test_bytes_with_a_scale_are_read_before_a_chain(void **state) {
    static float wanted[LARGEST], found[LARGEST];
    graph_test *test = *state;
    const network net = {.before_a = {"Gain", "Clamp"}, .is_fixed = true};
    tn_calibration *table = NULL;
    tn_plan *plan = NULL;
    make_network(test, &net);
    check(tn_calibration_create(test->runtime, &table));
    for (size_t t = 0; t < test->graph->tensor_count; t++) /* the kernel alone needs the last's */
        if (!test->graph->tensors[t].is_constant)
            check(tn_calibration_set(table, test->graph->tensors[t].name, 0.03125f));
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .precision = TN_PRECISION_I8,
                                        .calibration = table,
                                        .force_kernel = "Meet=join_qi8"};
    check(tn_build(test->graph, &options, &plan));
    tn_calibration_destroy(table);
    tn_engine *exact = load(test, build(test, &net, TN_BUILD_REFERENCE, NULL, 0));
    tn_engine *lower = load(test, plan);
    fill();
    const int64_t count = run(exact, &net, fixed, wanted);
    fore_before = 0;
    assert_int_equal(run(lower, &net, fixed, found), count);
    assert_int_equal(fore_before, 2);
    assert_int_equal(fore_stored, TN_I8);
    for (int64_t i = 0; i < count; i++)
        assert_true(fabsf(found[i] - wanted[i]) <= 0.05f);
    tn_engine_release(exact);
    tn_engine_release(lower);
}

/* A kernel that does more takes its time for it: the choice compares with the nodes one by one. */
static void test_the_faster_one_is_taken(void **state) {
    graph_test *test = *state;
    const network net = {.before_a = {"Clamp"}, .is_fixed = true};
    build_stage stage;
    make_network(test, &net);
    layer_pace_of("join_fore")->ns = 100000;
    layer_pace_of("join_plain")->ns = 90000;
    layer_pace_of("clamp")->ns = 90000;
    lower_or_fail(&stage, test->graph, TIMED);
    assert_string_equal(kernel_of(&stage, "join"), "join_fore");
    assert_int_equal(step_of(&stage, "join")->before_count, 1);
    stage_end(&stage);
    layer_pace_of("join_fore")->ns = 300000;
    lower_or_fail(&stage, test->graph, TIMED);
    assert_string_equal(kernel_of(&stage, "join"), "join_plain");
    assert_string_equal(kernel_of(&stage, "Clamp0"), "clamp");
    stage_end(&stage);
}

/* One node, wanted by the kernel in front of it and by the one behind. */
static void test_a_node_between_two_kernels_is_computed_once(void **state) {
    const network net = {.before_a = {"Mix", "Clamp"}, .after = {"Clamp", "Clamp"}};
    make_network(*state, &net);
    check_run(*state, &net, "Meet=join_fore,Mix=mix_nothing", ranges[0], 1, 2);
    other_absorbed = 0;
    check_run(*state, &net, "Meet=join_fore,Mix=mix_other", ranges[0], 0, 2);
    assert_int_equal(other_absorbed, 1);
}

static void test_damaged_steps_are_refused(void **state) {
    graph_test *test = *state;
    const network net = {.before_a = {"Gain", "Clamp"}, .after = {"Clamp"}, .is_fixed = true};
    build_stage stage;
    make_network(test, &net);
    lower_or_fail(&stage, test->graph,
                  (tn_lower_options){.no_timing = true, .forced = "Meet=join_fore"});
    tn_program_step *step = (tn_program_step *)(uintptr_t)step_of(&stage, "join");
    assert_int_equal(step->before_count, 2);
    assert_int_equal(step->absorbed_count, 3);
    for (uint32_t count = 0; count < 6; count++)
        for (uint32_t input = 0; input < 4; input++) {
            const bool is_sound = count == 2 && input == 0;
            step->before_count = count;
            step->before_input = input;
            assert_int_equal(tn_program_check(&stage.program, test->graph),
                             is_sound ? TN_OK : TN_ERROR_FORMAT);
        }
    step->before_count = 2;
    step->before_input = 0;
    const uint32_t value = step->inputs[0];
    step->inputs[0] = step->inputs[1]; /* which the chain does not begin with */
    assert_int_equal(tn_program_check(&stage.program, test->graph), TN_ERROR_FORMAT);
    step->inputs[0] = TN_NO_VALUE;
    assert_int_equal(tn_program_check(&stage.program, test->graph), TN_ERROR_FORMAT);
    step->inputs[0] = value;
    step->is_in_place = true;
    assert_int_equal(tn_program_check(&stage.program, test->graph), TN_ERROR_FORMAT);
    stage_end(&stage);
}

static void test_the_report_says_what_is_before_an_input(void **state) {
    graph_test *test = *state;
    const network net = {.before_a = {"Gain", "Clamp"}};
    make_network(test, &net);
    tn_plan *plan = build(test, &net, TN_BUILD_NO_TIMING, "Meet=join_fore", 0);
    assert_non_null(strstr(tn_plan_report(plan), "\"before\": 2, \"before_input\": 0"));
    tn_plan_destroy(plan);
}

static void test_failing_allocations_leave_nothing_behind(void **state) {
    graph_test *test = *state;
    const network net = {.before_a = {"Gain", "Clamp"}, .after = {"Clamp"}};
    make_network(test, &net);
    tn_plan_destroy(build(test, &net, TN_BUILD_NO_TIMING, "Meet=join_fore", 0));
    test->allocator.allocations = 0;
    tn_plan_destroy(build(test, &net, TN_BUILD_NO_TIMING, "Meet=join_fore", 0));
    const uint64_t count = test->allocator.allocations;
    const int64_t live = test->allocator.live;
    const tn_profile_input range = {.size = sizeof range,
                                    .rank = 4,
                                    .name = "a",
                                    .minimum = ranges[0],
                                    .optimum = ranges[1],
                                    .maximum = ranges[2]};
    tn_profile_input other = range;
    other.name = "b";
    const tn_profile_input *both[] = {&range, &other};
    const tn_builder_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .profile_input_count = 2,
                                        .profile_inputs = both,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .force_kernel = "Meet=join_fore"};
    for (uint64_t at = 1; at <= count; at++) {
        tn_plan *plan = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        const tn_status status = tn_build(test->graph, &options, &plan);
        test->allocator.fail_at = 0;
        if (status == TN_OK)
            tn_plan_destroy(plan);
        else
            assert_int_equal(status, TN_ERROR_MEMORY);
        assert_int_equal(test->allocator.live, live);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_conversion_is_absorbed_before_an_input),
        TEST(test_a_chain_is_absorbed_with_its_operands),
        TEST(test_each_input_has_its_own_list),
        TEST(test_one_input_has_a_chain_at_most),
        TEST(test_what_others_read_is_not_absorbed),
        TEST(test_what_changes_with_the_shape_is_not_absorbed),
        TEST(test_a_shape_that_breaks_a_chain_is_computed_without_it),
        TEST(test_an_open_combination_has_the_types_of_the_port),
        TEST(test_nothing_is_written_on_what_a_chain_reads),
        TEST(test_lower_types_are_those_of_what_is_stored),
        TEST(test_bytes_with_a_scale_are_read_before_a_chain),
        TEST(test_the_faster_one_is_taken),
        TEST(test_a_node_between_two_kernels_is_computed_once),
        TEST(test_damaged_steps_are_refused),
        TEST(test_the_report_says_what_is_before_an_input),
        TEST(test_failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
