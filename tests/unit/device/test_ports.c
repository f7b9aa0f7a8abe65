/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs in the memory of a device, of networks of which the processor does a part: its
 * kernels read the input, or write the output, and what the caller has enqueued before and enqueues
 * afterwards stays in order. On the stub of tests/stub, whose memory crashes the host that reads
 * it.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/border.h>

#define COUNT 120

/* A network on the stub with memory of it for each input and output. */
typedef struct ports_test {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    const tn_device *device;
    void *stream, *inputs[3], *outputs[3];
} ports_test;

static const int64_t shape[] = {2, 3, 4, 5};

static tn_tensor_id add(tn_graph *graph, const char *op, uint32_t count,
                        const tn_tensor_id *inputs) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = op,
                                      .name = op,
                                      .input_count = count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    must(tn_graph_add_node(graph, &node, &made));
    return made;
}

/* Sigmoid has no kernel on the stub, Relu has one. */
static tn_graph *make_chain_of(tn_runtime *runtime, size_t count, const char *const *ops) {
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "chain", &graph));
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, shape);
    for (size_t i = 0; i < count; i++)
        last = add(graph, ops[i], 1, &last);
    must(tn_graph_add_output(graph, last, "y"));
    return graph;
}

/* Takes over the graph. */
static void begin(device_test *test, ports_test *own, tn_graph *graph, uint64_t input_bytes,
                  uint64_t output_bytes) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = "stub",
                                        .flags = TN_BUILD_NO_FUSION | TN_BUILD_NO_TIMING};
    *own = (ports_test){0};
    must(tn_build(graph, &options, &own->plan));
    tn_graph_destroy(graph);
    own->engine = load(test->runtime, own->plan, "stub");
    own->device = own->engine->device;
    must(tn_context_create(own->engine, &own->context));
    must(own->device->stream_create(own->device, &own->stream));
    for (uint32_t i = 0; i < tn_engine_input_count(own->engine); i++) {
        must(own->device->allocate(own->device, input_bytes, own->stream, &own->inputs[i]));
        must(tn_context_bind_device_input(own->context, i, own->inputs[i], input_bytes));
    }
    for (uint32_t i = 0; i < tn_engine_output_count(own->engine); i++) {
        must(own->device->allocate(own->device, output_bytes, own->stream, &own->outputs[i]));
        must(tn_context_bind_device_output(own->context, i, own->outputs[i], output_bytes));
    }
}

static void end(ports_test *own) {
    tn_context_destroy(own->context);
    for (int i = 0; i < 3; i++) {
        own->device->deallocate(own->device, own->inputs[i], own->stream);
        own->device->deallocate(own->device, own->outputs[i], own->stream);
    }
    must(own->device->stream_wait(own->device, own->stream));
    own->device->stream_destroy(own->device, own->stream);
    tn_engine_release(own->engine);
    tn_plan_destroy(own->plan);
}

static void put(const ports_test *own, uint32_t input, const void *data, uint64_t bytes) {
    must(own->device->copy(own->device, own->inputs[input], data, bytes, TN_COPY_TO_DEVICE,
                           own->stream));
}
static void take(const ports_test *own, uint32_t output, void *data, uint64_t bytes) {
    must(own->device->copy(own->device, data, own->outputs[output], bytes, TN_COPY_TO_HOST,
                           own->stream));
}
static void settle(const ports_test *own) {
    must(own->device->stream_wait(own->device, own->stream));
}

/* The report of the build, without times. */
static void expect_report(const ports_test *own, const char *part) {
    const char *report = tn_plan_report(own->plan);
    if (!strstr(report, part)) fail_msg("'%s' is not in %s", part, report);
}

static void fill_floats(float *x, int seed) {
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)((i * 7 + seed * 13) % 23) / 4 - 2;
}
static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}
static float relu(float x) {
    return x > 0 ? x : 0;
}

/* --- */

typedef struct chain_row {
    size_t count;
    const char *ops[3];
    float (*functions[3])(float);
} chain_row;
static const chain_row chains[] = {
    {3, {"Sigmoid", "Relu", "Sigmoid"}, {sigmoid, relu, sigmoid}}, /* the processor at both ends */
    {2, {"Sigmoid", "Relu"}, {sigmoid, relu}},                     /* at the beginning */
    {2, {"Relu", "Sigmoid"}, {relu, sigmoid}},                     /* at the end */
    {1, {"Sigmoid"}, {sigmoid}},                                   /* everywhere */
};

