/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max pooling absorbed by the kernel before it: which pooling is, with which steps around it, that
 * the results are those of the references at every shape of the profile, and that other shapes than
 * the build knew are refused.
 */
#include <math.h>
#include <tenon/plugin.h>

#include "build_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

static uint32_t windows_runs, windows_absorbed;

static float windows_activate(const seen_step *step, float value) {
    return step->kind != SEEN_ACTIVATION ? value : value > 0 ? value : 0;
}

/* The largest of the window of element `index` of y, of x * w, with the steps before `pool`. */
static float windows_largest(const tn_call *call, uint32_t pool, int64_t index) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint32_t *window = SEE_STEP(call, pool)->window;
    const int64_t column = index % y->shape[3], row = index / y->shape[3] % y->shape[2];
    const int64_t plane = index / y->shape[3] / y->shape[2];
    float largest = -INFINITY;
    for (int64_t r = row * window[0]; r < (row + 1) * window[0] && r < x->shape[2]; r++)
        for (int64_t c = column * window[1]; c < (column + 1) * window[1] && c < x->shape[3]; c++) {
            float value = layer_mixed(call, (plane * x->shape[2] + r) * x->shape[3] + c);
            for (uint32_t i = 0; i < pool; i++)
                value = windows_activate(SEE_STEP(call, i), value);
            if (!(value <= largest) && largest == largest) largest = value;
        }
    return largest;
}

static tn_status windows_run(tn_call *call) {
    uint32_t pool = 0;
    windows_runs++;
    windows_absorbed += call->step_count;
    while (pool < call->step_count && SEE_STEP(call, pool)->kind != SEEN_WINDOW_MAX)
        pool++;
    for (int64_t i = 0; i < layer_count(call->outputs[0]); i++) {
        float value =
            pool < call->step_count ? windows_largest(call, pool, i) : layer_mixed(call, i);
        for (uint32_t k = pool == call->step_count ? 0 : pool + 1; k < call->step_count; k++)
            value = windows_activate(SEE_STEP(call, k), value);
        *layer_at(call->outputs[0], i) = value;
    }
    return TN_OK;
}

/* One pooling at most. */
static tn_status windows_accepts(tn_call *call) {
    uint32_t pools = 0;
    for (uint32_t i = 0; i < call->step_count; i++)
        pools += SEE_STEP(call, i)->kind == SEEN_WINDOW_MAX;
    return pools <= 1 && call->inputs[0]->rank == 4 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const tn_kernel windows_kernel = {.size = sizeof(tn_kernel),
                                         .revision = 1,
                                         .domain = "tiny",
                                         .op = "Mix",
                                         .device = "cpu",
                                         .name = "mix_windows",
                                         .absorbs = "tn.activation/1(relu), tn.window_max/1",
                                         TN_COMBINATIONS(layer_mix_linear),
                                         .accepts = windows_accepts,
                                         .run = windows_run};
static const tn_kernel *const windows_kernels[] = {&windows_kernel};
static tn_library windows_library = {.size = sizeof(tn_library),
                                     .abi_major = TN_ABI_MAJOR,
                                     .abi_minor = TN_ABI_MINOR,
                                     .name = "windows",
                                     .version = "1",
                                     .kernel_count = 1,
                                     .kernels = windows_kernels};
static tn_library *windows_entry(const tn_host *host) {
    (void)host;
    return &windows_library;
}

#include "build_test.h"

#include <tenon/engine.h>

enum { CHANNELS = 3, LARGEST = 2 * CHANNELS * 16 * 16 };

static int setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    windows_runs = windows_absorbed = 0;
    return tn_runtime_register_library(test->runtime, windows_entry) == TN_OK ? 0 : -1;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

typedef struct pooling {
    int64_t kernel[2], strides[2], pads[4], dilations[2], ceil_mode;
    bool has_indices;
} pooling;

static tn_tensor_id add_pool(tn_graph *graph, const char *name, tn_tensor_id x, const pooling *p) {
    tn_attribute items[] = {{.name = "kernel_shape", .count = 2, .items = p->kernel},
                            {.name = "strides", .count = 2, .items = p->strides},
                            {.name = "pads", .count = 4, .items = p->pads},
                            {.name = "dilations", .count = 2, .items = p->dilations},
                            {.name = "ceil_mode", .type = TN_FIELD_I64, .i = p->ceil_mode}};
    const tn_attribute *attributes[5];
    for (uint32_t i = 0; i < 5; i++) {
        items[i].size = sizeof(items[i]);
        if (items[i].items) items[i].type = TN_FIELD_I64S;
        attributes[i] = &items[i];
    }
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = "MaxPool",
                                      .name = name,
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = p->has_indices ? 2 : 1,
                                      .attribute_count = 5,
                                      .attributes = attributes};
    tn_tensor_id ids[2];
    check(tn_graph_add_node(graph, &node, ids));
    if (p->has_indices) add_output(graph, ids[1]);
    return ids[0];
}

