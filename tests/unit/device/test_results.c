/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks on a device: on the stub of tests/stub, whose memory the host cannot read and which does
 * nothing before it is waited for. The results are those of the processor, whatever runs where.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/output_allocator.h>

/* The same network on the processor and on a device, at shapes that come and go, in two contexts.
 */
static void test_a_device_gives_the_processors_results(void **state) {
    device_test *test = *state;
    tn_plan *plans[] = {build_lenet(test->runtime, NULL), build_lenet(test->runtime, "stub")};
    tn_engine *engines[2];
    tn_context *contexts[2], *other = NULL;
    static const int64_t batches[] = {1, 4, 2, 4, 1, 3};
    float outputs[2][40], again[40];
    for (int i = 0; i < 2; i++) {
        engines[i] = load(test->runtime, plans[i], NULL);
        must(tn_context_create(engines[i], &contexts[i]));
    }
    must(tn_context_create(engines[1], &other));
    for (size_t b = 0; b < TN_COUNT(batches); b++) {
        for (int i = 0; i < 2; i++)
            run(contexts[i], batches[b], (int)b, outputs[i]);
        run(other, batches[b], (int)b, again);
        assert_close(outputs[0], outputs[1], (size_t)batches[b] * 10);
        assert_close(outputs[0], again, (size_t)batches[b] * 10);
    }
    tn_context_destroy(other);
    for (int i = 0; i < 2; i++) {
        tn_context_destroy(contexts[i]);
        tn_engine_release(engines[i]);
        tn_plan_destroy(plans[i]);
    }
}

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

/* How many constants both have on the device: in the same memory. */
static int shared_constants(const tn_engine *one, const tn_engine *other) {
    int count = 0;
    for (uint32_t v = 0; v < one->program->value_count; v++)
        for (uint32_t w = 0; one->device_constants[v] && w < other->program->value_count; w++) {
            if (!other->device_constants[w] ||
                one->program->values[v].tensor != other->program->values[w].tensor)
                continue;
            assert_ptr_equal(one->device_constants[v], other->device_constants[w]);
            count++;
        }
    return count;
}

