/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in the fields of nodes, by the C interface: who owns them, what is refused, what a run
 * allocates, threads, memory that is not there, and plans that are damaged behind their checksums.
 * What networks compute is tests/cli/check_bodies.py's.
 */
#include "ask.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "run_test.h"

#include "graph/body.h"
#include "plan_repair.h"

#include <pthread.h>
#include <tenon/async.h>
#include <time.h>

static int set_up(void **state) {
    return run_test_setup_with(state, BODIES_LIBRARY, ask_entry);
}
#define BODY_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, run_test_teardown)

/* --- graphs: y = factor + ... + x, `limit` times, by a loop whose body captures `factor` --- */

static tn_tensor_id input_of(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                             int64_t extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(graph, name, type, rank, &extent, NULL, &id), TN_OK);
    return id;
}

static tn_graph *loop_body(tn_runtime *runtime) {
    tn_graph *body = NULL;
    assert_int_equal(tn_graph_create(runtime, "iteration", &body), TN_OK);
    input_of(body, "i", TN_I64, 0, 0);
    const tn_tensor_id go = input_of(body, "go", TN_BOOL, 0, 0);
    const tn_tensor_id carried = input_of(body, "carried", TN_F32, UINT32_MAX, 0);
    const tn_tensor_id factor = input_of(body, "factor", TN_F32, UINT32_MAX, 0);
    const tn_tensor_id sum = run_node(body, "Sum", "sum", 2, TENSORS(carried, factor));
    run_output(body, go, "go_out");
    run_output(body, sum, "carried_out");
    run_output(body, sum, "stacked");
    return body;
}

static tn_attribute graph_attribute(const char *name, const tn_body_graph *body) {
    return (tn_attribute){
        .size = sizeof(tn_attribute), .type = TN_FIELD_GRAPH, .name = name, .graph = body};
}

static tn_status add_loop_of(tn_graph *graph, const tn_body_graph *body, uint32_t output_count,
                             uint32_t input_count, const tn_tensor_id *inputs,
                             tn_tensor_id *out_ids) {
    const tn_attribute attribute = graph_attribute("body", body);
    const tn_attribute *const attributes[] = {&attribute};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "Test",
                                      .version = 1,
                                      .op = "Loop",
                                      .name = "loop",
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    return tn_graph_add_node(graph, &node, out_ids);
}

static tn_status add_loop(tn_graph *graph, const tn_body_graph *body, uint32_t input_count,
                          const tn_tensor_id *inputs, tn_tensor_id *out_ids) {
    return add_loop_of(graph, body, 2, input_count, inputs, out_ids);
}

static tn_status make_network(run_test *test, int64_t extent) {
    const int64_t limit = 4;
    tn_tensor_id n, ids[2];
    const tn_body_graph *body;
    tn_graph *graph = test->graph, *made = loop_body(test->runtime);
    const tn_tensor_id x = input_of(graph, "x", TN_F32, 1, extent);
    const tn_tensor_id factor = input_of(graph, "factor", TN_F32, 1, extent);
    const tn_status status = tn_graph_add_body(graph, made, 1, &body);
    if (status != TN_OK) {
        tn_graph_destroy(made);
        return status;
    }
    assert_int_equal(tn_graph_add_constant(graph, "n", TN_I64, 0, NULL, &limit, sizeof(limit), &n),
                     TN_OK);
    assert_int_equal(body->input_count, 3);
    assert_int_equal(body->capture_count, 1);
    assert_string_equal(body->name, "iteration");
    TN_TRY(add_loop(graph, body, 4, TENSORS(n, TN_NO_TENSOR, x, factor), ids));
    assert_int_equal(body->capture_offset, 1);
    run_output(graph, ids[0], "y");
    run_output(graph, ids[1], "all");
    return TN_OK;
}

static const tn_builder_options plain = {
    .size = sizeof(plain), .threads = 1, .flags = TN_BUILD_NO_TIMING};

