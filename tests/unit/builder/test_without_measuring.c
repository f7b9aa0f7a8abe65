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

#define BUILD_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, build_test_setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_what_the_cache_has_decides),
        BUILD_TEST(test_what_was_measured_of_kernels_corrects_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