/* x, mixed, perhaps ReLU, pooled, perhaps ReLU. */
static void make_network(graph_test *test, const pooling *p, bool before, bool after) {
    static const int64_t extents[] = {-1, CHANNELS, -1, -1};
    tn_graph *graph = test->graph;
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, extents);
    const int64_t channels = CHANNELS;
    last = add_node(graph, "Mix", "mix", 2,
                    (tn_tensor_id[]){last, add_floats(graph, "w", 1, &channels)});
    if (before) last = add_unary(graph, "Relu", "before", last);
    last = add_pool(graph, "pool", last, p);
    if (after) last = add_unary(graph, "Relu", "after", last);
    add_output(graph, last);
}

static float input[LARGEST];

static void run(tn_engine *engine, const int64_t *shape, tn_status expected, float *out_values,
                int64_t *out_shape) {
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    const uint64_t count = (uint64_t)(shape[0] * shape[1] * shape[2] * shape[3]);
    const uint32_t last = tn_engine_output_count(engine) - 1;
    check(tn_context_create(engine, &context));
    check(tn_context_set_shape(context, 0, 4, shape));
    check(tn_context_bind_input(context, 0, input, count * sizeof(float)));
    assert_int_equal(tn_context_run(context), expected);
    if (expected == TN_OK) {
        check(tn_context_output(context, last, &output));
        memcpy(out_values, output->data, output->bytes);
        memcpy(out_shape, output->shape, 4 * sizeof(*out_shape));
    }
    tn_context_destroy(context);
}

static tn_engine *build(graph_test *test, tn_builder_options options) {
    static const int64_t shapes[3][4] = {
        {1, CHANNELS, 8, 8}, {1, CHANNELS, 12, 12}, {2, CHANNELS, 16, 16}};
    const tn_profile_input range = {.size = sizeof range,
                                    .rank = 4,
                                    .name = "x",
                                    .minimum = shapes[0],
                                    .optimum = shapes[1],
                                    .maximum = shapes[2]};
    const tn_profile_input *ranges[] = {&range};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    uint64_t bytes = 0;
    options.size = sizeof options;
    options.threads = 1;
    options.profile_input_count = 1;
    options.profile_inputs = ranges;
    check(tn_build(test->graph, &options, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    tn_plan_destroy(plan);
    return engine;
}

/* As the references at shapes of the profile, and `absorbed` nodes in every run of the kernel. */
static void check_network(graph_test *test, uint32_t absorbed) {
    static const int64_t shapes[][4] = {
        {1, CHANNELS, 8, 8}, {1, CHANNELS, 9, 11}, {2, CHANNELS, 16, 13}};
    static float wanted[LARGEST], found[LARGEST];
    tn_engine *references = build(test, (tn_builder_options){.flags = TN_BUILD_REFERENCE});
    tn_engine *fused = build(
        test, (tn_builder_options){.flags = TN_BUILD_NO_TIMING, .force_kernel = "Mix=mix_windows"});
    for (int i = 0; i < LARGEST; i++)
        input[i] = (float)(i * 31 % 61 - 30) / 8;
    input[5] = NAN;
    for (size_t s = 0; s < 3; s++) {
        int64_t shape[4] = {0}, same[4] = {0};
        run(references, shapes[s], TN_OK, wanted, shape);
        windows_runs = windows_absorbed = 0;
        run(fused, shapes[s], TN_OK, found, same);
        assert_int_equal(windows_runs, 1);
        assert_int_equal(windows_absorbed, absorbed);
        assert_memory_equal(shape, same, sizeof(shape));
        for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; i++)
            assert_true(wanted[i] == found[i] || (isnan(wanted[i]) && isnan(found[i])));
    }
    tn_engine_release(references);
    tn_engine_release(fused);
}

static void test_windows_side_by_side_are_absorbed(void **state) {
    static const pooling poolings[] = {
        {.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}},
        {.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .ceil_mode = 1},
        {.kernel = {3, 1}, .strides = {3, 1}, .dilations = {1, 1}},
        {.kernel = {1, 4}, .strides = {1, 4}, .dilations = {1, 1}, .ceil_mode = 1}};
    for (size_t i = 0; i < 4 * sizeof(poolings) / sizeof(poolings[0]); i++) {
        graph_test *test = *state;
        const bool before = i & 1, after = i >> 1 & 1;
        tn_graph_destroy(test->graph);
        test->graph = NULL;
        check(tn_graph_create(test->runtime, "net", &test->graph));
        make_network(test, &poolings[i / 4], before, after);
        check_network(test, 1u + before + after);
    }
}

static void test_other_windows_are_nodes(void **state) {
    static const pooling poolings[] = {
        {.kernel = {3, 3}, .strides = {2, 2}, .dilations = {1, 1}},
        {.kernel = {2, 2}, .strides = {3, 3}, .dilations = {1, 1}},
        {.kernel = {2, 2}, .strides = {2, 2}, .dilations = {2, 2}},
        {.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .pads = {1, 0, 0, 0}},
        {.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .has_indices = true}};
    for (size_t i = 0; i < sizeof(poolings) / sizeof(poolings[0]); i++) {
        graph_test *test = *state;
        tn_graph_destroy(test->graph);
        test->graph = NULL;
        check(tn_graph_create(test->runtime, "net", &test->graph));
        make_network(test, &poolings[i], true, false);
        check_network(test, 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_windows_side_by_side_are_absorbed),
        TEST(test_other_windows_are_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
