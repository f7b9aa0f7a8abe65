/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of kernels on a machine that is busy: each test is repeated with other disturbances,
 * and the choice is the same. All on a clock of the tests' own.
 */
#include "build_test.h"

#include <math.h>

enum { SEEDS = 15 };

/* --- the machine --- */

static uint32_t seed;
static uint64_t begin_ns;
static uint64_t quiet_ns; /* until a load starts */

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static uint64_t quiet(uint64_t ns) {
    return ns;
}

/* One of four runs takes up to ten times as long, the others up to one two-hundredth more. */
static uint64_t spikes(uint64_t ns) {
    return draw(4) == 0 ? ns + ns * draw(900) / 100 : ns + ns * draw(100) / 20000;
}

/* The machine slows down to a third. */
static uint64_t drift(uint64_t ns) {
    const double share = fmin((double)(test_clock_ns - begin_ns) / 400e6, 1);
    return (uint64_t)((double)ns * (1 + 2 * share)) + draw(50);
}

/* From some time on all runs take half as long again or more, and threads wait in all of them. */
static uint64_t load(uint64_t ns) {
    if (test_clock_ns - begin_ns < quiet_ns) return ns;
    const uint64_t taken = ns + ns / 2 + ns * draw(100) / 100;
    test_clock_waited_ns += (double)(taken - ns);
    return taken;
}

/* Threads wait in one run of three alone, from some time on. */
static uint64_t half_load(uint64_t ns) {
    return draw(3) == 0 ? load(ns) : ns;
}

/* Who runs longer than a slice of time always waits, and so do the other threads for it. */
static uint64_t slices(uint64_t ns) {
    const uint64_t slice = 1000000, waited = ns / slice * (slice + draw(1000) * (slice / 1000));
    test_clock_waited_ns += 2.0 * (double)waited;
    return ns + waited;
}

static void start_machine(uint64_t (*disturb)(uint64_t), int number) {
    test_clock_disturb = disturb;
    test_clock_waited_ns = 0;
    begin_ns = test_clock_ns;
    seed = 77u + (uint32_t)number * 7919u;
    quiet_ns = (uint64_t)number * 200000;
}

static uint64_t (*const machines[])(uint64_t) = {quiet, spikes, drift, load, half_load};
enum { MACHINES = sizeof machines / sizeof *machines };
static const char *const machine_names[] = {"quiet", "spikes", "drift", "load", "half load"};

static int setup(void **state) {
    const int result = build_test_setup(state);
    layer_pace_of("mix_c16")->ns = 5000000; /* never worth it here */
    return result;
}

static int teardown(void **state) {
    test_clock_disturb = NULL;
    return graph_test_teardown(state);
}
#define CHOICE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* --- the network --- */

static tn_tensor_id mix(tn_graph *graph, const char *name, tn_tensor_id x, const char *weights) {
    tn_tensor_id w = add_floats(graph, weights, 1, (const int64_t[]){20});
    return add_node(graph, "Mix", name, 2, TENSORS(x, w));
}

static tn_tensor_id image(tn_graph *graph) {
    return add_input(graph, "image", TN_F32, 4, EXTENTS(1, 20, 3, 3));
}

/* A kernel that absorbs the activation, and one that does not, with paces; which one is taken? */
static void assert_fuses(void **state, uint64_t plain_ns, uint64_t fused_ns, bool is_wanted) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph), "w")));
    layer_pace_of("mix_plain")->ns = plain_ns;
    layer_pace_of("mix_fused")->ns = fused_ns;
    for (int machine = 0; machine < MACHINES; machine++)
        for (int number = 0; number < SEEDS; number++) {
            build_stage stage;
            start_machine(machines[machine], number);
            lower_or_fail(&stage, graph, TIMED);
            if ((step_of(&stage, "relu") == NULL) != is_wanted)
                fail_msg("%s, %d: %s", machine_names[machine], number, kernel_of(&stage, "mix"));
            stage_end(&stage);
        }
}

static void test_a_fused_kernel_is_taken_where_it_is_faster(void **state) {
    assert_fuses(state, 400000, 300000, true);
}

static void test_a_fused_kernel_that_is_hardly_slower_is_taken(void **state) {
    assert_fuses(state, 300000, 301500, true);
}

/* The faster kernel makes the weights larger by 1 MB; what that costs is said by the policy's rate
 * of memory, 0.1 ms. */
