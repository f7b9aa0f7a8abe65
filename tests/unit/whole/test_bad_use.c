/* SPDX-License-Identifier: Apache-2.0 */
/* The interface used wrongly: structs without their size, flags that are not known, arrays that are
 * counted and not there, calls in a wrong order, parents that are released first. That no null
 * pointer hurts is tests/cli/check_null_arguments.py. */
#include "test.h"

#include <tenon/tenon.h>

typedef struct network {
    failing_allocator allocator;
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} network;

static void must(tn_status status) {
    if (status != TN_OK)
        fail_msg("%s: %s: %s", tn_status_name(status), tn_last_error()->where,
                 tn_last_error()->message);
}

static tn_status add(tn_graph *graph, const char *op, tn_tensor_id input,
                     const tn_attribute *const *attributes, uint64_t attribute_count,
                     tn_tensor_id *out_tensor) {
    const tn_node_description node = {.size = sizeof(node),
                                      .op = op,
                                      .name = "node",
                                      .input_count = 1,
                                      .inputs = &input,
                                      .output_count = 1,
                                      .attribute_count = attribute_count,
                                      .attributes = attributes};
    return tn_graph_add_node(graph, &node, out_tensor);
}

/* y = relu(x) of [N,2], with a profile of 1 to 4. */
static int setup(void **state) {
    static const int64_t extents[] = {-1, 2}, least[] = {1, 2}, most[] = {4, 2};
    network *net = calloc(1, sizeof(*net));
    tn_tensor_id x;
    uint64_t bytes;
    if (!net) return -1;
    *state = net;
    failing_allocator_init(&net->allocator);
    const tn_runtime_options runtime_options = {.size = sizeof(runtime_options),
                                                .allocator = &net->allocator.functions,
                                                .flags = TN_RUNTIME_NO_ENVIRONMENT};
    must(tn_runtime_create(&runtime_options, &net->runtime));
    must(tn_graph_create(net->runtime, "net", &net->graph));
    must(tn_graph_add_input(net->graph, "x", TN_F32, 2, extents, NULL, &x));
    must(add(net->graph, "Relu", x, NULL, 0, &x));
    must(tn_graph_add_output(net->graph, x, "y"));
    const tn_profile_input range = {.size = sizeof(range),
                                    .rank = 2,
                                    .name = "x",
                                    .minimum = least,
                                    .optimum = most,
                                    .maximum = most};
    const tn_profile_input *const ranges[] = {&range};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .profile_input_count = 1,
                                        .profile_inputs = ranges};
    must(tn_build(net->graph, &options, &net->plan));
    const void *data = tn_plan_bytes(net->plan, &bytes);
    must(tn_engine_load_bytes(net->runtime, data, bytes, NULL, &net->engine));
    must(tn_context_create(net->engine, &net->context));
    return 0;
}

static int teardown(void **state) {
    network *net = *state;
    tn_context_destroy(net->context);
    tn_engine_release(net->engine);
    tn_plan_destroy(net->plan);
    tn_graph_destroy(net->graph);
    tn_runtime_release(net->runtime);
    const int64_t left = net->allocator.live;
    free(net);
    return left == 0 ? 0 : -1;
}

/* ----------------------------------------------------------------------------------------------
 * structs */

