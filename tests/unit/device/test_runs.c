/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run on a device enqueues: it waits no more than it must, captures what repeats, and writes
 * where the caller says. The stub of tests/stub does nothing before it is waited for, so that a run
 * which returns too early shows.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/output_allocator.h>

static void test_a_run_allocates_nothing_and_waits_once(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_engine *engine = load(test->runtime, plan, NULL);
    tn_context *context = NULL;
    float output[40];
    must(tn_context_create(engine, &context));
    run(context, 2, 0, output);
    tn_context_statistics before = {.size = sizeof(before)}, after = before;
    tn_context_get_statistics(context, &before);
    for (int i = 0; i < 5; i++)
        run(context, 2, i, output);
    tn_context_get_statistics(context, &after);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.waits - before.waits, 5); /* Softmax is the processor's */
    assert_true(after.graph_launches >= before.graph_launches + 5);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

typedef struct lent_memory {
    const tn_device *device;
    void *stream, *blocks[2];
    int next; /* the block that is answered */
} lent_memory;

static void *lend(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    lent_memory *memory = user;
    (void)output, (void)bytes, (void)alignment;
    return memory->blocks[memory->next];
}

/* Of an output that the device computes: the kernels write there, whichever it is. */
static void test_the_caller_is_asked_for_memory_of_the_device(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    static _Alignas(64) float x[120], y[120];
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    lent_memory memory = {.device = engine->device};
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i % 11) - 5;
    must(memory.device->stream_create(memory.device, &memory.stream));
    for (int i = 0; i < 2; i++)
        must(memory.device->allocate(memory.device, sizeof(y), memory.stream, &memory.blocks[i]));
    must(memory.device->stream_wait(memory.device, memory.stream));
    must(tn_context_create(engine, &context));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    must(tn_context_set_device_output_allocator(context, 0, lend, &memory));
    for (int round = 0; round < 8; round++) {
        const tn_tensor *output = NULL;
        memory.next = round / 3 % 2;
        x[10] = (float)round + 1;
        must(tn_context_run(context));
        must(tn_context_output(context, 0, &output));
        assert_ptr_equal(output->data, memory.blocks[memory.next]);
        must(memory.device->copy(memory.device, y, output->data, sizeof(y), TN_COPY_TO_HOST,
                                 memory.stream));
        must(memory.device->stream_wait(memory.device, memory.stream));
        for (int i = 0; i < 120; i++)
            assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    }
    tn_context_destroy(context);
    for (int i = 0; i < 2; i++)
        memory.device->deallocate(memory.device, memory.blocks[i], memory.stream);
    must(memory.device->stream_wait(memory.device, memory.stream));
    memory.device->stream_destroy(memory.device, memory.stream);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static tn_tensor_id add_op(tn_graph *graph, const char *op, const char *name, tn_tensor_id first,
                           tn_tensor_id second, uint32_t count) {
    const tn_tensor_id inputs[] = {first, second};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = op,
                                      .name = name,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id output = 0;
    must(tn_graph_add_node(graph, &node, &output));
    return output;
}

/* r = Relu(x), a = r + r, b = x + r (or a + r), c = a + b, y = Relu(c). */
static tn_graph *make_sums(tn_runtime *runtime, bool is_chain) {
    static const int64_t shape[] = {2, 3, 4, 5};
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "sums", &graph));
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, shape);
    const tn_tensor_id r = add_op(graph, "Relu", "r", x, 0, 1),
                       a = add_op(graph, "Add", "a", r, r, 2),
                       b = add_op(graph, "Add", "b", is_chain ? a : x, r, 2),
                       c = add_op(graph, "Add", "c", a, b, 2),
                       y = add_op(graph, "Relu", "last", c, 0, 1);
    must(tn_graph_add_output(graph, y, "y"));
    return graph;
}

