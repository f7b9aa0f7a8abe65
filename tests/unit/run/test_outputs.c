/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs without a bound (tenon/plugin/output.h): a run asks for their memory once it knows the
 * size, on the processor and on the stub device, by a kernel and by the reference, guarded and not;
 * and what may not be asked for.
 */
#include "device_test.h"
#include "stub/stub.h"

#include <pthread.h>
#include <tenon/plugin/output.h>

/* --- Decode: rows of (value, length) become as many rows of (value, number in the run) --- */
enum {
    SOUND,
    NEVER_ASKS,
    ASKS_TWICE,
    ASKS_FOR_ANOTHER_RANK,
    ASKS_FOR_ANOTHER_EXTENT,
    ASKS_BELOW_0,
    ASKS_FOR_TOO_MUCH,
    ASKS_FOR_A_BOUNDED_ONE,
    ASKS_FOR_NONE_OF_ITS_OWN,
    ASKS_WITHOUT_A_RESULT,
    ASKS_ON_A_THREAD,
    ASKS_IN_RESHAPE,
    CHANGES_THE_SHAPE,
    WRITES_BEYOND
};
static int mistake, refuses_shapes;
static int64_t device_rows;

static const tn_output_memory *memory_of(const tn_call *call) {
    return call->host->extension(call->host, TN_OUTPUT_MEMORY);
}

static tn_status decode_infer(tn_call *call) {
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    call->outputs[0]->shape[1] = 2;
    if (!call->outputs[1]) return TN_OK;
    call->outputs[1]->rank = 1;
    call->outputs[1]->shape[0] = 1;
    return TN_OK;
}

static int64_t count_rows(const tn_call *call) {
    const float *x = call->inputs[0]->data;
    int64_t rows = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        rows += (int64_t)x[2 * i + 1];
    return rows;
}

typedef struct asking {
    tn_call *call;
    int64_t extents[2];
    tn_status status;
} asking;

static void *ask_on_a_thread(void *user) {
    asking *a = user;
    void *data = NULL;
    a->status = memory_of(a->call)->allocate(a->call, 0, 2, a->extents, &data);
    return NULL;
}

static tn_status ask_from_elsewhere(tn_call *call, int64_t rows) {
    asking a = {call, {rows, 2}, TN_OK};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_on_a_thread, &a), 0);
    pthread_join(thread, NULL);
    return (call->host->fail)(call, a.status, "on a thread: %d", a.status);
}

static tn_status ask(tn_call *call, int64_t rows, float **out_data) {
    const tn_tensor *y = call->outputs[0];
    int64_t extents[] = {rows, 2, 1};
    void *data = NULL;
    uint32_t rank = 2, index = 0;
    assert_null(y->data);
    assert_int_equal(y->bytes, 0);
    assert_int_equal(y->shape[0], TN_UNBOUNDED);
    assert_int_equal(y->shape[1], 2);
    assert_int_equal(y->strides[0], -1);
    *out_data = NULL;
    if (mistake == NEVER_ASKS) return TN_OK;
    if (mistake == ASKS_ON_A_THREAD) return ask_from_elsewhere(call, rows);
    if (mistake == ASKS_FOR_ANOTHER_RANK) rank = 3;
    if (mistake == ASKS_FOR_ANOTHER_EXTENT) extents[1] = 3;
    if (mistake == ASKS_BELOW_0) extents[0] = -1;
    if (mistake == ASKS_FOR_TOO_MUCH) extents[0] = INT64_MAX / 2;
    if (mistake == ASKS_FOR_A_BOUNDED_ONE) index = 1;
    if (mistake == ASKS_FOR_NONE_OF_ITS_OWN) index = 2;
    const tn_status status = memory_of(call)->allocate(
        call, index, rank, extents, mistake == ASKS_WITHOUT_A_RESULT ? NULL : &data);
    if (status != TN_OK) {
        assert_null(data);
        assert_null(y->data);
        assert_int_equal(y->shape[0], TN_UNBOUNDED);
        return status;
    }
    assert_ptr_equal(y->data, data);
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_int_equal(y->bytes, rows * 2 * 4);
    assert_int_equal(y->shape[0], rows);
    assert_int_equal(y->strides[0], 2);
    assert_int_equal(y->strides[1], 1);
    *out_data = data;
    if (mistake == CHANGES_THE_SHAPE) y->shape[0] = rows - 1;
    return mistake == ASKS_TWICE ? memory_of(call)->allocate(call, 0, 2, extents, &data) : TN_OK;
}

