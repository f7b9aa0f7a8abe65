/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If and Loop among the built-in operators, by the C interface: which of them are planned as any
 * node, what runs allocate, and loops without an end. What networks compute is
 * tests/cli/check_control.py's.
 */
#include "run_test.h"

#include <pthread.h>
#include <tenon/async.h>
#include <time.h>

static tn_tensor_id input_of(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                             int64_t extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    run_must(tn_graph_add_input(graph, name, type, rank, &extent, NULL, &id));
    return id;
}

static tn_attribute graph_attribute(const char *name, const tn_body_graph *body) {
    return (tn_attribute){
        .size = sizeof(tn_attribute), .type = TN_FIELD_GRAPH, .name = name, .graph = body};
}

static const tn_body_graph *give(tn_graph *graph, tn_graph *body) {
    const tn_body_graph *made = NULL;
    run_must(tn_graph_add_body(graph, body, 0, &made));
    return made;
}

/* v -> -v, which is stacked as well; the condition goes through. */
static tn_graph *iteration(tn_runtime *runtime) {
    tn_graph *body = NULL;
    run_must(tn_graph_create(runtime, "iteration", &body));
    input_of(body, "i", TN_I64, 0, 0);
    const tn_tensor_id go = input_of(body, "go", TN_BOOL, 0, 0);
    const tn_tensor_id v = input_of(body, "v", TN_F32, UINT32_MAX, 0);
    const tn_tensor_id next = run_unary(body, "Negate", "negate", v);
    run_output(body, go, "go_out");
    run_output(body, next, "v_out");
    run_output(body, next, "stacked");
    return body;
}

static void add_loop(tn_graph *graph, const tn_body_graph *body, tn_tensor_id limit, tn_tensor_id x,
                     tn_tensor_id *out_ids) {
    const tn_attribute attribute = graph_attribute("body", body);
    const tn_attribute *const attributes[] = {&attribute};
    const tn_tensor_id inputs[] = {limit, TN_NO_TENSOR, x};
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 13,
                                      .op = "Loop",
                                      .name = "loop",
                                      .input_count = 3,
                                      .inputs = inputs,
                                      .output_count = 2,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    run_must(tn_graph_add_node(graph, &node, out_ids));
}

static void to_context(run_test *test, uint32_t flags) {
    uint64_t bytes = 0;
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    run_must(tn_build(test->graph, &options, &test->plan));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
}

/* x -> Loop -> y, and all -> Negate; `limit`: TN_NO_TENSOR for none. */
static void make_loop(run_test *test, tn_tensor_id limit, uint32_t flags) {
    tn_tensor_id ids[2];
    const tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, 4);
    add_loop(test->graph, give(test->graph, iteration(test->runtime)), limit, x, ids);
    run_output(test->graph, ids[0], "y");
    run_output(test->graph, run_unary(test->graph, "Negate", "behind", ids[1]), "all");
    to_context(test, flags);
}

static void run_loop(run_test *test, const float *x, int64_t count) {
    const tn_tensor *y = NULL, *all = NULL;
    run_must(tn_context_run(test->context));
    run_must(tn_context_output(test->context, 0, &y));
    run_must(tn_context_output(test->context, 1, &all));
    assert_int_equal(all->rank, 2);
    assert_int_equal(all->shape[0], count);
    assert_int_equal(all->shape[1], 4);
    for (int i = 0; i < 4; i++) {
        assert_true(((const float *)y->data)[i] == (count % 2 ? -x[i] : x[i]));
        for (int64_t k = 0; k < count; k++)
            assert_true(((const float *)all->data)[k * 4 + i] == (k % 2 ? -x[i] : x[i]));
    }
}

