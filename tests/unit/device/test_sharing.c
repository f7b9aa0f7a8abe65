/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What engines, profiles and kernels on a device keep once and share: constants, prepared state,
 * and the resources of libraries.
 */
#include "device_test.h"
#include "stub/stub.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_profiles_share_the_constants_on_a_device),
        DEVICE_TEST(test_a_devices_kernel_keeps_its_state),
        DEVICE_TEST(test_engines_share_constants_on_a_device),
        DEVICE_TEST(test_kernels_share_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
