/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on a stream of the caller's that are over when the host asks, or is called: on the stub of
 * tests/stub, which does nothing before somebody waits or has asked often enough. */
#include "hook_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "device_test.h"
#include "stub/stub.h"

#include <tenon/async.h>

#define COUNT 120

typedef struct async_test {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    const tn_device *device;
    void *stream;
} async_test;

static _Alignas(64) float x[COUNT], y[COUNT];

static void begin(device_test *test, async_test *own) {
    *own = (async_test){0};
    own->engine = load_chain(test, false, "stub", &own->plan);
    own->device = own->engine->device;
    must(own->device->stream_create(own->device, &own->stream));
    must(tn_context_create(own->engine, &own->context));
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i % 11) - 5, y[i] = -1;
    must(tn_context_bind_input(own->context, 0, x, sizeof(x)));
    must(tn_context_bind_output(own->context, 0, y, sizeof(y)));
}

static void end(async_test *own) {
    (void)own->device->stream_wait(own->device, own->stream);
    tn_context_destroy(own->context);
    own->device->stream_destroy(own->device, own->stream);
    tn_engine_release(own->engine);
    tn_plan_destroy(own->plan);
}

static void expect_failed(tn_status status, tn_status expected, const char *part) {
    assert_int_equal(status, expected);
    assert_error(part, NULL);
}

static int count_asked(tn_context *context) {
    bool is_done = false;
    int asked = 0;
    while (!is_done && asked < 100) {
        must(tn_context_is_done(context, &is_done));
        asked++;
    }
    return asked;
}

static void test_a_run_is_over_when_the_device_says_so(void **state) {
    async_test own;
    begin(*state, &own);
    must(tn_context_set_stream(own.context, own.stream));
    for (int round = 1; round <= 3; round++) {
        x[10] = (float)round;
        must(tn_context_run(own.context));
        assert_true(y[10] < (float)round);
        assert_int_equal(count_asked(own.context), 3);
        assert_true(y[10] == (float)round);
        assert_int_equal(count_asked(own.context), 1);
    }
    end(&own);
}

typedef struct seen {
    int calls;
    float y;
} seen;

static void see(void *user) {
    seen *s = user;
    s->calls++;
    s->y = y[10];
}

static void test_the_host_is_called_behind_the_run(void **state) {
    async_test own;
    seen first = {0}, second = {0};
    begin(*state, &own);
    must(tn_context_set_stream(own.context, own.stream));
    x[10] = 3;
    must(tn_context_run(own.context));
    must(tn_context_call_when_done(own.context, see, &first));
    x[10] = 4;
    must(tn_context_run(own.context));
    must(tn_context_call_when_done(own.context, see, &second));
    assert_int_equal(first.calls + second.calls, 0);
    must(own.device->stream_wait(own.device, own.stream));
    assert_true(first.calls == 1 && first.y == 3);
    assert_true(second.calls == 1 && second.y == 4);
    must(own.device->stream_wait(own.device, own.stream));
    assert_true(first.calls == 1 && second.calls == 1);
    end(&own);
}

/* On its own stream run waits, and so it does on the processor. */
static void test_what_run_has_waited_for_is_over(void **state) {
    device_test *test = *state;
    async_test own;
    seen s = {0};
    begin(test, &own);
    assert_int_equal(count_asked(own.context), 1);
    must(tn_context_run(own.context));
    assert_int_equal(count_asked(own.context), 1);
    must(tn_context_call_when_done(own.context, see, &s));
    assert_true(s.calls == 1 && s.y == y[10]);
    tn_plan *plan = NULL;
    tn_engine *engine = load_chain(test, false, "cpu", &plan);
    tn_context *context = NULL;
    must(tn_context_create(engine, &context));
    must(tn_context_call_when_done(context, see, &s));
    assert_int_equal(s.calls, 2);
    assert_int_equal(count_asked(context), 1);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    end(&own);
}

static void test_a_device_that_cannot_be_asked_is_named(void **state) {
    async_test own;
    seen s = {0};
    bool is_done = false;
    begin(*state, &own);
    tn_device older = *own.device;
    older.size = offsetof(tn_device, extension);
    own.engine->device = &older;
    must(tn_context_set_stream(own.context, own.stream));
    must(tn_context_run(own.context));
    expect_failed(tn_context_is_done(own.context, &is_done), TN_ERROR_UNSUPPORTED, "'stub' cannot");
    expect_failed(tn_context_call_when_done(own.context, see, &s), TN_ERROR_UNSUPPORTED, "'stub'");
    own.engine->device = own.device;
    must(own.device->capture_begin(own.device, own.stream));
    expect_failed(tn_context_is_done(own.context, &is_done), TN_ERROR_STATE, "captured");
    void *graph = NULL;
    must(own.device->capture_end(own.device, own.stream, &graph));
    own.device->graph_destroy(own.device, graph);
    end(&own);
    assert_int_equal(s.calls, 0);
}