static void expect_chain(const chain_row *row, const float *x, const float *y) {
    for (int i = 0; i < COUNT; i++) {
        float value = x[i];
        for (size_t k = 0; k < row->count; k++)
            value = row->functions[k](value);
        if (!(fabsf(value - y[i]) <= 1e-6f)) fail_msg("element %d: %g, not %g", i, y[i], value);
    }
}

static tn_context_statistics statistics_of(const ports_test *own) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(own->context, &statistics);
    return statistics;
}

/* On the context's own stream: all is there when run comes back. */
static void test_the_processor_reads_and_writes_what_is_on_the_device(void **state) {
    for (size_t c = 0; c < TN_COUNT(chains); c++) {
        ports_test own;
        float x[COUNT], y[COUNT];
        begin(*state, &own,
              make_chain_of(((device_test *)*state)->runtime, chains[c].count, chains[c].ops),
              sizeof(x), sizeof(y));
        uint64_t allocations = 0;
        for (int run_index = 0; run_index < 6; run_index++) {
            fill_floats(x, run_index);
            put(&own, 0, x, sizeof(x));
            settle(&own);
            must(tn_context_run(own.context));
            if (run_index == 2) allocations = statistics_of(&own).allocations;
            take(&own, 0, y, sizeof(y));
            settle(&own);
            expect_chain(&chains[c], x, y);
        }
        assert_int_equal(statistics_of(&own).allocations, allocations);
        end(&own);
    }
}

/* On the caller's: after what was enqueued before, and before what is enqueued afterwards, though
 * nobody waits between the runs. */
static void test_a_callers_stream_keeps_the_order(void **state) {
    for (size_t c = 0; c < TN_COUNT(chains); c++) {
        ports_test own;
        float x[5][COUNT], y[5][COUNT];
        begin(*state, &own,
              make_chain_of(((device_test *)*state)->runtime, chains[c].count, chains[c].ops),
              sizeof(x[0]), sizeof(y[0]));
        must(tn_context_set_stream(own.context, own.stream));
        uint64_t allocations = 0;
        for (int run_index = 0; run_index < 5; run_index++) {
            fill_floats(x[run_index], run_index);
            put(&own, 0, x[run_index], sizeof(x[run_index]));
            must(tn_context_run(own.context));
            take(&own, 0, y[run_index], sizeof(y[run_index]));
            if (run_index == 2) allocations = statistics_of(&own).allocations;
        }
        assert_int_equal(statistics_of(&own).allocations, allocations);
        settle(&own);
        for (int run_index = 0; run_index < 5; run_index++)
            expect_chain(&chains[c], x[run_index], y[run_index]);
        end(&own);
    }
}

/* One and the same input for a kernel of each, and one that is an output as well. */
static void test_an_input_of_both(void **state) {
    device_test *test = *state;
    ports_test own;
    tn_graph *graph = NULL;
    float x[COUNT], y[COUNT], same[COUNT];
    must(tn_graph_create(test->runtime, "both", &graph));
    const tn_tensor_id input = add_input(graph, "x", TN_F32, 4, shape);
    const tn_tensor_id parts[] = {add(graph, "Sigmoid", 1, &input), add(graph, "Relu", 1, &input)};
    must(tn_graph_add_output(graph, add(graph, "Add", 2, parts), "y"));
    must(tn_graph_add_output(graph, input, "same"));
    begin(test, &own, graph, sizeof(x), sizeof(y));
    for (int run_index = 0; run_index < 4; run_index++) {
        if (run_index == 2) must(tn_context_set_stream(own.context, own.stream));
        fill_floats(x, run_index);
        put(&own, 0, x, sizeof(x));
        if (run_index < 2) settle(&own);
        must(tn_context_run(own.context));
        take(&own, 0, y, sizeof(y));
        take(&own, 1, same, sizeof(same));
        settle(&own);
        for (int i = 0; i < COUNT; i++)
            assert_true(fabsf(sigmoid(x[i]) + relu(x[i]) - y[i]) <= 1e-6f);
        assert_close(x, same, COUNT);
    }
    end(&own);
}