static void write_rows(const tn_call *call, float *to) {
    const float *x = call->inputs[0]->data;
    int64_t row = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        for (int64_t number = 0; number < (int64_t)x[2 * i + 1]; number++, row++) {
            to[2 * row] = x[2 * i];
            to[2 * row + 1] = (float)number;
        }
    if (call->outputs[1]) *(float *)call->outputs[1]->data = (float)row;
    if (mistake == WRITES_BEYOND) to[2 * row] = 1;
}

static tn_status decode(tn_call *call) {
    float *to = NULL;
    const tn_status status = ask(call, count_rows(call), &to);
    if (call->outputs[1]) *(float *)call->outputs[1]->data = 0;
    if (status != TN_OK || !to) return status;
    write_rows(call, to);
    return TN_OK;
}

static tn_status count_there(tn_call *call) {
    device_rows = count_rows(call);
    return TN_OK;
}
static tn_status write_there(tn_call *call) {
    write_rows(call, call->outputs[0]->data);
    return TN_OK;
}
static tn_status clear_there(tn_call *call) {
    if (call->outputs[1]) *(float *)call->outputs[1]->data = 0;
    return TN_OK;
}
/* The host waits for the size; what it asks for then is valid in the order of the stream. */
static tn_status decode_on_stub(tn_call *call) {
    const tn_stub_state *stub = call->device->user;
    float *to = NULL;
    tn_status status = stub->enqueue(call, count_there);
    if (status == TN_OK) status = call->device->stream_wait(call->device, call->stream);
    if (status == TN_OK) status = ask(call, device_rows, &to);
    return status == TN_OK ? stub->enqueue(call, to ? write_there : clear_there) : status;
}

static tn_status decode_reshape(tn_call *call) {
    const int64_t extents[] = {1, 2};
    void *data = NULL;
    assert_int_equal(call->outputs[0]->shape[0], TN_UNBOUNDED);
    if (mistake == ASKS_IN_RESHAPE) return memory_of(call)->allocate(call, 0, 2, extents, &data);
    return refuses_shapes ? TN_ERROR_UNSUPPORTED : TN_OK;
}

/* At build: the extent is TN_UNBOUNDED at the node, others are unknown behind one. */
static tn_status decode_accepts(tn_call *call) {
    const int64_t columns = call->inputs[0]->shape[0] < 0 ? -1 : 2;
    return call->outputs[0]->shape[0] == TN_UNBOUNDED && call->outputs[0]->shape[1] == columns &&
                   call->outputs[0]->bytes == 0
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* --- Keep: x, of a size that only a run knows --- */
static tn_status keep_infer(tn_call *call) {
    call->outputs[0]->rank = 2;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape, 2 * sizeof(int64_t));
    return TN_OK;
}
static tn_status keep(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}

/* --- Count: a vector of as many ones as its input says --- */
static tn_status count_infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    return TN_OK;
}
static tn_status count(tn_call *call) {
    const int64_t length = *(const int64_t *)call->inputs[0]->data;
    void *data = NULL;
    const tn_status status = memory_of(call)->allocate(call, 0, 1, &length, &data);
    for (int64_t i = 0; status == TN_OK && i < length; i++)
        ((int64_t *)data)[i] = 1;
    return status;
}

/* --- Signs: the elements below 0 and those above, each in an output of its own --- */
static tn_status signs_infer(tn_call *call) {
    for (uint32_t i = 0; i < 2; i++) {
        if (!call->outputs[i]) continue;
        call->outputs[i]->rank = 2;
        call->outputs[i]->shape[0] = 1;
        call->outputs[i]->shape[1] = TN_UNBOUNDED;
    }
    return TN_OK;
}
static tn_status signs(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t elements = x->shape[0] * x->shape[1];
    const float *from = x->data;
    tn_status status = TN_OK;
    for (uint32_t i = 2; i-- > 0 && status == TN_OK;) {
        int64_t extents[] = {1, 0};
        void *data = NULL;
        if (!call->outputs[i]) continue;
        for (int64_t k = 0; k < elements; k++)
            extents[1] += i == 0 ? from[k] < 0 : from[k] > 0;
        status = memory_of(call)->allocate(call, i, 2, extents, &data);
        float *to = data;
        for (int64_t k = 0; k < elements && status == TN_OK; k++)
            if (i == 0 ? from[k] < 0 : from[k] > 0) *to++ = from[k];
    }
    return status;
}