/* Each profile has its program there, and all of them one copy of the constants. */
static void test_profiles_share_the_constants_on_a_device(void **state) {
    device_test *test = *state;
    tn_graph *graph = NULL;
    tn_file file = {0};
    tn_plan *plans[2] = {0};
    float one[40], several[40];
    must(tn_file_map(tn_runtime_allocator(test->runtime), NETWORK, &file));
    must(tn_graph_parse_onnx(test->runtime, file.data, file.bytes, NULL, &graph));
    tn_file_unmap(&file);
    const int64_t shapes[][4] = {{1, 1, 28, 28}, {3, 1, 28, 28}, {4, 1, 28, 28}};
    tn_profile_input ranges[2];
    for (int i = 0; i < 2; i++)
        ranges[i] = (tn_profile_input){.size = sizeof(ranges[i]),
                                       .rank = 4,
                                       .name = "input",
                                       .minimum = shapes[i],
                                       .optimum = shapes[i],
                                       .maximum = shapes[i ? 2 : 0]};
    const tn_profile_input *const inputs[] = {&ranges[0], &ranges[1]};
    const tn_profile sets[] = {{sizeof(tn_profile), 1, &inputs[0]},
                               {sizeof(tn_profile), 1, &inputs[1]}};
    const tn_profile *const profiles[] = {&sets[0], &sets[1]};
    plans[0] = build(graph, NULL);
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = "stub",
                                        .timing_seconds = 2,
                                        .profile_count = 2,
                                        .profiles = profiles};
    must(tn_build(graph, &options, &plans[1]));
    tn_graph_destroy(graph);
    tn_engine *engines[] = {load(test->runtime, plans[0], NULL),
                            load(test->runtime, plans[1], NULL)};
    assert_true(shared_constants(engines[1], engines[1]->profile_engines[1]) > 0);
    tn_context *contexts[2];
    for (int i = 0; i < 2; i++)
        must(tn_context_create(engines[i], &contexts[i]));
    static const int64_t batches[] = {1, 4, 1, 3, 4, 1};
    for (size_t b = 0; b < TN_COUNT(batches); b++) {
        run(contexts[0], batches[b], (int)b, one);
        run(contexts[1], batches[b], (int)b, several);
        assert_close(one, several, (size_t)batches[b] * 10);
    }
    tn_context_statistics before = {.size = sizeof(before)}, after = before;
    tn_context_get_statistics(contexts[1], &before);
    for (int i = 0; i < 6; i++)
        run(contexts[1], i % 2 ? 1 : 4, i, several);
    tn_context_get_statistics(contexts[1], &after);
    assert_int_equal(after.allocations, before.allocations);
    for (int i = 0; i < 2; i++) {
        tn_context_destroy(contexts[i]);
        tn_engine_release(engines[i]);
        tn_plan_destroy(plans[i]);
    }
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
    for (int turn = 0; turn < 8; turn++) {
        const tn_tensor *output = NULL;
        memory.next = turn / 3 % 2;
        x[10] = (float)turn + 1;
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

/* Formats change on the device; the processor reads in the middle, and the device goes on. The
 * result is there when run returns, also where what follows the processor's step was captured. */
static void test_steps_of_both_take_turns(void **state) {
    enum { RUNS = 4 };
    device_test *test = *state;
    float x[120], expected[RUNS][120];
    const tn_tensor *y = NULL;
    for (int i = 0; i < 2; i++) {
        tn_plan *plan = NULL;
        tn_context *context = NULL;
        tn_engine *engine = load_chain(test, true, i ? "stub" : "cpu", &plan);
        if (i) assert_non_null(strstr(tn_engine_report(engine), "\"format\": \"nhwc\", \"space\""));
        must(tn_context_create(engine, &context));
        must(tn_context_bind_input(context, 0, x, sizeof(x)));
        for (int run = 0; run < RUNS; run++) {
            for (int k = 0; k < 120; k++)
                x[k] = (float)((k + 3 * run) % 11) - 5;
            must(tn_context_run(context));
            must(tn_context_output(context, 0, &y)); /* memory that copies are captured to */
            if (i == 0)
                memcpy(expected[run], y->data, sizeof(expected[run]));
            else
                assert_close(y->data, expected[run], 120);
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        tn_plan_destroy(plan);
    }
}

/* x: Relu, which the processor's Sigmoid reads, and then, on the device again, Add and Relu, which
 * read nothing of the processor's: no copy stands before what is captured there. */
static tn_graph *make_fork(tn_runtime *runtime) {
    static const int64_t shape[] = {2, 3, 4, 5};
    static const char *const ops[] = {"Relu", "Sigmoid", "Add", "Relu"};
    tn_graph *graph = NULL;
    tn_tensor_id ids[TN_COUNT(ops)];
    must(tn_graph_create(runtime, "fork", &graph));
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, shape);
    for (size_t i = 0; i < TN_COUNT(ops); i++) {
        const tn_tensor_id inputs[] = {i == 0 ? x : i == 3 ? ids[2] : ids[0], ids[0]};
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = ops[i],
                                          .name = i == 3 ? "last" : ops[i],
                                          .input_count = i == 2 ? 2 : 1,
                                          .inputs = inputs,
                                          .output_count = 1};
        must(tn_graph_add_node(graph, &node, &ids[i]));
    }
    must(tn_graph_add_output(graph, ids[1], "z"));
    must(tn_graph_add_output(graph, ids[3], "y"));
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
    for (int turn = 0; turn < 12; turn++) { /* lent, bound, and lent again */
        const bool is_lent = turn < 4 || turn >= 8;
        if (turn % 4 == 0 && is_lent)
            must(tn_context_lend_input(context, 0, sizeof(x), (void **)&lent));
        else if (turn % 4 == 0)
            must(tn_context_bind_input(context, 0, x, sizeof(x)));
        x[10] = (float)(turn + 1);
        if (is_lent) memcpy(lent, x, sizeof(x));
        stub->copies = 0;
        must(tn_context_run(context));
        if (turn % 4 == 3) assert_int_equal(stub->copies, 0);
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
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < 120; i++)
            lent[i] = (float)((i + turn) % 11) - 5;
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

/* Memory of the device, given and taken by the caller, without a copy. */
static void test_inputs_and_outputs_may_be_the_devices(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "stub", &plan);
    const tn_device *device = engine->device;
    void *stream = NULL, *there = NULL, *back = NULL;
    float x[120], y[120], z[120];
    for (int i = 0; i < 120; i++)
        x[i] = (float)(i % 11) - 5, y[i] = z[i] = -1;
    must(device->stream_create(device, &stream));
    must(device->allocate(device, sizeof(x), stream, &there));
    must(device->allocate(device, sizeof(y), stream, &back));
    must(tn_context_create(engine, &context));
    must(tn_context_set_stream(context, stream));
    must(tn_context_bind_device_input(context, 0, there, sizeof(x)));
    must(tn_context_bind_device_output(context, 0, back, sizeof(y)));
    for (int turn = 0; turn < 4; turn++) {
        x[10] = (float)(turn + 1);
        must(device->copy(device, there, x, sizeof(x), TN_COPY_TO_DEVICE, stream));
        must(tn_context_run(context));
        must(device->copy(device, y, back, sizeof(y), TN_COPY_TO_HOST, stream));
        must(device->stream_wait(device, stream));
        for (int i = 0; i < 120; i++)
            assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
    }
    must(tn_context_bind_output(context, 0, z, sizeof(z))); /* and back to the host's */
    must(tn_context_run(context));
    must(device->stream_wait(device, stream));
    assert_close(z, y, 120);
    assert_int_equal(tn_context_bind_device_output(context, 0, NULL, 4), TN_ERROR_ARGUMENT);
    tn_context_destroy(context);
    device->deallocate(device, there, stream);
    device->deallocate(device, back, stream);
    device->stream_destroy(device, stream);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void test_the_processor_has_no_streams(void **state) {
    device_test *test = *state;
    tn_plan *plan = NULL;
    tn_context *context = NULL;
    tn_engine *engine = load_chain(test, false, "cpu", &plan);
    must(tn_context_create(engine, &context));
    assert_int_equal(tn_context_set_stream(context, context), TN_ERROR_STATE);
    assert_error("processor", NULL);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* Where the device is not there the plan runs on the processor, and the log says so. */
static void test_a_plan_runs_without_its_device(void **state) {
    device_test *test = *state;
    float with[20], without[20];
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_runtime *bare = make_runtime(test);
    assert_non_null(bare);
    tn_runtime *const runtimes[] = {test->runtime, bare};
    for (int i = 0; i < 2; i++) {
        tn_context *context = NULL;
        tn_engine *engine = load(runtimes[i], plan, NULL);
        must(tn_context_create(engine, &context));
        run(context, 2, 0, i ? without : with);
        tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_close(with, without, 20);
    assert_non_null(strstr(test->log, "device 'stub'"));
    const tn_engine_options options = {.size = sizeof(options), .device = "stub"};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_engine *engine = NULL;
    assert_int_equal(tn_engine_load_bytes(bare, data, bytes, &options, &engine),
                     TN_ERROR_NOT_FOUND);
    assert_error("libtenon_stub.so", NULL);
    tn_runtime_release(bare);
    tn_plan_destroy(plan);
}

static void test_a_plan_may_be_run_elsewhere_than_it_was_built_for(void **state) {
    device_test *test = *state;
    float outputs[3][20];
    static const char *const devices[] = {"cpu", "stub:1", "stub"};
    tn_plan *plan = build_lenet(test->runtime, "cpu");
    for (int i = 0; i < 3; i++) {
        tn_context *context = NULL;
        tn_engine *engine = load(test->runtime, plan, devices[i]);
        must(tn_context_create(engine, &context));
        run(context, 2, 0, outputs[i]);
        tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_close(outputs[0], outputs[1], 20);
    assert_close(outputs[0], outputs[2], 20);
    tn_plan_destroy(plan);
}

/* The stub has 3 of 4 GiB; the processor does not say. */
static bool check_memory(void *user, const tn_device_info *device) {
    const bool is_stub = strcmp(device->kind, "stub") == 0;
    assert_true(device->memory_free == (is_stub ? UINT64_C(3) << 30 : 0));
    assert_true(device->memory_total == (is_stub ? UINT64_C(4) << 30 : 0));
    ++*(int *)user;
    return true;
}

/* x * x, whose kernel there keeps what it prepared in the device's memory. */
static tn_plan *build_square(tn_runtime *runtime) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_TIMING};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    must(tn_graph_create(runtime, "square", &graph));
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = "Mul",
                                      .input_count = 2,
                                      .inputs = TENSORS(x, x),
                                      .output_count = 1};
    tn_tensor_id y = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &y));
    must(tn_graph_add_output(graph, y, "y"));
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    return plan;
}