static tn_status run_once(tn_context *context, int64_t extent) {
    _Alignas(64) float x[64], factor[64];
    const tn_tensor *y, *all;
    for (int i = 0; i < 64; i++) {
        x[i] = (float)i;
        factor[i] = 0.5f * (float)i;
    }
    const float *const data[2] = {x, factor};
    for (uint32_t i = 0; i < 2; i++) {
        TN_TRY(tn_context_set_shape(context, i, 1, &extent));
        TN_TRY(tn_context_bind_input(context, i, data[i], (uint64_t)extent * sizeof(float)));
    }
    TN_TRY(tn_context_run(context));
    TN_TRY(tn_context_output(context, 0, &y));
    TN_TRY(tn_context_output(context, 1, &all));
    for (int64_t i = 0; i < extent; i++) {
        if (((const float *)y->data)[i] != 3 * (float)i) return TN_ERROR_INTERNAL;
        for (int64_t k = 0; k < 4; k++)
            if (((const float *)all->data)[k * extent + i] !=
                (float)i * (1 + 0.5f * (float)(k + 1)))
                return TN_ERROR_INTERNAL;
    }
    return TN_OK;
}

static tn_status build_and_run(run_test *test, int64_t extent, tn_engine **out_engine) {
    tn_plan *plan;
    uint64_t bytes;
    TN_TRY(tn_build(test->graph, &plain, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    const tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, out_engine);
    tn_plan_destroy(plan);
    TN_TRY(status);
    tn_context *context;
    TN_TRY(tn_context_create(*out_engine, &context));
    const tn_status ran = run_once(context, extent);
    tn_context_destroy(context);
    return ran;
}

/* --- tests --- */

static void test_a_body_runs_by_its_own_program(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    assert_int_equal(make_network(test, 8), TN_OK);
    assert_int_equal(build_and_run(test, 8, &engine), TN_OK);
    assert_int_equal(engine->body_count, 1);
    assert_true(strstr(tn_engine_report(engine), "iterate") != NULL);
    tn_engine_release(engine);
}

static void test_bodies_are_described_as_graphs(void **state) {
    run_test *test = *state;
    tn_node_info node = {.size = sizeof(node)};
    tn_body_info body = {.size = sizeof(body)};
    assert_int_equal(make_network(test, 8), TN_OK);
    assert_int_equal(tn_graph_get_node(test->graph, 0, &node), TN_OK);
    assert_string_equal(node.op, "Loop");
    assert_int_equal(node.body_count, 1);
    assert_int_equal(tn_graph_get_body(test->graph, 0, 0, &body), TN_OK);
    assert_string_equal(body.attribute, "body");
    assert_int_equal(body.capture_count, 1);
    assert_int_equal(tn_graph_node_count(body.graph), 1);
    assert_int_equal(tn_graph_input_count(body.graph), 4);
    assert_int_equal(tn_graph_get_node(body.graph, 0, &node), TN_OK);
    assert_string_equal(node.name, "sum");
    assert_int_equal(tn_graph_get_body(test->graph, 0, 1, &body), TN_ERROR_RANGE);
}

static tn_tensor_id add_asking(tn_graph *graph, const char *op, tn_tensor_id x,
                               const tn_body_graph *body) {
    const tn_attribute attribute = graph_attribute("body", body);
    const tn_attribute *const attributes[] = {&attribute};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "ask",
                                      .version = 1,
                                      .op = op,
                                      .name = op,
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1,
                                      .attribute_count = body ? 1 : 0,
                                      .attributes = attributes};
    tn_tensor_id made = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_node(graph, &node, &made), TN_OK);
    return made;
}