/* The stub does the second one of a pair first: what needed the first would be wrong. */
static void test_kernels_that_need_nothing_of_each_other_are_a_pair(void **state) {
    device_test *test = *state;
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_FUSION};
    for (int is_chain = 0; is_chain < 2; is_chain++) {
        tn_graph *graph = make_sums(test->runtime, is_chain);
        tn_context *context = NULL;
        tn_plan *plan = NULL;
        const tn_tensor *y = NULL;
        float x[120];
        must(tn_build(graph, &options, &plan));
        tn_graph_destroy(graph);
        tn_engine *engine = load(test->runtime, plan, "stub");
        tn_stub_state *stub = engine->device->user;
        must(tn_context_create(engine, &context));
        must(tn_context_bind_input(context, 0, x, sizeof(x)));
        stub->pairs = 0;
        for (int run = 0; run < 5; run++) {
            for (int k = 0; k < 120; k++)
                x[k] = (float)((k + 3 * run) % 11) - 5;
            must(tn_context_run(context));
            must(tn_context_output(context, 0, &y));
            for (int k = 0; k < 120; k++) {
                const float r = x[k] > 0 ? x[k] : 0, b = is_chain ? 3 * r : x[k] + r;
                assert_true(((const float *)y->data)[k] == (2 * r + b > 0 ? 2 * r + b : 0));
            }
        }
        assert_int_equal(stub->pairs, is_chain ? 0 : 1);
        tn_context_destroy(context);
        tn_engine_release(engine);
        tn_plan_destroy(plan);
    }
}

/* x: Relu, which the processor's Sigmoid reads, and then, on the device again, Add and Relu, which
 * read nothing of the processor's: no copy stands before what is captured there. */
static tn_graph *make_fork(tn_runtime *runtime) {
    static const int64_t shape[] = {2, 3, 4, 5};
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "fork", &graph));
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, shape),
                       r = add_op(graph, "Relu", "Relu", x, 0, 1),
                       z = add_op(graph, "Sigmoid", "Sigmoid", r, 0, 1),
                       a = add_op(graph, "Add", "Add", r, r, 2),
                       y = add_op(graph, "Relu", "last", a, 0, 1);
    must(tn_graph_add_output(graph, z, "z"));
    must(tn_graph_add_output(graph, y, "y"));
    return graph;
}

/* The stub does nothing before it is waited for, so that a run which returns too early shows what
 * was there before. */