static void test_a_devices_kernel_keeps_its_state(void **state) {
    device_test *test = *state;
    static const float values[] = {1, 2, -3, 0.5f};
    tn_plan *plan = build_square(test->runtime);
    tn_engine *engine = load(test->runtime, plan, NULL);
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    uint32_t states = 0;
    for (uint32_t s = 0; s < engine->program->step_count; s++)
        states += engine->program->steps[s].has_state;
    assert_int_equal(states, 1);
    must(tn_context_create(engine, &context));
    must(tn_context_bind_input(context, 0, values, sizeof(values)));
    must(tn_context_run(context));
    must(tn_context_output(context, 0, &output));
    for (int i = 0; i < 4; i++)
        assert_true(((const float *)output->data)[i] == values[i] * values[i]);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

/* x + w on images, w being a constant of more than a page. */
static tn_plan *build_sum(tn_runtime *runtime) {
    static const int64_t shape[] = {1, 3, 32, 32};
    static float weights[3 * 32 * 32];
    tn_graph *graph = NULL;
    tn_tensor_id ids[2], sum = TN_NO_TENSOR;
    for (int i = 0; i < 3 * 32 * 32; i++)
        weights[i] = (float)i;
    must(tn_graph_create(runtime, "sum", &graph));
    ids[0] = add_input(graph, "x", TN_F32, 4, shape);
    must(tn_graph_add_constant(graph, "w", TN_F32, 4, shape, weights, sizeof(weights), &ids[1]));
    const tn_node_description node = {
        .size = sizeof(node), .op = "Add", .input_count = 2, .inputs = ids, .output_count = 1};
    must(tn_graph_add_node(graph, &node, &sum));
    must(tn_graph_add_output(graph, sum, "y"));
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    must(tn_build(graph, &options, &plan));
    tn_graph_destroy(graph);
    return plan;
}

static const tn_shared_weight *shared_constant(const tn_engine *engine) {
    for (uint32_t v = 0; v < engine->program->value_count; v++)
        if (engine->shared_constants[v]) return engine->shared_constants[v];
    return NULL;
}

static void test_engines_share_constants_on_a_device(void **state) {
    device_test *test = *state;
    static float x[3 * 32 * 32];
    tn_plan *plan = build_sum(test->runtime);
    tn_engine *engines[2];
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    for (int i = 0; i < 2; i++)
        engines[i] = load(test->runtime, plan, NULL);
    assert_non_null(shared_constant(engines[0]));
    assert_ptr_equal(shared_constant(engines[0]), shared_constant(engines[1]));
    tn_engine_release(engines[0]);
    must(tn_context_create(engines[1], &context));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    must(tn_context_run(context));
    must(tn_context_output(context, 0, &output));
    for (int i = 0; i < 3 * 32 * 32; i++)
        assert_true(((const float *)output->data)[i] == (float)i);
    tn_context_destroy(context);
    tn_engine_release(engines[1]);
    tn_plan_destroy(plan);
}

/* Both convolutions use one library for the device, and one handle in each context. */
static void test_kernels_share_resources(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    tn_engine *engine = load(test->runtime, plan, NULL);
    const tn_device *device = engine->device;
    const tn_stub_state *stub = device->user;
    tn_context *contexts[2];
    assert_int_equal(stub->handles_made, stub->handles_freed); /* those of the build */
    assert_int_equal(stub->libraries_made, stub->libraries_freed + 1);
    const uint64_t handles = stub->handles_made;
    for (int i = 0; i < 2; i++)
        must(tn_context_create(engine, &contexts[i]));
    assert_int_equal(stub->handles_made, handles + 2);
    assert_int_equal(stub->libraries_made, stub->libraries_freed + 1);
    tn_context_destroy(contexts[0]);
    assert_int_equal(stub->handles_made, stub->handles_freed + 1);
    tn_context_destroy(contexts[1]);
    assert_int_equal(stub->handles_made, stub->handles_freed);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    /* the runtime still holds the device's library, and so what it has counted */
    assert_int_equal(stub->libraries_made, stub->libraries_freed);
}

static void test_names_of_devices(void **state) {
    device_test *test = *state;
    static const char *const wrong[] = {"",      ":",      "../stub", "a/b",    "a.b",
                                        "stub:", "stub:x", "stub:-1", "stub:1x"};
    for (size_t i = 0; i < TN_COUNT(wrong); i++)
        assert_int_equal(tn_runtime_find_device(test->runtime, wrong[i]), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_runtime_find_device(test->runtime, "cpu"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub:1"), TN_OK);
    assert_int_equal(tn_runtime_find_device(test->runtime, "stub:2"), TN_ERROR_NOT_FOUND);
    assert_error("stub:0, stub:1", NULL);
    assert_int_equal(tn_runtime_find_device(test->runtime, "cpu:1"), TN_ERROR_NOT_FOUND);
    int seen = 0;
    tn_runtime_visit_devices(test->runtime, check_memory, &seen);
    assert_int_equal(seen, 3);
}

static void test_memory_may_fail_anywhere(void **state) {
    device_test *test = *state;
    tn_plan *plan = build_lenet(test->runtime, "stub");
    float output[20];
    bool is_done = false;
    for (uint64_t at = 1; !is_done && at < 20000; at += 7) {
        const int64_t live = test->allocator.live;
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        uint64_t bytes = 0;
        const void *data = tn_plan_bytes(plan, &bytes);
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
        if (status == TN_OK) status = tn_context_create(engine, &context);
        test->allocator.fail_at = 0;
        if (status == TN_OK) {
            run(context, 2, 0, output);
            is_done = true;
        } else {
            assert_int_equal(status, TN_ERROR_MEMORY);
        }
        tn_context_destroy(context);
        tn_engine_release(engine);
        assert_true(test->allocator.live == live || is_done);
    }
    assert_true(is_done);
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_the_caller_is_asked_for_memory_of_the_device),
        DEVICE_TEST(test_profiles_share_the_constants_on_a_device),
        DEVICE_TEST(test_a_device_gives_the_processors_results),
        DEVICE_TEST(test_a_run_allocates_nothing_and_waits_once),
        DEVICE_TEST(test_steps_of_both_take_turns),
        DEVICE_TEST(test_what_is_captured_behind_the_processor_is_waited_for),
        DEVICE_TEST(test_a_callers_stream_is_not_waited_for),
        DEVICE_TEST(test_short_kernels_are_timed_in_graphs),
        DEVICE_TEST(test_small_copies_of_lent_memory_are_captured),
        DEVICE_TEST(test_small_outputs_are_written_by_kernels),
        DEVICE_TEST(test_inputs_and_outputs_may_be_the_devices),
        DEVICE_TEST(test_the_processor_has_no_streams),
        DEVICE_TEST(test_a_plan_runs_without_its_device),
        DEVICE_TEST(test_a_plan_may_be_run_elsewhere_than_it_was_built_for),
        DEVICE_TEST(test_a_devices_kernel_keeps_its_state),
        DEVICE_TEST(test_engines_share_constants_on_a_device),
        DEVICE_TEST(test_kernels_share_resources),
        DEVICE_TEST(test_names_of_devices),
        DEVICE_TEST(test_memory_may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