static void test_options_without_a_size_are_refused(void **state) {
    const network *net = *state;
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    tn_operation *operation = NULL;
    tn_calibration *table = NULL;
    uint64_t bytes;
    const void *data = tn_plan_bytes(net->plan, &bytes);
    static const uint32_t sizes[] = {0, 3, 1u << 20}; /* forgotten, and not set */
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        const tn_runtime_options of_runtime = {.size = sizes[i]};
        const tn_builder_options of_build = {.size = sizes[i]};
        const tn_engine_options of_engine = {.size = sizes[i]};
        const tn_context_options of_context = {.size = sizes[i]};
        const tn_import_options of_import = {.size = sizes[i]};
        const tn_operation_description of_operation = {.size = sizes[i], .op = "Relu"};
        const tn_compile_options of_compile = {.size = sizes[i], .source = ""};
        const tn_crash_report_options of_crash = {.size = sizes[i]};
        assert_failed(tn_runtime_create(&of_runtime, &runtime), TN_ERROR_ARGUMENT, "`size`");
        assert_failed(tn_build(net->graph, &of_build, &plan), TN_ERROR_ARGUMENT, "`size`");
        assert_failed(tn_engine_load_bytes(net->runtime, data, bytes, &of_engine, &engine),
                      TN_ERROR_ARGUMENT, "`size`");
        assert_failed(tn_context_create_with(net->engine, &of_context, &context), TN_ERROR_ARGUMENT,
                      "`size`");
        assert_failed(tn_graph_parse(net->runtime, data, bytes, &of_import, &graph),
                      TN_ERROR_ARGUMENT, "`size`");
        assert_failed(tn_operation_create(net->runtime, &of_operation, &operation),
                      TN_ERROR_ARGUMENT, "`size`");
        assert_failed(tn_compile_library(net->runtime, &of_compile, NULL), TN_ERROR_ARGUMENT,
                      "`size`");
        assert_failed(tn_crash_report_start(&of_crash), TN_ERROR_ARGUMENT, "`size`");
        if (sizes[i] > sizeof(tn_calibrate_options)) continue;
        const tn_calibrate_options of_calibration = {.size = sizes[i]};
        const tn_accuracy_options of_accuracy = {.size = sizes[i]};
        assert_failed(tn_calibrate(net->graph, &of_calibration, &table, NULL), TN_ERROR_ARGUMENT,
                      "`size`");
        assert_failed(tn_build_accurate(net->graph, &of_accuracy, &plan, NULL), TN_ERROR_ARGUMENT,
                      "`size`");
        const tn_batches batches = {.size = sizeof(batches), .count = 1};
        const tn_calibrate_options around = {
            .size = sizeof(around), .build = &of_build, .batches = &batches};
        assert_failed(tn_calibrate(net->graph, &around, &table, NULL), TN_ERROR_ARGUMENT,
                      "`size` of the builder options");
    }
    assert_true(!runtime && !graph && !plan && !engine && !context && !operation && !table);
}

static void test_structs_to_fill_without_a_size_are_refused(void **state) {
    const network *net = *state;
    tn_node_info node = {.name = "untouched"};
    tn_tensor_info tensor = {.size = 0};
    tn_model_info info = {.size = 0};
    tn_storage_info storage = {.size = 0};
    tn_context_statistics statistics = {.runs = 77};
    assert_failed(tn_graph_get_node(net->graph, 0, &node), TN_ERROR_ARGUMENT, "size");
    assert_failed(tn_graph_get_tensor(net->graph, 0, &tensor), TN_ERROR_ARGUMENT, "size");
    assert_failed(tn_graph_get_model_info(net->graph, &info), TN_ERROR_ARGUMENT, "size");
    assert_failed(tn_graph_set_model_info(net->graph, &info), TN_ERROR_ARGUMENT, "size");
    assert_failed(tn_engine_get_model_info(net->engine, &info), TN_ERROR_ARGUMENT, "size");
    assert_failed(tn_engine_input_storage(net->engine, 0, &storage), TN_ERROR_ARGUMENT, "size");
    tn_context_get_statistics(net->context, &statistics); /* fills what there is room for */
    assert_int_equal(statistics.runs, 77);
    assert_string_equal(node.name, "untouched");
}

static void test_flags_that_are_not_known_are_refused(void **state) {
    const network *net = *state;
    const uint32_t unknown = 1u << 30;
    const tn_runtime_options of_runtime = {.size = sizeof(of_runtime), .flags = unknown};
    const tn_builder_options of_build = {.size = sizeof(of_build), .flags = unknown};
    const tn_engine_options of_engine = {.size = sizeof(of_engine), .flags = unknown};
    const tn_context_options of_context = {.size = sizeof(of_context), .flags = unknown};
    tn_runtime *runtime = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes;
    const void *data = tn_plan_bytes(net->plan, &bytes);
    assert_failed(tn_runtime_create(&of_runtime, &runtime), TN_ERROR_ARGUMENT, "0x40000000");
    assert_failed(tn_build(net->graph, &of_build, &plan), TN_ERROR_ARGUMENT, "0x40000000");
    assert_failed(tn_engine_load_bytes(net->runtime, data, bytes, &of_engine, &engine),
                  TN_ERROR_ARGUMENT, "0x40000000");
    assert_failed(tn_context_create_with(net->engine, &of_context, &context), TN_ERROR_ARGUMENT,
                  "0x40000000");
    const tn_border border = {.size = sizeof(border), .name = "x", .order = 9};
    assert_int_equal(tn_graph_set_border(net->graph, &border), TN_ERROR_ARGUMENT);
    assert_true(!runtime && !plan && !engine && !context);
}