/* A value that decides shapes is read by the host before anything runs. */
static void test_a_value_that_decides_shapes(void **state) {
    device_test *test = *state;
    ports_test own;
    tn_graph *graph = NULL;
    static const int64_t two[] = {2};
    static const int64_t wanted[][2] = {{8, 15}, {15, 8}, {60, 2}, {8, 15}};
    float x[COUNT], y[COUNT];
    must(tn_graph_create(test->runtime, "shapes", &graph));
    const tn_tensor_id inputs[] = {add_input(graph, "x", TN_F32, 4, shape),
                                   add_input(graph, "extents", TN_I64, 1, two)};
    const tn_tensor_id reshaped = add(graph, "Reshape", 2, inputs);
    must(tn_graph_add_output(graph, add(graph, "Relu", 1, &reshaped), "y"));
    begin(test, &own, graph, sizeof(x), sizeof(y));
    must(tn_context_set_stream(own.context, own.stream));
    for (size_t run_index = 0; run_index < TN_COUNT(wanted); run_index++) {
        const tn_tensor *output = NULL;
        fill_floats(x, (int)run_index);
        put(&own, 0, x, sizeof(x));
        put(&own, 1, wanted[run_index], sizeof(wanted[run_index]));
        if (run_index == 2) must(tn_context_reshape(own.context));
        must(tn_context_run(own.context));
        must(tn_context_output(own.context, 0, &output));
        assert_memory_equal(output->shape, wanted[run_index], sizeof(wanted[run_index]));
        take(&own, 0, y, sizeof(y));
        settle(&own);
        for (int i = 0; i < COUNT; i++)
            assert_true(relu(x[i]) == y[i]);
    }
    end(&own);
}

/* The kernel is the processor's; what is behind it is test_sized.c's. Boxes that lie apart
 * are all kept, as many as are allowed; of equal ones, one. */
static void test_a_network_that_is_sized_by_run(void **state) {
    device_test *test = *state;
    ports_test own;
    tn_graph *graph = NULL;
    static const int64_t box_shape[] = {1, 5, 4}, score_shape[] = {1, 1, 5}, most = 3;
    static const float scores[] = {0.5f, 0.9f, 0.7f, 0.8f, 0.6f};
    static const int64_t expected[3][3] = {{0, 0, 1}, {0, 0, 3}, {0, 0, 2}};
    float boxes[20];
    int64_t found[9];
    must(tn_graph_create(test->runtime, "sized", &graph));
    tn_tensor_id inputs[] = {add_input(graph, "boxes", TN_F32, 3, box_shape),
                             add_input(graph, "scores", TN_F32, 3, score_shape), TN_NO_TENSOR};
    must(tn_graph_add_constant(graph, "most", TN_I64, 0, NULL, &most, sizeof(most), &inputs[2]));
    must(tn_graph_add_output(graph, add(graph, "NonMaxSuppression", 3, inputs), "kept"));
    begin(test, &own, graph, sizeof(boxes), sizeof(found));
    expect_report(&own, "\"nodes\": 1, \"of\": 1, \"operators\": [{\"op\": \"NonMaxSuppression\"");
    expect_report(&own, "\"sized_by_run\": \"NonMaxSuppression\"");
    assert_ptr_equal(own.engine->program, own.engine->contents.programs[0]);
    assert_string_equal(test->log, "");
    for (int run_index = 0; run_index < 4; run_index++) {
        const bool is_apart = run_index % 2 == 0;
        const int64_t count = is_apart ? 3 : 1;
        const tn_tensor *output = NULL;
        if (run_index == 2) must(tn_context_set_stream(own.context, own.stream));
        for (int i = 0; i < 20; i++)
            boxes[i] = (float)((is_apart ? i / 4 * 2 : 0) + i % 4 / 2);
        put(&own, 0, boxes, sizeof(boxes));
        put(&own, 1, scores, sizeof(scores));
        settle(&own);
        must(tn_context_run(own.context));
        must(tn_context_output(own.context, 0, &output));
        assert_int_equal(output->shape[0], count);
        take(&own, 0, found, output->bytes);
        settle(&own);
        assert_memory_equal(found, expected, (size_t)output->bytes);
    }
    end(&own);
}

/* A kernel that reads neighbours must not write on what it still reads. */
static void test_an_output_on_the_memory_of_an_input(void **state) {
    device_test *test = *state;
    ports_test own;
    static const char *const ops[] = {"Relu", "Relu"};
    float x[COUNT], y[COUNT];
    begin(test, &own, make_chain_of(test->runtime, 2, ops), sizeof(x), sizeof(y));
    must(tn_context_bind_device_output(own.context, 0, own.inputs[0], sizeof(x)));
    for (int run_index = 0; run_index < 4; run_index++) {
        if (run_index == 2) must(tn_context_set_stream(own.context, own.stream));
        fill_floats(x, run_index);
        put(&own, 0, x, sizeof(x));
        settle(&own);
        must(tn_context_run(own.context));
        settle(&own);
        must(
            own.device->copy(own.device, y, own.inputs[0], sizeof(y), TN_COPY_TO_HOST, own.stream));
        settle(&own);
        for (int i = 0; i < COUNT; i++)
            assert_true(relu(x[i]) == y[i]);
    }
    end(&own);
}

