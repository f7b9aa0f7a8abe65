/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks on the stub device whose middle is sized by its data: what is before and behind it stays
 * on the device, and the host waits for the size and for what its processor reads.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/output_allocator.h>

enum { BOXES = 5, MOST = 3 };

/* Boxes [1, 5, 4] -> Relu -> NonMaxSuppression (the processor's) -> Concat of it with itself, and
 * beside it Relu again; and Cast of what NonMaxSuppression found. */
typedef struct sized_test {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} sized_test;

static tn_tensor_id add(tn_graph *graph, const char *op, uint32_t count,
                        const tn_tensor_id *inputs) {
    const bool is_concat = strcmp(op, "Concat") == 0, is_cast = strcmp(op, "Cast") == 0;
    const tn_attribute field = {.size = sizeof(field),
                                .type = TN_FIELD_I64,
                                .name = is_cast ? "to" : "axis",
                                .i = is_cast ? TN_F32 : 1};
    const tn_attribute *const attributes[] = {&field};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = op,
                                      .name = op,
                                      .attribute_count = is_concat || is_cast,
                                      .attributes = attributes,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &made));
    return made;
}

static tn_graph *make_network(tn_runtime *runtime) {
    static const int64_t box_shape[] = {1, BOXES, 4}, score_shape[] = {1, 1, BOXES}, most = MOST;
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "sized", &graph));
    const tn_tensor_id boxes = add_input(graph, "boxes", TN_F32, 3, box_shape);
    const tn_tensor_id scores = add_input(graph, "scores", TN_F32, 3, score_shape);
    const tn_tensor_id positive = add(graph, "Relu", 1, &boxes);
    tn_tensor_id inputs[] = {positive, scores, TN_NO_TENSOR};
    must(tn_graph_add_constant(graph, "most", TN_I64, 0, NULL, &most, sizeof(most), &inputs[2]));
    const tn_tensor_id kept = add(graph, "NonMaxSuppression", 3, inputs);
    must(
        tn_graph_add_output(graph, add(graph, "Concat", 2, (tn_tensor_id[]){kept, kept}), "twice"));
    must(tn_graph_add_output(graph, add(graph, "Relu", 1, &positive), "y"));
    must(tn_graph_add_output(graph, add(graph, "Cast", 1, &kept), "floats"));
    return graph;
}

static void begin(device_test *test, sized_test *own, uint32_t flags) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = "stub", .flags = TN_BUILD_NO_TIMING};
    *own = (sized_test){0};
    tn_graph *graph = make_network(test->runtime);
    must(tn_build(graph, &options, &own->plan));
    tn_graph_destroy(graph);
    const tn_engine_options load_options = {
        .size = sizeof(load_options), .device = "stub", .flags = flags};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(own->plan, &bytes);
    must(tn_engine_load_bytes(test->runtime, data, bytes, &load_options, &own->engine));
    must(tn_context_create(own->engine, &own->context));
}

static void end(sized_test *own) {
    tn_context_destroy(own->context);
    tn_engine_release(own->engine);
    tn_plan_destroy(own->plan);
}

static const float scores[BOXES] = {0.5f, 0.9f, 0.7f, 0.8f, 0.6f};

/* Boxes that lie apart are all kept, as many as are allowed; of equal ones, one. */
static void fill_boxes(float *boxes, bool is_apart) {
    for (int i = 0; i < BOXES * 4; i++)
        boxes[i] = (float)((is_apart ? i / 4 * 2 : 0) + i % 4 / 2);
}

static void expect_twice(const int64_t *found, int64_t count) {
    static const int64_t best[MOST] = {1, 3, 2};
    for (int64_t row = 0; row < count; row++)
        for (int column = 0; column < 6; column++)
            assert_int_equal(found[row * 6 + column], column % 3 == 2 ? best[row] : 0);
}

static void expect_output(const sized_test *own, int64_t count) {
    const tn_tensor *output = NULL;
    must(tn_context_output(own->context, 0, &output));
    assert_int_equal(output->shape[0], count);
    assert_int_equal(output->shape[1], 6);
    expect_twice(output->data, count);
}

static uint32_t count_on_device(const tn_engine *engine) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < engine->program->step_count; s++)
        count += engine->program->steps[s].is_device;
    return count;
}

static void run_twice(const sized_test *own, float *boxes) {
    must(tn_context_bind_input(own->context, 0, boxes, BOXES * 4 * sizeof(float)));
    must(tn_context_bind_input(own->context, 1, scores, sizeof(scores)));
    for (int round = 0; round < 4; round++) {
        const tn_tensor *y = NULL;
        fill_boxes(boxes, round % 2 == 0);
        must(tn_context_run(own->context));
        expect_output(own, round % 2 == 0 ? MOST : 1);
        must(tn_context_output(own->context, 1, &y));
        assert_memory_equal(y->data, boxes, BOXES * 4 * sizeof(float));
        must(tn_context_output(own->context, 2, &y));
        assert_int_equal(y->shape[0], round % 2 == 0 ? MOST : 1);
        assert_true(((const float *)y->data)[2] == 1);
    }
}