static void test_a_loop_with_a_constant_limit_is_no_matter_of_a_run(void **state) {
    run_test *test = *state;
    const int64_t limit = 3;
    float x[4] = {1, 2, 3, 4};
    tn_tensor_id n;
    run_must(tn_graph_add_constant(test->graph, "n", TN_I64, 0, NULL, &limit, sizeof(limit), &n));
    make_loop(test, n, 0);
    assert_false(test->engine->plan.is_sized_by_run);
    run_must(tn_context_bind_input(test->context, 0, x, sizeof(x)));
    for (int i = 0; i < 3; i++)
        run_loop(test, x, 3);
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 4; i++)
        run_loop(test, x, 3);
    assert_int_equal(test->allocator.allocations - before, 0);
}

/* Slices are kept until their number is known; counts that repeat allocate nothing. */
static void check_counted(run_test *test, uint32_t flags, bool is_quiet) {
    int64_t count = 0;
    float x[4] = {1, 2, 3, 4};
    make_loop(test, input_of(test->graph, "n", TN_I64, 0, 0), flags);
    assert_true(test->engine->plan.is_sized_by_run);
    run_must(tn_context_bind_input(test->context, 0, &count, sizeof(count)));
    run_must(tn_context_bind_input(test->context, 1, x, sizeof(x)));
    const int64_t counts[] = {5, 2, 0, 9, 5, 2, 0, 9};
    for (int i = 0; i < 8; i++) {
        count = counts[i];
        run_loop(test, x, count);
    }
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 8; i++) {
        count = counts[i];
        run_loop(test, x, count);
    }
    if (is_quiet) assert_int_equal(test->allocator.allocations - before, 0);
}

static void test_a_loop_that_data_counts_allocates_nothing_where_counts_repeat(void **state) {
    check_counted(*state, 0, true);
}

static void test_a_loop_that_data_counts_runs_by_references(void **state) {
    check_counted(*state, TN_BUILD_REFERENCE, false);
}

static void *cancel_it(void *user) {
    const struct timespec pause = {.tv_nsec = 20000000};
    do
        nanosleep(&pause, NULL);
    while (!tn_context_cancel(user));
    return NULL;
}

static void test_a_loop_without_an_end_is_cancelled(void **state) {
    run_test *test = *state;
    float x[4] = {1, 2, 3, 4};
    pthread_t thread;
    tn_tensor_id ids[2];
    const tn_tensor_id id = input_of(test->graph, "x", TN_F32, 1, 4);
    add_loop(test->graph, give(test->graph, iteration(test->runtime)), TN_NO_TENSOR, id, ids);
    run_output(test->graph, ids[0], "y");
    to_context(test, 0);
    run_must(tn_context_bind_input(test->context, 0, x, sizeof(x)));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(pthread_create(&thread, NULL, cancel_it, test->context), 0);
        assert_int_equal(tn_context_run(test->context), TN_ERROR_CANCELLED);
        assert_error("cancelled", "node 'loop'");
        pthread_join(thread, NULL);
    }
}

/* --- branches --- */

static tn_graph *branch(tn_runtime *runtime, const char *name, int64_t count) {
    tn_graph *body = NULL;
    run_must(tn_graph_create(runtime, name, &body));
    run_output(body, run_unary(body, "Negate", "negate", run_floats(body, "floats", count)), "y");
    return body;
}

static void make_branches(run_test *test, int64_t then_count, int64_t else_count) {
    const tn_tensor_id condition = input_of(test->graph, "c", TN_BOOL, 0, 0);
    const tn_attribute then_branch = graph_attribute(
        "then_branch", give(test->graph, branch(test->runtime, "then", then_count)));
    const tn_attribute else_branch = graph_attribute(
        "else_branch", give(test->graph, branch(test->runtime, "else", else_count)));
    const tn_attribute *const attributes[] = {&then_branch, &else_branch};
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 13,
                                      .op = "If",
                                      .name = "if",
                                      .input_count = 1,
                                      .inputs = &condition,
                                      .output_count = 1,
                                      .attribute_count = 2,
                                      .attributes = attributes};
    tn_tensor_id y;
    run_must(tn_graph_add_node(test->graph, &node, &y));
    run_output(test->graph, run_unary(test->graph, "Negate", "behind", y), "y");
    to_context(test, 0);
}

