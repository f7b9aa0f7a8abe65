/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in layers in other formats than linear: each stands between two layers of this test
 * that take and give one format alone, so that the builder keeps the tensors in it. The second
 * looks at the lanes in which no element lies. Results are compared with the references'.
 */
#include <string.h>
#include <tenon/plugin.h>

/* --- Keep16, Keep8, KeepLast: their input, in one format --- */

static bool has_clean_lanes(const tn_tensor *tensor) {
    const int64_t block = tensor->format >> 16, channels = tensor->shape[1];
    const int64_t blocks = block ? (channels + block - 1) / block : 0;
    const int64_t pixels = tensor->shape[2] * tensor->shape[3];
    for (int64_t i = 0; i < tensor->shape[0] * blocks * pixels * block; i++) {
        const int64_t channel = i / block / pixels % blocks * block + i % block;
        if (channel >= channels && ((const float *)tensor->data)[i] != 0) return false;
    }
    return true;
}

static tn_status keep_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}

static tn_status keep_run(tn_call *call) {
    if (!has_clean_lanes(call->inputs[0]))
        return call->host->fail(call, TN_ERROR_PLUGIN, "lanes past the last channel are not zero");
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}

static const tn_port keep_inputs[] = {TN_PORT("x", "T:f32", 0, "an image")};
static const tn_port keep_outputs[] = {TN_PORT("y", "T", 0, "the same")};

#define KEEP(prefix, operator_name, text)                                                          \
    static const tn_operator prefix = {.size = sizeof(tn_operator),                                \
                                       .since_version = 1,                                         \
                                       .state_version = 1,                                         \
                                       .domain = "keep",                                           \
                                       .name = operator_name,                                      \
                                       .doc = "its input",                                         \
                                       TN_NO_FIELDS,                                               \
                                       TN_INPUTS(keep_inputs),                                     \
                                       TN_OUTPUTS(keep_outputs),                                   \
                                       .infer = keep_infer,                                        \
                                       .reference = keep_run};                                     \
    static const char *const prefix##_combinations[] = {text};                                     \
    static const tn_kernel prefix##_kernel = {.size = sizeof(tn_kernel),                           \
                                              .revision = 1,                                       \
                                              .domain = "keep",                                    \
                                              .op = operator_name,                                 \
                                              .device = "cpu",                                     \
                                              .name = "one_format",                                \
                                              TN_COMBINATIONS(prefix##_combinations),              \
                                              .run = keep_run}
KEEP(keep_16, "Keep16", "f32:c16 -> f32:c16");
KEEP(keep_8, "Keep8", "f32:c8 -> f32:c8");
KEEP(keep_last, "KeepLast", "f32:nhwc -> f32:nhwc");

static const tn_operator *const keep_operators[] = {&keep_16, &keep_8, &keep_last};
static const tn_kernel *const keep_kernels[] = {&keep_16_kernel, &keep_8_kernel, &keep_last_kernel};
static tn_library *keep_entry(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "keep",
                               .version = "1",
                               .operator_count = TN_COUNT(keep_operators),
                               .operators = keep_operators,
                               .kernel_count = TN_COUNT(keep_kernels),
                               .kernels = keep_kernels};
    (void)host;
    return &table;
}

#include "graph_test.h"

#include <math.h>
#include <tenon/engine.h>

enum { BATCH = 2, HEIGHT = 3, WIDTH = 5 };

typedef struct network {
    tn_graph *graph;
    const char *keep; /* the operator that keeps the format under test */
} network;

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static void add_outputs_of(const network *net, const char *domain, const char *op,
                           const tn_attribute *attribute, uint32_t input_count,
                           const tn_tensor_id *inputs, uint32_t count, tn_tensor_id *out) {
    const tn_attribute *const attributes[] = {attribute};
    tn_node_description node = {.size = sizeof(node),
                                .domain = domain,
                                .op = op,
                                .input_count = input_count,
                                .inputs = inputs,
                                .output_count = count,
                                .attribute_count = attribute ? 1 : 0,
                                .attributes = attributes};
    check(tn_graph_add_node(net->graph, &node, out));
}

static tn_tensor_id add_layer(const network *net, const char *op, uint32_t count,
                              const tn_tensor_id *inputs) {
    tn_tensor_id output = TN_NO_TENSOR;
    add_outputs_of(net, "", op, NULL, count, inputs, 1, &output);
    return output;
}

static tn_tensor_id keep(const network *net, tn_tensor_id tensor) {
    tn_tensor_id output = TN_NO_TENSOR;
    add_outputs_of(net, "keep", net->keep, NULL, 1, &tensor, 1, &output);
    return output;
}

static void add_result(const network *net, tn_tensor_id tensor) {
    check(tn_graph_add_output(net->graph, keep(net, tensor), NULL));
}

static tn_tensor_id add_image(const network *net, int64_t channels, int64_t height, int64_t width) {
    const int64_t shape[] = {BATCH, channels, height, width};
    char name[] = "x0";
    name[1] = (char)('0' + net->graph->input_count);
    return keep(net, add_input(net->graph, name, TN_F32, 4, shape));
}