static void assert_larger_weights_win(void **state, int64_t other_constants, uint64_t slower_ns,
                                      bool is_wanted) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    static const float zeros[5 << 20];
    tn_tensor_id more = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_constant(graph, "more", TN_F32, 1, &other_constants, zeros,
                                           (size_t)other_constants * sizeof *zeros, &more),
                     TN_OK);
    add_output(graph, mix(graph, "mix", image(graph), "w"));
    add_output(graph, add_unary(graph, "Relu", "relu", more));
    layer_pace_of("mix_plain")->ns = 300000;
    layer_pace_of("mix_plain")->packed_bytes = 1000000;
    layer_pace_of("mix_fused")->ns = slower_ns;
    build_stage stage;
    start_machine(quiet, 0);
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "mix"), is_wanted ? "mix_plain" : "mix_fused");
    stage_end(&stage);
}

static void test_larger_weights_cost_what_memory_takes_for_them(void **state) {
    assert_larger_weights_win(state, 5 << 20, 380000, false);
}

static void test_larger_weights_are_taken_where_they_win_more(void **state) {
    assert_larger_weights_win(state, 5 << 20, 420000, true);
}

static void test_larger_weights_that_stay_in_caches_cost_nothing(void **state) {
    assert_larger_weights_win(state, 1000, 380000, true);
}

/* Disturbed samples alone say too little for that: see the next. */
static void test_a_fused_kernel_that_is_slower_beyond_the_noise_is_not_taken(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph), "w")));
    layer_pace_of("mix_plain")->ns = 200000;
    layer_pace_of("mix_fused")->ns = 280000;
    for (int machine = 0; machine < MACHINES; machine++)
        for (int number = 0; number < SEEDS; number++) {
            build_stage stage;
            if (machines[machine] == load) continue;
            start_machine(machines[machine], number);
            lower_or_fail(&stage, graph, TIMED);
            if (!step_of(&stage, "relu"))
                fail_msg("%s, %d: %s", machine_names[machine], number, kernel_of(&stage, "mix"));
            stage_end(&stage);
        }
}

/* That it was disturbed in all its samples is no reason to think better of it than they say. */
static void test_a_slow_kernel_that_is_always_disturbed_is_not_taken(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph), "w")));
    layer_pace_of("mix_plain")->ns = 300000;
    layer_pace_of("mix_fused")->ns = 2500000;
    for (int number = 0; number < SEEDS; number++) {
        build_stage stage;
        start_machine(slices, number);
        lower_or_fail(&stage, graph, TIMED);
        assert_string_equal(kernel_of(&stage, "mix"), "mix_plain");
        assert_non_null(step_of(&stage, "relu"));
        stage_end(&stage);
    }
}

static void test_a_fused_kernel_that_was_disturbed_alone_is_taken(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    add_output(graph, add_unary(graph, "Relu", "relu", mix(graph, "mix", image(graph), "w")));
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = 300000;
    start_machine(load, 0);
    quiet_ns = 0;
    lower_or_fail(&stage, graph, TIMED);
    assert_string_equal(kernel_of(&stage, "mix"), "mix_fused");
    assert_null(step_of(&stage, "relu"));
    stage_end(&stage);
}

static void test_kernels_that_are_equally_fast_are_chosen_by_rule(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    char chosen[32] = "";
    add_output(graph, mix(graph, "mix", image(graph), "w"));
    for (int number = 0; number < SEEDS; number++) {
        layer_pace_of("mix_plain")->ns = 300000 + (number % 3 == 0 ? 2000u : 0);
        layer_pace_of("mix_fused")->ns = 300000 + (number % 3 == 1 ? 2000u : 0);
        start_machine(number % 2 ? spikes : drift, number);
        lower_or_fail(&stage, graph, TIMED);
        if (number == 0) snprintf(chosen, sizeof chosen, "%s", kernel_of(&stage, "mix"));
        assert_string_equal(kernel_of(&stage, "mix"), chosen);
        stage_end(&stage);
    }
}

static void test_a_tactic_that_is_faster_is_found_on_a_busy_machine(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_output(graph, add_unary(graph, "Scale", "scale", image(graph)));
    layer_pace_of("scale_0")->ns = 330000;
    layer_pace_of("scale_1")->ns = 300000;
    layer_pace_of("scale_2")->ns = 360000;
    for (int machine = 0; machine < MACHINES; machine++)
        for (int number = 0; number < SEEDS; number++) {
            build_stage stage;
            if (machines[machine] == load) continue; /* by rule, then */
            start_machine(machines[machine], number);
            lower_or_fail(&stage, graph, TIMED);
            if (step_of(&stage, "scale")->tactic != 1)
                fail_msg("%s, %d: %u", machine_names[machine], number,
                         step_of(&stage, "scale")->tactic);
            stage_end(&stage);
        }
}

