/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors with a count (tenon/plugin/counted.h): a state that grows within its capacity, on the
 * processor and on the stub device, without a new shape, memory or captured graph; and what is not
 * right for any count, refused with the node. And sizes that a kernel finds and counts, so that the
 * host need not wait for them.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/plugin/counted.h>

enum { CAPACITY = 8 };

/* --- Append: the row is the last of those that are there; Total: their sum --- */
static int64_t count_of(const tn_tensor *tensor) {
    return tensor->counted ? *tensor->counted->value : tensor->shape[0];
}
static tn_status append_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[0];
    return TN_OK;
}
static tn_status append(tn_call *call) {
    const tn_tensor *cache = call->inputs[0];
    float *to = call->outputs[0]->data;
    const int64_t count = count_of(cache);
    if (to != cache->data) memcpy(to, cache->data, (size_t)cache->bytes);
    if (count > 0) to[count - 1] = *(const float *)call->inputs[1]->data;
    return TN_OK;
}
static tn_status total_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = 1;
    return TN_OK;
}
static tn_status total(tn_call *call) {
    float *sum = call->outputs[0]->data;
    *sum = 0;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        *sum += ((const float *)call->inputs[0]->data)[i];
    return TN_OK;
}
/* --- Above: the columns of a matrix, or the elements of a vector, whose first one is above 0 ---
 */
enum { SOUND, COUNTS_TOO_MANY, COUNTS_BELOW_0, COUNTS_ALONG_ANOTHER, MOVES_THE_COUNT };
static int mistake, refuses_total;
static int64_t elsewhere;

static tn_status above_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static tn_status above(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    const int64_t columns = x->shape[x->rank - 1], rows = x->rank > 1 ? x->shape[0] : 1;
    const float *from = x->data;
    float *to = y->data;
    int64_t found = 0;
    for (int64_t i = 0; i < columns; i++)
        found += from[i] > 0;
    const int64_t pitch = y->counted ? columns : found;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0, at = 0; i < columns; i++)
            if (from[i] > 0) to[row * pitch + at++] = from[row * columns + i];
    if (!y->counted)
        y->shape[y->rank - 1] = found;
    else
        *y->counted->value = mistake == COUNTS_TOO_MANY  ? columns + 1
                             : mistake == COUNTS_BELOW_0 ? -1
                                                         : found;
    return TN_OK;
}
/* What the host sees when run returns. */
static tn_status set_axis(const tn_call *call) {
    tn_counted *counted = call->outputs[0]->counted;
    if (!counted) return TN_OK;
    counted->axis = call->outputs[0]->rank - 1 + (mistake == COUNTS_ALONG_ANOTHER);
    if (mistake == MOVES_THE_COUNT) counted->value = &elsewhere;
    return TN_OK;
}
static tn_status above_on_cpu(tn_call *call) {
    const tn_status status = above(call);
    return status == TN_OK ? set_axis(call) : status;
}
static tn_status above_on_stub(tn_call *call) {
    tn_status status = set_axis(call);
    if (status == TN_OK) status = ((const tn_stub_state *)call->device->user)->enqueue(call, above);
    return status == TN_OK && !call->outputs[0]->counted
               ? call->device->stream_wait(call->device, call->stream)
               : status;
}
static tn_status total_reshape(tn_call *call) {
    (void)call;
    return refuses_total ? TN_ERROR_UNSUPPORTED : TN_OK;
}
static tn_status append_on_stub(tn_call *call) {
    return ((const tn_stub_state *)call->device->user)->enqueue(call, append);
}
static tn_status total_on_stub(tn_call *call) {
    return ((const tn_stub_state *)call->device->user)->enqueue(call, total);
}

static const tn_port append_inputs[] = {TN_PORT("cache", "f32", 0, "rows of one element"),
                                        TN_PORT("row", "f32", 0, "the new one")};
static const tn_port append_outputs[] = {
    {"y", "f32", "the cache with the row", TN_PORT_ALIAS, 1, 0, 0}};
static const tn_port above_inputs[] = {TN_PORT("x", "f32", 0, "elements, or rows of them")};
static const tn_port above_outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "those above 0")};
static const tn_port total_inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port total_outputs[] = {TN_PORT("y", "f32", 0, "their sum")};

