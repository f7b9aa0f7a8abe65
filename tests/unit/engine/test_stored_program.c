/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored programs that do not fit: damaged on purpose, or made for libraries that have changed
 * since. Kernels are chosen again and the results are right, whatever the program said.
 */
#include "run_test.h"

#include "plan/plan.h"

/* y = -(3 (2 s + s) + 1), where s = x + 1; blocked, fused and in place. */
static void make_network(run_test *test) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, 4, 1, 1));
    tn_tensor_id step = run_unary(test->graph, "Step", "step", x);
    tn_tensor_id gain = run_unary(test->graph, "Gain", "gain", step);
    tn_tensor_id sum = run_node(test->graph, "Sum", "sum", 2, TENSORS(gain, step));
    tn_tensor_id blocked = run_unary(test->graph, "Blocked", "blocked", sum);
    tn_tensor_id plus = run_unary(test->graph, "Step", "plus", blocked);
    run_output(test->graph, run_unary(test->graph, "Negate", "negate", plus), "y");
    run_build_with(test, 0, NULL, 0);
}

static void check_result(run_test *test) {
    run_buffer in = {.aligned = {1, 2, 3, 4}};
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", in.aligned, 16);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 4, FLOATS(-19, -28, -37, -46));
    tn_context_destroy(test->context);
    test->context = NULL;
}

static tn_program_step *step_of(const run_test *test, tn_program *program, const char *node) {
    for (uint32_t s = 0; s < program->step_count; s++) {
        const uint32_t index = program->steps[s].node;
        if (index != TN_NO_NODE && strcmp(test->engine->graph->nodes[index].name, node) == 0)
            return &program->steps[s];
    }
    fail_msg("no step does node '%s'", node);
    return NULL;
}

typedef void change_function(const run_test *test, tn_program *program);

/* Loads the plan, changes its program, writes it anew and loads that. */
static void load_changed(run_test *test, change_function *change) {
    tn_plan *changed = NULL;
    run_load(test);
    tn_program *program = (tn_program *)(uintptr_t)test->engine->contents.programs[0];
    assert_ptr_equal(test->engine->program, program); /* as it is, it fits */
    assert_string_equal(run_log, "");
    change(test, program);
    const tn_program *const programs[] = {program};
    run_must(
        tn_plan_write(test->engine->graph, test->engine->contents.profiles, 1, programs, &changed));
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    test->plan = changed;
    run_load(test);
}

static void expect_refused(run_test *test, change_function *change, const char *reason) {
    make_network(test);
    load_changed(test, change);
    if (!strstr(run_log, reason)) fail_msg("'%s' is not in the log '%s'", reason, run_log);
    assert_non_null(strstr(run_log, "kernels are chosen again"));
    assert_ptr_not_equal(test->engine->program, test->engine->contents.programs[0]);
    check_result(test);
}

static void test_program_as_it_was_is_taken(void **state) {
    run_test *test = *state;
    make_network(test);
    run_load(test);
    check_result(test);
    assert_int_equal(run_gain_fused, 1);
    assert_int_equal(run_negated_in_place, 1);
    assert_ptr_equal(test->engine->program, test->engine->contents.programs[0]);
}

static void name_nobody(const run_test *test, tn_program *program) {
    step_of(test, program, "blocked")->kernel = "nobody";
}
static void test_missing_kernel(void **state) {
    expect_refused(*state, name_nobody, "kernel 'nobody' of library 'run_layers' is not there");
}

static void ask_tactic(const run_test *test, tn_program *program) {
    step_of(test, program, "gain")->tactic = 1;
}
static void test_missing_tactic(void **state) {
    expect_refused(*state, ask_tactic, "asks for a tactic that it lacks");
}

static void give_format(const run_test *test, tn_program *program) {
    program->values[step_of(test, program, "step")->outputs[0]].format = TN_NHWC;
}
static void test_reference_in_a_format(void **state) {
    expect_refused(*state, give_format, "has formats that only kernels can have");
}

static void take_format(const run_test *test, tn_program *program) {
    program->values[step_of(test, program, "blocked")->outputs[0]].format = TN_C8;
}
static void test_kernel_in_another_format(void **state) {
    expect_refused(*state, take_format, "gives it types or formats that it does not take");
}

static void give_type(const run_test *test, tn_program *program) {
    program->values[step_of(test, program, "step")->outputs[0]].type = TN_F64;
}
static void test_another_type(void **state) {
    expect_refused(*state, give_type, "has other types than the network");
}

static void leave_to_reshape(const run_test *test, tn_program *program) {
    step_of(test, program, "step")->is_host = true;
}
static void test_work_of_the_run_left_to_reshape(void **state) {
    expect_refused(*state, leave_to_reshape, "leaves to the reshape what belongs to the run");
}