static void test_allocators_without_functions_are_refused(void **state) {
    const network *net = *state;
    const tn_allocator none = {.size = sizeof(none)};
    const tn_device_allocator none_there = {.size = sizeof(none_there)};
    const tn_runtime_options of_runtime = {.size = sizeof(of_runtime), .allocator = &none};
    const tn_context_options of_context = {.size = sizeof(of_context), .allocator = &none},
                             there = {.size = sizeof(there), .device_allocator = &none_there};
    tn_runtime *runtime = NULL;
    tn_context *context = NULL;
    assert_failed(tn_runtime_create(&of_runtime, &runtime), TN_ERROR_ARGUMENT, "`allocate`");
    assert_failed(tn_context_create_with(net->engine, &of_context, &context), TN_ERROR_ARGUMENT,
                  "`allocate`");
    assert_failed(tn_context_create_with(net->engine, &there, &context), TN_ERROR_ARGUMENT,
                  "`allocate`");
}

/* ----------------------------------------------------------------------------------------------
 * arrays */

/* Counted and not there, or there with null in it. */
static void test_arrays_that_are_not_there_are_refused(void **state) {
    const network *net = *state;
    static const void *const nulls[] = {NULL, NULL};
    for (int is_null = 0; is_null < 2; is_null++) {
        const char *const *texts = is_null ? NULL : (const char *const *)nulls;
        const tn_builder_options all[] = {
            {.size = sizeof(all[0]), .keep_count = 1, .keep = texts},
            {.size = sizeof(all[0]), .pin_count = 1, .pins = texts},
            {.size = sizeof(all[0]), .without_rewrite_count = 1, .without_rewrites = texts},
            {.size = sizeof(all[0]), .refit_count = 1, .refit = texts},
            {.size = sizeof(all[0]),
             .border_count = 1,
             .borders = (const struct tn_border *const *)(const void *)texts},
            {.size = sizeof(all[0]),
             .profile_count = 1,
             .profiles = (const tn_profile *const *)(const void *)texts},
            {.size = sizeof(all[0]),
             .profile_input_count = 1,
             .profile_inputs = (const tn_profile_input *const *)(const void *)texts}};
        for (size_t i = 0; i < TEST_COUNT(all); i++) {
            tn_plan *plan = NULL;
            if (tn_build(net->graph, &all[i], &plan) != TN_ERROR_ARGUMENT)
                fail_msg("options %zu, %d: %s", i, is_null, tn_last_error()->message);
        }
        const tn_engine_options of_engine = {
            .size = sizeof(of_engine), .allowed_count = 1, .allowed = texts};
        const tn_import_options of_import = {.size = sizeof(of_import),
                                             .format = "onnx",
                                             .option_count = 1,
                                             .options =
                                                 (const tn_attribute *const *)(const void *)texts};
        tn_engine *engine = NULL;
        tn_graph *graph = NULL;
        uint64_t bytes;
        const void *data = tn_plan_bytes(net->plan, &bytes);
        assert_int_equal(tn_graph_parse(net->runtime, data, bytes, &of_import, &graph),
                         TN_ERROR_ARGUMENT);
        if (texts) /* null: those of the search path */
            assert_failed(tn_engine_load_bytes(net->runtime, data, bytes, &of_engine, &engine),
                          TN_ERROR_ARGUMENT, "allowed");
        tn_tensor_id y;
        assert_int_equal(
            add(net->graph, "Relu", 0, (const tn_attribute *const *)(const void *)texts, 1, &y),
            TN_ERROR_ARGUMENT);
    }
}

