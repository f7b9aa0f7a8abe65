/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of what is not measured: what kernels say of their tactics, and in which order times of
 * convolutions have to be. */
#include "conv/direct_plan.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "build_test.h"

#include "plugin/call.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * what kernels say */

/* The tactic that a build without measuring takes, the kernel saying so of the three. */
static uint32_t tactic_of(tn_graph *graph, tn_cost first, tn_cost second, tn_cost third) {
    build_stage stage;
    layer_scale_said[0] = first;
    layer_scale_said[1] = second;
    layer_scale_said[2] = third;
    lower_or_fail(&stage, graph, ((tn_lower_options){.no_timing = true}));
    const uint32_t tactic = step_of(&stage, "scale")->tactic;
    stage_end(&stage);
    memset(layer_scale_said, 0, sizeof(layer_scale_said));
    return tactic;
}

#define SAID(of_work, of_passed)                                                                   \
    ((tn_cost){.size = sizeof(tn_cost), .work = (of_work), .passed = (of_passed)})

static void test_what_kernels_say_of_their_tactics(void **state) {
    static const tn_cost nothing;
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 16, 32, 32));
    add_output(graph, add_unary(graph, "Scale", "scale", x));
    assert_int_equal(tactic_of(graph, nothing, nothing, nothing), 0);
    assert_int_equal(tactic_of(graph, SAID(1, 1e9), nothing, nothing), 1);
    assert_int_equal(tactic_of(graph, SAID(1, 1e9), SAID(1, 1e9), nothing), 2);
    assert_int_equal(tactic_of(graph, SAID(1, 1e6), SAID(1, 1e9), SAID(1, 1e9)), 0);
    /* what makes no sense is nothing */
    assert_int_equal(tactic_of(graph, SAID(NAN, 1e9), nothing, nothing), 0);
    assert_int_equal(tactic_of(graph, SAID(0, 1e9), nothing, nothing), 0);
    assert_int_equal(tactic_of(graph, SAID(-1, 1e9), nothing, nothing), 0);
    assert_int_equal(tactic_of(graph, SAID(1, INFINITY), nothing, nothing), 0);
    assert_int_equal(tactic_of(graph, SAID(1, -1e9), nothing, nothing), 0);
    /* an older header's struct ends before */
    tn_cost older = SAID(1, 1e9);
    older.size = offsetof(tn_cost, passed);
    assert_int_equal(tactic_of(graph, older, nothing, nothing), 0);
}

static void test_only_tactics_are_listened_to(void **state) {
    graph_test *test = *state;
    const tn_host *host = tn_runtime_host(test->runtime);
    const tn_cost_service *costs = host->extension(host, TN_COSTS);
    tn_cost items[2] = {{0}}, cost = SAID(1, 5);
    const tn_tactic_costs listener = {2, items};
    tn_call_scope scope = {0};
    tn_call call = {.size = sizeof(call), .host_private = &scope};
    costs->set(NULL, 0, &cost);
    costs->set(&call, 0, &cost);
    scope.costs = &listener;
    costs->set(&call, 2, &cost);
    costs->set(&call, 0, NULL);
    assert_int_equal(items[0].size + items[1].size, 0);
    costs->set(&call, 1, &cost);
    assert_int_equal(items[0].size, 0);
    assert_int_equal(items[1].size, sizeof(tn_cost));
    assert_true(items[1].passed == 5);
}

/* ----------------------------------------------------------------------------------------------
 * the direct convolution */

static tn_conv_geometry square(int64_t channels, int64_t filters, int64_t out, int64_t kernel,
                               int64_t stride) {
    return (tn_conv_geometry){.batch = 1,
                              .groups = 1,
                              .channels = channels,
                              .filters = filters,
                              .in_height = out * stride,
                              .in_width = out * stride,
                              .out_height = out,
                              .out_width = out,
                              .kernel_height = kernel,
                              .kernel_width = kernel,
                              .stride_height = stride,
                              .stride_width = stride,
                              .dilation_height = 1,
                              .dilation_width = 1,
                              .pad_top = kernel / 2,
                              .pad_left = kernel / 2,
                              .in_depth = 1,
                              .out_depth = 1,
                              .kernel_depth = 1,
                              .stride_depth = 1,
                              .dilation_depth = 1};
}

static void check_direct_work(const tn_direct_level *level) {
    const tn_conv_geometry many = square(64, 64, 56, 3, 1), small = square(512, 512, 7, 3, 1),
                           stem = square(3, 32, 112, 3, 2), even = square(3, 32, 112, 3, 1),
                           one = square(1, 1, 14, 3, 1), point = square(64, 64, 56, 1, 1);
    const double work = tn_direct_plan_work(level, &many);
    assert_true(work >= 1 && work < 1.6);
    assert_true(tn_direct_plan_work(level, &point) >= 0.99);
    assert_true(tn_direct_plan_work(level, &point) <= work + 0.05);
    assert_true(tn_direct_plan_work(level, &small) > 1);
    assert_true(tn_direct_plan_work(level, &small) < 2.2); /* its rows are laid out in one */
    assert_true(tn_direct_plan_work(level, &stem) > 1.2 * tn_direct_plan_work(level, &even));
    assert_true(tn_direct_plan_work(level, &one) > 3 * work); /* a channel by itself */
}

static void test_what_the_direct_convolution_says(void **state) {
    (void)state;
    check_direct_work(&tn_direct_avx2);
    check_direct_work(&tn_direct_avx512);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_what_kernels_say_of_their_tactics),
        BUILD_TEST(test_only_tactics_are_listened_to),
        cmocka_unit_test(test_what_the_direct_convolution_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