static void test_what_is_before_and_behind_stays_on_the_device(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    begin(test, &own, 0);
    assert_string_equal(test->log, "");
    assert_ptr_equal(own.engine->program, own.engine->contents.programs[0]);
    assert_int_equal(count_on_device(own.engine), 3);
    run_twice(&own, boxes);
    end(&own);
}

/* Cast on the device, for any shape but those of one row. */
static int cast_runs;

static tn_status cast_reshape(tn_call *call) {
    return call->inputs[0]->shape[0] == 1 ? TN_ERROR_UNSUPPORTED : TN_OK;
}
static tn_status cast_run(tn_call *call) {
    const tn_stub_state *stub = call->device->user;
    cast_runs++;
    return stub->enqueue(call, NULL);
}
static const tn_kernel cast_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "",
                                      .op = "Cast",
                                      .device = "stub",
                                      .name = "cast_rows",
                                      .traits = TN_KERNEL_ANY_SHAPE,
                                      .reshape = cast_reshape,
                                      .run = cast_run};
static const tn_kernel *const cast_kernels[] = {&cast_kernel};
static tn_library *cast_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "casts",
                                 .version = "1",
                                 .kernel_count = 1,
                                 .kernels = cast_kernels};
    (void)host;
    return &library;
}

static void test_a_shape_that_a_kernel_refuses_runs_by_the_reference(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    must(tn_runtime_register_library(test->runtime, cast_entry));
    begin(test, &own, 0);
    assert_int_equal(count_on_device(own.engine), 4);
    cast_runs = 0;
    run_twice(&own, boxes); /* two of its four runs have one row */
    assert_int_equal(cast_runs, 2);
    end(&own);
}

static void test_a_guarded_run_gives_the_same(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    begin(test, &own, TN_ENGINE_CHECKED);
    run_twice(&own, boxes);
    end(&own);
}

static void test_steps_are_timed_on_both(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    begin(test, &own, 0);
    must(tn_context_set_profiling(own.context, true));
    run_twice(&own, boxes);
    uint32_t count = 0;
    for (uint32_t i = 0; i < tn_context_profile_count(own.context); i++)
        count += tn_context_profile(own.context, i)->runs == 4;
    assert_true(count >= 4);
    end(&own);
}

/* The pool is kept: neither the host nor the device allocates when sizes have been seen. */
static void test_runs_of_known_sizes_allocate_nothing(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    tn_context_statistics before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    begin(test, &own, 0);
    run_twice(&own, boxes);
    tn_context_get_statistics(own.context, &before);
    const uint64_t allocations = ((tn_stub_state *)own.engine->device->user)->allocations;
    run_twice(&own, boxes);
    tn_context_get_statistics(own.context, &after);
    assert_int_equal(before.allocations, after.allocations);
    assert_int_equal(((tn_stub_state *)own.engine->device->user)->allocations, allocations);
    assert_true(after.waits > before.waits);
    end(&own);
}

static void *on_device(const sized_test *own, uint64_t bytes, void *stream) {
    void *memory = NULL;
    must(own->engine->device->allocate(own->engine->device, bytes, stream, &memory));
    return memory;
}

/* Inputs and outputs in the device's memory, on a stream of the caller's. */
static void test_callers_memory_of_the_device(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4], y[BOXES * 4];
    int64_t found[MOST * 6];
    void *stream = NULL;
    begin(test, &own, 0);
    const tn_device *device = own.engine->device;
    must(device->stream_create(device, &stream));
    must(tn_context_set_stream(own.context, stream));
    void *memory[] = {on_device(&own, sizeof(boxes), stream),
                      on_device(&own, sizeof(scores), stream),
                      on_device(&own, sizeof(found), stream), on_device(&own, sizeof(y), stream)};
    must(tn_context_bind_device_input(own.context, 0, memory[0], sizeof(boxes)));
    must(tn_context_bind_device_input(own.context, 1, memory[1], sizeof(scores)));
    must(tn_context_bind_device_output(own.context, 0, memory[2], sizeof(found)));
    must(tn_context_bind_device_output(own.context, 1, memory[3], sizeof(y)));
    must(device->copy(device, memory[1], scores, sizeof(scores), TN_COPY_TO_DEVICE, stream));
    for (int round = 0; round < 3; round++) {
        const int64_t count = round % 2 == 0 ? MOST : 1;
        const tn_tensor *output = NULL;
        fill_boxes(boxes, round % 2 == 0);
        must(device->copy(device, memory[0], boxes, sizeof(boxes), TN_COPY_TO_DEVICE, stream));
        must(tn_context_run(own.context));
        must(tn_context_output(own.context, 0, &output));
        assert_int_equal(output->shape[0], count);
        assert_ptr_equal(output->data, memory[2]);
        must(device->copy(device, found, memory[2], output->bytes, TN_COPY_TO_HOST, stream));
        must(device->copy(device, y, memory[3], sizeof(y), TN_COPY_TO_HOST, stream));
        must(device->stream_wait(device, stream));
        expect_twice(found, count);
        assert_memory_equal(y, boxes, sizeof(y));
    }
    must(tn_context_bind_device_output(own.context, 0, memory[2], 6 * sizeof(int64_t)));
    assert_int_equal(tn_context_run(own.context), TN_ERROR_ARGUMENT);
    assert_non_null(strstr(tn_last_error()->message, "output 'twice' has 144 bytes; 48 are bound"));
    tn_context_destroy(own.context);
    own.context = NULL;
    for (size_t i = 0; i < TN_COUNT(memory); i++)
        device->deallocate(device, memory[i], stream);
    must(device->stream_wait(device, stream));
    device->stream_destroy(device, stream);
    end(&own);
}

