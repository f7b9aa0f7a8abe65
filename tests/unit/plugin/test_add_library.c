/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries whose tables were made at run time: served from then on, taken over by one of the same
 * name, released when nothing that was made with them lives any more. */
#include "run_layers.h" /* before cmocka's macro `fail` */

#include "run_test.h"

#include <pthread.h>

/* A library of one operator that multiplies by `factor`, which is its `user`. */
typedef struct made_library {
    tn_library table;
    tn_operator op;
    const tn_operator *operators[1];
    float factor;
    int released;
} made_library;

static tn_status scale_infer(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    y->rank = call->inputs[0]->rank;
    memcpy(y->shape, call->inputs[0]->shape, y->rank * sizeof(*y->shape));
    return TN_OK;
}
static tn_status scale_reference(tn_call *call) {
    const float factor = *(const float *)call->user, *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++)
        y[i] = factor * x[i];
    return TN_OK;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "anything")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "a multiple")};

static void make(made_library *made, const char *name, const char *op, float factor) {
    *made = (made_library){.factor = factor};
    made->op = (tn_operator){.size = sizeof(tn_operator),
                             .since_version = 1,
                             .state_version = 1,
                             .domain = "made",
                             .name = op,
                             TN_NO_FIELDS,
                             TN_INPUTS(inputs),
                             TN_OUTPUTS(outputs),
                             .infer = scale_infer,
                             .reference = scale_reference,
                             .user = &made->factor};
    made->operators[0] = &made->op;
    made->table = (tn_library){.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = name,
                               .version = "1",
                               .operator_count = 1,
                               .operators = made->operators,
                               .user = made};
}

static void release(tn_library *library) {
    ((made_library *)library->user)->released++;
}