static uint64_t runs_of_mix(void) {
    return layer_pace_of("mix_plain")->runs + layer_pace_of("mix_fused")->runs +
           layer_pace_of("mix_c16")->runs;
}

static void test_equal_nodes_share_one_measurement(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    char name[16] = "mix0";
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = 300000;
    tn_tensor_id x = mix(graph, name, image(graph), "w0");
    start_machine(drift, 0);
    add_output(graph, x);
    lower_or_fail(&stage, graph, TIMED);
    stage_end(&stage);
    const uint64_t one = runs_of_mix();
    for (int i = 1; i < 6; i++) {
        char weights[16];
        snprintf(name, sizeof name, "mix%d", i);
        snprintf(weights, sizeof weights, "w%d", i);
        x = mix(graph, name, x, weights);
    }
    add_output(graph, x);
    const uint64_t before = runs_of_mix();
    start_machine(drift, 0);
    lower_or_fail(&stage, graph, TIMED);
    assert_int_equal(runs_of_mix() - before, one);
    for (int i = 1; i < 6; i++) {
        snprintf(name, sizeof name, "mix%d", i);
        assert_string_equal(kernel_of(&stage, name), kernel_of(&stage, "mix0"));
        assert_true(step_of(&stage, name)->nanoseconds == step_of(&stage, "mix0")->nanoseconds);
    }
    stage_end(&stage);
}

/* Twelve nodes' kernels, first alone and then in rounds, take all the time that there is for them:
 * more than half of it is over when the rounds begin. */
static void test_time_is_kept_for_conversions(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_lower_options options = TIMED;
    char name[2][16];
    for (int i = 0; i < 12; i++) {
        snprintf(name[0], sizeof name[0], "x%d", i);
        snprintf(name[1], sizeof name[1], "mix%d", i);
        const tn_tensor_id x = add_input(graph, name[0], TN_F32, 4, EXTENTS(1, 20, 3, 3 + i));
        add_output(graph, mix(graph, name[1], x, name[1]));
    }
    layer_pace_of("mix_c16")->ns = 100000;
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = 120000;
    options.timing_seconds = 24e-3;
    start_machine(quiet, 0);
    lower_or_fail(&stage, graph, options);
    assert_int_equal(count_kind(&stage, TN_STEP_REFORMAT), 24);
    for (uint32_t s = 0; s < stage.program.step_count; s++)
        if (stage.program.steps[s].kind == TN_STEP_REFORMAT)
            assert_true(stage.program.steps[s].nanoseconds > 0);
    stage_end(&stage);
}

/* What is measured first is slow, and there is no time for the rest. */
static void test_without_time_the_rule_decides_as_without_timing(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage timed, untimed;
    tn_lower_options options = TIMED;
    options.timing_seconds = 1e-9;
    tn_tensor_id first = add_unary(graph, "Relu", "relu", mix(graph, "first", image(graph), "w"));
    add_output(graph, add_unary(graph, "Relu", "last", mix(graph, "second", first, "v")));
    start_machine(load, 0);
    lower_or_fail(&timed, graph, options);
    lower_or_fail(&untimed, graph, NO_TIMING);
    assert_int_equal(runs_of_mix(), 0);
    assert_string_equal(kernel_of(&timed, "first"), kernel_of(&untimed, "first"));
    assert_string_equal(kernel_of(&timed, "second"), kernel_of(&untimed, "second"));
    assert_null(step_of(&timed, "relu"));
    assert_null(step_of(&timed, "last"));
    stage_end(&timed);
    stage_end(&untimed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CHOICE_TEST(test_a_fused_kernel_is_taken_where_it_is_faster),
        CHOICE_TEST(test_a_fused_kernel_that_is_hardly_slower_is_taken),
        CHOICE_TEST(test_larger_weights_cost_what_memory_takes_for_them),
        CHOICE_TEST(test_larger_weights_are_taken_where_they_win_more),
        CHOICE_TEST(test_larger_weights_that_stay_in_caches_cost_nothing),
        CHOICE_TEST(test_a_fused_kernel_that_is_slower_beyond_the_noise_is_not_taken),
        CHOICE_TEST(test_a_slow_kernel_that_is_always_disturbed_is_not_taken),
        CHOICE_TEST(test_a_fused_kernel_that_was_disturbed_alone_is_taken),
        CHOICE_TEST(test_kernels_that_are_equally_fast_are_chosen_by_rule),
        CHOICE_TEST(test_a_tactic_that_is_faster_is_found_on_a_busy_machine),
        CHOICE_TEST(test_equal_nodes_share_one_measurement),
        CHOICE_TEST(test_time_is_kept_for_conversions),
        CHOICE_TEST(test_without_time_the_rule_decides_as_without_timing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
