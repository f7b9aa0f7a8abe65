/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks stored in 8 and 16 bits, from the builder through the plan to results: kernels see the
 * scales, the plan needs no table, a damaged type or scale is refused, two threads agree, and
 * memory that is missing is an error.
 */
#include "quantized_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "run_test.h"

#include "plan_repair.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include <tenon/builder.h>

/* Powers of two but for one, so that expected values are exact; that one is found in a plan by its
 * bytes. */
#define SCALE_X   0.5f
#define SCALE_A   0.40625f
#define SCALE_SUM 2.0f

static int setup(void **state) {
    if (run_test_setup(state) != 0) return -1;
    run_test *test = *state;
    quantized_float_ns = quantized_byte_ns = 0;
    quantized_seen_input = quantized_seen_output = quantized_seen_operand = 0;
    quantized_selected_without_scale = 0;
    return tn_runtime_register_library(test->runtime, tiny_entry) == TN_OK &&
                   tn_runtime_register_library(test->runtime, quantized_entry) == TN_OK
               ? 0
               : -1;
}
#define QUANTIZED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, run_test_teardown)

static tn_tensor_id add_weigh(tn_graph *graph, const char *name, tn_tensor_id input) {
    const float weights[] = {1, -2, 3, 0.5f};
    const int64_t channels = 4;
    char constant[32];
    tn_tensor_id inputs[2] = {input, TN_NO_TENSOR};
    snprintf(constant, sizeof constant, "%s_w", name);
    run_must(tn_graph_add_constant(graph, constant, TN_F32, 1, &channels, weights, sizeof weights,
                                   &inputs[1]));
    return add_node(graph, "Weigh", name, 2, inputs);
}

/* y = square(c(flip(max(b(a(x)) + a(x), 0)))); names of tensors are what nodes' outputs get. */
static void make_network(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 4, 2, 2));
    tn_tensor_id a = add_weigh(graph, "a", x), b = add_weigh(graph, "b", a);
    tn_tensor_id sum = add_node(graph, "Both", "sum", 2, TENSORS(b, a));
    tn_tensor_id rect = add_unary(graph, "Rect", "rect", sum);
    tn_tensor_id flip = add_unary(graph, "Flip", "flip", rect);
    tn_tensor_id c = add_weigh(graph, "c", flip);
    run_output(graph, add_unary(graph, "Square", "square", c), "y");
}

static const char *made_by(const tn_graph *graph, const char *node) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (strcmp(graph->nodes[n].name, node) == 0)
            return graph->tensors[graph->nodes[n].outputs[0]].name;
    return "";
}

static tn_status calibrate(tn_runtime *runtime, const tn_graph *graph, tn_calibration **out_table) {
    tn_status status = tn_calibration_create(runtime, out_table);
    if (status == TN_OK) status = tn_calibration_set(*out_table, "x", SCALE_X);
    if (status == TN_OK) status = tn_calibration_set(*out_table, made_by(graph, "a"), SCALE_A);
    if (status == TN_OK) status = tn_calibration_set(*out_table, made_by(graph, "rect"), SCALE_SUM);
    return status;
}

static tn_status build_in(tn_runtime *runtime, tn_graph *graph, uint32_t precision,
                          const char *pins, tn_plan **out_plan) {
    tn_calibration *table = NULL;
    tn_status status = calibrate(runtime, graph, &table);
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .precision = precision,
                                        .calibration = table,
                                        .force_kernel = pins};
    if (status == TN_OK) status = tn_build(graph, &options, out_plan);
    tn_calibration_destroy(table);
    return status;
}

static void build_bytes(run_test *test) {
    make_network(test->graph);
    run_must(build_in(test->runtime, test->graph, TN_PRECISION_I8, "Weigh=weigh_i8", &test->plan));
}

static double stored(double value, double scale) {
    double q = nearbyint(value / scale);
    return (q < -128 ? -128 : q > 127 ? 127 : q) * scale;
}

/* With no scale for a step its values stay as they are. */
static void expect(const float *x, double scale_x, double scale_a, double scale_sum, float *y) {
    const double weights[] = {1, -2, 3, 0.5};
    double rect[16];
    for (int i = 0; i < 16; i++) {
        double a = (double)x[i];
        if (scale_x > 0) a = stored(a, scale_x);
        a *= weights[i / 4];
        if (scale_a > 0) a = stored(a, scale_a);
        double sum = a * weights[i / 4] + a;
        sum = sum > 0 ? sum : 0;
        rect[i] = scale_sum > 0 ? stored(sum, scale_sum) : sum;
    }
    for (int i = 0; i < 16; i++) {
        const double c = rect[15 - i] * weights[i / 4];
        y[i] = (float)(c * c);
    }
}