#define OPERATOR(variable, operator_name, ins, outs, rule, function)                               \
    static const tn_operator variable = {.size = sizeof(tn_operator),                              \
                                         .since_version = 1,                                       \
                                         .state_version = 1,                                       \
                                         .domain = "counts",                                       \
                                         .name = operator_name,                                    \
                                         .doc = operator_name,                                     \
                                         TN_NO_FIELDS,                                             \
                                         TN_INPUTS(ins),                                           \
                                         TN_OUTPUTS(outs),                                         \
                                         .infer = rule,                                            \
                                         .reference = function}
OPERATOR(append_operator, "Append", append_inputs, append_outputs, append_infer, append);
OPERATOR(total_operator, "Total", total_inputs, total_outputs, total_infer, total);
OPERATOR(above_operator, "Above", above_inputs, above_outputs, above_infer, above);
OPERATOR(plain_operator, "PlainTotal", total_inputs, total_outputs, total_infer, total);

static const char *const append_combinations[] = {"f32:counted, f32 -> f32"};
static const char *const total_combinations[] = {"f32:linear:strided:counted -> f32"};
static const char *const above_combinations[] = {"f32 -> f32:counted"};

#define KERNEL(variable, operator_name, where, texts, asked, function)                             \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "counts",                                         \
                                       .op = operator_name,                                        \
                                       .device = where,                                            \
                                       .name = "counting",                                         \
                                       .traits = TN_KERNEL_CAPTURABLE | TN_KERNEL_ANY_SHAPE,       \
                                       TN_COMBINATIONS(texts),                                     \
                                       .reshape = asked,                                           \
                                       .run = function}
KERNEL(append_cpu, "Append", "cpu", append_combinations, NULL, append);
KERNEL(append_stub, "Append", "stub", append_combinations, NULL, append_on_stub);
KERNEL(total_cpu, "Total", "cpu", total_combinations, total_reshape, total);
KERNEL(total_stub, "Total", "stub", total_combinations, total_reshape, total_on_stub);
KERNEL(above_cpu, "Above", "cpu", above_combinations, NULL, above_on_cpu);
KERNEL(above_stub, "Above", "stub", above_combinations, NULL, above_on_stub);

static tn_library *entry(const tn_host *host) {
    static const tn_operator *const operators[] = {&append_operator, &total_operator,
                                                   &above_operator, &plain_operator};
    static const tn_kernel *const kernels[] = {&append_cpu, &append_stub, &total_cpu,
                                               &total_stub, &above_cpu,   &above_stub};
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "counts",
                                 .version = "1",
                                 .operator_count = TN_COUNT(operators),
                                 .operators = operators,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};
    (void)host;
    return &library;
}

/* --- networks --- */
typedef struct count_test {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} count_test;

static tn_tensor_id add(tn_graph *graph, const char *domain, const char *op, uint32_t count,
                        const tn_tensor_id *inputs) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .name = op,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &made));
    return made;
}

static void finish(device_test *test, count_test *own, tn_graph *graph, const char *device) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = device,
                                        .flags = TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION};
    *own = (count_test){0};
    must(tn_build(graph, &options, &own->plan));
    tn_graph_destroy(graph);
    own->engine = load(test->runtime, own->plan, device);
    must(tn_context_create(own->engine, &own->context));
}

static void end(count_test *own) {
    tn_context_destroy(own->context);
    tn_engine_release(own->engine);
    tn_plan_destroy(own->plan);
}

/* cache[8], row[1] -> the cache; Relu of it, which is elementwise; the sum of what is there. */
static void begin(device_test *test, count_test *own, const char *device) {
    static const int64_t capacity = CAPACITY, one = 1;
    tn_graph *graph = NULL;
    must(tn_runtime_register_library(test->runtime, entry));
    must(tn_graph_create(test->runtime, "grows", &graph));
    const tn_tensor_id inputs[] = {add_input(graph, "cache", TN_F32, 1, &capacity),
                                   add_input(graph, "row", TN_F32, 1, &one)};
    const tn_tensor_id cache = add(graph, "counts", "Append", 2, inputs);
    const tn_tensor_id positive = add(graph, "", "Relu", 1, &cache);
    must(tn_graph_add_output(graph, cache, "cache_out"));
    must(tn_graph_add_output(graph, positive, "positive"));
    must(tn_graph_add_output(graph, add(graph, "counts", "Total", 1, &positive), "total"));
    finish(test, own, graph, device);
}