/* An engine of a graph that is made now. */
static tn_engine *build_now(run_test *test, const char *op) {
    tn_graph *graph = NULL;
    tn_engine *engine = NULL;
    tn_plan *plan = NULL;
    uint64_t bytes = 0;
    run_must(tn_graph_create(test->runtime, "now", &graph));
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "made",
                                      .op = op,
                                      .name = "node",
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1};
    run_must(tn_graph_add_node(graph, &node, &x));
    run_must(tn_graph_add_output(graph, x, "y"));
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    run_must(tn_build(graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return engine;
}

static void expect_factor(tn_engine *engine, float factor) {
    static const _Alignas(64) float x[] = {1, -2};
    tn_context *context = NULL;
    const tn_tensor *y = NULL;
    run_must(tn_context_create(engine, &context));
    run_must(tn_context_bind_input(context, 0, x, sizeof(x)));
    run_must(tn_context_run(context));
    run_must(tn_context_output(context, 0, &y));
    assert_floats(y, 2, FLOATS(factor, -2 * factor));
    tn_context_destroy(context);
}

static void test_a_name_given_again_serves_later_graphs(void **state) {
    run_test *test = *state;
    made_library first, second;
    make(&first, "made", "Scale", 2);
    make(&second, "made", "Scale", 3);
    run_must(tn_runtime_add_library(test->runtime, &first.table, release));
    tn_engine *before = build_now(test, "Scale");
    expect_factor(before, 2);
    run_must(tn_runtime_add_library(test->runtime, &second.table, release));
    tn_engine *after = build_now(test, "Scale");
    expect_factor(after, 3);
    expect_factor(before, 2);
    assert_true(first.released == 0 && second.released == 0);
    tn_engine_release(before);
    assert_true(first.released == 1 && second.released == 0);
    run_must(tn_runtime_unload_library(test->runtime, "made"));
    assert_int_equal(second.released, 0);
    tn_engine_release(after);
    assert_int_equal(second.released, 1);
}

static void test_libraries_are_added_at_any_time(void **state) {
    run_test *test = *state;
    made_library made[3];
    const char *const names[] = {"Double", "Triple", "Fourfold"};
    tn_engine *engines[3];
    for (int i = 0; i < 3; i++) {
        make(&made[i], names[i], names[i], (float)i + 2);
        run_must(tn_runtime_add_library(test->runtime, &made[i].table, i == 1 ? NULL : release));
        engines[i] = build_now(test, names[i]);
    }
    for (int i = 0; i < 3; i++) {
        expect_factor(engines[i], (float)i + 2);
        tn_engine_release(engines[i]);
        run_must(tn_runtime_unload_library(test->runtime, names[i]));
        assert_int_equal(made[i].released, i != 1);
    }
}

static void test_what_cannot_be_added_stays_the_callers(void **state) {
    run_test *test = *state;
    made_library first, other, broken;
    make(&first, "made", "Scale", 2);
    make(&other, "other", "Scale", 3);
    make(&broken, "made", "Scale", 4);
    broken.op.name = "";
    run_must(tn_runtime_add_library(test->runtime, &first.table, release));
    assert_int_equal(tn_runtime_add_library(test->runtime, &other.table, release),
                     TN_ERROR_ARGUMENT);
    assert_error("Scale", NULL);
    assert_int_equal(tn_runtime_add_library(test->runtime, &broken.table, release),
                     TN_ERROR_PLUGIN);
    assert_int_equal(tn_runtime_add_library(test->runtime, NULL, release), TN_ERROR_ARGUMENT);
    tn_engine *engine = build_now(test, "Scale");
    expect_factor(engine, 2);
    tn_engine_release(engine);
    assert_true(first.released == 0 && other.released == 0 && broken.released == 0);
    run_must(tn_runtime_unload_library(test->runtime, "made"));
    assert_int_equal(first.released, 1);
}

/* What a load and a visitor may do: all else of the host, on other threads too. */
typedef struct nested {
    tn_runtime *runtime;
    made_library inner;
    size_t seen;
} nested;
static nested nest; /* a library's load has no user */

static bool count_library(void *user, const tn_library_info *library) {
    (void)library;
    ++*(size_t *)user;
    return true;
}
static void *visit_elsewhere(void *user) {
    nested *n = user;
    tn_runtime_visit_libraries(n->runtime, count_library, &n->seen);
    return NULL;
}
static tn_status load_another(const tn_host *host, tn_library *library) {
    pthread_t thread;
    TN_TRY(tn_runtime_add_library(nest.runtime, &nest.inner.table, release));
    if (pthread_create(&thread, NULL, visit_elsewhere, &nest)) return TN_ERROR_INTERNAL;
    pthread_join(thread, NULL);
    return host->register_operator(host, library, &((made_library *)library->user)->op);
}

static void test_a_load_may_load_and_wait_for_visitors(void **state) {
    run_test *test = *state;
    made_library outer;
    nest = (nested){.runtime = test->runtime};
    make(&outer, "outer", "Outer", 2);
    make(&nest.inner, "inner", "Inner", 3);
    outer.table.operator_count = 0; /* its load registers the operator */
    outer.table.load = load_another;
    run_must(tn_runtime_add_library(test->runtime, &outer.table, release));
    assert_true(nest.seen >= 2); /* the built-in one and the inner one */
    tn_engine *by_outer = build_now(test, "Outer"), *by_inner = build_now(test, "Inner");
    expect_factor(by_outer, 2);
    expect_factor(by_inner, 3);
    tn_engine_release(by_outer);
    tn_engine_release(by_inner);
    run_must(tn_runtime_unload_library(test->runtime, "outer"));
    run_must(tn_runtime_unload_library(test->runtime, "inner"));
    assert_true(outer.released == 1 && nest.inner.released == 1);
}

/* Adds a library at the first operator and unloads it when its own comes. */
static bool add_and_unload(void *user, const tn_operator *op, const tn_library_info *library) {
    nested *n = user;
    if (n->seen++ == 0) run_must(tn_runtime_add_library(n->runtime, &n->inner.table, release));
    if (strcmp(op->name, "Inner") != 0) return true;
    run_must(tn_runtime_unload_library(n->runtime, "inner"));
    assert_int_equal(n->inner.released, 0); /* it is visited */
    assert_string_equal(library->name, "inner");
    return true;
}

static void test_visitors_may_load_and_unload(void **state) {
    run_test *test = *state;
    nested n = {.runtime = test->runtime};
    make(&n.inner, "inner", "Inner", 3);
    tn_runtime_visit_operators(test->runtime, add_and_unload, &n);
    assert_int_equal(n.inner.released, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_a_name_given_again_serves_later_graphs),
        RUN_TEST(test_libraries_are_added_at_any_time),
        RUN_TEST(test_a_load_may_load_and_wait_for_visitors),
        RUN_TEST(test_visitors_may_load_and_unload),
        RUN_TEST(test_what_cannot_be_added_stays_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