static void fill(float *x, int seed) {
    for (int i = 0; i < 16; i++)
        x[i] = (float)((i * 7 + seed * 3) % 23) / 2 - 5;
}

static void check_run(tn_context *context, int seed) {
    _Alignas(64) float x[16];
    float expected[16];
    const tn_tensor *y = NULL;
    fill(x, seed);
    expect(x, (double)SCALE_X, (double)SCALE_A, (double)SCALE_SUM, expected);
    run_must(tn_context_bind_input(context, 0, x, sizeof x));
    run_must(tn_context_run(context));
    run_must(tn_context_output(context, 0, &y));
    assert_int_equal(y->type, TN_F32);
    assert_null(y->quantization);
    for (int i = 0; i < 16; i++) {
        const double found = (double)((const float *)y->data)[i];
        if (fabs(found - (double)expected[i]) > 1e-4 * fabs((double)expected[i]))
            fail_msg("element %d is %g, not %g", i, found, (double)expected[i]);
    }
}

static void test_a_plan_in_8_bits_runs_without_the_table(void **state) {
    run_test *test = *state;
    build_bytes(test);
    run_load(test);
    assert_string_equal(run_log, "");
    assert_ptr_equal(test->engine->program, test->engine->contents.programs[0]);
    run_must(tn_context_create(test->engine, &test->context));
    for (int seed = 0; seed < 4; seed++)
        check_run(test->context, seed);
    assert_int_equal(quantized_selected_without_scale, 0);
    assert_true(quantized_seen_input == SCALE_SUM); /* c's, which stores floats */
    assert_true(quantized_seen_output == 0);
    const uint64_t allocations = run_allocations(test);
    check_run(test->context, 5);
    assert_int_equal(run_allocations(test), allocations);
}

static void test_a_kernel_sees_the_scales_of_its_operands(void **state) {
    run_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, 4, 2, 2));
    tn_tensor_id a = add_weigh(test->graph, "a", x), b = add_weigh(test->graph, "b", a);
    tn_tensor_id sum = add_node(test->graph, "Both", "sum", 2, TENSORS(b, a));
    tn_tensor_id rect = add_unary(test->graph, "Rect", "rect", sum);
    run_output(test->graph, add_unary(test->graph, "Flip", "flip", rect), "y");
    run_must(build_in(test->runtime, test->graph, TN_PRECISION_I8, "Weigh=weigh_i8", &test->plan));
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    _Alignas(64) float data[16];
    fill(data, 0);
    run_bind(test, "x", data, sizeof data);
    run_must(tn_context_run(test->context));
    assert_true(quantized_seen_input == SCALE_A);
    assert_true(quantized_seen_operand == SCALE_A || quantized_seen_operand == 0);
    if (quantized_seen_operand > 0) assert_true(quantized_seen_output == SCALE_SUM);
}

static void test_halves_run(void **state) {
    run_test *test = *state;
    _Alignas(64) float x[16];
    float expected[16];
    make_network(test->graph);
    run_must(
        build_in(test->runtime, test->graph, TN_PRECISION_F16, "Weigh=weigh_f16", &test->plan));
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    fill(x, 0);
    expect(x, 0, 0, 0, expected); /* small halves of integers: exact */
    run_bind(test, "x", x, sizeof x);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 16, expected);
    assert_non_null(strstr(tn_plan_report(test->plan), "\"type\": \"f16\""));
}

/* --- the plan --- */