static void check_branch(run_test *test, bool condition, int64_t count) {
    const tn_tensor *y = NULL;
    run_must(tn_context_bind_input(test->context, 0, &condition, sizeof(condition)));
    run_must(tn_context_run(test->context));
    run_must(tn_context_output(test->context, 0, &y));
    assert_int_equal(y->rank, 1);
    assert_int_equal(y->shape[0], count);
    for (int64_t i = 0; i < count; i++)
        assert_true(((const float *)y->data)[i] == (float)i);
}

static void test_branches_of_one_shape_are_no_matter_of_a_run(void **state) {
    run_test *test = *state;
    make_branches(test, 5, 5);
    assert_false(test->engine->plan.is_sized_by_run);
    check_branch(test, true, 5);
    check_branch(test, false, 5);
}

static void test_branches_of_two_shapes_allocate_nothing_once_both_have_run(void **state) {
    run_test *test = *state;
    make_branches(test, 5, 9);
    assert_true(test->engine->plan.is_sized_by_run);
    for (int i = 0; i < 4; i++)
        check_branch(test, i % 2, i % 2 ? 5 : 9);
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 4; i++)
        check_branch(test, i % 2, i % 2 ? 5 : 9);
    assert_int_equal(test->allocator.allocations - before, 0);
}

/* --- branches that are known --- */

static const tn_body_graph *capture(tn_graph *graph, tn_graph *body, uint32_t count) {
    const tn_body_graph *made = NULL;
    run_must(tn_graph_add_body(graph, body, count, &made));
    return made;
}

static tn_tensor_id add_if(tn_graph *graph, const char *name, const tn_body_graph *then_body,
                           const tn_body_graph *else_body, uint32_t input_count,
                           const tn_tensor_id *inputs, uint32_t output_count) {
    const tn_attribute then_branch = graph_attribute("then_branch", then_body);
    const tn_attribute else_branch = graph_attribute("else_branch", else_body);
    const tn_attribute *const attributes[] = {&then_branch, &else_branch};
    const tn_node_description node = {.size = sizeof(node),
                                      .version = 13,
                                      .op = "If",
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count,
                                      .attribute_count = 2,
                                      .attributes = attributes};
    tn_tensor_id ids[3] = {TN_NO_TENSOR, TN_NO_TENSOR, TN_NO_TENSOR};
    run_must(tn_graph_add_node(graph, &node, ids));
    return ids[0];
}

/* What it captures, negated `count` times in a row, by tensors of equal names. */
static tn_graph *negated(tn_runtime *runtime, uint32_t count) {
    tn_graph *body = NULL;
    run_must(tn_graph_create(runtime, "negated", &body));
    tn_tensor_id v = input_of(body, "captured", TN_F32, UINT32_MAX, 0);
    for (uint32_t i = 0; i < count; i++)
        v = run_unary(body, "Negate", i == 0 ? "first" : "second", v);
    run_output(body, v, "result");
    return body;
}

static tn_tensor_id condition_of(tn_graph *graph, bool value) {
    tn_tensor_id id = TN_NO_TENSOR;
    run_must(
        tn_graph_add_constant(graph, "condition", TN_BOOL, 0, NULL, &value, sizeof(value), &id));
    return id;
}

static size_t count_nodes(const tn_graph *graph, const char *op) {
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += !graph->nodes[n].is_dead && strcmp(graph->nodes[n].entry->op->name, op) == 0;
    return count;
}