static const tn_port decode_inputs[] = {TN_PORT("x", "f32", 0, "rows of value and length")};
static const tn_port decode_outputs[] = {
    TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "rows of value and number"),
    TN_PORT("total", "f32", TN_PORT_OPTIONAL, "how many rows")};
static const tn_port wrong_outputs[] = {TN_PORT("y", "f32", 0, "rows"),
                                        TN_PORT("total", "f32", TN_PORT_OPTIONAL, "how many")};
static const tn_port keep_inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port keep_outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "all of them")};
static const tn_port signs_outputs[] = {
    TN_PORT("below", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "those below 0"),
    TN_PORT("above", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "those above 0")};
static const tn_port count_inputs[] = {TN_PORT("length", "i64", 0, "how many ones")};
static const tn_port count_outputs[] = {TN_PORT("y", "i64", TN_PORT_SIZED_BY_RUN, "ones")};

#define OPERATOR(variable, operator_name, ins, outs, rule, function)                               \
    static const tn_operator variable = {.size = sizeof(tn_operator),                              \
                                         .since_version = 1,                                       \
                                         .state_version = 1,                                       \
                                         .domain = "sizes",                                        \
                                         .name = operator_name,                                    \
                                         .doc = operator_name,                                     \
                                         TN_NO_FIELDS,                                             \
                                         TN_INPUTS(ins),                                           \
                                         TN_OUTPUTS(outs),                                         \
                                         .infer = rule,                                            \
                                         .reference = function}
OPERATOR(decode_operator, "Decode", decode_inputs, decode_outputs, decode_infer, decode);
OPERATOR(plain_operator, "PlainDecode", decode_inputs, decode_outputs, decode_infer, decode);
OPERATOR(wrong_operator, "WrongDecode", decode_inputs, wrong_outputs, decode_infer, decode);
OPERATOR(keep_operator, "Keep", keep_inputs, keep_outputs, keep_infer, keep);
OPERATOR(signs_operator, "Signs", keep_inputs, signs_outputs, signs_infer, signs);
OPERATOR(count_operator, "Count", count_inputs, count_outputs, count_infer, count);

#define KERNEL(variable, where, function)                                                          \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "sizes",                                          \
                                       .op = "Decode",                                             \
                                       .device = where,                                            \
                                       .name = "decoding",                                         \
                                       .traits = TN_KERNEL_ANY_SHAPE,                              \
                                       .accepts = decode_accepts,                                  \
                                       .reshape = decode_reshape,                                  \
                                       .run = function}
KERNEL(decode_cpu, "cpu", decode);
KERNEL(decode_stub, "stub", decode_on_stub);

static tn_library *entry(const tn_host *host) {
    static const tn_operator *const operators[] = {&decode_operator, &plain_operator,
                                                   &wrong_operator,  &count_operator,
                                                   &keep_operator,   &signs_operator};
    static const tn_kernel *const kernels[] = {&decode_cpu, &decode_stub};
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "sizes",
                                 .version = "1",
                                 .operator_count = TN_COUNT(operators),
                                 .operators = operators,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};
    (void)host;
    return &library;
}

/* --- networks --- */
typedef struct size_test {
    const char *name, *op, *device;
    uint32_t flags;
    int refuses_shapes;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    char *report;
} size_test;

enum { ROWS = 3 };
static const int64_t x_shape[] = {ROWS, 2};

static void add(tn_graph *graph, const char *domain, const char *op, const char *name,
                uint32_t input_count, const tn_tensor_id *inputs, uint32_t output_count,
                tn_tensor_id *made) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = output_count};
    must(tn_graph_add_node(graph, &node, made));
}

/* x -> Decode -> Relu, and beside it the total; with `is_kept` behind another size of the run's. */
static tn_graph *make_network(device_test *test, const char *op, int is_kept) {
    tn_graph *graph = NULL;
    tn_tensor_id made[2], positive;
    must(tn_runtime_register_library(test->runtime, entry));
    must(tn_graph_create(test->runtime, "sizes", &graph));
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, x_shape);
    if (is_kept) add(graph, "sizes", "Keep", "keep", 1, &x, 1, &x);
    add(graph, "sizes", op, "decode", 1, &x, 2, made);
    add(graph, "", "Relu", "relu", 1, made, 1, &positive);
    must(tn_graph_add_output(graph, made[1], "total"));
    must(tn_graph_add_output(graph, positive, "y"));
    return graph;
}