/* A state that lives in the device's memory: bound as input and output, it is updated there. */
static void test_a_state_on_the_device_is_updated_there(void **state) {
    device_test *test = *state;
    ports_test own;
    tn_graph *graph = NULL;
    float cache[COUNT], row[4], seen[12];
    must(tn_graph_create(test->runtime, "state", &graph));
    const tn_tensor_id inputs[] = {add_input(graph, "cache", TN_F32, 2, (const int64_t[]){3, 4}),
                                   add_input(graph, "row", TN_F32, 2, (const int64_t[]){1, 4}),
                                   add_input(graph, "at", TN_I64, 2, (const int64_t[]){1, 1})};
    must(tn_graph_add_output(
        graph, add(graph, "ScatterND", 3, (const tn_tensor_id[]){inputs[0], inputs[2], inputs[1]}),
        "y"));
    begin(test, &own, graph, sizeof(seen), sizeof(seen));
    must(tn_context_bind_device_output(own.context, 0, own.inputs[0], sizeof(seen)));
    fill_floats(cache, 0);
    put(&own, 0, cache, sizeof(seen));
    for (int64_t at = 0; at < 3; at++) {
        for (int i = 0; i < 4; i++)
            row[i] = cache[at * 4 + i] = (float)(100 * at + i);
        put(&own, 1, row, sizeof(row));
        put(&own, 2, &at, sizeof(at));
        settle(&own);
        must(tn_context_run(own.context));
        settle(&own);
        assert_int_equal(own.context->shapes.current->updated[0], 1);
        must(own.device->copy(own.device, seen, own.inputs[0], sizeof(seen), TN_COPY_TO_HOST,
                              own.stream));
        settle(&own);
        assert_memory_equal(seen, cache, sizeof(seen));
    }
    end(&own);
}

/* What the processor does would not be in the graph: it is said which node that is. */
/* Memory of the host whose elements lie apart: channels last in, every second element out. */
static void test_strides_on_a_device(void **state) {
    device_test *test = *state;
    static const char *const ops[] = {"Relu", "Relu"};
    static const int64_t last[] = {60, 1, 15, 3}, second[] = {120, 40, 10, 2};
    float in[COUNT], out[2 * COUNT];
    void *graph = NULL;
    ports_test own;
    begin(test, &own, make_chain_of(test->runtime, TN_COUNT(ops), ops), sizeof(in), sizeof(in));
    must(tn_context_bind_input_strided(own.context, 0, in, sizeof(in), 4, last));
    must(tn_context_bind_output_strided(own.context, 0, out, sizeof(out), 4, second));
    for (int round = 0; round < 6; round++) {
        must(tn_context_set_stream(own.context, round < 3 ? NULL : own.stream));
        fill_floats(in, round);
        for (int i = 0; i < 2 * COUNT; i++)
            out[i] = 77;
        must(tn_context_run(own.context));
        for (int i = 0; i < COUNT; i++) {
            const int n = i / 60, c = i / 20 % 3, rest = i % 20;
            assert_true(out[2 * i] == relu(in[n * 60 + rest * 3 + c]));
            assert_true(out[2 * i + 1] == 77);
        }
    }
    must(own.device->capture_begin(own.device, own.stream));
    assert_int_equal(tn_context_run(own.context), TN_ERROR_STATE);
    assert_error("the processor gathers input 'x', and the stream is being captured", NULL);
    must(own.device->capture_end(own.device, own.stream, &graph));
    own.device->graph_destroy(own.device, graph);
    end(&own);
}