/* An If in an If, both with constants for conditions: two nodes of the inner branch are left. */
static void test_branches_that_constants_choose_are_inlined(void **state) {
    run_test *test = *state;
    const tn_tensor *y = NULL;
    float x[4] = {1, 2, 3, 4};
    tn_graph *outer = NULL;
    run_must(tn_graph_create(test->runtime, "outer", &outer));
    const tn_tensor_id captured = input_of(outer, "captured", TN_F32, UINT32_MAX, 0);
    const tn_tensor_id inner_inputs[] = {condition_of(outer, false), captured, captured};
    const tn_body_graph *one = capture(outer, negated(test->runtime, 1), 1);
    const tn_body_graph *two = capture(outer, negated(test->runtime, 2), 1);
    run_output(outer, add_if(outer, "inner", one, two, 3, inner_inputs, 1), "result");

    const tn_tensor_id id = input_of(test->graph, "x", TN_F32, 1, 4);
    const tn_tensor_id inputs[] = {condition_of(test->graph, true), id, id};
    const tn_body_graph *taken = capture(test->graph, outer, 1);
    const tn_body_graph *other = capture(test->graph, negated(test->runtime, 1), 1);
    run_output(test->graph, add_if(test->graph, "if", taken, other, 3, inputs, 1), "y");
    to_context(test, TN_BUILD_NO_FUSION);
    assert_int_equal(count_nodes(test->graph, "If"), 1);
    assert_int_equal(count_nodes(test->engine->graph, "If"), 0);
    assert_int_equal(count_nodes(test->engine->graph, "Negate"), 2);
    run_must(tn_context_bind_input(test->context, 0, x, sizeof(x)));
    run_must(tn_context_run(test->context));
    run_must(tn_context_output(test->context, 0, &y));
    assert_memory_equal(y->data, x, sizeof(x));
}

/* Results that no node of the branch computes: a tensor that it captures, and a constant. */
static void test_results_that_are_captured_or_constant_are_inlined(void **state) {
    run_test *test = *state;
    const tn_tensor *y = NULL;
    float x[4] = {1, 2, 3, 4};
    tn_graph *bodies[2];
    for (int i = 0; i < 2; i++) {
        run_must(tn_graph_create(test->runtime, "handed_on", &bodies[i]));
        const tn_tensor_id captured = input_of(bodies[i], "captured", TN_F32, UINT32_MAX, 0);
        run_output(bodies[i], captured, "same");
        run_output(bodies[i], run_floats(bodies[i], "floats", 3), "constant");
        run_output(bodies[i], captured, "again");
    }
    const tn_tensor_id id = input_of(test->graph, "x", TN_F32, 1, 4);
    const tn_tensor_id inputs[] = {condition_of(test->graph, false), id, id};
    const tn_body_graph *taken = capture(test->graph, bodies[0], 1);
    const tn_body_graph *other = capture(test->graph, bodies[1], 1);
    const tn_tensor_id first = add_if(test->graph, "if", other, taken, 3, inputs, 3);
    run_output(test->graph, first, "y");
    run_output(test->graph, first + 1, "floats");
    run_output(test->graph, run_unary(test->graph, "Negate", "behind", first + 2), "z");
    to_context(test, 0);
    assert_int_equal(count_nodes(test->engine->graph, "If"), 0);
    run_must(tn_context_bind_input(test->context, 0, x, sizeof(x)));
    run_must(tn_context_run(test->context));
    run_must(tn_context_output(test->context, 0, &y));
    assert_memory_equal(y->data, x, sizeof(x));
    run_must(tn_context_output(test->context, 1, &y));
    assert_int_equal(y->shape[0], 3);
    assert_true(((const float *)y->data)[2] == 2);
    run_must(tn_context_output(test->context, 2, &y));
    assert_true(((const float *)y->data)[3] == -4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_a_loop_with_a_constant_limit_is_no_matter_of_a_run),
        RUN_TEST(test_a_loop_that_data_counts_allocates_nothing_where_counts_repeat),
        RUN_TEST(test_a_loop_that_data_counts_runs_by_references),
        RUN_TEST(test_a_loop_without_an_end_is_cancelled),
        RUN_TEST(test_branches_of_one_shape_are_no_matter_of_a_run),
        RUN_TEST(test_branches_that_constants_choose_are_inlined),
        RUN_TEST(test_results_that_are_captured_or_constant_are_inlined),
        RUN_TEST(test_branches_of_two_shapes_allocate_nothing_once_both_have_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