/* x -> Hand(Above -> Negate) -> Negate: nobody knows the size before the body has run. */
static void test_what_a_body_makes_may_have_no_bound(void **state) {
    run_test *test = *state;
    const int64_t extent = 6;
    float x[] = {1, -2, 3, -4, 5, -6};
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        tn_graph *graph = NULL, *inner = NULL;
        const tn_body_graph *body = NULL;
        tn_plan *plan = NULL;
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        const tn_tensor *y = NULL;
        uint64_t bytes = 0;
        assert_int_equal(tn_graph_create(test->runtime, "outer", &graph), TN_OK);
        assert_int_equal(tn_graph_create(test->runtime, "inner", &inner), TN_OK);
        const tn_tensor_id given = input_of(inner, "given", TN_F32, UINT32_MAX, 0);
        const tn_tensor_id above = add_asking(inner, "Above", given, NULL);
        run_output(inner, run_node(inner, "Negate", "negate", 1, &above), "made");
        assert_int_equal(tn_graph_add_body(graph, inner, 0, &body), TN_OK);
        const tn_tensor_id id = input_of(graph, "x", TN_F32, 1, extent);
        const tn_tensor_id handed = add_asking(graph, "Hand", id, body);
        run_output(graph, run_node(graph, "Negate", "again", 1, &handed), "y");
        tn_builder_options options = plain;
        options.flags |= is_reference ? TN_BUILD_REFERENCE : 0;
        run_must(tn_build(graph, &options, &plan));
        const void *data = tn_plan_bytes(plan, &bytes);
        run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
        run_must(tn_context_create(engine, &context));
        run_must(tn_context_bind_input(context, 0, x, sizeof(x)));
        for (int pass = 0; pass < 3; pass++) {
            x[1] = pass == 1 ? 9 : -2;
            run_must(tn_context_run(context));
            run_must(tn_context_output(context, 0, &y));
            assert_int_equal(y->rank, 1);
            assert_int_equal(y->shape[0], pass == 1 ? 4 : 3);
            assert_true(((const float *)y->data)[1] == (pass == 1 ? 9 : 3));
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        tn_plan_destroy(plan);
        tn_graph_destroy(graph);
    }
}

static void test_runs_of_known_shapes_allocate_nothing(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    tn_context *context;
    assert_int_equal(make_network(test, -1), TN_OK);
    assert_int_equal(build_and_run(test, 8, &engine), TN_OK);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(run_once(context, i % 2 ? 5 : 8), TN_OK);
    const uint64_t before = test->allocator.allocations;
    for (int i = 0; i < 6; i++)
        assert_int_equal(run_once(context, 8), TN_OK);
    assert_int_equal(test->allocator.allocations - before, 0);
    tn_context_destroy(context);
    tn_engine_release(engine);
}

static void *run_often(void *user) {
    tn_context *context;
    tn_status status = tn_context_create(user, &context);
    for (int i = 0; i < 30 && status == TN_OK; i++)
        status = run_once(context, 4 + i % 3);
    if (context) tn_context_destroy(context);
    return (void *)(intptr_t)status;
}

static void test_contexts_run_side_by_side(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    pthread_t threads[2];
    assert_int_equal(make_network(test, -1), TN_OK);
    assert_int_equal(build_and_run(test, 8, &engine), TN_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, engine), 0);
    for (int i = 0; i < 2; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_null(status);
    }
    tn_engine_release(engine);
}

static void test_references_run_bodies_by_references(void **state) {
    run_test *test = *state;
    tn_engine *engine = NULL;
    tn_plan *plan;
    tn_context *context;
    uint64_t bytes;
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_REFERENCE};
    assert_int_equal(make_network(test, 8), TN_OK);
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_OK);
    const void *data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine), TN_OK);
    tn_plan_destroy(plan);
    assert_int_equal(engine->body_count, 0);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_once(context, 8), TN_OK);
    const uint64_t before = test->allocator.allocations;
    assert_int_equal(run_once(context, 8), TN_OK);
    assert_int_equal(test->allocator.allocations - before, 0);
    tn_context_destroy(context);
    tn_engine_release(engine);
}

/* --- loops without an end --- */

/* `is_empty`: the body has no node. */
static tn_graph *endless_body(tn_runtime *runtime, bool is_empty) {
    tn_graph *body = NULL;
    run_must(tn_graph_create(runtime, "iteration", &body));
    input_of(body, "i", TN_I64, 0, 0);
    const tn_tensor_id go = input_of(body, "go", TN_BOOL, 0, 0);
    const tn_tensor_id carried = input_of(body, "carried", TN_F32, UINT32_MAX, 0);
    run_output(body, go, "go_out");
    run_output(body, is_empty ? carried : run_unary(body, "Negate", "negate", carried), "out");
    return body;
}

static void *cancel_it(void *user) {
    const struct timespec pause = {.tv_nsec = 20000000};
    do
        nanosleep(&pause, NULL);
    while (!tn_context_cancel(user));
    return NULL;
}