static void test_a_state_grows_within_its_capacity(void **state) {
    device_test *test = *state;
    count_test own;
    _Alignas(64) float cache[CAPACITY], row = 0;
    int64_t count = 0;
    tn_context_statistics before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    begin(test, &own, "cpu");
    for (int i = 0; i < CAPACITY; i++)
        cache[i] = 1e30f; /* has no meaning yet */
    must(tn_context_bind_input(own.context, 0, cache, sizeof(cache)));
    must(tn_context_bind_input(own.context, 1, &row, sizeof(row)));
    must(tn_context_bind_output(own.context, 0, cache, sizeof(cache)));
    must(tn_context_bind_count(own.context, 0, 0, &count));
    float sum = 0;
    for (count = 1; count <= CAPACITY; count++) {
        const tn_tensor *output = NULL;
        row = (float)(count % 3) - 0.5f;
        sum += row > 0 ? row : 0;
        must(tn_context_run(own.context));
        assert_true(cache[count - 1] == row);
        must(tn_context_output(own.context, 2, &output));
        assert_true(*(const float *)output->data == sum);
        assert_null(output->counted);
        must(tn_context_output(own.context, 1, &output));
        assert_ptr_equal(output->counted->value, &count);
        assert_int_equal(output->counted->axis, 0);
        assert_int_equal(output->shape[0], CAPACITY);
        if (count == 1) tn_context_get_statistics(own.context, &before);
    }
    tn_context_get_statistics(own.context, &after);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.reshapes, 1);
    assert_int_equal(after.arena_bytes, before.arena_bytes);
    count = CAPACITY - 1;
    must(tn_context_bind_count(own.context, 0, 0, NULL)); /* all of it is there again */
    must(tn_context_run(own.context));
    const tn_tensor *output = NULL;
    must(tn_context_output(own.context, 1, &output));
    assert_null(output->counted);
    end(&own);
}

static void *captured(const count_test *own) {
    const tn_shape_state *state = own->context->shapes.current;
    assert_int_equal(state->graph_count, 1);
    return state->graphs[0].graph;
}

/* The cache and its count lie in the device's memory, and the host sees neither. */
static void test_a_state_grows_on_a_device(void **state) {
    device_test *test = *state;
    count_test own;
    static const float nothing[CAPACITY] = {1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f};
    void *stream = NULL, *cache = NULL, *count_there = NULL, *row_there = NULL, *sum_there = NULL;
    tn_context_statistics before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
    begin(test, &own, "stub");
    const tn_device *device = own.engine->device;
    must(device->stream_create(device, &stream));
    must(device->allocate(device, sizeof(nothing), stream, &cache));
    must(device->allocate(device, sizeof(int64_t), stream, &count_there));
    must(device->allocate(device, sizeof(float), stream, &row_there));
    must(device->allocate(device, sizeof(float), stream, &sum_there));
    must(device->copy(device, cache, nothing, sizeof(nothing), TN_COPY_TO_DEVICE, stream));
    must(tn_context_set_stream(own.context, stream));
    must(tn_context_bind_device_input(own.context, 0, cache, sizeof(nothing)));
    must(tn_context_bind_device_input(own.context, 1, row_there, sizeof(float)));
    must(tn_context_bind_device_output(own.context, 0, cache, sizeof(nothing)));
    must(tn_context_bind_device_output(own.context, 2, sum_there, sizeof(float)));
    must(tn_context_bind_count(own.context, 0, 0, count_there));
    float sum = 0;
    void *graph = NULL;
    for (int64_t count = 1; count <= CAPACITY; count++) {
        const float row = (float)count;
        float found = 0;
        sum += row;
        must(device->copy(device, count_there, &count, sizeof(count), TN_COPY_TO_DEVICE, stream));
        must(device->copy(device, row_there, &row, sizeof(row), TN_COPY_TO_DEVICE, stream));
        must(tn_context_run(own.context));
        must(device->copy(device, &found, sum_there, sizeof(found), TN_COPY_TO_HOST, stream));
        must(device->stream_wait(device, stream));
        assert_true(found == sum);
        if (count == 3) tn_context_get_statistics(own.context, &before);
        if (count == 3) graph = captured(&own);
    }
    tn_context_get_statistics(own.context, &after);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.reshapes, 1);
    assert_int_equal(after.graph_launches, before.graph_launches + CAPACITY - 3);
    assert_non_null(graph);
    assert_ptr_equal(captured(&own), graph);
    tn_context_destroy(own.context);
    own.context = NULL;
    device->deallocate(device, cache, stream);
    device->deallocate(device, count_there, stream);
    device->deallocate(device, row_there, stream);
    device->deallocate(device, sum_there, stream);
    must(device->stream_wait(device, stream));
    device->stream_destroy(device, stream);
    end(&own);
}