/* What failed on the stream is told to who asks, with the same words as to who waits. */
static void test_work_that_fails_is_told_to_who_asks(void **state) {
    async_test own;
    begin(*state, &own);
    tn_stub_state *stub = own.device->user;
    must(tn_context_set_stream(own.context, own.stream));
    must(tn_context_run(own.context));
    stub->fail_wait = stub->waits + 1;
    stub->is_lasting = true;
    bool is_done = false;
    tn_status status = TN_OK;
    for (int i = 0; i < 10 && status == TN_OK && !is_done; i++)
        status = tn_context_is_done(own.context, &is_done);
    expect_failed(status, TN_ERROR_DEVICE, "running the network");
    assert_false(is_done);
    assert_int_equal(tn_context_run(own.context), TN_ERROR_DEVICE);
    end(&own);
    stub->is_lost = stub->is_lasting = false;
}

/* ----------------------------------------------------------------------------------------------
 * runs that are cancelled, or that nobody waits for */

static tn_context *hooked;

static void cancel_hooked(int count) {
    (void)count;
    assert_true(tn_context_cancel(hooked));
}

static tn_tensor_id add_op(tn_graph *graph, const char *domain, const char *op, tn_tensor_id from) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .input_count = 1,
                                      .inputs = &from,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &made));
    return made;
}

/* Relu on the device, Hook on the processor, Relu and LeakyRelu on the device. */
static void begin_hooked(device_test *test, async_test *own) {
    static const int64_t extents[] = {2, 3, 4, 5};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_FUSION};
    tn_graph *graph = NULL;
    *own = (async_test){0};
    must(tn_runtime_register_library(test->runtime, hook_entry));
    must(tn_graph_create(test->runtime, "hooked", &graph));
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, extents);
    last = add_op(graph, "run", "Hook", add_op(graph, "", "Relu", last));
    last = add_op(graph, "", "LeakyRelu", add_op(graph, "", "Relu", last));
    must(tn_graph_add_output(graph, last, "y"));
    must(tn_build(graph, &options, &own->plan));
    tn_graph_destroy(graph);
    own->engine = load(test->runtime, own->plan, NULL);
    own->device = own->engine->device;
    must(own->device->stream_create(own->device, &own->stream));
    must(tn_context_create(own->engine, &own->context));
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i % 11) - 5, y[i] = -1;
    must(tn_context_bind_input(own->context, 0, x, sizeof(x)));
    must(tn_context_bind_output(own->context, 0, y, sizeof(y)));
    hooked = own->context;
    hook = NULL;
}

static uint64_t graph_launches(const tn_context *context) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(context, &statistics);
    return statistics.graph_launches;
}

static void test_nothing_is_enqueued_behind_a_cancel(void **state) {
    async_test own;
    begin_hooked(*state, &own);
    tn_stub_state *stub = own.device->user;
    for (int run = 0; run < 4; run++) { /* the first one, the one that captures, the others */
        const uint64_t graphs = graph_launches(own.context);
        if (run == 3) must(tn_context_set_stream(own.context, own.stream));
        stub->launches = 0;
        hook = cancel_hooked;
        expect_failed(tn_context_run(own.context), TN_ERROR_CANCELLED, "cancelled");
        if (run == 0 || run == 3) assert_int_equal(stub->launches, 1);
        const uint64_t cancelled = graph_launches(own.context) - graphs;
        hook = NULL;
        x[10] = (float)run + 1;
        must(tn_context_run(own.context));
        must(own.device->stream_wait(own.device, own.stream));
        assert_true(y[10] == (float)run + 2);
        if (run == 1 || run == 2) assert_true(graph_launches(own.context) - graphs > 2 * cancelled);
    }
    end(&own);
}

static void test_a_run_on_the_device_goes_on_elsewhere(void **state) {
    async_test own;
    begin_hooked(*state, &own);
    for (int run = 0; run < 4; run++) {
        if (run == 3) must(tn_context_set_stream(own.context, own.stream));
        x[10] = (float)run + 1;
        must(tn_context_run_async(own.context, NULL, NULL));
        must(tn_context_wait(own.context, TN_WAIT_FOREVER, NULL));
        must(own.device->stream_wait(own.device, own.stream));
        assert_true(y[10] == (float)run + 2);
    }
    end(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_run_is_over_when_the_device_says_so),
        DEVICE_TEST(test_the_host_is_called_behind_the_run),
        DEVICE_TEST(test_what_run_has_waited_for_is_over),
        DEVICE_TEST(test_a_device_that_cannot_be_asked_is_named),
        DEVICE_TEST(test_work_that_fails_is_told_to_who_asks),
        DEVICE_TEST(test_nothing_is_enqueued_behind_a_cancel),
        DEVICE_TEST(test_a_run_on_the_device_goes_on_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