static void test_the_same_build_gives_the_same_plan_and_inspect_shows_it(void **state) {
    run_test *test = *state;
    tn_plan *again = NULL;
    uint64_t bytes = 0, again_bytes = 0;
    char path[] = "/tmp/tenon_quantized_XXXXXX", *json = NULL;
    build_bytes(test);
    run_must(build_in(test->runtime, test->graph, TN_PRECISION_I8, "Weigh=weigh_i8", &again));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    const void *again_data = tn_plan_bytes(again, &again_bytes);
    assert_int_equal(bytes, again_bytes);
    assert_memory_equal(data, again_data, bytes);
    tn_plan_destroy(again);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    run_must(tn_plan_save(test->plan, path));
    run_must(tn_plan_inspect(test->runtime, path, &json));
    assert_non_null(
        strstr(json, "\"type\": \"i8\", \"format\": \"linear\", \"scale\": 0.40625, \"shape\": ["));
    assert_non_null(strstr(json, "\"note\": \"no kernel with int8\""));
    assert_non_null(strstr(json, "\"reformats\": 1, \"reformat_ns\": 0, \"type_conversions\": 1,"));
    tn_text_free(test->runtime, json);
    unlink(path);
}

/* cmocka shows the beginning of long texts alone. */
static void assert_same_text(const char *a, const char *b) {
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    if (a[same] != b[same])
        fail_msg("they differ from byte %zu on: '%.120s', '%.120s'", same,
                 a + same - (same < 60 ? same : 60), b + same - (same < 60 ? same : 60));
}

static void test_a_timing_cache_makes_timed_builds_the_same(void **state) {
    run_test *test = *state;
    tn_plan *plans[2] = {NULL, NULL};
    tn_calibration *table = NULL;
    const void *data[2];
    uint64_t bytes[2];
    char path[] = "/tmp/tenon_quantized_XXXXXX", lock[64];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(path);
    make_network(test->graph);
    run_must(calibrate(test->runtime, test->graph, &table));
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .precision = TN_PRECISION_I8,
                                        .calibration = table,
                                        .timing_cache = path};
    for (int i = 0; i < 2; i++) {
        run_must(tn_build(test->graph, &options, &plans[i]));
        data[i] = tn_plan_bytes(plans[i], &bytes[i]);
    }
    unlink(path);
    unlink(lock);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(data[0], data[1], bytes[0]);
    assert_same_text(tn_plan_report(plans[0]), tn_plan_report(plans[1]));
    tn_calibration_destroy(table);
    tn_plan_destroy(plans[0]);
    tn_plan_destroy(plans[1]);
}

/* Puts other bytes where the plan has a scale. */
static void damage_scale(run_test *test, float scale) {
    static unsigned char changed[65536];
    const float known = SCALE_A;
    uint64_t bytes = 0;
    const unsigned char *data = tn_plan_bytes(test->plan, &bytes);
    size_t found = 0;
    assert_true(bytes <= sizeof changed);
    memcpy(changed, data, bytes);
    for (size_t at = 0; at + sizeof known <= bytes; at++)
        if (memcmp(changed + at, &known, sizeof known) == 0) {
            memcpy(changed + at, &scale, sizeof scale);
            found++;
        }
    assert_true(found > 0);
    plan_repair(changed, bytes);
    tn_engine *engine = NULL;
    const tn_status status = tn_engine_load_bytes(test->runtime, changed, bytes, NULL, &engine);
    assert_int_equal(status, TN_ERROR_FORMAT);
    assert_error("damaged type or scale", NULL);
}

static void test_a_scale_that_is_none_is_refused(void **state) {
    const float scales[] = {NAN, 0, -1, INFINITY};
    run_test *test = *state;
    build_bytes(test);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        damage_scale(test, scales[i]);
}

/* Whatever a flipped bit says, the plan is refused, or its kernels chosen again, or it runs. */
static void test_a_flip_of_a_bit_in_any_byte_does_no_harm(void **state) {
    static unsigned char changed[65536];
    run_test *test = *state;
    uint64_t bytes = 0, loaded = 0;
    _Alignas(64) float x[16];
    build_bytes(test);
    fill(x, 0);
    const unsigned char *data = tn_plan_bytes(test->plan, &bytes);
    assert_true(bytes <= sizeof changed);
    for (uint64_t at = 0; at < bytes; at++) {
        tn_engine *engine = NULL;
        tn_context *context = NULL;
        memcpy(changed, data, bytes);
        changed[at] = (unsigned char)(changed[at] ^ 1u << (at * 5 % 8));
        plan_repair(changed, bytes);
        if (tn_engine_load_bytes(test->runtime, changed, bytes, NULL, &engine) != TN_OK) continue;
        loaded++;
        if (tn_engine_input_count(engine) == 1 && tn_context_create(engine, &context) == TN_OK &&
            tn_context_bind_input(context, 0, x, sizeof x) == TN_OK)
            (void)tn_context_run(context);
        tn_context_destroy(context);
        tn_engine_release(engine);
    }
    assert_true(loaded > 0 && loaded < bytes);
}