static tn_engine *load_with(const device_test *test, const tn_plan *plan, const char *device,
                            uint32_t flags) {
    const tn_engine_options options = {
        .size = sizeof(options), .device = device, .flags = flags, .threads = 2};
    tn_engine *engine = NULL;
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &engine));
    return engine;
}

static void begin(device_test *test, size_test *own) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 2, .device = own->device, .flags = TN_BUILD_NO_TIMING};
    mistake = SOUND;
    refuses_shapes = own->refuses_shapes;
    tn_graph *graph = make_network(test, own->op, own->refuses_shapes);
    must(tn_build(graph, &options, &own->plan));
    tn_graph_destroy(graph);
    own->engine = load_with(test, own->plan, own->device, own->flags);
    must(tn_context_create(own->engine, &own->context));
}

static void end(size_test *own) {
    tn_context_destroy(own->context);
    tn_engine_release(own->engine);
    tn_plan_destroy(own->plan);
    own->context = NULL;
}

static void expect(const size_test *own, float first, float second) {
    const tn_tensor *output = NULL;
    const float runs[][2] = {{7, first}, {-3, 1}, {5, second}};
    must(tn_context_output(own->context, 0, &output));
    assert_true(*(const float *)output->data == first + 1 + second);
    must(tn_context_output(own->context, 1, &output));
    assert_int_equal(output->rank, 2);
    assert_int_equal(output->shape[0], (int64_t)(first + 1 + second));
    assert_int_equal(output->shape[1], 2);
    const float *y = output->data;
    for (int i = 0; i < ROWS; i++)
        for (int number = 0; number < (int)runs[i][1]; number++, y += 2) {
            assert_true(y[0] == (runs[i][0] > 0 ? runs[i][0] : 0));
            assert_true(y[1] == (float)number);
        }
}

static void run_sizes(const size_test *own, float *x, float first, float second) {
    const float values[] = {7, first, -3, 1, 5, second};
    memcpy(x, values, sizeof(values));
    must(tn_context_bind_input(own->context, 0, x, sizeof(values)));
    must(tn_context_run(own->context));
    expect(own, first, second);
}

static const size_test variants[] = {
    {.name = "kernel", .op = "Decode", .device = "cpu"},
    {.name = "reference", .op = "PlainDecode", .device = "cpu"},
    {.name = "refused", .op = "Decode", .device = "cpu", .refuses_shapes = 1},
    {.name = "guarded", .op = "Decode", .device = "cpu", .flags = TN_ENGINE_CHECKED},
    {.name = "guarded reference", .op = "PlainDecode", .device = "cpu", .flags = TN_ENGINE_CHECKED},
    {.name = "device", .op = "Decode", .device = "stub"},
    {.name = "device, reference", .op = "PlainDecode", .device = "stub"},
    {.name = "device, refused", .op = "Decode", .device = "stub", .refuses_shapes = 1},
    {.name = "device, guarded", .op = "Decode", .device = "stub", .flags = TN_ENGINE_CHECKED},
};

/* Other sizes at each run; what an earlier run had is not allocated again. */
static void test_a_run_decides_the_size(void **state) {
    for (size_t v = 0; v < TN_COUNT(variants); v++) {
        device_test *test = *state;
        size_test own = variants[v];
        float x[2 * ROWS];
        tn_context_statistics before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
        begin(test, &own);
        for (int i = 0; i < 3; i++)
            run_sizes(&own, x, (float)(i * 40), (float)i);
        tn_context_get_statistics(own.context, &before);
        const int64_t live = test->allocator.live;
        for (int i = 2; i >= 0; i--)
            run_sizes(&own, x, (float)(i * 40), (float)i);
        tn_context_get_statistics(own.context, &after);
        if (after.allocations != before.allocations || test->allocator.live != live)
            fail_msg("%s: allocates again", own.name);
        end(&own);
        teardown(state);
        setup(state);
    }
}

static void expect_failure(const size_test *own, tn_status status, const char *text) {
    const tn_status answered = tn_context_run(own->context);
    const tn_error *error = tn_last_error();
    const tn_tensor *output = NULL;
    if (answered != status || !strstr(error->message, text))
        fail_msg("%s, mistake %d: %d %s", own->name, mistake, answered, error->message);
    if (!strstr(error->where, "node 'decode'"))
        fail_msg("%s, mistake %d: %s", own->name, mistake, error->where);
    assert_int_equal(tn_context_output(own->context, 0, &output), TN_ERROR_STATE);
}

