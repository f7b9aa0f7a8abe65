/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel has of its own: fields that are filled from the operator's, state that the plan
 * keeps, timings of its own key, combinations by callback. From build to run, through the plan.
 */
#include "own_layers.h" /* before cmocka's macro `fail` */

#include "run_test.h"

#include <unistd.h>

enum { CHANNELS = 5 };

static int setup(void **state) {
    memset(&own_probe, 0, sizeof(own_probe));
    if (run_test_setup(state) != 0) return -1;
    return tn_runtime_register_library(((run_test *)*state)->runtime, own_entry) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    const int status = run_test_teardown(state);
    return own_probe.prepared + own_probe.loaded == own_probe.released ? status : -1;
}

#define OWN_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static tn_tensor_id add_scale(run_test *test, const char *name, tn_tensor_id x, uint32_t count,
                              const tn_attribute *const *attributes) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "own",
                                      .op = "Scale",
                                      .name = name,
                                      .input_count = 1,
                                      .inputs = &x,
                                      .output_count = 1,
                                      .attribute_count = count,
                                      .attributes = attributes};
    tn_tensor_id y = TN_NO_TENSOR;
    run_must(tn_graph_add_node(test->graph, &node, &y));
    return y;
}

/* y = Scale(x), `factor` 0: by default. */
static void make_network(run_test *test, double factor) {
    const tn_attribute given = {
        .size = sizeof(given), .type = TN_FIELD_F32, .name = "factor", .f = factor};
    const tn_attribute *const attributes[] = {&given};
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 1, 1));
    run_output(test->graph, add_scale(test, "scale", x, factor != 0, attributes), "y");
}

static tn_status build(run_test *test, const char *pin, const char *cache) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = cache ? 0 : TN_BUILD_NO_TIMING,
                                        .timing_cache = cache,
                                        .pins = &pin,
                                        .pin_count = 1};
    return tn_build(test->graph, &options, &test->plan);
}

static void run_scaled(run_test *test, float factor) {
    run_buffer in = {.aligned = {1, 2, 3, 4, 5}};
    float expected[CHANNELS];
    for (int i = 0; i < CHANNELS; i++)
        expected[i] = factor * in.aligned[i];
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", in.aligned, CHANNELS * sizeof(float));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), CHANNELS, expected);
    tn_context_destroy(test->context);
    test->context = NULL;
}

static void load_and_run(run_test *test, float factor) {
    run_load(test);
    assert_ptr_equal(test->engine->program, test->engine->contents.programs[0]);
    run_scaled(test, factor);
}

/* --- fields --- */

static void test_fields_come_from_the_operators_by_name(void **state) {
    run_test *test = *state;
    make_network(test, 0.5);
    run_must(build(test, "scale=fields", NULL));
    own_probe.params = NULL;
    load_and_run(test, 0.5f);
    const own_params *params = own_probe.params;
    assert_false(own_probe.has_lost_params);
    assert_true(params->factor == 0.5);
    assert_int_equal(params->count, 3);
    assert_int_equal(params->mode, 7); /* forward, in the kernel's own numbers */
    assert_int_equal(params->table.count, 2);
    assert_true(params->table.items[0] == 1 && params->table.items[1] == 0.5);
    assert_null(params->label); /* the operator's: absent */
    assert_true(params->missing == 7);
    assert_int_equal(params->present, 1); /* factor alone was given */
}

static void expect_misfit(run_test *test, const char *pin) {
    make_network(test, 2);
    assert_int_equal(build(test, pin, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("does not take this node", "scale");
}

static void test_field_that_the_operator_lacks(void **state) {
    expect_misfit(*state, "scale=lacks");
}
static void test_field_of_another_type(void **state) {
    expect_misfit(*state, "scale=typed");
}
static void test_value_outside_the_kernels_bounds(void **state) {
    expect_misfit(*state, "scale=bounded");
}

/* --- state --- */

static void test_plan_keeps_the_state(void **state) {
    run_test *test = *state;
    make_network(test, 0.25);
    run_must(build(test, "scale=state", NULL));
    assert_int_equal(own_probe.prepared, 1);
    assert_int_equal(own_probe.saved, 2); /* the length, then the bytes */
    assert_int_equal(own_probe.released, 1);
    load_and_run(test, 0.25f);
    assert_int_equal(own_probe.prepared, 1);
    assert_int_equal(own_probe.loaded, 1);
}

static const tn_program_step *state_step(const run_test *test) {
    const tn_program *program = test->engine->contents.programs[0];
    for (uint32_t s = 0; s < program->step_count; s++)
        if (program->steps[s].has_state) return &program->steps[s];
    fail_msg("no step has a state");
    return NULL;
}

/* Writes the plan anew with other bytes in it. */
static void change_state(run_test *test, const void *data, size_t bytes) {
    tn_plan *changed = NULL;
    run_must(build(test, "scale=state", NULL));
    run_load(test);
    tn_program_step *step = (tn_program_step *)(uintptr_t)state_step(test);
    step->has_state = data != NULL;
    step->state = data;
    step->state_bytes = bytes;
    run_must(tn_plan_write(test->engine->graph, test->engine->contents.profiles, 1,
                           test->engine->contents.programs, &changed));
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    test->engine = NULL;
    test->plan = changed;
    own_probe.loaded = own_probe.prepared = own_probe.released = 0;
    run_log[0] = 0;
}

static void test_plan_without_state_is_prepared(void **state) {
    run_test *test = *state;
    make_network(test, 3);
    change_state(test, NULL, 0);
    load_and_run(test, 3);
    assert_int_equal(own_probe.prepared, 1);
    assert_int_equal(own_probe.loaded, 0);
    assert_string_equal(run_log, "");
}

static void test_state_is_what_counts(void **state) {
    run_test *test = *state;
    const own_state other = {OWN_MARK, 11};
    make_network(test, 3);
    change_state(test, &other, sizeof(other));
    load_and_run(test, 11);
}

static void test_state_that_is_not_loaded_is_prepared_anew(void **state) {
    run_test *test = *state;
    make_network(test, 3);
    change_state(test, "damaged", 8);
    load_and_run(test, 3);
    assert_int_equal(own_probe.prepared, 1);
    assert_non_null(strstr(run_log, "the state that the plan keeps of a kernel is not used: node "
                                    "'scale'"));
    assert_non_null(strstr(run_log, "no state of mine"));
}

static void test_exact_loading_refuses_such_a_state(void **state) {
    run_test *test = *state;
    const tn_engine_options exact = {.size = sizeof(exact), .flags = TN_ENGINE_EXACT};
    uint64_t bytes;
    make_network(test, 3);
    change_state(test, "", 0);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, &exact, &test->engine),
                     TN_ERROR_FORMAT);
    assert_error("a state of 0 bytes", "kernel state");
}

