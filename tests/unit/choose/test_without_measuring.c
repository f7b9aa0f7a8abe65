/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing without measuring: what a timing cache has decides, and for nodes that it does not know
 * what was measured of the same kernels.
 */
#include "build_test.h"
#include "builder/timing/timing_cache.h"

static const char *const kernels[] = {"mix_plain", "mix_fused", "mix_nhwc", "mix_c16"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static uint64_t count_runs(void) {
    uint64_t runs = 0;
    for (size_t i = 0; i < KERNELS; i++)
        runs += layer_pace_of(kernels[i])->runs;
    return runs;
}

static void add_mix(graph_test *test, const char *name, const char *weights, int64_t extent) {
    char input[16];
    snprintf(input, sizeof input, "%s_image", name);
    tn_tensor_id x = add_input(test->graph, input, TN_F32, 4, EXTENTS(1, 20, extent, extent)),
                 w = add_floats(test->graph, weights, 1, (const int64_t[]){20});
    add_output(test->graph, add_node(test->graph, "Mix", name, 2, TENSORS(x, w)));
}

static void lower_with(build_stage *stage, graph_test *test, tn_timing_cache *cache,
                       bool no_timing) {
    lower_or_fail(stage, test->graph, ((tn_lower_options){.no_timing = no_timing, .cache = cache}));
}

static void open_cache(graph_test *test, tn_timing_cache **out_cache) {
    assert_int_equal(tn_timing_cache_open(test->runtime, NULL, out_cache), TN_OK);
}

/* The kernel that estimates prefer is made slow, so that measuring takes another one. */
static void test_what_the_cache_has_decides(void **state) {
    graph_test *test = *state;
    tn_timing_cache *cache = NULL;
    build_stage stage;
    char estimated[64], measured[64];
    add_mix(test, "mix", "w", 3);
    lower_with(&stage, test, NULL, true);
    snprintf(estimated, sizeof estimated, "%s", kernel_of(&stage, "mix"));
    stage_end(&stage);
    layer_pace_of(estimated)->ns = 5000000;
    open_cache(test, &cache);
    lower_with(&stage, test, cache, true);
    assert_string_equal(kernel_of(&stage, "mix"), estimated); /* an empty one changes nothing */
    stage_end(&stage);
    assert_int_equal(count_runs(), 0);
    lower_with(&stage, test, cache, false);
    snprintf(measured, sizeof measured, "%s", kernel_of(&stage, "mix"));
    stage_end(&stage);
    assert_string_not_equal(measured, estimated);
    const uint64_t runs = count_runs();
    for (int i = 0; i < 2; i++) {
        lower_with(&stage, test, cache, true);
        assert_string_equal(kernel_of(&stage, "mix"), measured);
        stage_end(&stage);
    }
    assert_int_equal(count_runs(), runs);
    tn_timing_cache_close(cache);
}

/* A node of another size is not in the cache, but its kernels are. */
static void test_what_was_measured_of_kernels_corrects_estimates(void **state) {
    graph_test *test = *state;
    tn_timing_cache *cache = NULL;
    build_stage stage;
    char estimated[64];
    add_mix(test, "mix", "w", 3);
    lower_with(&stage, test, NULL, true);
    snprintf(estimated, sizeof estimated, "%s", kernel_of(&stage, "mix"));
    stage_end(&stage);
    layer_pace_of(estimated)->ns = 5000000;
    open_cache(test, &cache);
    lower_with(&stage, test, cache, false);
    stage_end(&stage);
    add_mix(test, "larger", "v", 5);
    const uint64_t runs = count_runs();
    lower_with(&stage, test, NULL, true);
    assert_string_equal(kernel_of(&stage, "larger"), estimated);
    stage_end(&stage);
    lower_with(&stage, test, cache, true);
    assert_string_not_equal(kernel_of(&stage, "larger"), estimated);
    stage_end(&stage);
    assert_int_equal(count_runs(), runs);
    tn_timing_cache_close(cache);
}

/* The kernel of a node whose input has from least to most of its extents on an axis. */
static void check_node(graph_test *test, uint32_t axis, int64_t most, bool no_timing,
                       const char *wanted) {
    int64_t extents[2][3] = {{1, 512, 512}, {1, 512, 512}};
    build_stage stage;
    extents[1][axis] = most;
    const tn_profile_input input = {.size = sizeof input,
                                    .name = "x",
                                    .rank = 3,
                                    .minimum = extents[0],
                                    .optimum = extents[0],
                                    .maximum = extents[1]};
    const tn_profile_input *const inputs[] = {&input};
    const tn_builder_options options = {
        .size = sizeof options, .profile_input_count = 1, .profile_inputs = inputs};
    stage_infer(&stage, test->graph, &options);
    assert_int_equal(stage_lower(&stage, (tn_lower_options){.no_timing = no_timing}), TN_OK);
    assert_string_equal(kernel_of(&stage, "node"), wanted);
    stage_end(&stage);
}

/* The kernel with OpenMP comes first in the order of preference. */
static void test_kernels_that_are_made_for_each_shape(void **state) {
    graph_test *test = *state;
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 3, EXTENTS(-1, -1, -1));
    add_output(test->graph, add_unary(test->graph, "Team", "node", x));
    layer_pace_of("team_own")->ns = 3000000;
    check_node(test, 2, 512, true, "team_openmp");
    check_node(test, 0, 8, true, "team_openmp"); /* a batch alone */
    check_node(test, 2, 600, true, "team_own");
    check_node(test, 2, 600, false, "team_openmp"); /* measured */
}

/* Without weights they are made in less, which decides for each node. */
static void test_kernels_without_weights_that_are_made_for_each_shape(void **state) {
    graph_test *test = *state;
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 3, EXTENTS(-1, -1, -1));
    add_output(test->graph, add_unary(test->graph, "Bare", "node", x));
    check_node(test, 2, 512, true, "bare_openmp");
    check_node(test, 0, 8, true, "bare_openmp");
    check_node(test, 2, 600, true, "bare_own");
}

#define BUILD_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, build_test_setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_what_the_cache_has_decides),
        BUILD_TEST(test_what_was_measured_of_kernels_corrects_estimates),
        BUILD_TEST(test_kernels_that_are_made_for_each_shape),
        BUILD_TEST(test_kernels_without_weights_that_are_made_for_each_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