/* --- what is refused --- */

static void expect_refused(const count_test *own, const char *message, const char *where) {
    assert_int_not_equal(tn_context_reshape(own->context), TN_OK);
    if (!strstr(tn_last_error()->message, message) || !strstr(tn_last_error()->where, where))
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* x[4, 8], and a node that reads it. */
static void begin_with(device_test *test, count_test *own, const char *domain, const char *op,
                       uint32_t inputs, const char *device) {
    static const int64_t shape[] = {4, CAPACITY};
    tn_graph *graph = NULL;
    must(tn_graph_create(test->runtime, "refused", &graph));
    const tn_tensor_id ids[] = {add_input(graph, "x", TN_F32, 2, shape),
                                inputs > 1 ? add_input(graph, "w", TN_F32, 2, shape) : 0};
    must(tn_graph_add_output(graph, add(graph, domain, op, inputs, ids), "y"));
    finish(test, own, graph, device);
}

static int64_t some_count = 3, other_count = 3;

static void test_kernels_that_accept_no_count_are_refused(void **state) {
    device_test *test = *state;
    count_test own;
    must(tn_runtime_register_library(test->runtime, entry));
    begin_with(test, &own, "", "Softmax", 1, "cpu");
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    expect_refused(&own, "input 'x' has a count, and a kernel reads it that accepts none",
                   "node 'Softmax'");
    must(tn_context_bind_count(own.context, 0, 0, NULL));
    must(tn_context_reshape(own.context)); /* the context works on */
    end(&own);
    begin_with(test, &own, "counts", "PlainTotal", 1, "cpu");
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    expect_refused(&own, "the reference reads it, which accepts none", "node 'PlainTotal'");
    end(&own);
}

static void test_views_keep_the_counted_axis_or_are_refused(void **state) {
    device_test *test = *state;
    count_test own;
    const tn_tensor *output = NULL;
    begin_with(test, &own, "", "Flatten", 1, "cpu"); /* axis 1: the shape stays */
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    must(tn_context_reshape(own.context));
    must(tn_context_output(own.context, 0, &output));
    assert_int_equal(output->counted->axis, 1);
    end(&own);
    begin_with(test, &own, "", "Shape", 1,
               "cpu"); /* a value, whose elements would be the capacity */
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    expect_refused(&own, "input 'x' has a count", "node 'Shape'");
    end(&own);
}

static void test_counts_meet_or_are_refused(void **state) {
    device_test *test = *state;
    count_test own;
    const tn_tensor *output = NULL;
    begin_with(test, &own, "", "Add", 2, "cpu");
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    must(tn_context_bind_count(own.context, 1, 1, &some_count));
    must(tn_context_reshape(own.context));
    must(tn_context_output(own.context, 0, &output));
    assert_ptr_equal(output->counted->value, &some_count);
    must(tn_context_bind_count(own.context, 1, 0, &other_count));
    expect_refused(&own, "", "with 9 elements in place of 8 in input 'x', which has a count");
    must(tn_context_bind_count(own.context, 1, 0, &some_count));
    expect_refused(&own, "input 'w' has a capacity of 4, and input 'x', whose count is the same",
                   "");
    must(tn_context_bind_count(own.context, 1, 2, &some_count));
    expect_refused(&own, "input 'w' has a count along axis 2 and rank 2", "");
    assert_int_equal(tn_context_bind_count(own.context, 1, 8, &some_count), TN_ERROR_ARGUMENT);
    assert_int_equal(
        tn_context_bind_count(own.context, 1, 0, (int64_t *)(void *)((char *)&some_count + 1)),
        TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_count(own.context, 2, 0, &some_count), TN_ERROR_ARGUMENT);
    end(&own);
}

/* Sigmoid is the processor's there, and elementwise; Softmax is the processor's and is not. */
static void test_on_a_device_the_count_is_not_the_processors(void **state) {
    device_test *test = *state;
    count_test own;
    begin_with(test, &own, "", "Sigmoid", 1, "stub");
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    must(tn_context_reshape(own.context));
    end(&own);
    begin_with(test, &own, "", "Softmax", 1, "stub");
    must(tn_context_bind_count(own.context, 0, 1, &some_count));
    expect_refused(&own, "input 'x' has a count", "node 'Softmax'");
    end(&own);
}

static void test_no_memory_leaves_the_context_sound(void **state) {
    device_test *test = *state;
    count_test own;
    float x[4 * CAPACITY] = {0};
    static int64_t counts[60]; /* a set of shapes for each */
    int failures = 0;
    begin_with(test, &own, "", "Relu", 1, "cpu");
    must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
    for (int64_t at = 1; at < 60; at++) {
        must(tn_context_bind_count(own.context, 0, 1, NULL));
        must(tn_context_reshape(own.context));
        must(tn_context_bind_count(own.context, 0, 1, &counts[at]));
        test->allocator.fail_at = test->allocator.allocations + (uint64_t)at;
        const tn_status status = tn_context_run(own.context);
        test->allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
        failures += status != TN_OK;
        must(tn_context_run(own.context));
        const tn_tensor *output = NULL;
        must(tn_context_output(own.context, 0, &output));
        assert_non_null(output->counted);
    }
    assert_true(failures > 3);
    end(&own);
}

/* --- sizes that a kernel counts --- */

/* x -> Above -> doubled by Add -> Total; with `is_seen` what is doubled is an output, too. */
static void begin_sized(device_test *test, count_test *own, uint32_t rank, bool is_seen,
                        const char *device) {
    static const int64_t extents[] = {2, CAPACITY};
    tn_graph *graph = NULL;
    must(tn_runtime_register_library(test->runtime, entry));
    must(tn_graph_create(test->runtime, "sized", &graph));
    const tn_tensor_id x = add_input(graph, "x", TN_F32, rank, extents + 2 - rank);
    const tn_tensor_id found = add(graph, "counts", "Above", 1, &x);
    const tn_tensor_id twice = add(graph, "", "Add", 2, (tn_tensor_id[]){found, found});
    if (rank == 1)
        must(tn_graph_add_output(graph, add(graph, "counts", "Total", 1, &twice), "sum"));
    if (is_seen) must(tn_graph_add_output(graph, twice, "twice"));
    finish(test, own, graph, device);
    mistake = SOUND;
    refuses_total = 0;
}

static float total_of(const count_test *own) {
    const tn_tensor *output = NULL;
    must(tn_context_run(own->context));
    must(tn_context_output(own->context, 0, &output));
    return *(const float *)output->data;
}

static uint64_t waits_of(const count_test *own) {
    tn_context_statistics now = {.size = sizeof(now)};
    tn_context_get_statistics(own->context, &now);
    return now.waits;
}

static const char *const devices[] = {"cpu", "stub"};

static void test_a_counted_size_is_not_waited_for(void **state) {
    device_test *test = *state;
    for (size_t d = 0; d < TN_COUNT(devices); d++) {
        count_test own;
        float x[CAPACITY] = {1, -5, 2, -7, 3};
        begin_sized(test, &own, 1, false, devices[d]);
        must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
        assert_true(total_of(&own) == 12);
        const uint64_t before = waits_of(&own);
        x[1] = 5;
        assert_true(total_of(&own) == 22);
        assert_int_equal(waits_of(&own) - before, d); /* once, for the output */
        memset(x, 0, sizeof(x));
        assert_true(total_of(&own) == 0);
        end(&own);
        teardown(state);
        setup(state);
        test = *state;
    }
}

/* Rows of the capacity become rows of the count, side by side. */
static void test_what_is_handed_out_has_its_true_shape(void **state) {
    device_test *test = *state;
    for (size_t d = 0; d < TN_COUNT(devices); d++) {
        count_test own;
        float x[2][CAPACITY] = {{1, -5, 2, -7, 3}, {10, 20, 30, 40, 50}};
        static const float twice[] = {2, 4, 6, 20, 60, 100};
        const tn_tensor *output = NULL;
        begin_sized(test, &own, 2, true, devices[d]);
        must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
        for (int round = 0; round < 2; round++) {
            must(tn_context_run(own.context));
            must(tn_context_output(own.context, 0, &output));
            assert_int_equal(output->shape[0], 2);
            assert_int_equal(output->shape[1], 3);
            assert_null(output->counted);
            assert_memory_equal(output->data, twice, sizeof(twice));
        }
        end(&own);
        teardown(state);
        setup(state);
        test = *state;
    }
}

static void test_a_refused_shape_is_run_with_true_ones(void **state) {
    device_test *test = *state;
    count_test own;
    float x[CAPACITY] = {1, -5, 2, -7, 3};
    begin_sized(test, &own, 1, true, "stub");
    must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
    refuses_total = 1;
    assert_true(total_of(&own) == 12);
    refuses_total = 0;
    assert_true(total_of(&own) == 12);
    end(&own);
}

static void test_a_count_out_of_range_is_the_kernels_fault(void **state) {
    device_test *test = *state;
    count_test own;
    float x[CAPACITY] = {1, -5, 2, -7, 3};
    begin_sized(test, &own, 1, true, "stub");
    must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
    for (mistake = COUNTS_TOO_MANY; mistake < MOVES_THE_COUNT; mistake++)
        assert_int_equal(tn_context_run(own.context), TN_ERROR_PLUGIN);
    end(&own);
    teardown(state);
    setup(state);
    test = *state;
    begin_sized(test, &own, 1, true, "cpu");
    must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
    for (mistake = COUNTS_TOO_MANY; mistake <= MOVES_THE_COUNT; mistake++)
        assert_int_equal(tn_context_run(own.context), TN_ERROR_PLUGIN);
    mistake = SOUND;
    assert_true(total_of(&own) == 12);
    end(&own);
}

/* Guarded runs have true shapes, which they check. */
static void test_guarded_runs_have_no_counts(void **state) {
    device_test *test = *state;
    count_test own;
    float x[CAPACITY] = {1, -5, 2, -7, 3};
    begin_sized(test, &own, 1, true, "cpu");
    tn_context_destroy(own.context);
    tn_engine_release(own.engine);
    const tn_engine_options options = {
        .size = sizeof(options), .device = "cpu", .flags = TN_ENGINE_CHECKED};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(own.plan, &bytes);
    must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &own.engine));
    must(tn_context_create(own.engine, &own.context));
    must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
    assert_true(total_of(&own) == 12);
    assert_int_equal(tn_context_bind_count(own.context, 0, 0, &some_count), TN_ERROR_UNSUPPORTED);
    end(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_state_grows_within_its_capacity),
        DEVICE_TEST(test_a_state_grows_on_a_device),
        DEVICE_TEST(test_kernels_that_accept_no_count_are_refused),
        DEVICE_TEST(test_views_keep_the_counted_axis_or_are_refused),
        DEVICE_TEST(test_counts_meet_or_are_refused),
        DEVICE_TEST(test_on_a_device_the_count_is_not_the_processors),
        DEVICE_TEST(test_no_memory_leaves_the_context_sound),
        DEVICE_TEST(test_a_counted_size_is_not_waited_for),
        DEVICE_TEST(test_what_is_handed_out_has_its_true_shape),
        DEVICE_TEST(test_a_refused_shape_is_run_with_true_ones),
        DEVICE_TEST(test_a_count_out_of_range_is_the_kernels_fault),
        DEVICE_TEST(test_guarded_runs_have_no_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
