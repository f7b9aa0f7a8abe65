/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs in memory whose elements lie apart, and borders of another type or order. */
#include "run_test.h"

#include "tensor/type.h"

#include <tenon/border.h>

/* --- Last: y = -x, by a kernel that reads and writes channels last; notes where it read --- */
static const void *last_read;
static tn_status last_run(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    last_read = from;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++)
        to[i] = -from[i];
    return TN_OK;
}
static const tn_operator last_operator = {
    RUN_OPERATOR("Last", run_unary_inputs, run_unary_outputs, run_same_infer, last_run)};
static const char *const last_combinations[] = {"f32:nhwc -> f32:nhwc"};
static const tn_kernel last_kernel = {RUN_KERNEL("Last", "last"),
                                      TN_COMBINATIONS(last_combinations), .run = last_run};
static tn_library *last_entry(const tn_host *host) {
    static const tn_operator *const operators[] = {&last_operator};
    static const tn_kernel *const kernels[] = {&last_kernel};
    static tn_library library = {.size = sizeof(library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "last_layers",
                                 .version = "1",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels};
    (void)host;
    return &library;
}

/* y = -x of [N, 3, 2, 4], N to 2. */
static void start_with(run_test *test, const char *domain, const char *op,
                       const tn_border *border) {
    const char *names[] = {"y"};
    tn_tensor_id x, y;
    run_must(
        tn_graph_add_input(test->graph, "x", TN_F32, 4, (const int64_t[]){-1, 3, 2, 4}, NULL, &x));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .name = "negate",
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1,
                                      .output_names = names};
    run_must(tn_graph_add_node(test->graph, &node, &y));
    run_output(test->graph, y, "y");
    bool is_last = false;
    if (border) {
        run_must(tn_graph_set_border(test->graph, border));
        is_last = border->order == TN_BORDER_CHANNELS_LAST && strcmp(border->name, "x") == 0;
    }
    const int64_t low[] = {1, is_last ? 2 : 3, is_last ? 4 : 2, is_last ? 3 : 4};
    const int64_t high[] = {2, low[1], low[2], low[3]};
    const tn_profile_input profile = {.size = sizeof(profile),
                                      .rank = 4,
                                      .name = "x",
                                      .minimum = low,
                                      .optimum = low,
                                      .maximum = high};
    const tn_profile_input *const profiles[] = {&profile};
    run_start(test, 1, profiles);
    run_must(tn_context_set_shape(test->context, 0, 4, high));
}

static void start(run_test *test, const tn_border *border) {
    start_with(test, NULL, "Neg", border);
}

/* Element (n, c, h, w) of the packed tensor of 2x3x2x4. */
static float element(int64_t n, int64_t c, int64_t h, int64_t w) {
    return (float)(((n * 3 + c) * 2 + h) * 4 + w) + 1;
}

#define EACH(n, c, h, w)                                                                           \
    for (int64_t n = 0; n < 2; n++)                                                                \
        for (int64_t c = 0; c < 3; c++)                                                            \
            for (int64_t h = 0; h < 2; h++)                                                        \
                for (int64_t w = 0; w < 4; w++)

typedef struct layout {
    int64_t strides[4];
    size_t elements; /* of the memory */
} layout;

/* Packed; channels last; rows that lie apart; both, turned around; every second element. */
static const layout layouts[] = {{{24, 8, 4, 1}, 48},
                                 {{24, 1, 12, 3}, 48},
                                 {{40, 13, 5, 1}, 80},
                                 {{1, 2, 6, 20}, 80},
                                 {{48, 16, 8, 2}, 95}};

static void fill(const layout *from, float *memory) {
    for (size_t i = 0; i < from->elements; i++)
        memory[i] = -1000;
    EACH(n, c, h, w)
    memory[n * from->strides[0] + c * from->strides[1] + h * from->strides[2] +
           w * from->strides[3]] = element(n, c, h, w);
}

