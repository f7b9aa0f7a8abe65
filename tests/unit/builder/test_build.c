/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_build as a whole: same bytes from the same model and cache, nothing measured twice, the
 * report, bad options, and no leak whichever allocation fails.
 */
#include "build_test.h"

#include <sys/wait.h>
#include <unistd.h>

/* Something of everything: folded, dropped, fused, blocked, a view, a shape. */
static void make_network(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(-1, 20, 3, 3));
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(20));
    tn_tensor_id bias = add_unary(graph, "Relu", "folded", add_floats(graph, "b", 1, EXTENTS(20)));
    tn_tensor_id same = add_unary(graph, "Same", "identity", x);
    tn_tensor_id mixed = add_node(graph, "Mix", "mix", 2, TENSORS(same, w));
    tn_tensor_id biased = add_node(graph, "Plus", "bias_add", 2, TENSORS(mixed, bias));
    tn_tensor_id again = add_node(graph, "Mix", "mix_again", 2, TENSORS(biased, w));
    tn_tensor_id sum = add_node(graph, "Plus", "residual", 2, TENSORS(again, x));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", sum);
    tn_tensor_id blocked = add_unary(graph, "Only16", "blocked", relu);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", x);
    tn_tensor_id flat = add_node(graph, "Reshape", "view", 2, TENSORS(blocked, shape));
    add_unary(graph, "Relu", "dead", flat);
    add_output(graph, add_unary(graph, "Scale", "scale", flat));
}

static tn_builder_options batch_options(void) {
    static const int64_t minimum[] = {1, 20, 3, 3}, maximum[] = {4, 20, 3, 3};
    static const tn_profile_input range = {.size = sizeof range,
                                           .rank = 4,
                                           .name = "x",
                                           .minimum = minimum,
                                           .optimum = minimum,
                                           .maximum = maximum};
    static const tn_profile_input *const ranges[] = {&range};
    return (tn_builder_options){.size = sizeof(tn_builder_options),
                                .threads = 1,
                                .profile_input_count = 1,
                                .profile_inputs = ranges};
}

static tn_plan *build(graph_test *test, const tn_builder_options *options) {
    tn_plan *plan = NULL;
    if (tn_build(test->graph, options, &plan) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return plan;
}

static void assert_same_bytes(const tn_plan *a, const tn_plan *b) {
    uint64_t a_bytes = 0, b_bytes = 0;
    const void *a_data = tn_plan_bytes(a, &a_bytes), *b_data = tn_plan_bytes(b, &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a_data, b_data, a_bytes);
}

static void test_same_model_gives_same_bytes(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.flags = TN_BUILD_NO_TIMING;
    tn_plan *first = build(test, &options), *second = build(test, &options);
    assert_same_bytes(first, second);
    assert_string_equal(tn_plan_report(first), tn_plan_report(second));
    tn_plan_destroy(first);
    tn_plan_destroy(second);
}

static uint64_t all_runs(void) {
    uint64_t runs = 0;
    for (size_t i = 0; i < sizeof layer_paces / sizeof *layer_paces; i++)
        runs += layer_paces[i].runs;
    return runs;
}

static void test_a_warm_cache_measures_nothing_and_gives_same_bytes(void **state) {
    graph_test *test = *state;
    char folder[] = "/tmp/tenon_build_XXXXXX", path[64], lock[72];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/timings", folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.timing_cache = path;
    tn_plan *first = build(test, &options);
    assert_true(all_runs() > 0);
    layer_run_counts_clear();
    tn_plan *second = build(test, &options);
    assert_int_equal(all_runs(), 0);
    assert_same_bytes(first, second);
    tn_plan_destroy(first);
    tn_plan_destroy(second);
    unlink(path);
    unlink(lock);
    assert_int_equal(rmdir(folder), 0);
}

static void test_processes_that_share_a_cache_all_build(void **state) {
    graph_test *test = *state;
    char folder[] = "/tmp/tenon_build_XXXXXX", path[64], lock[72];
    pid_t children[2];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/timings", folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.timing_cache = path;
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        tn_plan *plan = NULL;
        if (children[i] == 0) _exit(tn_build(test->graph, &options, &plan));
    }
    for (int i = 0; i < 2; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
    /* By times of both together a third choice may be the best one: it is measured once. */
    tn_plan_destroy(build(test, &options));
    layer_run_counts_clear();
    tn_plan_destroy(build(test, &options));
    assert_int_equal(all_runs(), 0);
    unlink(path);
    unlink(lock);
    assert_int_equal(rmdir(folder), 0);
}

static void assert_has(const char *report, const char *part) {
    if (!strstr(report, part)) fail_msg("'%s' is not in the report:\n%s", part, report);
}

static void test_the_report_says_what_was_done(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.force_kernel = "Mix=mix_fused";
    tn_plan *plan = build(test, &options);
    const char *report = tn_plan_report(plan);
    assert_has(report, "\"folded\": [\"folded\"]");
    assert_has(report, "\"dropped\": [\"dead\", \"identity\"]");
    assert_has(report, "\"kernel\": \"mix_fused\", \"library\": \"build_layers\"");
    assert_has(report, "\"absorbed\": [\"residual\", \"relu\"]");
    assert_has(report, "\"kind\": \"view\"");
    assert_has(report, "\"kind\": \"shape\"");
    assert_has(report, "\"from\": \"linear\", \"to\": \"c16\", \"bytes\": 1152");
    assert_has(report, "\"min\": [1, 20, 3, 3], \"opt\": [1, 20, 3, 3], \"max\": [4, 20, 3, 3]");
    assert_has(report, "\"arena_bytes\": ");
    tn_plan_destroy(plan);
}

static void test_the_report_lists_candidates_and_memory(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.flags = TN_BUILD_NO_TIMING;
    tn_plan *plan = build(test, &options);
    const char *report = tn_plan_report(plan);
    assert_has(report, "\"candidates\": [{\"kernel\": ");
    assert_has(report, "\"time\": \"estimated\", \"chosen\": true}");
    assert_has(report, "\"kernel\": \"mix_fused\", \"library\": \"build_layers\", \"absorbs\": "
                       "[\"Plus\"]");
    assert_has(report, "\"memory\": {\"workspaces\": false, \"arenas\": [");
    assert_has(report, "\"step\": 0");
    assert_null(strstr(report, "\"time\": \"measured\""));
    tn_plan_destroy(plan);
}

static void test_the_graph_is_not_changed(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    size_t nodes = test->graph->node_count, tensors = test->graph->tensor_count;
    tn_builder_options options = batch_options();
    options.flags = TN_BUILD_NO_TIMING;
    tn_plan_destroy(build(test, &options));
    assert_int_equal(test->graph->node_count, nodes);
    assert_int_equal(test->graph->tensor_count, tensors);
    assert_true(has_node(test->graph, "identity") && has_node(test->graph, "dead"));
}

static void test_wrong_options_are_refused(void **state) {
    graph_test *test = *state;
    tn_plan *plan = NULL;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.size = 0;
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_ARGUMENT);
    options = batch_options();
    options.device = "abacus";
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_NOT_FOUND);
    assert_error("abacus", NULL);
    options = batch_options();
    options.force_kernel = "Mix=none_such";
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_NOT_FOUND);
    options = batch_options();
    options.precision = TN_PRECISION_F16; /* a second one is 16-bit floats beside 8 bits */
    options.second_precision = TN_PRECISION_BF16;
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_ARGUMENT);
    options.precision = TN_PRECISION_I8;
    options.second_precision = TN_PRECISION_TF32;
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_ARGUMENT);
    options = batch_options();
    options.profile_inputs = NULL;
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_ARGUMENT);
    static const char *const silu[] = {"silu"};
    options = (tn_builder_options){.size = sizeof(options),
                                   .without_rewrite_count = 1,
                                   .without_rewrites = silu,
                                   .flags = TN_BUILD_NO_FUSION};
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_ERROR_ARGUMENT);
    assert_non_null(strstr(tn_last_error()->message, "applies none"));
    assert_int_equal(tn_build(NULL, &options, &plan), TN_ERROR_ARGUMENT);
    assert_null(plan);
}