static void overwrite(const run_test *test, tn_program *program) {
    step_of(test, program, "plus")->is_in_place = true;
}
static void test_reference_in_place(void **state) {
    expect_refused(*state, overwrite, "overwrites an input");
}

static void fuse_into_another(const run_test *test, tn_program *program) {
    tn_program_step *gain = step_of(test, program, "gain");
    gain->kernel = "in_place"; /* a kernel of Negate */
}
static void test_kernel_of_another_operator(void **state) {
    expect_refused(*state, fuse_into_another, "kernel 'in_place'");
}

static void change_device(const run_test *test, tn_program *program) {
    (void)test;
    program->fingerprint = "a machine of another kind";
}
static void test_another_machine_lowers_again(void **state) {
    run_test *test = *state;
    make_network(test);
    load_changed(test, change_device);
    assert_string_equal(run_log,
                        "kernels are chosen again, without timing: the plan was built "
                        "for 'a machine of another kind', not 'cpu'"); /* that is no fault */
    assert_ptr_not_equal(test->engine->program, test->engine->contents.programs[0]);
    check_result(test);
}

static void test_other_threads_lower_again(void **state) {
    run_test *test = *state;
    uint64_t bytes;
    make_network(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    const tn_engine_options options = {.size = sizeof(options), .threads = 2};
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    assert_non_null(strstr(run_log, "kernels are chosen again, without timing: the plan was built "
                                    "for 1 thread, not 2"));
    assert_int_equal(test->engine->program->threads, 2);
    assert_int_equal(test->engine->pool.threads, 2);
    check_result(test);
}

static void expect_exactly_refused(run_test *test, uint32_t threads, const char *reason) {
    const tn_engine_options options = {
        .size = sizeof(options), .threads = threads, .flags = TN_ENGINE_EXACT};
    tn_engine *engine = NULL;
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, &options, &engine),
                     TN_ERROR_NOT_FOUND);
    assert_null(engine);
    if (!strstr(tn_last_error()->message, reason))
        fail_msg("'%s' is not in '%s'", reason, tn_last_error()->message);
}

/* Exactly what was built, or nothing: another machine, other threads, kernels that are gone. */
static void test_exact_loading_chooses_nothing_again(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {.size = sizeof(options), .flags = TN_ENGINE_EXACT};
    uint64_t bytes;
    make_network(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    tn_engine_release(test->engine);
    test->engine = NULL;
    expect_exactly_refused(test, 2, "it was built for 1 thread, not 2");
    load_changed(test, change_device);
    tn_engine_release(test->engine);
    test->engine = NULL;
    expect_exactly_refused(test, 0, "it was built for 'a machine of another kind', not 'cpu'");
    expect_exactly_refused(test, 3, "for 1 thread, not 3");
    tn_plan_destroy(test->plan);
    test->plan = NULL;
    run_build_with(test, 0, NULL, 0);
    run_log[0] = '\0';
    load_changed(test, name_nobody);
    tn_engine_release(test->engine);
    test->engine = NULL;
    expect_exactly_refused(test, 0, "kernel 'nobody' of library 'run_layers' is not there");
}

/* The same plan where the library's kernels are others, or gone. */
static void test_changed_libraries_are_no_error(void **state) {
    run_test *test = *state;
    static const tn_library_entry entries[] = {run_entry_changed, run_entry_bare};
    uint64_t bytes;
    make_network(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    for (int i = 0; i < 2; i++) {
        tn_runtime *runtime = run_runtime(&test->allocator.functions, entries[i]);
        assert_non_null(runtime);
        run_must(tn_engine_load_bytes(runtime, data, bytes, NULL, &test->engine));
        tn_runtime_release(runtime);
        assert_non_null(strstr(run_log, "kernels are chosen again"));
        check_result(test);
        tn_engine_release(test->engine);
        test->engine = NULL;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_program_as_it_was_is_taken),
        RUN_TEST(test_missing_kernel),
        RUN_TEST(test_missing_tactic),
        RUN_TEST(test_reference_in_a_format),
        RUN_TEST(test_kernel_in_another_format),
        RUN_TEST(test_another_type),
        RUN_TEST(test_work_of_the_run_left_to_reshape),
        RUN_TEST(test_reference_in_place),
        RUN_TEST(test_kernel_of_another_operator),
        RUN_TEST(test_another_machine_lowers_again),
        RUN_TEST(test_other_threads_lower_again),
        RUN_TEST(test_exact_loading_chooses_nothing_again),
        RUN_TEST(test_changed_libraries_are_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