static void test_shapes_and_data_that_are_not_there_are_refused(void **state) {
    const network *net = *state;
    static const int64_t two[] = {2};
    static float values[2];
    tn_tensor_id id = 77;
    assert_int_equal(tn_graph_add_input(net->graph, "a", TN_F32, 1, NULL, NULL, &id),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_constant(net->graph, "c", TN_F32, 1, NULL, values, 8, &id),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_constant(net->graph, "c", TN_F32, 1, two, NULL, 8, &id),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_input(net->graph, "a", TN_F32, 1u << 20, two, NULL, &id),
                     TN_ERROR_SHAPE);
    assert_int_equal(tn_graph_add_output(net->graph, 1000, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(id, 77);
    assert_int_equal(tn_context_set_shape(net->context, 0, 2, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_shape(net->context, 0, 1u << 20, two), TN_ERROR_SHAPE);
    assert_int_equal(tn_context_bind_input_strided(net->context, 0, values, 8, 2, NULL),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_output_strided(net->context, 0, values, 8, 2, NULL),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_input(net->context, 1, values, 8), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_output(net->context, 1, values, 8), TN_ERROR_ARGUMENT);
}

/* ----------------------------------------------------------------------------------------------
 * order */

static void test_calls_in_a_wrong_order_say_what_is_missing(void **state) {
    network *net = *state;
    static const int64_t two[] = {2, 2}, nine[] = {9, 2};
    static const _Alignas(64) float x[4];
    const tn_tensor *y = NULL;
    uint64_t bytes;
    assert_failed(tn_context_run(net->context), TN_ERROR_STATE, "the shape of input 'x'");
    assert_int_equal(tn_context_output(net->context, 0, &y), TN_ERROR_STATE);
    assert_int_equal(tn_context_memory_bytes(net->context, &bytes, NULL), TN_ERROR_STATE);
    must(tn_context_set_shape(net->context, 0, 2, two));
    assert_failed(tn_context_run(net->context), TN_ERROR_STATE, "'x'");
    assert_int_equal(tn_context_wait(net->context, TN_WAIT_FOREVER, NULL), TN_ERROR_STATE);
    assert_false(tn_context_cancel(net->context));
    must(tn_context_bind_input(net->context, 0, x, 4));
    assert_int_equal(tn_context_run(net->context), TN_ERROR_ARGUMENT); /* too small */
    must(tn_context_bind_input(net->context, 0, x, sizeof(x)));
    assert_int_equal(tn_context_set_shape(net->context, 0, 2, nine), TN_ERROR_RANGE);
    must(tn_context_run(net->context)); /* with the shape that it had */
    must(tn_context_output(net->context, 0, &y));
    assert_int_equal(y->shape[0], 2);
    tn_refit *refit = NULL;
    assert_failed(tn_refit_create(net->engine, &refit), TN_ERROR_UNSUPPORTED, "TN_BUILD_REFIT");
}

static void test_parents_may_be_released_first(void **state) {
    network *net = *state;
    static const int64_t two[] = {2, 2};
    static const _Alignas(64) float x[4] = {-1, 2, -3, 4};
    const tn_operation_description relu = {
        .size = sizeof(relu), .op = "Relu", .input_count = 1, .output_count = 1, .threads = 1};
    const tn_plan_description *description = NULL;
    tn_operation *operation = NULL;
    tn_calibration *table = NULL;
    tn_device_handle *cpu = NULL;
    tn_stream *stream = NULL;
    tn_event *event = NULL;
    const tn_tensor *y = NULL;
    must(tn_operation_create(net->runtime, &relu, &operation));
    must(tn_calibration_create(net->runtime, &table));
    must(tn_device_open(net->runtime, "cpu", &cpu));
    must(tn_stream_create(cpu, &stream));
    must(tn_event_create(cpu, &event));
    must(tn_engine_describe(net->engine, &description));
    tn_device_release(cpu);
    tn_runtime_release(net->runtime);
    tn_graph_destroy(net->graph);
    tn_plan_destroy(net->plan);
    tn_engine_release(net->engine);
    net->runtime = NULL;
    net->graph = NULL;
    net->plan = NULL;
    net->engine = NULL;

    must(tn_context_set_shape(net->context, 0, 2, two));
    must(tn_context_bind_input(net->context, 0, x, sizeof(x)));
    must(tn_context_run(net->context));
    must(tn_context_output(net->context, 0, &y));
    assert_true(((const float *)y->data)[0] == 0 && ((const float *)y->data)[3] == 4);
    must(tn_event_record(event, stream));
    must(tn_event_wait(event, NULL));
    must(tn_calibration_set(table, "x", 1));
    assert_string_equal(description->inputs[0]->name, "x");
    int64_t shape[] = {4}, out_shape[TN_MAX_RANK];
    float out[4];
    const tn_tensor in = {.size = sizeof(in),
                          .type = TN_F32,
                          .rank = 1,
                          .shape = shape,
                          .data = (void *)(uintptr_t)x,
                          .bytes = sizeof(x)};
    tn_tensor result = {
        .size = sizeof(result), .shape = out_shape, .data = out, .bytes = sizeof(out)};
    const tn_tensor *const inputs[] = {&in};
    tn_tensor *const outputs[] = {&result};
    must(tn_operation_run(operation, inputs, outputs));
    assert_true(out[0] == 0 && out[1] == 2);
    tn_operation_destroy(operation);
    tn_calibration_destroy(table);
    tn_stream_destroy(stream);
    tn_event_destroy(event);
    tn_plan_description_destroy(description);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_options_without_a_size_are_refused),
        TEST(test_structs_to_fill_without_a_size_are_refused),
        TEST(test_flags_that_are_not_known_are_refused),
        TEST(test_allocators_without_functions_are_refused),
        TEST(test_arrays_that_are_not_there_are_refused),
        TEST(test_shapes_and_data_that_are_not_there_are_refused),
        TEST(test_calls_in_a_wrong_order_say_what_is_missing),
        TEST(test_parents_may_be_released_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