static void test_a_cache_that_cannot_be_written_is_no_error(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.timing_cache = "/proc/none/timings";
    tn_plan_destroy(build(test, &options));
}

static void test_failing_allocations_leave_nothing_behind(void **state) {
    graph_test *test = *state;
    make_network(test->graph);
    tn_builder_options options = batch_options();
    options.flags = TN_BUILD_NO_TIMING;     /* the same allocations each time */
    tn_plan_destroy(build(test, &options)); /* what the runtime loads once is there now */
    test->allocator.allocations = 0;
    tn_plan_destroy(build(test, &options));
    uint64_t count = test->allocator.allocations;
    int64_t live = test->allocator.live;
    for (uint64_t at = 1; at <= count; at++) {
        tn_plan *plan = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        tn_status status = tn_build(test->graph, &options, &plan);
        test->allocator.fail_at = 0;
        if (status == TN_OK)
            tn_plan_destroy(plan);
        else
            assert_int_equal(status, TN_ERROR_MEMORY);
        if (test->allocator.live != live)
            fail_msg("allocation %llu of %llu leaves %lld blocks", (unsigned long long)at,
                     (unsigned long long)count, (long long)(test->allocator.live - live));
    }
    assert_true(count > 100);
}

static void test_failing_allocations_while_timing_leave_nothing_behind(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3));
    add_output(graph, add_unary(graph, "Fragile", "fragile", add_unary(graph, "Only16", "b", x)));
    tn_builder_options options = {.size = sizeof options, .threads = 1};
    tn_plan_destroy(build(test, &options));
    test->allocator.allocations = 0;
    tn_plan_destroy(build(test, &options));
    uint64_t count = test->allocator.allocations;
    int64_t live = test->allocator.live;
    for (uint64_t at = 1; at <= count; at++) {
        tn_plan *plan = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        tn_status status = tn_build(graph, &options, &plan);
        test->allocator.fail_at = 0;
        if (status == TN_OK) tn_plan_destroy(plan);
        assert_int_equal(layer_fragile_alive, 0);
        if (test->allocator.live != live)
            fail_msg("allocation %llu of %llu leaves %lld blocks", (unsigned long long)at,
                     (unsigned long long)count, (long long)(test->allocator.live - live));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_same_model_gives_same_bytes),
        BUILD_TEST(test_a_warm_cache_measures_nothing_and_gives_same_bytes),
        BUILD_TEST(test_processes_that_share_a_cache_all_build),
        BUILD_TEST(test_the_report_says_what_was_done),
        BUILD_TEST(test_the_report_lists_candidates_and_memory),
        BUILD_TEST(test_the_graph_is_not_changed),
        BUILD_TEST(test_wrong_options_are_refused),
        BUILD_TEST(test_a_cache_that_cannot_be_written_is_no_error),
        BUILD_TEST(test_failing_allocations_leave_nothing_behind),
        BUILD_TEST(test_failing_allocations_while_timing_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