static void test_what_is_captured_behind_the_processor_is_waited_for(void **state) {
    device_test *test = *state;
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_FUSION};
    tn_graph *graph = make_fork(test->runtime);
    tn_context_statistics before = {.size = sizeof(before)}, after = before;
    tn_context *context = NULL;
    tn_plan *plan = NULL;
    const tn_tensor *y = NULL;
    float x[120];
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    tn_engine *engine = load(test->runtime, plan, "stub");
    must(tn_context_create(engine, &context));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    for (int run = 0; run < 6; run++) {
        for (int k = 0; k < 120; k++)
            x[k] = (float)((k + 3 * run) % 11) - 5;
        tn_context_get_statistics(context, &before);
        must(tn_context_run(context));
        must(tn_context_output(context, 1, &y)); /* memory that copies are captured to */
        for (int k = 0; k < 120; k++)
            assert_true(((const float *)y->data)[k] == (x[k] > 0 ? 2 * x[k] : 0));
        tn_context_get_statistics(context, &after);
        /* the last thing is a launch, behind the processor's step, which was waited for before */
        if (run >= 2) assert_true(after.graph_launches > before.graph_launches);
        if (run >= 2) assert_int_equal(after.waits, before.waits + 2);
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* With a stream of the caller's, run comes back at once. */
static void test_a_callers_stream_is_not_waited_for(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    const tn_device *device = engine->device;
    void *stream = NULL;
    static _Alignas(64) float x[120], y[120];
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i % 11) - 5, y[i] = -1;
    must(device->stream_create(device, &stream));
    must(tn_context_create(engine, &context));
    must(tn_context_set_stream(context, stream));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    must(tn_context_bind_output(context, 0, y, sizeof(y)));
    must(tn_context_run(context));
    assert_true(y[10] < 0); /* nothing is done yet */
    must(device->stream_wait(device, stream));
    for (int i = 0; i < 120; i++)
        assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    for (int i = 0; i < 3; i++) { /* captured on another stream, launched on this one */
        x[10] = (float)(i + 1);
        must(tn_context_run(context));
        must(device->stream_wait(device, stream));
        assert_true(y[10] == (float)(i + 1));
    }
    must(tn_context_set_stream(context, NULL));
    x[10] = 7;
    must(tn_context_run(context));
    assert_true(y[10] == 7);
    float *lent = NULL;
    must(tn_context_lend_input(context, 0, sizeof(x), (void **)&lent));
    memcpy(lent, x, sizeof(x));
    lent[10] = 9;
    must(tn_context_run(context));
    assert_true(y[10] == 9);
    tn_context_destroy(context);
    device->stream_destroy(device, stream);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* What is little is copied by the graph, whether it is lent or bound. */
static void test_small_copies_of_lent_memory_are_captured(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    tn_stub_state *stub = engine->device->user;
    const tn_tensor *y = NULL;
    float x[120], *lent = NULL;
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i % 11) - 5;
    must(tn_context_create(engine, &context));
    for (int round = 0; round < 12; round++) { /* lent, bound, and lent again */
        const bool is_lent = round < 4 || round >= 8;
        if (round % 4 == 0 && is_lent)
            must(tn_context_lend_input(context, 0, sizeof(x), (void **)&lent));
        else if (round % 4 == 0)
            must(tn_context_bind_input(context, 0, x, sizeof(x)));
        x[10] = (float)(round + 1);
        if (is_lent) memcpy(lent, x, sizeof(x));
        stub->copies = 0;
        must(tn_context_run(context));
        if (round % 4 == 3) assert_int_equal(stub->copies, 0);
        must(tn_context_output(context, 0, &y));
        for (int i = 0; i < 120; i++)
            assert_true(((const float *)y->data)[i] == (x[i] > 0 ? x[i] : 0));
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* How much a run from lent memory enqueues at last: on one device, from `count` elements. */
static uint64_t count_work(device_test *test, const char *device, bool is_lent) {
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine_release(load_chain(test, false, "stub", &plan));
    tn_engine *engine = load(test->runtime, plan, device);
    tn_stub_state *stub = engine->device->user;
    const tn_tensor *y = NULL;
    float x[120], result[120], *lent = x;
    must(tn_context_create(engine, &context));
    if (is_lent)
        must(tn_context_lend_input(context, 0, sizeof(x), (void **)&lent));
    else
        must(tn_context_bind_input(context, 0, x, sizeof(x)));
    if (!is_lent) must(tn_context_bind_output(context, 0, result, sizeof(result)));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 120; i++)
            lent[i] = (float)((i + round) % 11) - 5;
        stub->done = 0;
        must(tn_context_run(context));
        must(tn_context_output(context, 0, &y));
        for (int i = 0; i < 120; i++)
            assert_true(((const float *)y->data)[i] == (lent[i] > 0 ? lent[i] : 0));
    }
    const uint64_t done = stub->done;
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return done;
}

/* Where kernels reach the host's memory, as the first stub's do, the last one writes the output. */
static void test_small_outputs_are_written_by_kernels(void **state) {
    assert_int_equal(count_work(*state, "stub:1", true), count_work(*state, "stub", true) + 1);
    assert_int_equal(count_work(*state, "stub:1", false), count_work(*state, "stub", false) + 1);
}

/* A launch each would hide what they take. Some may look long on a busy machine, so more than one
 * build is tried. */
static void test_short_kernels_are_timed_in_graphs(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL, *again = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan); /* keeps the device loaded */
    tn_stub_state *stub = engine->device->user;
    stub->graphs = 0;
    for (int i = 0; i < 20 && stub->graphs == 0; i++) {
        tn_engine_release(load_chain(test, false, "stub", &again));
        tn_plan_destroy(again);
    }
    assert_true(stub->graphs > 0);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_the_caller_is_asked_for_memory_of_the_device),
        DEVICE_TEST(test_a_run_allocates_nothing_and_waits_once),
        DEVICE_TEST(test_what_is_captured_behind_the_processor_is_waited_for),
        DEVICE_TEST(test_kernels_that_need_nothing_of_each_other_are_a_pair),
        DEVICE_TEST(test_a_callers_stream_is_not_waited_for),
        DEVICE_TEST(test_short_kernels_are_timed_in_graphs),
        DEVICE_TEST(test_small_copies_of_lent_memory_are_captured),
        DEVICE_TEST(test_small_outputs_are_written_by_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