/* x -> Loop(Loop(...)) for ever, the inner one in a body of the outer one. */
static void check_endless(run_test *test, bool is_empty, uint32_t flags) {
    tn_graph *graph = NULL;
    const tn_body_graph *body = NULL;
    tn_tensor_id made = TN_NO_TENSOR;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    pthread_t thread;
    uint64_t bytes = 0;
    float x[4] = {1, 2, 3, 4};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    tn_graph *outer = NULL;
    run_must(tn_graph_create(test->runtime, "outer", &outer));
    input_of(outer, "i", TN_I64, 0, 0);
    const tn_tensor_id go = input_of(outer, "go", TN_BOOL, 0, 0);
    const tn_tensor_id carried = input_of(outer, "carried", TN_F32, UINT32_MAX, 0);
    run_must(tn_graph_add_body(outer, endless_body(test->runtime, is_empty), 0, &body));
    run_must(add_loop_of(outer, body, 1, 3, TENSORS(TN_NO_TENSOR, TN_NO_TENSOR, carried), &made));
    run_output(outer, go, "go_out");
    run_output(outer, made, "out");
    run_must(tn_graph_create(test->runtime, "net", &graph));
    const tn_tensor_id id = input_of(graph, "x", TN_F32, 1, 4);
    run_must(tn_graph_add_body(graph, outer, 0, &body));
    run_must(add_loop_of(graph, body, 1, 3, TENSORS(TN_NO_TENSOR, TN_NO_TENSOR, id), &made));
    run_output(graph, made, "y");
    run_must(tn_build(graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    run_must(tn_context_create(engine, &context));
    run_must(tn_context_bind_input(context, 0, x, sizeof(x)));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(pthread_create(&thread, NULL, cancel_it, context), 0);
        assert_int_equal(tn_context_run(context), TN_ERROR_CANCELLED);
        assert_error("cancelled", "node 'loop'");
        pthread_join(thread, NULL);
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void test_an_endless_loop_is_cancelled(void **state) {
    check_endless(*state, false, 0);
    check_endless(*state, true, 0);
}

static void test_an_endless_loop_by_references_is_cancelled(void **state) {
    check_endless(*state, false, TN_BUILD_REFERENCE);
    check_endless(*state, true, TN_BUILD_REFERENCE);
}

static void test_a_body_serves_one_field(void **state) {
    run_test *test = *state;
    const tn_body_graph *body;
    tn_tensor_id n, ids[2];
    const int64_t limit = 1;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = input_of(graph, "x", TN_F32, 1, 3);
    assert_int_equal(tn_graph_add_constant(graph, "n", TN_I64, 0, NULL, &limit, sizeof(limit), &n),
                     TN_OK);
    assert_int_equal(tn_graph_add_body(graph, loop_body(test->runtime), 1, &body), TN_OK);
    assert_int_equal(add_loop(graph, body, 0, NULL, ids), TN_ERROR_ARGUMENT);
    assert_error("are its own", NULL);
    assert_int_equal(add_loop(graph, body, 4, TENSORS(n, TN_NO_TENSOR, x, TN_NO_TENSOR), ids),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(add_loop(graph, body, 4, TENSORS(n, TN_NO_TENSOR, x, x), ids), TN_OK);
    assert_int_equal(add_loop(graph, body, 4, TENSORS(n, TN_NO_TENSOR, x, x), ids),
                     TN_ERROR_ARGUMENT);
    assert_error("belongs to another field", NULL);
}

static void test_captures_are_behind_the_nodes_own_inputs(void **state) {
    run_test *test = *state;
    const tn_body_graph *body;
    tn_tensor_id ids[2];
    const tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, 3);
    assert_int_equal(tn_graph_add_body(test->graph, loop_body(test->runtime), 3, &body), TN_OK);
    assert_int_equal(add_loop(test->graph, body, 4, TENSORS(x, x, x, x), ids), TN_ERROR_ARGUMENT);
    assert_error("capture 3 tensors, but of its 4 inputs the first 2 are its own", NULL);
}

static void test_a_body_is_added_before_its_node(void **state) {
    run_test *test = *state;
    tn_tensor_id ids[2];
    tn_body_graph stranded = {.size = sizeof(stranded), .name = "nobody's"};
    const tn_tensor_id x = input_of(test->graph, "x", TN_F32, 1, 3);
    assert_int_equal(add_loop(test->graph, &stranded, 4, TENSORS(x, x, x, x), ids),
                     TN_ERROR_ARGUMENT);
    assert_error("tn_graph_add_body", NULL);
    assert_int_equal(add_loop(test->graph, NULL, 4, TENSORS(x, x, x, x), ids), TN_ERROR_ARGUMENT);
}

static void test_more_captures_than_inputs_are_refused(void **state) {
    run_test *test = *state;
    const tn_body_graph *body;
    tn_graph *made = loop_body(test->runtime);
    assert_int_equal(tn_graph_add_body(test->graph, made, 5, &body), TN_ERROR_ARGUMENT);
    assert_error("4 inputs, and 5 are captured", NULL);
    assert_int_equal(tn_graph_add_body(test->graph, test->graph, 0, &body), TN_ERROR_ARGUMENT);
    tn_graph_destroy(made);
}

/* Builds and runs a network that asks in one manner. */
static tn_status ask(run_test *test, int64_t manner, uint32_t flags) {
    const tn_body_graph *body;
    tn_graph *made = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    tn_tensor_id y;
    uint64_t bytes;
    _Alignas(64) float x[3] = {1, 2, 3};
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    assert_int_equal(tn_graph_create(test->runtime, "net", &test->graph), TN_OK);
    assert_int_equal(tn_graph_create(test->runtime, "negative", &made), TN_OK);
    run_output(made, run_unary(made, "Negate", "neg", input_of(made, "v", TN_F32, UINT32_MAX, 0)),
               "w");
    assert_int_equal(tn_graph_add_body(test->graph, made, 0, &body), TN_OK);
    const tn_attribute given = graph_attribute("body", body);
    const tn_attribute how = {
        .size = sizeof(how), .type = TN_FIELD_I64, .name = "manner", .i = manner};
    const tn_attribute *const attributes[] = {&given, &how};
    const tn_tensor_id inputs[] = {input_of(test->graph, "x", TN_F32, 1, 3)};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "ask",
                                      .version = 1,
                                      .op = "Ask",
                                      .name = "asking",
                                      .input_count = 1,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = 2,
                                      .attributes = attributes};
    assert_int_equal(tn_graph_add_node(test->graph, &node, &y), TN_OK);
    run_output(test->graph, y, "y");
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = flags | TN_BUILD_NO_TIMING};
    tn_status status = tn_build(test->graph, &options, &plan);
    const void *data = plan ? tn_plan_bytes(plan, &bytes) : NULL;
    if (status == TN_OK) status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, x, sizeof(x));
    if (status == TN_OK) status = tn_context_run(context);
    if (context) tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return status;
}