static void test_a_capture_is_refused_with_the_node(void **state) {
    device_test *test = *state;
    ports_test own;
    void *graph = NULL;
    float x[COUNT], y[COUNT];
    fill_floats(x, 1);
    begin(test, &own, make_chain_of(test->runtime, chains[0].count, chains[0].ops), sizeof(x),
          sizeof(y));
    must(tn_context_set_stream(own.context, own.stream));
    put(&own, 0, x, sizeof(x));
    for (int run_index = 0; run_index < 2; run_index++)
        must(tn_context_run(own.context));
    settle(&own);
    must(own.device->capture_begin(own.device, own.stream));
    assert_int_equal(tn_context_run(own.context), TN_ERROR_STATE);
    assert_error("runs on the processor, and the stream is being captured",
                 "node 'Sigmoid': operator Sigmoid");
    must(own.device->capture_end(own.device, own.stream, &graph));
    own.device->graph_destroy(own.device, graph);
    must(tn_context_run(own.context));
    take(&own, 0, y, sizeof(y));
    settle(&own);
    expect_chain(&chains[0], x, y);
    end(&own);
}

/* Too small memory, and memory of the host after all. */
static void test_bindings_change(void **state) {
    device_test *test = *state;
    ports_test own;
    float x[COUNT], y[COUNT] = {0};
    fill_floats(x, 1);
    begin(test, &own, make_chain_of(test->runtime, chains[0].count, chains[0].ops), sizeof(x),
          sizeof(y));
    must(tn_context_bind_device_input(own.context, 0, own.inputs[0], 4));
    assert_int_equal(tn_context_run(own.context), TN_ERROR_ARGUMENT);
    assert_error("480 bytes; 4 are bound", "input 'x'");
    must(tn_context_bind_device_input(own.context, 0, own.inputs[0], sizeof(x)));
    must(tn_context_bind_device_output(own.context, 0, own.outputs[0], 4));
    assert_int_equal(tn_context_run(own.context), TN_ERROR_ARGUMENT);
    must(tn_context_bind_device_output(own.context, 0, own.outputs[0], sizeof(y)));
    for (int run_index = 0; run_index < 4; run_index++) {
        const bool is_there = run_index % 2 == 0;
        fill_floats(x, run_index);
        if (is_there) put(&own, 0, x, sizeof(x));
        settle(&own);
        if (is_there) {
            must(tn_context_bind_device_input(own.context, 0, own.inputs[0], sizeof(x)));
            must(tn_context_bind_output(own.context, 0, y, sizeof(y)));
        } else {
            must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
            must(tn_context_bind_device_output(own.context, 0, own.outputs[0], sizeof(y)));
        }
        must(tn_context_run(own.context));
        if (!is_there) take(&own, 0, y, sizeof(y));
        settle(&own);
        expect_chain(&chains[0], x, y);
    }
    end(&own);
}

static void test_the_report_counts_the_processors_part(void **state) {
    device_test *test = *state;
    ports_test own;
    tn_plan *plan = NULL;
    static const char *const ops[] = {"Relu", "Sigmoid", "Relu", "Sigmoid", "Elu", "Relu"};
    begin(test, &own, make_chain_of(test->runtime, TN_COUNT(ops), ops), 480, 480);
    expect_report(&own, "\"processor\": {\"nodes\": 3, \"of\": 6, \"operators\": [{\"op\": "
                        "\"Sigmoid\", \"nodes\": 2}, {\"op\": \"Elu\", \"nodes\": 1}]");
    expect_report(&own, "\"copies\": 4, \"copy_bytes\": 1920, \"copy_ns\": 0, \"share\": null, "
                        "\"sized_by_run\": null}");
    end(&own);
    /* what comes in and goes out is copied anyway, and on the processor there is no device */
    begin(test, &own, make_chain_of(test->runtime, 1, ops), 480, 480);
    expect_report(&own,
                  "\"processor\": {\"nodes\": 0, \"of\": 1, \"operators\": [], \"kernel_ns\": 0, "
                  "\"copies\": 0");
    end(&own);
    tn_engine_release(load_chain(test, true, "cpu", &plan));
    assert_null(strstr(tn_plan_report(plan), "\"processor\""));
    tn_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_the_processor_reads_and_writes_what_is_on_the_device),
        DEVICE_TEST(test_a_callers_stream_keeps_the_order),
        DEVICE_TEST(test_an_input_of_both),
        DEVICE_TEST(test_a_value_that_decides_shapes),
        DEVICE_TEST(test_a_network_that_is_sized_by_run),
        DEVICE_TEST(test_an_output_on_the_memory_of_an_input),
        DEVICE_TEST(test_a_state_on_the_device_is_updated_there),
        DEVICE_TEST(test_strides_on_a_device),
        DEVICE_TEST(test_a_capture_is_refused_with_the_node),
        DEVICE_TEST(test_bindings_change),
        DEVICE_TEST(test_the_report_counts_the_processors_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
