/* SPDX-License-Identifier: Apache-2.0 */
/* Builds under a bound on the loss of accuracy: what is measured, which nodes go back to 32-bit
 * floats, bounds that cannot be held, options that make no sense, stopping, no memory. */
#include "batches.h"
#include "test_clock.h"

#include "program/calibration_table.h"

/* --- operators that pass their input on; in 8 bits "Exact" rounds and "Coarse" loses 5 bits --- */

static tn_status pass_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}

static tn_status pass_8bits(tn_call *call, int32_t step) {
    const tn_tensor *from = call->inputs[0], *to = call->outputs[0];
    if (!from->quantization || !to->quantization) return TN_ERROR_INTERNAL;
    const float ratio =
        *(const float *)from->quantization->scales / *(const float *)to->quantization->scales;
    for (int64_t i = 0; i < run_count(from); i++) {
        const float stored = (float)(((const int8_t *)from->data)[i] / step * step);
        ((int8_t *)to->data)[i] = (int8_t)fmaxf(-128, fminf(127, nearbyintf(stored * ratio)));
    }
    return TN_OK;
}
static tn_status run_exact(tn_call *call) {
    return pass_8bits(call, 1);
}
static tn_status run_coarse(tn_call *call) {
    return pass_8bits(call, 32);
}

/* "Fickle" loses as much as "Coarse", in a kernel that refuses nodes or is slow for a while. */
static bool fickle_refuses, fickle_lacks_floats;
static uint64_t fickle_ns;
#define FICKLE_FLOAT_NS 100000

static tn_status fickle_accepts(tn_call *call) {
    (void)call;
    return fickle_refuses ? TN_ERROR_UNSUPPORTED : TN_OK;
}
static tn_status fickle_accepts_floats(tn_call *call) {
    (void)call;
    return fickle_lacks_floats ? TN_ERROR_UNSUPPORTED : TN_OK;
}
static tn_status run_fickle(tn_call *call) {
    test_clock_take(fickle_ns);
    return pass_8bits(call, 32);
}
static tn_status run_fickle_floats(tn_call *call) {
    test_clock_take(FICKLE_FLOAT_NS);
    return pass_reference(call);
}
static bool settle_fickle(void *user, const char *stage, uint64_t done, uint64_t count) {
    fickle_refuses = false;
    fickle_ns = 0;
    return test_batches_progress(user, stage, done, count);
}

#define PASS_OPERATOR(operator_name)                                                               \
    {                                                                                              \
        .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "lossy",    \
        .name = (operator_name), .doc = "passes its input on", TN_INPUTS(run_unary_inputs),        \
        TN_OUTPUTS(run_unary_outputs), .infer = run_same_infer, .reference = pass_reference        \
    }
static const tn_operator exact_operator = PASS_OPERATOR("Exact"),
                         coarse_operator = PASS_OPERATOR("Coarse"),
                         fickle_operator = PASS_OPERATOR("Fickle");
static const char *const lossy_combinations[] = {"qi8 -> qi8"};
static const char *const float_combinations[] = {"f32 -> f32"};
static const tn_kernel exact_kernel = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "lossy",
                                       .op = "Exact",
                                       .device = "cpu",
                                       .name = "int8",
                                       TN_COMBINATIONS(lossy_combinations),
                                       .run = run_exact},
                       coarse_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "lossy",
                                        .op = "Coarse",
                                        .device = "cpu",
                                        .name = "int8",
                                        TN_COMBINATIONS(lossy_combinations),
                                        .run = run_coarse},
                       fickle_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "lossy",
                                        .op = "Fickle",
                                        .device = "cpu",
                                        .name = "int8",
                                        TN_COMBINATIONS(lossy_combinations),
                                        .accepts = fickle_accepts,
                                        .run = run_fickle},
                       fickle_float_kernel = {.size = sizeof(tn_kernel),
                                              .revision = 1,
                                              .domain = "lossy",
                                              .op = "Fickle",
                                              .device = "cpu",
                                              .name = "f32",
                                              TN_COMBINATIONS(float_combinations),
                                              .accepts = fickle_accepts_floats,
                                              .run = run_fickle_floats};
static const tn_operator *const lossy_operators[] = {&exact_operator, &coarse_operator,
                                                     &fickle_operator};
static const tn_kernel *const lossy_kernels[] = {&exact_kernel, &coarse_kernel, &fickle_kernel,
                                                 &fickle_float_kernel};