static void test_elements_are_gathered_and_scattered(void **state) {
    run_test *test = *state;
    float in[100], out[100];
    start(test, NULL);
    for (size_t i = 0; i < TN_COUNT(layouts); i++)
        for (size_t o = 0; o < TN_COUNT(layouts); o++) {
            const layout *from = &layouts[i], *to = &layouts[o];
            fill(from, in);
            for (size_t k = 0; k < 100; k++)
                out[k] = 7;
            run_must(tn_context_bind_input_strided(
                test->context, 0, in, from->elements * sizeof(float), 4, from->strides));
            run_must(tn_context_bind_output_strided(test->context, 0, out,
                                                    to->elements * sizeof(float), 4, to->strides));
            run_must(tn_context_run(test->context));
            size_t changed = 0;
            EACH(n, c, h, w)
            assert_true(out[n * to->strides[0] + c * to->strides[1] + h * to->strides[2] +
                            w * to->strides[3]] == -element(n, c, h, w));
            for (size_t k = 0; k < 100; k++)
                changed += out[k] != 7;
            assert_int_equal(changed, 48);
            const tn_tensor *packed = run_result(test, 0);
            assert_true(((const float *)packed->data)[1] == -2);
        }
}

static void test_later_runs_allocate_nothing(void **state) {
    run_test *test = *state;
    float in[100], out[100];
    start(test, NULL);
    fill(&layouts[1], in);
    run_must(tn_context_bind_input_strided(test->context, 0, in, 192, 4, layouts[1].strides));
    run_must(tn_context_bind_output_strided(test->context, 0, out, 192, 4, layouts[1].strides));
    run_must(tn_context_run(test->context));
    const uint64_t before = run_allocations(test);
    in[0] = 50;
    run_must(tn_context_run(test->context));
    assert_true(out[0] == -50);
    assert_int_equal(run_allocations(test), before);
}

static void test_a_stride_of_zero_repeats_an_input(void **state) {
    run_test *test = *state;
    const float in[4] = {1, 2, 3, 4};
    start(test, NULL);
    run_must(tn_context_bind_input_strided(test->context, 0, in, sizeof(in), 4,
                                           (const int64_t[]){0, 0, 0, 1}));
    run_must(tn_context_run(test->context));
    const float *out = run_result(test, 0)->data;
    for (int i = 0; i < 48; i++)
        assert_true(out[i] == -in[i % 4]);
}

static void test_packed_strides_bind_the_memory_itself(void **state) {
    run_test *test = *state;
    static _Alignas(64) float in[48];
    start(test, NULL);
    run_must(
        tn_context_bind_input_strided(test->context, 0, in, sizeof(in), 4, layouts[0].strides));
    run_must(tn_context_run(test->context));
    assert_true(test->context->ports.inputs[0].data == in);
    assert_null(test->context->ports.inputs[0].own);
}

static void check_negated(run_test *test) {
    const float *out;
    run_must(tn_context_run(test->context));
    out = run_result(test, 0)->data;
    for (int i = 0; i < 48; i++)
        assert_true(out[i] == -(float)(i + 1));
}

static void test_a_kernel_reads_channels_last_where_they_are(void **state) {
    run_test *test = *state;
    static _Alignas(64) float last[64], first[48], crooked[101];
    tn_storage_info storage = {.size = sizeof(storage)};
    run_must(tn_runtime_register_library(test->runtime, last_entry));
    start_with(test, "run", "Last", NULL);
    run_must(tn_engine_input_storage(test->engine, 0, &storage));
    assert_int_equal(storage.format, TN_NHWC);
    assert_int_equal(storage.is_converted, 1);
    fill(&layouts[1], last);
    fill(&layouts[0], first);
    fill(&layouts[1], crooked + 1);
    for (int round = 0; round < 2; round++) {
        run_must(tn_context_bind_input_strided(test->context, 0, last, 192, 4, layouts[1].strides));
        check_negated(test);
        assert_ptr_equal(last_read, last);
        check_negated(test); /* again, without another bind */
        assert_ptr_equal(last_read, last);
        run_must(tn_context_bind_input(test->context, 0, first, sizeof(first)));
        check_negated(test);
        assert_ptr_not_equal(last_read, last);
        run_must(tn_context_bind_input_strided(test->context, 0, crooked + 1, 192, 4,
                                               layouts[1].strides)); /* not aligned */
        check_negated(test);
        assert_ptr_not_equal(last_read, crooked + 1);
        run_must(tn_context_set_shape(test->context, 0, 4, EXTENTS(1, 3, 2, 4)));
        run_must(tn_context_bind_input_strided(test->context, 0, last, 192, 4, layouts[1].strides));
        run_must(tn_context_run(test->context));
        assert_ptr_equal(last_read, last);
        assert_true(((const float *)run_result(test, 0)->data)[23] == -24);
        run_must(tn_context_set_shape(test->context, 0, 4, EXTENTS(2, 3, 2, 4)));
    }
}