static void test_wrong_questions_are_errors_of_the_node(void **state) {
    const struct {
        int64_t manner;
        tn_status status;
        const char *says;
    } all[] = {
        {ASKS_IN_PREPARE, TN_ERROR_STATE, "alone"},
        {ASKS_WITHOUT_INPUT, TN_ERROR_ARGUMENT, "an input of a body is null"},
        {ASKS_WITHOUT_DATA, TN_ERROR_ARGUMENT, "an input of a body has no data"},
        {ASKS_OTHER_TYPE, TN_ERROR_TYPE, "is declared as f32, but i32 was given"},
        {ASKS_OTHER_SHAPE, TN_ERROR_SHAPE, "[3]; [7] was expected"},
        {ASKS_ANOTHERS_BODY, TN_ERROR_ARGUMENT, "not one of this node's"},
        {ASKS_FOR_A_LOOP, TN_ERROR_ARGUMENT, "1 inputs and 1 outputs; expected 2 and at least 1"},
    };
    assert_int_equal(ask(*state, ASKS_WELL, 0), TN_OK);
    assert_int_equal(ask(*state, ASKS_WELL, TN_BUILD_REFERENCE), TN_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        assert_int_equal(ask(*state, all[i].manner, 0), all[i].status);
        assert_error(all[i].says, "asking");
        if (all[i].manner == ASKS_IN_PREPARE) continue; /* references have no prepare */
        assert_int_equal(ask(*state, all[i].manner, TN_BUILD_REFERENCE), all[i].status);
        assert_error(all[i].says, "asking");
    }
}