static tn_tensor_id add_channel_values(const network *net, int64_t count, float low) {
    float values[64];
    tn_tensor_id id = TN_NO_TENSOR;
    for (int64_t i = 0; i < count; i++)
        values[i] = low + (float)(i * 5 % 7) / 4;
    check(tn_graph_add_constant(net->graph, NULL, TN_F32, 1, &count, values,
                                (uint64_t)count * sizeof(float), &id));
    return id;
}

/* --- the networks --- */

static void make_sum(const network *net, int64_t channels) {
    const tn_tensor_id images[] = {add_image(net, channels, HEIGHT, WIDTH),
                                   add_image(net, channels, HEIGHT, WIDTH)};
    tn_tensor_id sum = add_layer(net, "Add", 2, images);
    add_result(net, add_layer(net, "Relu", 1, &sum));
}

/* A factor a channel that varies, as squeeze-and-excitation has it. */
static void make_excitation(const network *net, int64_t channels) {
    const tn_tensor_id images[] = {add_image(net, channels, HEIGHT, WIDTH),
                                   add_image(net, channels, 1, 1)};
    add_result(net, add_layer(net, "Mul", 2, images));
}

static void make_row(const network *net, int64_t channels) {
    const tn_tensor_id images[] = {add_image(net, channels, HEIGHT, WIDTH),
                                   add_image(net, channels, 1, WIDTH)};
    add_result(net, add_layer(net, "Sub", 2, images));
}

/* Not zero where its input is: padded lanes would be spoilt. */
static void make_sigmoid(const network *net, int64_t channels) {
    tn_tensor_id image = add_image(net, channels, HEIGHT, WIDTH);
    add_result(net, add_layer(net, "Sigmoid", 1, &image));
}

static void make_hard_swish(const network *net, int64_t channels) {
    tn_tensor_id image = add_image(net, channels, HEIGHT, WIDTH);
    add_result(net, add_layer(net, "HardSwish", 1, &image));
}

static void make_normalization(const network *net, int64_t channels, const char *then) {
    const tn_tensor_id inputs[] = {
        add_image(net, channels, HEIGHT, WIDTH), add_channel_values(net, channels, -1),
        add_channel_values(net, channels, 2), add_channel_values(net, channels, 0),
        add_channel_values(net, channels, 0.5f)};
    tn_tensor_id y = add_layer(net, "BatchNormalization", 5, inputs);
    add_result(net, add_layer(net, then, 1, &y));
}
static void make_normalization_relu(const network *net, int64_t channels) {
    make_normalization(net, channels, "Relu");
}
static void make_normalization_sigmoid(const network *net, int64_t channels) {
    make_normalization(net, channels, "Sigmoid");
}

static void make_concat(const network *net, int64_t channels, int64_t axis) {
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_I64, .name = "axis", .i = axis};
    const tn_tensor_id images[] = {add_image(net, 32, HEIGHT, WIDTH),
                                   add_image(net, axis == 1 ? channels : 32, HEIGHT, WIDTH),
                                   add_image(net, axis == 1 ? 5 : 32, HEIGHT, WIDTH)};
    tn_tensor_id joined = TN_NO_TENSOR;
    add_outputs_of(net, "", "Concat", &attribute, 3, images, 1, &joined);
    add_result(net, joined);
}
static void make_concat_channels(const network *net, int64_t channels) {
    make_concat(net, channels, 1);
}
static void make_concat_columns(const network *net, int64_t channels) {
    make_concat(net, channels, 3);
}

static void make_split(const network *net, int64_t channels) {
    const int64_t two = 2, sizes[] = {16, channels};
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_I64, .name = "axis", .i = 1};
    tn_tensor_id split[2] = {add_image(net, 16 + channels, HEIGHT, WIDTH)}, parts[2];
    check(tn_graph_add_constant(net->graph, NULL, TN_I64, 1, &two, sizes, sizeof sizes, &split[1]));
    add_outputs_of(net, "", "Split", &attribute, 2, split, 2, parts);
    add_result(net, parts[0]);
    add_result(net, parts[1]);
}

static void make_resize(const network *net, int64_t channels, const char *mode) {
    const int64_t four = 4, sizes[] = {BATCH, channels, 2 * HEIGHT, 7};
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_STRING, .name = "mode", .s = mode};
    tn_tensor_id inputs[4] = {add_image(net, channels, HEIGHT, WIDTH), TN_NO_TENSOR, TN_NO_TENSOR},
                 resized = TN_NO_TENSOR;
    check(
        tn_graph_add_constant(net->graph, NULL, TN_I64, 1, &four, sizes, sizeof sizes, &inputs[3]));
    add_outputs_of(net, "", "Resize", &attribute, 4, inputs, 1, &resized);
    add_result(net, resized);
}
static void make_nearest(const network *net, int64_t channels) {
    make_resize(net, channels, "nearest");
}
static void make_linear(const network *net, int64_t channels) {
    make_resize(net, channels, "linear");
}

/* --- built and run in two variants --- */

typedef struct results {
    uint32_t count, conversions;
    uint64_t floats[2];
    float values[2][8192];
} results;