static void test_another_bind_takes_it_back(void **state) {
    run_test *test = *state;
    float in[100], out[48], other[100];
    start(test, NULL);
    fill(&layouts[0], in);
    run_must(tn_context_bind_input_strided(test->context, 0, in, 192, 4, layouts[1].strides));
    run_must(tn_context_bind_output_strided(test->context, 0, other, 192, 4, layouts[1].strides));
    run_must(tn_context_run(test->context));
    other[5] = 7;
    run_must(tn_context_bind_input(test->context, 0, in, 192));
    run_must(tn_context_bind_output(test->context, 0, out, sizeof(out)));
    run_must(tn_context_run(test->context));
    for (int i = 0; i < 48; i++)
        assert_true(out[i] == -in[i]);
    assert_true(other[5] == 7);
}

static void test_what_does_not_fit_is_refused(void **state) {
    run_test *test = *state;
    float in[100] = {0}, out[100] = {0};
    start(test, NULL);
    tn_context *context = test->context;
    const int64_t huge[] = {INT64_MAX, 8, 4, 1}, negative[] = {24, -8, 4, 1};
    const int64_t overlapping[] = {24, 8, 3, 1}, repeated[] = {24, 8, 0, 1};
    run_must(tn_context_bind_input_strided(context, 0, in, 188, 4, layouts[1].strides));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE);
    assert_error("input 'x' has shape [2, 3, 2, 4], whose last element ends behind the 188 bytes",
                 NULL);
    run_must(tn_context_bind_input_strided(context, 0, in, sizeof(in), 4, huge));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE);
    run_must(tn_context_bind_input_strided(context, 0, in, sizeof(in), 3, layouts[1].strides));
    assert_int_equal(tn_context_reshape(context), TN_ERROR_SHAPE);
    assert_error("3 strides are bound", NULL);
    assert_int_equal(tn_context_bind_input_strided(context, 0, in, 192, 4, negative),
                     TN_ERROR_ARGUMENT);
    assert_error("the stride of axis 1 is -8", NULL);
    assert_int_equal(tn_context_bind_input_strided(context, 0, NULL, 192, 4, huge),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_input_strided(context, 0, in, 192, 9, huge), TN_ERROR_SHAPE);
    assert_int_equal(tn_context_bind_input_strided(context, 1, in, 192, 4, huge),
                     TN_ERROR_ARGUMENT);
    run_must(tn_context_bind_input(context, 0, in, sizeof(in)));
    run_must(tn_context_bind_output_strided(context, 0, out, sizeof(out), 4, overlapping));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE);
    assert_error("output 'y': by the stride", NULL);
    run_must(tn_context_bind_output_strided(context, 0, out, sizeof(out), 4, repeated));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE);
    run_must(tn_context_bind_output_strided(context, 0, out, 100, 4, layouts[1].strides));
    assert_int_equal(tn_context_run(context), TN_ERROR_RANGE);
    for (int i = 0; i < 100; i++)
        assert_true(out[i] == 0);
    run_must(tn_context_bind_output(context, 0, out, sizeof(out)));
    run_must(tn_context_run(context));
}

/* ----------------------------------------------------------------------------------------------
 * borders */