typedef void change_function(tn_program *program);

static void change_and_check(void **state, change_function *change, const char *reason) {
    run_test *test = *state;
    build_bytes(test);
    run_load(test);
    tn_program *program = (tn_program *)(uintptr_t)test->engine->contents.programs[0];
    assert_int_equal(tn_program_check(program, test->engine->graph), TN_OK);
    change(program);
    assert_int_equal(tn_program_check(program, test->engine->graph), TN_ERROR_FORMAT);
    assert_error(reason, NULL);
}

static tn_program_value *quantized_value(const tn_program *program, uint32_t skip) {
    for (uint32_t v = 0; v < program->value_count; v++)
        if (program->values[v].quantization && skip-- == 0) return &program->values[v];
    fail_msg("no value has a scale");
    return NULL;
}

static void drop_scale(tn_program *program) {
    quantized_value(program, 0)->quantization = NULL;
}
static void test_8_bits_without_a_scale_are_refused(void **state) {
    change_and_check(state, drop_scale, "damaged type or scale");
}
static void widen(tn_program *program) {
    quantized_value(program, 0)->type = TN_I16;
}
static void test_a_scale_on_another_type_is_refused(void **state) {
    change_and_check(state, widen, "damaged type or scale");
}
static void add_scales(tn_program *program) {
    tn_quantization *changed =
        (tn_quantization *)(uintptr_t)quantized_value(program, 0)->quantization;
    changed->count = 4;
}
static void test_several_scales_are_refused(void **state) {
    change_and_check(state, add_scales, "damaged type or scale");
}
static void rescale_one(tn_program *program) {
    static const float other = 4;
    for (uint32_t v = 0; v < program->value_count; v++) {
        tn_quantization *changed = (tn_quantization *)(uintptr_t)program->values[v].quantization;
        if (!changed || *(const float *)changed->scales != SCALE_SUM) continue;
        changed->scales = &other;
        return;
    }
}
static void test_bits_copied_to_another_scale_are_refused(void **state) {
    change_and_check(state, rescale_one, "takes numbers of one scale for those of another");
}
static void hand_out_bytes(tn_program *program) {
    program->values[program->output_values[0]].type = TN_I8;
    program->values[program->output_values[0]].quantization =
        quantized_value(program, 0)->quantization;
}
static void test_an_output_in_8_bits_is_refused(void **state) {
    change_and_check(state, hand_out_bytes, "no value for output 0");
}

/* Sound numbers, but a kernel that has no such combination: chosen again, with the plan's scales.
 */
static void test_another_machine_lowers_again_with_the_plan_s_scales(void **state) {
    run_test *test = *state;
    tn_plan *changed = NULL;
    build_bytes(test);
    run_load(test);
    tn_program *program = (tn_program *)(uintptr_t)test->engine->contents.programs[0];
    program->fingerprint = "a machine of another kind";
    const tn_program *const programs[] = {program};
    run_must(
        tn_plan_write(test->engine->graph, test->engine->contents.profiles, 1, programs, &changed));
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    test->plan = changed;
    run_load(test);
    assert_ptr_not_equal(test->engine->program, test->engine->contents.programs[0]);
    run_must(tn_context_create(test->engine, &test->context));
    _Alignas(64) float x[16];
    float expected[16];
    fill(x, 0);
    expect(x, 0, 0, 0, expected);
    run_bind(test, "x", x, sizeof x);
    run_must(tn_context_run(test->context));
    for (int i = 0; i < 16; i++) /* in floats or in 8 bits, whichever the rule takes */
        assert_true(fabsf(((const float *)run_result(test, 0)->data)[i] - expected[i]) <=
                    0.25f * fabsf(expected[i]) + 40);
}

/* --- options and report --- */

static void test_the_report_names_what_has_no_scale_and_the_log_warns(void **state) {
    run_test *test = *state;
    make_network(test->graph);
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .precision = TN_PRECISION_I8};
    run_must(tn_build(test->graph, &options, &test->plan));
    const char *report = tn_plan_report(test->plan);
    assert_non_null(strstr(report, "\"precision\": \"int8\""));
    assert_non_null(
        strstr(report, "\"why\": \"no scale\", \"text\": \"no scale for tensor 'x': calibrate"));
    assert_non_null(strstr(report, "\"why\": \"no kernel with int8\""));
    assert_non_null(strstr(report, "\"without_scale\": [\"x\""));
    assert_non_null(strstr(run_log, "have no scale and stay in 32-bit floats, tensor 'x' first"));
}