static void test_mistakes_are_told_and_pass(void **state) {
    static const struct {
        int mistake;
        tn_status status;
        const char *text;
    } table[] = {
        {NEVER_ASKS, TN_ERROR_PLUGIN, "of shape [?, 2] has no bound, and no"},
        {ASKS_TWICE, TN_ERROR_STATE, "was asked for twice"},
        {ASKS_FOR_ANOTHER_RANK, TN_ERROR_SHAPE, "of rank 3 was asked for"},
        {ASKS_FOR_ANOTHER_EXTENT, TN_ERROR_SHAPE, "the shape rule answered [?, 2]"},
        {ASKS_BELOW_0, TN_ERROR_SHAPE, "extents are at least 0"},
        {ASKS_FOR_TOO_MUCH, TN_ERROR_SHAPE, "more elements than can be addressed"},
        {ASKS_FOR_A_BOUNDED_ONE, TN_ERROR_ARGUMENT, "its memory is there"},
        {ASKS_FOR_NONE_OF_ITS_OWN, TN_ERROR_ARGUMENT, "output 2 (of 2)"},
        {ASKS_WITHOUT_A_RESULT, TN_ERROR_ARGUMENT, "without a shape, a result"},
        {ASKS_ON_A_THREAD, TN_ERROR_STATE, "on a thread: 10"},
        {CHANGES_THE_SHAPE, TN_ERROR_PLUGIN, "after memory for [13, 2] was asked for"},
    };
    for (size_t v = 0; v < TN_COUNT(variants); v++) {
        size_test own = variants[v];
        float x[2 * ROWS];
        begin(*state, &own);
        run_sizes(&own, x, 10, 2);
        for (size_t i = 0; i < TN_COUNT(table); i++) {
            mistake = table[i].mistake;
            expect_failure(&own, table[i].status, table[i].text);
            mistake = SOUND;
            run_sizes(&own, x, 10, 2);
        }
        end(&own);
        teardown(state);
        setup(state);
    }
}

static void test_memory_is_had_in_run_alone(void **state) {
    size_test own = variants[0];
    float x[2 * ROWS];
    begin(*state, &own);
    run_sizes(&own, x, 1, 2);
    mistake = ASKS_IN_RESHAPE;
    expect_failure(&own, TN_ERROR_STATE, "in run and the reference alone");
    mistake = SOUND;
    run_sizes(&own, x, 1, 2);
    end(&own);
}

static void test_a_guarded_run_sees_what_is_written_beyond(void **state) {
    size_test own = variants[3];
    float x[2 * ROWS];
    begin(*state, &own);
    run_sizes(&own, x, 10, 5);
    mistake = WRITES_BEYOND;
    expect_failure(&own, TN_ERROR_PLUGIN, "output 0");
    mistake = SOUND;
    run_sizes(&own, x, 10, 5);
    end(&own);
}

static void test_a_failing_allocation_is_passed_on(void **state) {
    for (size_t v = 0; v < TN_COUNT(variants); v++) {
        device_test *test = *state;
        size_test own = variants[v];
        float x[] = {7, 2, -3, 1, 5, 2};
        int failures = 0;
        begin(test, &own);
        must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
        for (int64_t n = 1; n < 60; n++) {
            test->allocator.fail_at = test->allocator.allocations + (uint64_t)n;
            const tn_status status = tn_context_run(own.context);
            test->allocator.fail_at = 0;
            if (status == TN_OK) break;
            assert_int_equal(status, TN_ERROR_MEMORY);
            failures++;
        }
        assert_true(failures > 0);
        must(tn_context_run(own.context));
        expect(&own, 2, 2);
        end(&own);
        teardown(state);
        setup(state);
    }
}

/* What a caller has bound is too small: it says by how much, and no output is touched. */
static void test_a_callers_memory_is_large_enough_or_untouched(void **state) {
    for (size_t v = 0; v < TN_COUNT(variants); v++) {
        size_test own = variants[v];
        float x[] = {7, 2, -3, 1, 5, 2}, total = -5;
        _Alignas(64) float y[10];
        begin(*state, &own);
        must(tn_context_bind_input(own.context, 0, x, sizeof(x)));
        must(tn_context_bind_output(own.context, 0, &total, sizeof(total)));
        must(tn_context_bind_output(own.context, 1, y, sizeof(y)));
        must(tn_context_run(own.context));
        expect(&own, 2, 2);
        assert_true(total == 5 && y[9] == 1);
        total = -5;
        y[0] = -5;
        x[1] = 3;
        assert_int_equal(tn_context_run(own.context), TN_ERROR_ARGUMENT);
        assert_non_null(strstr(tn_last_error()->message, "output 'y' has 48 bytes; 40 are bound"));
        assert_true(total == -5 && y[0] == -5);
        must(tn_context_bind_output(own.context, 1, NULL, 0));
        must(tn_context_run(own.context));
        expect(&own, 3, 2);
        end(&own);
        teardown(state);
        setup(state);
    }
}

