/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means of whole planes absorbed by the kernel before them: which nodes are such, that the results
 * are those of the references, also at shapes that the build did not know, and that what is added
 * in front of a mean is stored as the kernel's input is, not as its output.
 */
#include <math.h>
#include <tenon/plugin.h>
#include <tenon/plugin/plane_mean.h>

#include "build_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

static uint32_t means_runs, means_absorbed;
static tn_format means_residual; /* in the last run */

static bool means_has(const tn_call *call, uint32_t step) {
    return step < call->step_count && strcmp(call->steps[step]->facet, TN_FACET_PLANE_MEAN) == 0;
}

/* Element `index` of x * w after the steps before the mean. */
static float means_value(const tn_call *call, int64_t index) {
    float value = layer_mixed(call, index);
    for (uint32_t i = 0; i < call->step_count && !means_has(call, i); i++) {
        const seen_step *step = SEE_STEP(call, i);
        if (step->kind == SEEN_RESIDUAL)
            value += *layer_at(call->operands[step->operand], index);
        else
            value = value > 0 ? value : 0; /* as Relu of tiny_layers.h */
    }
    return value;
}

static tn_status means_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const bool has_mean = call->step_count > 0 && means_has(call, call->step_count - 1);
    const int64_t pixels = has_mean ? x->shape[2] * x->shape[3] : 1;
    means_runs++;
    means_absorbed += call->step_count;
    if (call->operand_count > 0) means_residual = call->operands[0]->format;
    for (int64_t i = 0; i < layer_count(y); i++) {
        double sum = 0;
        for (int64_t k = 0; k < pixels; k++)
            sum += (double)means_value(call, i * pixels + k);
        *layer_at(y, i) = (float)(sum / (double)pixels);
    }
    return TN_OK;
}

/* One mean, at the end; without it the output is as the input. */
static tn_status means_accepts(tn_call *call) {
    uint32_t at = 0;
    while (at < call->step_count && !means_has(call, at))
        at++;
    const bool has_mean = at < call->step_count;
    return call->inputs[0]->rank == 4 && (!has_mean || at + 1 == call->step_count) &&
                   (has_mean || call->outputs[0]->format == TN_NHWC)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static const char *const means_combinations[] = {"f32:nhwc, f32 -> f32",
                                                 "f32:nhwc, f32 -> f32:nhwc"};
static const tn_kernel means_kernel = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "tiny",
                                       .op = "Mix",
                                       .device = "cpu",
                                       .name = "mix_means",
                                       .absorbs = TN_FACET_RESIDUAL ", " TN_FACET_ACTIVATION
                                                                    "(relu), " TN_FACET_PLANE_MEAN,
                                       TN_COMBINATIONS(means_combinations),
                                       .accepts = means_accepts,
                                       .run = means_run};
static const tn_kernel *const means_kernels[] = {&means_kernel};
static tn_library means_library = {.size = sizeof(tn_library),
                                   .abi_major = TN_ABI_MAJOR,
                                   .abi_minor = TN_ABI_MINOR,
                                   .name = "means",
                                   .version = "1",
                                   .kernel_count = 1,
                                   .kernels = means_kernels};
static tn_library *means_entry(const tn_host *host) {
    (void)host;
    return &means_library;
}

#include "build_test.h"

#include <tenon/engine.h>

enum { CHANNELS = 3, LARGEST = 2 * CHANNELS * 9 * 9 };

static int setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_register_library(test->runtime, means_entry) == TN_OK ? 0 : -1;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* The node behind. `items`: of its one field. */
typedef struct mean_node {
    const char *op, *field;
    int64_t items[2], keepdims;
} mean_node;

static tn_tensor_id add_mean(tn_graph *graph, const mean_node *mean, tn_tensor_id x) {
    const tn_attribute items[] = {
        {.size = sizeof(items[0]),
         .type = TN_FIELD_I64S,
         .name = mean->field,
         .count = 2,
         .items = mean->items},
        {.size = sizeof(items[0]), .type = TN_FIELD_I64, .name = "keepdims", .i = mean->keepdims}};
    const tn_attribute *attributes[] = {&items[0], &items[1]};
    const bool is_reduction = strcmp(mean->op, "ReduceMean") == 0;
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = mean->op,
                                      .version = 13,
                                      .name = "mean",
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1,
                                      .attribute_count = is_reduction  ? 2
                                                         : mean->field ? 1
                                                                       : 0,
                                      .attributes = attributes};
    tn_tensor_id id = TN_NO_TENSOR;
    check(tn_graph_add_node(graph, &node, &id));
    return id;
}