static tn_library *lossy_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "lossy_layers",
                                 .version = "1",
                                 .operator_count = TN_COUNT(lossy_operators),
                                 .operators = lossy_operators,
                                 .kernel_count = TN_COUNT(lossy_kernels),
                                 .kernels = lossy_kernels};
    (void)host;
    return &library;
}

static tn_tensor_id pass(run_test *test, const char *op, const char *name, tn_tensor_id input) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "lossy",
                                      .op = op,
                                      .name = name,
                                      .input_count = 1,
                                      .inputs = &input,
                                      .output_count = 1};
    tn_tensor_id id = TN_NO_TENSOR;
    run_must(tn_graph_add_node(test->graph, &node, &id));
    return id;
}

/* --- the network: x -> Exact "first" -> Coarse or Fickle "middle" -> Exact "last" -> y --- */

typedef struct accurate_test {
    test_batches batches;
    tn_calibration *table;
    tn_builder_options build;
    tn_accuracy_options options;
} accurate_test;

static void start_with(run_test *test, accurate_test *own, const char *op, double max_loss) {
    run_must(tn_runtime_register_library(test->runtime, lossy_entry));
    const tn_tensor_id x =
        add_input(test->graph, "x", TN_F32, 2, EXTENTS(BATCH_EXTENT, BATCH_EXTENT));
    const tn_tensor_id first = pass(test, "Exact", "first", x);
    const tn_tensor_id middle = pass(test, op, "middle", first);
    run_output(test->graph, pass(test, "Exact", "last", middle), "y");
    test_batches_init(&own->batches, 1);
    own->table = NULL;
    const tn_calibrate_options calibrate = {.size = sizeof(calibrate),
                                            .calibrator = TN_CALIBRATOR_MIN_MAX,
                                            .batches = &own->batches.batches};
    run_must(tn_calibrate(test->graph, &calibrate, &own->table, NULL));
    own->build = (tn_builder_options){.size = sizeof(own->build),
                                      .threads = 1,
                                      .flags = TN_BUILD_NO_TIMING,
                                      .precision = TN_PRECISION_I8,
                                      .calibration = own->table};
    own->options = (tn_accuracy_options){.size = sizeof(own->options),
                                         .max_loss = max_loss,
                                         .build = &own->build,
                                         .batches = &own->batches.batches};
}

static void start(run_test *test, accurate_test *own, double max_loss) {
    start_with(test, own, "Coarse", max_loss);
}

static tn_status build(run_test *test, const accurate_test *own, char **out_report) {
    return tn_build_accurate(test->graph, &own->options, &test->plan, out_report);
}

static void assert_in(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in %s", part, text);
}