static void test_the_report_counts_conversions_and_their_cost(void **state) {
    run_test *test = *state;
    build_bytes(test);
    const char *report = tn_plan_report(test->plan);
    assert_non_null(strstr(report, "\"from_type\": \"f32\", \"to_type\": \"i8\""));
    assert_non_null(strstr(report, "\"type_conversions\": 1"));
    assert_non_null(strstr(report, "\"bytes\": 16,"));
    assert_non_null(strstr(report, "\"scale\": 0.40625"));
}

static void test_names_to_keep_must_be_there(void **state) {
    run_test *test = *state;
    const char *const keep[] = {"a", "reckt"};
    make_network(test->graph);
    tn_builder_options options = {.size = sizeof(options),
                                  .threads = 1,
                                  .flags = TN_BUILD_NO_TIMING,
                                  .precision = TN_PRECISION_I8,
                                  .keep = keep,
                                  .keep_count = 2};
    assert_int_equal(tn_build(test->graph, &options, &test->plan), TN_ERROR_NOT_FOUND);
    assert_error("no node 'reckt'", NULL);
    assert_error("the nearest is 'rect'", NULL);
    options.keep_count = 1;
    run_must(tn_build(test->graph, &options, &test->plan));
    assert_non_null(strstr(tn_plan_report(test->plan), "\"why\": \"kept by the caller\""));
}

/* Mul(x, Sigmoid(x)) becomes one node, which has the name of the Mul alone. */
static void test_a_node_that_became_part_of_another_is_still_kept(void **state) {
    run_test *test = *state;
    const char *const keep[] = {"gate"};
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(8)), gate = 0, product = 0;
    const tn_node_description sigmoid = {.size = sizeof(sigmoid),
                                         .domain = "",
                                         .op = "Sigmoid",
                                         .name = "gate",
                                         .input_count = 1,
                                         .inputs = &x,
                                         .output_count = 1};
    run_must(tn_graph_add_node(test->graph, &sigmoid, &gate));
    const tn_node_description mul = {.size = sizeof(mul),
                                     .domain = "",
                                     .op = "Mul",
                                     .name = "product",
                                     .input_count = 2,
                                     .inputs = TENSORS(x, gate),
                                     .output_count = 1};
    run_must(tn_graph_add_node(test->graph, &mul, &product));
    run_output(test->graph, product, "y");
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .precision = TN_PRECISION_I8,
                                        .keep = keep,
                                        .keep_count = 1};
    run_must(tn_build(test->graph, &options, &test->plan));
    const char *report = tn_plan_report(test->plan);
    assert_null(strstr(report, "\"op\": \"Sigmoid\""));
    assert_non_null(strstr(report, "\"why\": \"kept by the caller\""));
}

/* y = square(max(b(one(x)) + a(x), 0)): one and a are the same, and the first of them is left. */
static void make_equal_branches(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 4, 2, 2));
    tn_tensor_id one = add_weigh(graph, "one", x), a = add_weigh(graph, "a", x);
    tn_tensor_id b = add_weigh(graph, "b", one);
    tn_tensor_id sum = add_node(graph, "Both", "sum", 2, TENSORS(b, a));
    tn_tensor_id rect = add_unary(graph, "Rect", "rect", sum);
    run_output(graph, add_unary(graph, "Square", "square", rect), "y");
}

static void test_the_scale_of_a_merged_tensor_serves_the_one_that_is_left(void **state) {
    run_test *test = *state;
    make_equal_branches(test->graph);
    run_must(build_in(test->runtime, test->graph, TN_PRECISION_I8, "Weigh=weigh_i8", &test->plan));
    const char *report = tn_plan_report(test->plan);
    assert_non_null(strstr(report, "\"merged\": [\"a\"]"));
    assert_non_null(strstr(report, "\"scale\": 0.40625"));
}