/* Memory that the caller is asked for, of the device and of the host. */
typedef struct asked_memory {
    void *device, *host;
    uint64_t bytes, alignment;
    int count;
    bool has_none, is_crooked;
} asked_memory;

static void *answer_device(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    asked_memory *memory = user;
    (void)output;
    memory->count++;
    memory->bytes = bytes;
    memory->alignment = alignment;
    return memory->has_none ? NULL : (char *)memory->device + (memory->is_crooked ? 4 : 0);
}
static void *answer_host(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    asked_memory *memory = user;
    (void)output, (void)bytes, (void)alignment;
    memory->count++;
    return memory->host;
}

static void test_the_caller_is_asked_for_memory_of_the_device(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    int64_t found[MOST * 6];
    _Alignas(64) float y[BOXES * 4], floats[MOST * 3];
    void *stream = NULL;
    begin(test, &own, 0);
    const tn_device *device = own.engine->device;
    must(device->stream_create(device, &stream));
    asked_memory twice = {.device = on_device(&own, sizeof(found) + 256, stream)};
    asked_memory relu = {.host = y}, cast = {.host = floats};
    must(tn_context_bind_input(own.context, 0, boxes, sizeof(boxes)));
    must(tn_context_bind_input(own.context, 1, scores, sizeof(scores)));
    must(tn_context_set_device_output_allocator(own.context, 0, answer_device, &twice));
    must(tn_context_set_output_allocator(own.context, 1, answer_host, &relu));
    must(tn_context_set_output_allocator(own.context, 2, answer_host, &cast));
    for (int round = 0; round < 4; round++) {
        const int64_t count = round % 2 == 0 ? MOST : 1;
        const tn_tensor *output = NULL;
        fill_boxes(boxes, round % 2 == 0);
        must(tn_context_run(own.context));
        must(tn_context_output(own.context, 0, &output));
        assert_int_equal(output->shape[0], count);
        assert_ptr_equal(output->data, twice.device);
        assert_int_equal(twice.bytes, count * 6 * (int64_t)sizeof(int64_t));
        assert_int_equal(twice.alignment, device->alignment);
        must(device->copy(device, found, twice.device, output->bytes, TN_COPY_TO_HOST, stream));
        must(device->stream_wait(device, stream));
        expect_twice(found, count);
        assert_memory_equal(y, boxes, sizeof(y));
        assert_int_equal(twice.count, round + 1);
        assert_int_equal(relu.count, round + 1);
        assert_int_equal(cast.count, round + 1);
    }
    twice.has_none = true;
    assert_int_equal(tn_context_run(own.context), TN_ERROR_MEMORY);
    twice.has_none = false;
    twice.is_crooked = true;
    assert_int_equal(tn_context_run(own.context), TN_ERROR_ARGUMENT);
    assert_non_null(strstr(tn_last_error()->message, "that is not aligned to 256 bytes"));
    twice.is_crooked = false;
    must(tn_context_run(own.context));
    tn_context_destroy(own.context);
    own.context = NULL;
    device->deallocate(device, twice.device, stream);
    must(device->stream_wait(device, stream));
    device->stream_destroy(device, stream);
    end(&own);
}

/* Each callback and copy of a device may fail: the error is told, and the next run is sound. */
static void test_failures_pass(void **state) {
    device_test *test = *state;
    sized_test own;
    float boxes[BOXES * 4];
    begin(test, &own, 0);
    tn_stub_state *stub = own.engine->device->user;
    run_twice(&own, boxes);
    int failures = 0;
    for (uint64_t at = 1; at <= 4; at++) {
        for (int what = 0; what < 2; what++) {
            stub->launches = stub->waits = 0;
            *(what ? &stub->fail_wait : &stub->fail_launch) = at;
            failures += tn_context_run(own.context) != TN_OK;
            stub->fail_launch = stub->fail_wait = 0;
            run_twice(&own, boxes);
        }
    }
    assert_true(failures >= 5);
    end(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_what_is_before_and_behind_stays_on_the_device),
        DEVICE_TEST(test_a_shape_that_a_kernel_refuses_runs_by_the_reference),
        DEVICE_TEST(test_a_guarded_run_gives_the_same),
        DEVICE_TEST(test_steps_are_timed_on_both),
        DEVICE_TEST(test_runs_of_known_sizes_allocate_nothing),
        DEVICE_TEST(test_callers_memory_of_the_device),
        DEVICE_TEST(test_the_caller_is_asked_for_memory_of_the_device),
        DEVICE_TEST(test_failures_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