static void test_an_input_is_bytes_with_channels_last(void **state) {
    run_test *test = *state;
    uint8_t in[48];
    const tn_border border = {
        .size = sizeof(border), .type = TN_U8, .name = "x", .order = TN_BORDER_CHANNELS_LAST};
    start(test, &border);
    const tn_port_info *port = tn_engine_input(test->engine, 0);
    assert_string_equal(port->name, "x");
    assert_int_equal(port->type, TN_U8);
    assert_int_equal(port->extents[3], 3);
    EACH(n, c, h, w)
    in[n * 24 + h * 12 + w * 3 + c] = (uint8_t)element(n, c, h, w);
    run_must(tn_context_bind_input(test->context, 0, in, sizeof(in)));
    run_must(tn_context_run(test->context));
    const float *out = run_result(test, 0)->data;
    for (int i = 0; i < 48; i++)
        assert_true(out[i] == -(float)(i + 1));
}

static void test_an_output_has_another_type(void **state) {
    run_test *test = *state;
    float in[48];
    const tn_border border = {.size = sizeof(border), .type = TN_I32, .name = "y"};
    start(test, &border);
    assert_int_equal(tn_engine_output(test->engine, 0)->type, TN_I32);
    fill(&layouts[0], in);
    run_must(tn_context_bind_input(test->context, 0, in, sizeof(in)));
    run_must(tn_context_run(test->context));
    const tn_tensor *out = run_result(test, 0);
    assert_int_equal(out->type, TN_I32);
    for (int i = 0; i < 48; i++)
        assert_int_equal(((const int32_t *)out->data)[i], -(i + 1));
}

/* Both by the options of the build, which leaves the graph alone. */
static void test_a_build_has_other_borders_than_its_graph(void **state) {
    run_test *test = *state;
    uint8_t in[48];
    static const int64_t shape[] = {2, 2, 4, 3};
    static const tn_border first = {
        .size = sizeof(first), .type = TN_U8, .name = "x", .order = TN_BORDER_CHANNELS_LAST};
    static const tn_border second = {.size = sizeof(second), .type = TN_F16, .name = "y"};
    static const tn_border *const borders[] = {&first, &second};
    const tn_profile_input profile = {.size = sizeof(profile),
                                      .rank = 4,
                                      .name = "x",
                                      .minimum = shape,
                                      .optimum = shape,
                                      .maximum = shape};
    const tn_profile_input *const profiles[] = {&profile};
    tn_builder_options options = {.size = sizeof(options),
                                  .flags = TN_BUILD_NO_TIMING,
                                  .profile_input_count = 1,
                                  .profile_inputs = profiles,
                                  .border_count = 2};
    tn_tensor_id x, y;
    run_must(tn_graph_add_input(test->graph, "x", TN_F32, 4, EXTENTS(-1, 3, 2, 4), NULL, &x));
    y = run_unary(test->graph, "Negate", "negate", x);
    run_output(test->graph, y, "y");
    const uint32_t nodes = tn_graph_node_count(test->graph);
    assert_int_equal(tn_build(test->graph, &options, &test->plan), TN_ERROR_ARGUMENT);
    options.borders = borders;
    run_must(tn_build(test->graph, &options, &test->plan));
    assert_int_equal(tn_graph_node_count(test->graph), nodes);
    assert_int_equal(tn_graph_input(test->graph, 0)->type, TN_F32);
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    assert_int_equal(tn_engine_input(test->engine, 0)->type, TN_U8);
    assert_int_equal(tn_engine_output(test->engine, 0)->type, TN_F16);
    assert_string_equal(tn_engine_output(test->engine, 0)->name, "y");
    EACH(n, c, h, w)
    in[n * 24 + h * 12 + w * 3 + c] = (uint8_t)element(n, c, h, w);
    run_must(tn_context_bind_input(test->context, 0, in, sizeof(in)));
    run_must(tn_context_run(test->context));
    const tn_tensor *out = run_result(test, 0);
    assert_int_equal(out->bytes, 96);
    for (int i = 0; i < 48; i++)
        assert_true(tn_f16_to_f32(((const uint16_t *)out->data)[i]) == -(float)(i + 1));
}