/* x, mixed, perhaps with another input added, ReLU, and the mean of its planes. */
static void make_network(graph_test *test, const mean_node *mean, bool has_residual) {
    static const int64_t extents[] = {-1, CHANNELS, -1, -1};
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    check(tn_graph_create(test->runtime, "net", &test->graph));
    tn_graph *graph = test->graph;
    const int64_t channels = CHANNELS;
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, extents), other = TN_NO_TENSOR;
    if (has_residual) other = add_input(graph, "other", TN_F32, 4, extents);
    last = add_node(graph, "Mix", "mix", 2,
                    (tn_tensor_id[]){last, add_floats(graph, "w", 1, &channels)});
    if (has_residual) {
        const tn_tensor_id pair[] = {last, other};
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = "Add",
                                          .name = "add",
                                          .input_count = 2,
                                          .inputs = pair,
                                          .output_count = 1};
        check(tn_graph_add_node(graph, &node, &last));
    }
    last = add_unary(graph, "Relu", "relu", last);
    add_output(graph, add_mean(graph, mean, last));
}

static float input[LARGEST], added[LARGEST];

static void run(tn_engine *engine, const int64_t *shape, float *out_values, uint64_t *out_count) {
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    const uint64_t bytes = (uint64_t)(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof(float);
    check(tn_context_create(engine, &context));
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        check(tn_context_set_shape(context, i, 4, shape));
        check(tn_context_bind_input(context, i, i ? added : input, bytes));
    }
    check(tn_context_run(context));
    check(tn_context_output(context, 0, &output));
    memcpy(out_values, output->data, output->bytes);
    *out_count = output->bytes / sizeof(float);
    tn_context_destroy(context);
}

static tn_engine *build(graph_test *test, tn_builder_options options, bool has_residual) {
    static const int64_t shapes[3][4] = {
        {1, CHANNELS, 7, 7}, {1, CHANNELS, 7, 7}, {2, CHANNELS, 9, 9}};
    const tn_profile_input range = {.size = sizeof range,
                                    .rank = 4,
                                    .name = "x",
                                    .minimum = shapes[0],
                                    .optimum = shapes[1],
                                    .maximum = shapes[2]};
    tn_profile_input other = range;
    other.name = "other";
    const tn_profile_input *ranges[] = {&range, &other};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    uint64_t bytes = 0;
    options.size = sizeof options;
    options.threads = 1;
    options.profile_input_count = 1u + has_residual;
    options.profile_inputs = ranges;
    check(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    tn_plan_destroy(plan);
    return engine;
}

/* As the references, and `absorbed` nodes in every run of the kernel. */
static void check_network(graph_test *test, bool has_residual, uint32_t absorbed) {
    static const int64_t shapes[][4] = {{1, CHANNELS, 7, 7}, {2, CHANNELS, 9, 8}};
    static float wanted[LARGEST], found[LARGEST];
    const tn_builder_options forced = {.flags = TN_BUILD_NO_TIMING,
                                       .force_kernel = "Mix=mix_means"};
    tn_engine *references =
        build(test, (tn_builder_options){.flags = TN_BUILD_REFERENCE}, has_residual);
    tn_engine *fused = build(test, forced, has_residual);
    for (int i = 0; i < LARGEST; i++) {
        input[i] = (float)(i * 31 % 61 - 30) / 8;
        added[i] = (float)(i * 17 % 53 - 26) / 4;
    }
    input[5] = INFINITY;
    for (size_t s = 0; s < 2; s++) {
        uint64_t count = 0, same = 0;
        run(references, shapes[s], wanted, &count);
        means_runs = means_absorbed = 0;
        run(fused, shapes[s], found, &same);
        assert_int_equal(means_runs, 1);
        assert_int_equal(means_absorbed, absorbed);
        assert_int_equal(count, same);
        for (uint64_t i = 0; i < count; i++)
            assert_true(wanted[i] == found[i] || fabsf(wanted[i] - found[i]) <= 1e-5f);
    }
    tn_engine_release(references);
    tn_engine_release(fused);
}

static void test_means_of_planes_are_absorbed(void **state) {
    static const mean_node means[] = {
        {.op = "GlobalAveragePool"},
        {.op = "ReduceMean", .field = "axes", .items = {2, 3}, .keepdims = 1},
        {.op = "ReduceMean", .field = "axes", .items = {-1, -2}, .keepdims = 1}};
    for (size_t i = 0; i < 3; i++) {
        make_network(*state, &means[i], false);
        check_network(*state, false, 2);
    }
}

static void test_other_means_are_nodes(void **state) {
    static const mean_node means[] = {
        {.op = "ReduceMean", .field = "axes", .items = {2, 3}},
        {.op = "ReduceMean", .field = "axes", .items = {1, 3}, .keepdims = 1},
        {.op = "AveragePool", .field = "kernel_shape", .items = {7, 6}},
        /* the whole plane at some shapes of the profile */
        {.op = "AveragePool", .field = "kernel_shape", .items = {7, 7}}};
    for (size_t i = 0; i < 4; i++) {
        make_network(*state, &means[i], false);
        check_network(*state, false, 1);
    }
}

static void test_what_is_added_before_lies_as_the_input(void **state) {
    const mean_node mean = {.op = "GlobalAveragePool"};
    make_network(*state, &mean, true);
    means_residual = TN_LINEAR;
    check_network(*state, true, 3);
    assert_int_equal(means_residual, TN_NHWC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_means_of_planes_are_absorbed),
        TEST(test_other_means_are_nodes),
        TEST(test_what_is_added_before_lies_as_the_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