static void test_a_node_that_was_merged_is_still_kept(void **state) {
    run_test *test = *state;
    const char *const keep[] = {"a"};
    make_equal_branches(test->graph);
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .precision = TN_PRECISION_I8,
                                        .keep = keep,
                                        .keep_count = 1};
    run_must(tn_build(test->graph, &options, &test->plan));
    const char *report = tn_plan_report(test->plan);
    const char *left = strstr(report, "\"name\": \"one\"");
    const char *why = strstr(report, "\"why\": \"kept by the caller\"");
    assert_non_null(left);
    assert_true(why && why > left && !memchr(left, '\n', (size_t)(why - left)));
}

static void test_unknown_precisions_are_refused(void **state) {
    run_test *test = *state;
    make_network(test->graph);
    assert_int_equal(build_in(test->runtime, test->graph, TN_PRECISION_I8 + 1, NULL, &test->plan),
                     TN_ERROR_ARGUMENT);
    assert_error("there is no precision 5", NULL);
}

/* --- threads and memory --- */

typedef struct worker {
    pthread_t thread;
    tn_engine *engine;
    int seed;
} worker;

static void *work(void *user) {
    const worker *self = user;
    tn_context *context = NULL;
    run_must(tn_context_create(self->engine, &context));
    for (int i = 0; i < 200; i++)
        check_run(context, self->seed + i);
    tn_context_destroy(context);
    return NULL;
}

static void test_two_contexts_on_two_threads(void **state) {
    run_test *test = *state;
    worker workers[2];
    build_bytes(test);
    run_load(test);
    for (int i = 0; i < 2; i++) {
        workers[i] = (worker){.engine = test->engine, .seed = i * 7};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

static tn_status live_whole(run_test *test) {
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    _Alignas(64) float x[16];
    uint64_t bytes = 0;
    tn_status status =
        build_in(test->runtime, test->graph, TN_PRECISION_I8, "Weigh=weigh_i8", &plan);
    const void *data = plan ? tn_plan_bytes(plan, &bytes) : NULL;
    fill(x, 0);
    if (status == TN_OK) status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, x, sizeof x);
    if (status == TN_OK) status = tn_context_run(context);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return status;
}

static void test_allocations_that_fail_one_by_one(void **state) {
    run_test *test = *state;
    uint64_t failures = 0;
    make_network(test->graph);
    run_must(live_whole(test));
    for (;; failures++) {
        const int64_t live = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + failures + 1;
        const tn_status status = live_whole(test);
        assert_int_equal(test->allocator.live, live);
        if (test->allocator.allocations < test->allocator.fail_at) break; /* none was left */
        if (status == TN_OK) continue; /* it was not needed after all, like a log line's */
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    test->allocator.fail_at = 0;
    assert_true(failures > 50);
    run_must(live_whole(test));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        QUANTIZED_TEST(test_a_plan_in_8_bits_runs_without_the_table),
        QUANTIZED_TEST(test_a_kernel_sees_the_scales_of_its_operands),
        QUANTIZED_TEST(test_halves_run),
        QUANTIZED_TEST(test_the_same_build_gives_the_same_plan_and_inspect_shows_it),
        QUANTIZED_TEST(test_a_timing_cache_makes_timed_builds_the_same),
        QUANTIZED_TEST(test_a_scale_that_is_none_is_refused),
        QUANTIZED_TEST(test_a_flip_of_a_bit_in_any_byte_does_no_harm),
        QUANTIZED_TEST(test_8_bits_without_a_scale_are_refused),
        QUANTIZED_TEST(test_a_scale_on_another_type_is_refused),
        QUANTIZED_TEST(test_several_scales_are_refused),
        QUANTIZED_TEST(test_bits_copied_to_another_scale_are_refused),
        QUANTIZED_TEST(test_an_output_in_8_bits_is_refused),
        QUANTIZED_TEST(test_another_machine_lowers_again_with_the_plan_s_scales),
        QUANTIZED_TEST(test_the_report_names_what_has_no_scale_and_the_log_warns),
        QUANTIZED_TEST(test_the_report_counts_conversions_and_their_cost),
        QUANTIZED_TEST(test_names_to_keep_must_be_there),
        QUANTIZED_TEST(test_a_node_that_became_part_of_another_is_still_kept),
        QUANTIZED_TEST(test_the_scale_of_a_merged_tensor_serves_the_one_that_is_left),
        QUANTIZED_TEST(test_a_node_that_was_merged_is_still_kept),
        QUANTIZED_TEST(test_unknown_precisions_are_refused),
        QUANTIZED_TEST(test_two_contexts_on_two_threads),
        QUANTIZED_TEST(test_allocations_that_fail_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