static void test_without_a_bound_the_loss_is_only_measured(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    start(test, &own, -1);
    run_must(build(test, &own, &report));
    assert_in(report, "\"precision\": \"int8\", \"max_loss\": null, \"loss\": 0.");
    assert_in(report, "\"measured_alone\": []");
    assert_in(report, "\"batches\": 3");
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

/* The exact ones lose half a step of rounding at most, the coarse one up to 31. */
static void test_the_node_that_loses_most_goes_back_first(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    start(test, &own, 0.05);
    run_must(build(test, &own, &report));
    assert_in(report, "{\"nodes\": [\"middle\"], \"loss\": 0.");
    assert_in(report, "\"kept\": true},\n    {\"nodes\": [\"");
    assert_in(strstr(report, "\"kept\": true") + 1, "\"kept\": false}");
    assert_null(strstr(strstr(report, "\"kept\": true") + 1, "\"kept\": true"));
    tn_text_free(test->runtime, report);
    /* and the plan is that one */
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", own.batches.values[2], sizeof(own.batches.values[2]));
    run_must(tn_context_run(test->context));
    const float *found = run_result(test, 0)->data;
    for (int i = 0; i < BATCH_VALUES; i++)
        assert_true(fabsf(found[i] - own.batches.values[2][i]) < 0.1f);
    tn_calibration_destroy(own.table);
}

static void test_a_bound_of_zero_takes_everything_back(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    start(test, &own, 0);
    run_must(build(test, &own, &report));
    assert_in(report, "\"loss\": 0, \"batches\"");
    assert_null(strstr(report, "\"kept\": false}"));
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

/* The first build leaves the middle in floats, and the one that keeps the others does not. */
static void test_what_only_a_later_build_stores_in_8_bits_goes_back_too(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    fickle_refuses = fickle_lacks_floats = true; /* beside the reference 8 bits win by rule */
    start_with(test, &own, "Fickle", 0);
    own.batches.batches.progress = settle_fickle;
    run_must(build(test, &own, &report));
    assert_in(report, "\"loss\": 0, \"batches\"");
    assert_in(report, "{\"nodes\": [\"middle\"], \"loss\": 0.");
    assert_null(strstr(report, "\"kept\": false}"));
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

/* What the first build measured holds for all of them: a node does not change sides by the noise of
 * another measurement. */
static void test_the_builds_of_a_search_share_their_timings(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    fickle_lacks_floats = false;
    fickle_ns = 5 * FICKLE_FLOAT_NS;
    start_with(test, &own, "Fickle", 0);
    own.build.flags = 0;
    own.batches.batches.progress = settle_fickle;
    run_must(build(test, &own, &report));
    assert_in(report, "\"loss\": 0, \"batches\"");
    assert_null(strstr(report, "middle"));
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

static void test_nodes_that_the_caller_keeps_are_not_measured(void **state) {
    run_test *test = *state;
    accurate_test own;
    const char *const keep[] = {"middle"};
    char *report = NULL;
    start(test, &own, 0);
    own.build.keep = keep;
    own.build.keep_count = 1;
    run_must(build(test, &own, &report));
    assert_null(strstr(report, "\"middle\""));
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

static void test_a_second_lower_type_is_measured_and_taken_back_too(void **state) {
    run_test *test = *state;
    accurate_test own;
    char *report = NULL;
    start(test, &own, 0.05);
    own.build.second_precision = TN_PRECISION_F16;
    run_must(build(test, &own, &report));
    assert_in(report, "\"precision\": \"int8,fp16\", \"max_loss\": 0.05");
    assert_in(report, "{\"nodes\": [\"middle\"], \"loss\": 0.");
    assert_in(report, "\"kept\": true");
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(own.table);
}

static void test_refuses_options_that_make_no_sense(void **state) {
    run_test *test = *state;
    accurate_test own;
    start(test, &own, NAN);
    assert_failed(build(test, &own, NULL), TN_ERROR_RANGE, "not a number");
    own.options.max_loss = 0;
    own.options.batches = NULL;
    assert_failed(build(test, &own, NULL), TN_ERROR_ARGUMENT, "sample inputs");
    assert_failed(tn_build_accurate(test->graph, NULL, &test->plan, NULL), TN_ERROR_ARGUMENT,
                  "options");
    assert_failed(tn_build_accurate(NULL, &own.options, &test->plan, NULL), TN_ERROR_ARGUMENT,
                  "graph");
    tn_calibration_destroy(own.table);
}

static void test_stops_when_the_caller_says_so(void **state) {
    run_test *test = *state;
    accurate_test own;
    start(test, &own, 0);
    own.batches.cancel_at = 1;
    assert_failed(build(test, &own, NULL), TN_ERROR_CANCELLED, "measure");
    assert_null(test->plan);
    tn_calibration_destroy(own.table);
}

static void test_each_refused_allocation_is_an_error_and_nothing_leaks(void **state) {
    run_test *test = *state;
    accurate_test own;
    start(test, &own, 0.05);
    own.batches.batches.count = 1;
    assert_true(read_built_in_tables(test->runtime));
    for (uint64_t n = 1;; n += 1 + n / 40) { /* thousands: later ones in larger steps */
        char *report = NULL;
        const int64_t before = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + n;
        const tn_status status = build(test, &own, &report);
        const bool was_refused = test->allocator.allocations >= test->allocator.fail_at;
        test->allocator.fail_at = 0;
        if (status == TN_OK) {
            tn_text_free(test->runtime, report);
            tn_plan_destroy(test->plan);
            test->plan = NULL;
        } else {
            assert_int_equal(status, TN_ERROR_MEMORY);
            assert_null(test->plan);
            assert_null(report);
        }
        assert_int_equal(test->allocator.live, before);
        if (!was_refused) break;
    }
    tn_calibration_destroy(own.table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_without_a_bound_the_loss_is_only_measured),
        RUN_TEST(test_the_node_that_loses_most_goes_back_first),
        RUN_TEST(test_a_bound_of_zero_takes_everything_back),
        RUN_TEST(test_what_only_a_later_build_stores_in_8_bits_goes_back_too),
        RUN_TEST(test_the_builds_of_a_search_share_their_timings),
        RUN_TEST(test_nodes_that_the_caller_keeps_are_not_measured),
        RUN_TEST(test_a_second_lower_type_is_measured_and_taken_back_too),
        RUN_TEST(test_refuses_options_that_make_no_sense),
        RUN_TEST(test_stops_when_the_caller_says_so),
        RUN_TEST(test_each_refused_allocation_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