static void test_other_ports_need_a_bound(void **state) {
    device_test *test = *state;
    const tn_builder_options options = {.size = sizeof(options), .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    tn_graph *graph = make_network(test, "WrongDecode", 0);
    assert_int_equal(tn_build(graph, &options, &plan), TN_ERROR_PLUGIN);
    assert_non_null(strstr(tn_last_error()->message,
                           "output 'y' was given no bound at axis 0: expected one, or "
                           "TN_PORT_SIZED_BY_RUN"));
    tn_graph_destroy(graph);
}

/* Count of a constant decides the shape that Expand gives x: it is computed with the shapes. */
static void test_a_value_that_decides_shapes(void **state) {
    device_test *test = *state;
    static const int64_t one = 1, length = 4;
    tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    size_test own = {.device = "cpu"};
    tn_graph *graph = NULL;
    tn_tensor_id inputs[2], constant;
    float x = 3;
    const tn_tensor *y = NULL;
    must(tn_runtime_register_library(test->runtime, entry));
    must(tn_graph_create(test->runtime, "expands", &graph));
    inputs[0] = add_input(graph, "x", TN_F32, 1, &one);
    must(tn_graph_add_constant(graph, "length", TN_I64, 1, &one, &length, sizeof(length),
                               &constant));
    add(graph, "sizes", "Count", "count", 1, &constant, 1, &inputs[1]);
    add(graph, "", "Expand", "expand", 2, inputs, 1, &constant);
    must(tn_graph_add_output(graph, constant, "y"));
    must(tn_build(graph, &options, &own.plan));
    tn_graph_destroy(graph);
    own.engine = load_with(test, own.plan, "cpu", 0);
    must(tn_context_create(own.engine, &own.context));
    must(tn_context_bind_input(own.context, 0, &x, sizeof(x)));
    must(tn_context_run(own.context));
    must(tn_context_output(own.context, 0, &y));
    assert_int_equal(y->rank, 4);
    assert_true(*(const float *)y->data == 3);
    end(&own);
}

/* Of a constant, which is not folded; both outputs, and one alone. */
static void test_several_outputs_of_a_constant(void **state) {
    device_test *test = *state;
    static const float values[] = {1, -2, 3, -4, 5, 0};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    must(tn_runtime_register_library(test->runtime, entry));
    for (uint32_t first = 0; first < 2; first++) {
        size_test own = {.device = "cpu"};
        tn_graph *graph = NULL;
        tn_tensor_id constant, made[2];
        const tn_tensor *output = NULL;
        must(tn_graph_create(test->runtime, "signs", &graph));
        must(tn_graph_add_constant(graph, "values", TN_F32, 2, x_shape, values, sizeof(values),
                                   &constant));
        add(graph, "sizes", "Signs", "signs", 1, &constant, 2, made);
        for (uint32_t i = first; i < 2; i++)
            must(tn_graph_add_output(graph, made[i], i ? "above" : "below"));
        must(tn_build(graph, &options, &own.plan));
        tn_graph_destroy(graph);
        own.engine = load_with(test, own.plan, "cpu", first ? TN_ENGINE_CHECKED : 0);
        must(tn_context_create(own.engine, &own.context));
        must(tn_context_run(own.context));
        for (uint32_t i = first; i < 2; i++) {
            must(tn_context_output(own.context, i - first, &output));
            assert_int_equal(output->rank, 2);
            assert_int_equal(output->shape[1], 2 + i);
            assert_true(((const float *)output->data)[1] == (i ? 3 : -4));
        }
        end(&own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_a_run_decides_the_size),
        DEVICE_TEST(test_mistakes_are_told_and_pass),
        DEVICE_TEST(test_memory_is_had_in_run_alone),
        DEVICE_TEST(test_a_guarded_run_sees_what_is_written_beyond),
        DEVICE_TEST(test_a_failing_allocation_is_passed_on),
        DEVICE_TEST(test_a_callers_memory_is_large_enough_or_untouched),
        DEVICE_TEST(test_other_ports_need_a_bound),
        DEVICE_TEST(test_a_value_that_decides_shapes),
        DEVICE_TEST(test_several_outputs_of_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