static void test_a_shape_rule_asks_about_its_bodies(void **state) {
    assert_int_equal(ask(*state, ASKS_NOTHING, 0), TN_ERROR_PLUGIN);
    assert_error("did not ask for the shapes of this body", "body 'negative'");
}

static void test_hashes_tell_bodies_apart(void **state) {
    run_test *test = *state;
    const tn_body_graph *one, *same, *other;
    tn_graph *another = NULL;
    assert_int_equal(tn_graph_create(test->runtime, "iteration", &another), TN_OK);
    run_output(another, run_unary(another, "Negate", "neg", input_of(another, "x", TN_F32, 1, 3)),
               "y");
    assert_int_equal(tn_graph_add_body(test->graph, loop_body(test->runtime), 1, &one), TN_OK);
    assert_int_equal(tn_graph_add_body(test->graph, loop_body(test->runtime), 1, &same), TN_OK);
    assert_int_equal(tn_graph_add_body(test->graph, another, 0, &other), TN_OK);
    assert_true(one->hash == same->hash);
    assert_true(one->hash != other->hash);
}

static void test_each_allocation_may_fail(void **state) {
    run_test *test = *state;
    for (uint64_t step = 1;; step++) {
        tn_engine *engine = NULL;
        tn_graph_destroy(test->graph);
        test->graph = NULL;
        assert_int_equal(tn_graph_create(test->runtime, "net", &test->graph), TN_OK);
        assert_int_equal(make_network(test, 8), TN_OK);
        test->allocator.fail_at = test->allocator.allocations + step;
        const tn_status status = build_and_run(test, 8, &engine);
        const bool is_over = test->allocator.allocations < test->allocator.fail_at;
        test->allocator.fail_at = 0;
        tn_engine_release(engine);
        if (is_over) {
            assert_int_equal(status, TN_OK);
            assert_true(step > 100);
            return;
        }
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

/* The plan within the plan, and the one around it, with their checksums made right again. */
static void test_damaged_bodies_are_refused_or_run(void **state) {
    run_test *test = *state;
    tn_plan *plan;
    uint64_t bytes, loaded = 0;
    uint64_t seed = 7;
    assert_int_equal(make_network(test, 8), TN_OK);
    assert_int_equal(tn_build(test->graph, &plain, &plan), TN_OK);
    const unsigned char *data = tn_plan_bytes(plan, &bytes);
    uint64_t inner = 64;
    while (memcmp(data + inner, data, 8) != 0)
        inner += 64;
    unsigned char *damaged = malloc(bytes);
    assert_non_null(damaged);
    for (int i = 0; i < 300; i++) {
        tn_engine *engine = NULL;
        memcpy(damaged, data, bytes);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        damaged[inner + (seed >> 33) % (bytes - inner)] ^= (unsigned char)(1u << (seed >> 30 & 7));
        plan_repair(damaged + inner, bytes - inner);
        plan_repair(damaged, bytes);
        const tn_status status = tn_engine_load_bytes(test->runtime, damaged, bytes, NULL, &engine);
        loaded += status == TN_OK;
        tn_engine_release(engine);
    }
    assert_in_range(loaded, 1, 299);
    free(damaged);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BODY_TEST(test_a_body_runs_by_its_own_program),
        BODY_TEST(test_bodies_are_described_as_graphs),
        BODY_TEST(test_what_a_body_makes_may_have_no_bound),
        BODY_TEST(test_runs_of_known_shapes_allocate_nothing),
        BODY_TEST(test_contexts_run_side_by_side),
        BODY_TEST(test_references_run_bodies_by_references),
        BODY_TEST(test_an_endless_loop_is_cancelled),
        BODY_TEST(test_an_endless_loop_by_references_is_cancelled),
        BODY_TEST(test_a_body_serves_one_field),
        BODY_TEST(test_captures_are_behind_the_nodes_own_inputs),
        BODY_TEST(test_a_body_is_added_before_its_node),
        BODY_TEST(test_more_captures_than_inputs_are_refused),
        BODY_TEST(test_wrong_questions_are_errors_of_the_node),
        BODY_TEST(test_a_shape_rule_asks_about_its_bodies),
        BODY_TEST(test_hashes_tell_bodies_apart),
        BODY_TEST(test_each_allocation_may_fail),
        BODY_TEST(test_damaged_bodies_are_refused_or_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