static void test_save_that_writes_more_is_refused(void **state) {
    run_test *test = *state;
    own_probe.damages = true;
    make_network(test, 3);
    assert_int_equal(build(test, "scale=state", NULL), TN_ERROR_PLUGIN);
    assert_error("save wrote 8 bytes of state; 1 are possible", "kernel state");
}

/* --- timings --- */

/* How many timings the file has: after the name, the version and a zero. */
static uint64_t count_timings(const char *path) {
    uint64_t words[3] = {0};
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    assert_int_equal(fread(words, sizeof(*words), 3, file), 3);
    fclose(file);
    return words[2];
}

/* What else is in every file: how far the estimates of the kernel were off. */
#define OTHER_TIMINGS 1u

/* Builds two equal nodes with the file, and answers how many timings it keeps of the kernel. */
static uint64_t build_two(run_test *test, const char *pin) {
    char path[] = "/tmp/tenon_own_XXXXXX", lock[sizeof(path) + 8];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 1, 1));
    tn_tensor_id y = add_scale(test, "scale", x, 0, NULL);
    run_output(test->graph, add_scale(test, "scale2", y, 0, NULL), "y");
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .timing_cache = path, .force_kernel = pin};
    run_must(tn_build(test->graph, &options, &test->plan));
    const uint64_t count = count_timings(path) - OTHER_TIMINGS;
    snprintf(lock, sizeof(lock), "%s.lock", path);
    unlink(path);
    unlink(lock);
    return count;
}

static void test_timings_of_unknown_reasons_are_not_kept(void **state) {
    assert_int_equal(build_two(*state, "Scale=state"), 0);
    assert_true(own_probe.prepared >= 4); /* each is timed, at times again, and saved */
}

static void test_timings_with_a_key_are_kept_and_shared(void **state) {
    assert_int_equal(build_two(*state, "Scale=keyed"), 1);
    assert_true(own_probe.prepared >= 3);
    assert_true(own_probe.keyed > 0);
}

static void test_timings_whose_key_is_refused_are_not_kept(void **state) {
    own_probe.refuses_key = true;
    assert_int_equal(build_two(*state, "Scale=keyed"), 0);
    assert_true(own_probe.prepared >= 4);
}

/* --- combinations --- */

static void test_combinations_by_callback(void **state) {
    run_test *test = *state;
    own_probe.combinations = 2;
    make_network(test, 4);
    run_must(build(test, "scale=asked:f32:c64 -> f32:c64", NULL));
    load_and_run(test, 4);
    const tn_program *program = test->engine->program;
    bool is_blocked = false;
    for (uint32_t v = 0; v < program->value_count; v++)
        is_blocked |= program->values[v].format == TN_C64;
    assert_true(is_blocked);
}

static void test_combinations_end_at_the_limit(void **state) {
    run_test *test = *state;
    make_network(test, 4);
    run_must(build(test, "scale=asked", NULL));
    assert_int_equal(own_probe.asked, TN_MAX_COMBINATIONS);
    load_and_run(test, 4);
}

static void test_bad_combination_is_named(void **state) {
    run_test *test = *state;
    own_probe.bad_text = "f32 -> f33";
    make_network(test, 4);
    assert_int_equal(build(test, "scale=asked", NULL), TN_ERROR_PLUGIN);
    assert_error("combination \"f32 -> f33\": column 8: expected element types",
                 "kernel asked (library own_layers): combination 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        OWN_TEST(test_fields_come_from_the_operators_by_name),
        OWN_TEST(test_field_that_the_operator_lacks),
        OWN_TEST(test_field_of_another_type),
        OWN_TEST(test_value_outside_the_kernels_bounds),
        OWN_TEST(test_plan_keeps_the_state),
        OWN_TEST(test_plan_without_state_is_prepared),
        OWN_TEST(test_state_is_what_counts),
        OWN_TEST(test_state_that_is_not_loaded_is_prepared_anew),
        OWN_TEST(test_exact_loading_refuses_such_a_state),
        OWN_TEST(test_save_that_writes_more_is_refused),
        OWN_TEST(test_timings_of_unknown_reasons_are_not_kept),
        OWN_TEST(test_timings_with_a_key_are_kept_and_shared),
        OWN_TEST(test_timings_whose_key_is_refused_are_not_kept),
        OWN_TEST(test_combinations_by_callback),
        OWN_TEST(test_combinations_end_at_the_limit),
        OWN_TEST(test_bad_combination_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