static void fill(float *values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        values[i] = (float)(i * 37 % 101) / 16 - 3;
}

static uint32_t count_of(const char *text, const char *word) {
    uint32_t count = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word))
        count++;
    return count;
}

static void run(tn_graph *graph, uint32_t flags, results *out) {
    static float inputs[3][8192];
    const tn_builder_options options = {
        .size = sizeof options, .threads = 1, .flags = flags | TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes = 0;
    check(tn_build(graph, &options, &plan));
    out->conversions = count_of(tn_plan_report(plan), "\"from\"");
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(graph->runtime, data, bytes, NULL, &engine));
    check(tn_context_create(engine, &context));
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *input = &graph->tensors[graph->inputs[i]];
        uint64_t count = 1;
        for (uint32_t k = 0; k < input->shape.rank; k++)
            count *= (uint64_t)input->shape.extents[k];
        assert_true(count <= 8192 && i < 3);
        fill(inputs[i], count);
        check(tn_context_bind_input(context, i, inputs[i], count * sizeof(float)));
    }
    check(tn_context_run(context));
    out->count = tn_engine_output_count(engine);
    for (uint32_t i = 0; i < out->count; i++) {
        const tn_tensor *output = NULL;
        check(tn_context_output(context, i, &output));
        out->floats[i] = output->bytes / sizeof(float);
        assert_true(output->bytes <= sizeof out->values[i]);
        memcpy(out->values[i], output->data, output->bytes);
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static void assert_equal(const results *a, const results *b, const char *keep_name,
                         int64_t channels) {
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->floats[i], b->floats[i]);
        for (uint64_t k = 0; k < a->floats[i]; k++)
            if (fabsf(a->values[i][k] - b->values[i][k]) > 1e-5f * (1 + fabsf(a->values[i][k])))
                fail_msg("%s, %d channels: element %d is %g, expected %g", keep_name, (int)channels,
                         (int)k, (double)b->values[i][k], (double)a->values[i][k]);
    }
}

static void test_layer(graph_test *test, void (*make)(const network *net, int64_t channels)) {
    static const char *const keeps[] = {"Keep16", "Keep8", "KeepLast"};
    static const int64_t channels[] = {1, 16, 20, 32, 40};
    static results expected, found;
    check(tn_runtime_register_library(test->runtime, keep_entry));
    for (size_t k = 0; k < sizeof keeps / sizeof *keeps; k++)
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++) {
            network net = {.keep = keeps[k]};
            check(tn_graph_create(test->runtime, "net", &net.graph));
            make(&net, channels[c]);
            run(net.graph, TN_BUILD_REFERENCE, &expected);
            run(net.graph, 0, &found);
            assert_equal(&expected, &found, keeps[k], channels[c]);
            /* Whole blocks: only the network's inputs and outputs are converted. */
            if (channels[c] % 16 == 0)
                assert_int_equal(found.conversions,
                                 net.graph->input_count + net.graph->output_count);
            tn_graph_destroy(net.graph);
        }
}

static void test_a_sum_in_every_format(void **state) {
    test_layer(*state, make_sum);
}
static void test_a_factor_a_channel_in_every_format(void **state) {
    test_layer(*state, make_excitation);
}
static void test_a_repeated_row_in_every_format(void **state) {
    test_layer(*state, make_row);
}
static void test_sigmoid_never_spoils_padded_lanes(void **state) {
    test_layer(*state, make_sigmoid);
}
static void test_hard_swish_in_every_format(void **state) {
    test_layer(*state, make_hard_swish);
}
static void test_normalization_in_every_format(void **state) {
    test_layer(*state, make_normalization_relu);
}
static void test_normalization_with_sigmoid_never_spoils_padded_lanes(void **state) {
    test_layer(*state, make_normalization_sigmoid);
}
static void test_concat_of_channels_in_every_format(void **state) {
    test_layer(*state, make_concat_channels);
}
static void test_concat_of_columns_in_every_format(void **state) {
    test_layer(*state, make_concat_columns);
}
static void test_split_of_channels_in_every_format(void **state) {
    test_layer(*state, make_split);
}
static void test_nearest_resize_in_every_format(void **state) {
    test_layer(*state, make_nearest);
}
static void test_linear_resize_in_every_format(void **state) {
    test_layer(*state, make_linear);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_sum_in_every_format),
        GRAPH_TEST(test_a_factor_a_channel_in_every_format),
        GRAPH_TEST(test_a_repeated_row_in_every_format),
        GRAPH_TEST(test_sigmoid_never_spoils_padded_lanes),
        GRAPH_TEST(test_hard_swish_in_every_format),
        GRAPH_TEST(test_normalization_in_every_format),
        GRAPH_TEST(test_normalization_with_sigmoid_never_spoils_padded_lanes),
        GRAPH_TEST(test_concat_of_channels_in_every_format),
        GRAPH_TEST(test_concat_of_columns_in_every_format),
        GRAPH_TEST(test_split_of_channels_in_every_format),
        GRAPH_TEST(test_nearest_resize_in_every_format),
        GRAPH_TEST(test_linear_resize_in_every_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
