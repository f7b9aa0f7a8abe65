/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of what there was no time to measure, and the rates that costs go by. */
#include "build_test.h"

#include "builder/timing/timing.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_rates.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * estimates beside measured times */

/* The costs of the candidates of two nodes, of which there is time for the first: the second is
 * smaller. */
typedef struct costs {
    build_stage stage;
    tn_lower_notes notes;
} costs;

static void lower_two(costs *found, tn_graph *graph, tn_lower_options options) {
    options.notes = &found->notes;
    lower_or_fail(&found->stage, graph, options);
}

static const tn_lower_candidate *candidate_of(const costs *found, const char *node,
                                              const char *kernel) {
    const tn_lower_candidate_list *list =
        &found->notes.candidates[step_of(&found->stage, node)->node];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kernel && strcmp(list->items[i].kernel, kernel) == 0)
            return &list->items[i];
    fail_msg("%s is no candidate of %s", kernel, node);
    return NULL;
}

static void test_the_rest_costs_as_much_more_than_its_estimates(void **state) {
    static const char *const kernels[] = {"mix_plain", "mix_fused"};
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    costs timed, untimed;
    for (int i = 0; i < 2; i++) {
        const tn_tensor_id x = add_input(graph, i == 0 ? "x" : "y", TN_F32, 4,
                                         EXTENTS(1, 20, 4 - 2 * i, 4)),
                           w = add_floats(graph, i == 0 ? "w" : "v", 1, (const int64_t[]){20});
        add_output(graph, add_node(graph, "Mix", i == 0 ? "large" : "small", 2, TENSORS(x, w)));
    }
    layer_pace_of("mix_plain")->ns = layer_pace_of("mix_fused")->ns = layer_pace_of("mix_c16")->ns =
        3000000;
    lower_two(&untimed, graph, NO_TIMING);
    lower_two(&timed, graph, ((tn_lower_options){.timing_seconds = 10e-3}));
    const tn_lower_candidate *fastest = candidate_of(&timed, "large", "mix_fused");
    if (fastest->time_source != TN_LOWER_MEASURED)
        fastest = candidate_of(&timed, "large", "mix_plain");
    assert_int_equal(fastest->time_source, TN_LOWER_MEASURED);
    const double ratio =
        fastest->nanoseconds / candidate_of(&untimed, "large", fastest->kernel)->nanoseconds;
    assert_true(ratio > 100);
    for (int i = 0; i < 2; i++) {
        const tn_lower_candidate *guessed = candidate_of(&timed, "small", kernels[i]);
        const double estimate = candidate_of(&untimed, "small", kernels[i])->nanoseconds;
        assert_int_equal(guessed->time_source, TN_LOWER_ESTIMATED);
        assert_true(fabs(guessed->nanoseconds - ratio * estimate) < 0.01 * ratio * estimate);
    }
    stage_end(&timed.stage);
    stage_end(&untimed.stage);
}

/* ----------------------------------------------------------------------------------------------
 * rates, on this machine's own clock */

/* What a network with so many constants of 8 MB has for rates. */
static tn_timing_rates rates_of(graph_test *test, uint32_t constants, tn_timing_cache *cache) {
    const tn_lower_options options = {.threads = 1, .cache = cache};
    tn_lowering lowering = {.graph = test->graph, .options = &options};
    const int64_t extent = 2 << 20;
    float *zeros = calloc((size_t)extent, sizeof *zeros);
    assert_non_null(zeros);
    for (uint32_t i = (uint32_t)test->graph->tensor_count; i < constants; i++) {
        char name[16];
        tn_tensor_id id;
        snprintf(name, sizeof name, "w%u", i);
        assert_int_equal(tn_graph_add_constant(test->graph, name, TN_F32, 1, &extent, zeros,
                                               (size_t)extent * sizeof *zeros, &id),
                         TN_OK);
    }
    free(zeros);
    assert_int_equal(tn_arena_create(test->graph->allocator, &lowering.arena), TN_OK);
    assert_int_equal(tn_timing_begin(&lowering), TN_OK);
    assert_int_equal(tn_timing_rates_find(&lowering), TN_OK);
    const tn_timing_rates rates = *lowering.rates;
    tn_timing_end(&lowering);
    tn_arena_destroy(lowering.arena);
    return rates;
}

static void assert_same_rate(tn_timing_rate a, tn_timing_rate b) {
    assert_true(a.step_ns == b.step_ns && a.bytes_a_ns == b.bytes_a_ns);
}

/* Whatever the machine does beside the build. */
static void test_estimates_are_of_the_same_processor_in_each_build(void **state) {
    const tn_timing_rates usual = tn_timing_policy.rates;
    for (uint32_t constants = 1; constants <= 4; constants += 3) {
        const tn_timing_rates rates = rates_of(*state, constants, NULL);
        assert_same_rate(rates.host, usual.host);
        assert_same_rate(rates.memory, usual.memory);
    }
}

static void test_the_rate_of_weights_is_measured_once(void **state) {
    graph_test *test = *state;
    const double usual = tn_timing_policy.rates.weights_bytes_a_ns;
    tn_timing_cache *cache;
    assert_int_equal(tn_timing_cache_open(test->runtime, NULL, &cache), TN_OK);
    assert_true(rates_of(test, 1, cache).weights_bytes_a_ns == usual); /* they stay in caches */
    const double measured = rates_of(test, 4, cache).weights_bytes_a_ns;
    assert_true(measured > 0 && measured != usual);
    assert_true(rates_of(test, 4, cache).weights_bytes_a_ns == measured);
    tn_timing_cache_close(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_the_rest_costs_as_much_more_than_its_estimates),
        BUILD_TEST(test_estimates_are_of_the_same_processor_in_each_build),
        BUILD_TEST(test_the_rate_of_weights_is_measured_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