static void test_unsound_borders_are_refused(void **state) {
    run_test *test = *state;
    tn_border border = {.size = sizeof(border), .name = "xx", .type = TN_F16};
    tn_tensor_id x, y;
    run_must(tn_graph_add_input(test->graph, "x", TN_F32, 2, (const int64_t[]){2, 2}, NULL, &x));
    run_must(tn_graph_add_input(test->graph, "both", TN_F32, 1, (const int64_t[]){2}, NULL, &y));
    run_output(test->graph, y, "both");
    const uint32_t nodes = tn_graph_node_count(test->graph);
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_NOT_FOUND);
    assert_error("the nearest is 'x'", NULL);
    border.name = "x";
    border.order = TN_BORDER_CHANNELS_LAST;
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_SHAPE);
    assert_error("rank 2", NULL);
    border.order = 2;
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_ARGUMENT);
    border.order = TN_BORDER_AS_IS;
    border.type = TN_STRING;
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_TYPE);
    border.type = 9999;
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_TYPE);
    border.type = TN_F16;
    border.name = "both";
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_UNSUPPORTED);
    border.size = 0;
    assert_int_equal(tn_graph_set_border(test->graph, &border), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_node_count(test->graph), nodes);
}

static void test_each_failing_allocation_is_an_error_without_leak(void **state) {
    run_test *test = *state;
    float in[100], out[100];
    const tn_border border = {
        .size = sizeof(border), .type = TN_F16, .name = "x", .order = TN_BORDER_CHANNELS_LAST};
    for (uint64_t n = 1;; n++) {
        tn_graph *graph = NULL;
        tn_tensor_id x;
        run_must(tn_graph_create(test->runtime, "net", &graph));
        run_must(tn_graph_add_input(graph, "x", TN_F32, 3, EXTENTS(2, 3, 4), NULL, &x));
        run_output(graph, run_unary(graph, "Negate", "negate", x), "y");
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status = tn_graph_set_border(graph, &border);
        test->allocator.fail_at = 0;
        tn_graph_destroy(graph);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    start(test, NULL);
    fill(&layouts[1], in);
    for (uint64_t n = 1;; n++) {
        run_must(tn_context_bind_input_strided(test->context, 0, in, 192, 4, layouts[1].strides));
        run_must(tn_context_bind_output_strided(test->context, 0, out, 192, 4, layouts[1].strides));
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status = tn_context_run(test->context);
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    EACH(n, c, h, w)
    assert_true(out[n * 24 + h * 12 + w * 3 + c] == -element(n, c, h, w));
}

static void test_the_storage_behind_the_border_is_told(void **state) {
    run_test *test = *state;
    tn_storage_info storage = {.size = sizeof(storage)};
    start(test, NULL);
    run_must(tn_engine_input_storage(test->engine, 0, &storage));
    assert_int_equal(storage.type, TN_F32);
    assert_int_equal(storage.format, TN_LINEAR);
    assert_int_equal(storage.is_converted, 0);
    run_must(tn_engine_output_storage(test->engine, 0, &storage));
    assert_int_equal(storage.type, TN_F32);
    assert_int_equal(tn_engine_input_storage(test->engine, 1, &storage), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_output_storage(NULL, 0, &storage), TN_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_elements_are_gathered_and_scattered),
        RUN_TEST(test_later_runs_allocate_nothing),
        RUN_TEST(test_a_stride_of_zero_repeats_an_input),
        RUN_TEST(test_packed_strides_bind_the_memory_itself),
        RUN_TEST(test_a_kernel_reads_channels_last_where_they_are),
        RUN_TEST(test_another_bind_takes_it_back),
        RUN_TEST(test_what_does_not_fit_is_refused),
        RUN_TEST(test_an_input_is_bytes_with_channels_last),
        RUN_TEST(test_an_output_has_another_type),
        RUN_TEST(test_a_build_has_other_borders_than_its_graph),
        RUN_TEST(test_unsound_borders_are_refused),
        RUN_TEST(test_each_failing_allocation_is_an_error_without_leak),
        RUN_TEST(test_the_storage_behind_the_border_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
