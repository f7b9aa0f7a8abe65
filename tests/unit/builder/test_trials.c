/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that are run whole during a build decide against what kernels take by themselves. */
#include "build_test.h"

#include <math.h>

/* --- a runner whose steps take what the test says --- */

typedef struct network {
    double plain_ns, fused_ns, relu_ns; /* of each step in its network */
    double run_ns;                      /* that a trial takes */
    tn_status status;
    const char *refused; /* networks with this kernel do not open */
    uint32_t slow_race;  /* in which the machine has half its speed; from 1, 0: none */
    uint32_t runs, open, plain_runs;
    double most_ns; /* that the last race was allowed */
} network;
typedef struct opened_program {
    tn_program program;
    network *fake;
} opened_program;

static tn_status open_network(void *user, const tn_program *program, void **out_network) {
    network *fake = user;
    if (fake->status != TN_OK) return tn_fail(fake->status, "of the test's making");
    for (uint32_t i = 0; i < program->step_count && fake->refused; i++)
        if (program->steps[i].kernel && strcmp(program->steps[i].kernel, fake->refused) == 0)
            return tn_fail(TN_ERROR_RANGE, "a kernel of the test's making");
    opened_program *opened = malloc(sizeof *opened);
    assert_non_null(opened);
    *opened = (opened_program){*program, fake};
    fake->open++;
    *out_network = opened;
    return TN_OK;
}

static void close_network(void *user) {
    opened_program *opened = user;
    opened->fake->open--;
    free(opened);
}

static double time_steps(const opened_program *opened, double *out_step_ns) {
    const tn_program *program = &opened->program;
    network *fake = opened->fake;
    double sum = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const char *kernel = program->steps[i].kernel;
        const bool is_plain = kernel && strcmp(kernel, "mix_plain") == 0,
                   is_fused = kernel && strcmp(kernel, "mix_fused") == 0;
        out_step_ns[i] = is_plain ? fake->plain_ns : is_fused ? fake->fused_ns : fake->relu_ns;
        if (fake->runs == fake->slow_race) out_step_ns[i] *= 2;
        sum += out_step_ns[i];
        fake->plain_runs += is_plain;
    }
    return sum;
}

static tn_status race(void *const *networks, uint32_t count, double most_ns,
                      double *const *out_step_ns, double *out_ns) {
    network *fake = ((const opened_program *)networks[0])->fake;
    fake->runs++;
    fake->most_ns = most_ns;
    test_clock_ns += (uint64_t)fake->run_ns;
    for (uint32_t i = 0; i < count; i++)
        out_ns[i] = time_steps(networks[i], out_step_ns[i]);
    return TN_OK;
}

/* Mix and an activation: mix_fused, which absorbs it, takes 1,020 ns by itself, and mix_plain with
 * a step for the activation a little less or more, by `plain_ns`. */
static void add_network(graph_test *test, uint64_t plain_ns) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3)),
                 w = add_floats(test->graph, "w", 1, (const int64_t[]){20}),
                 mixed = add_node(test->graph, "Mix", "mix", 2, TENSORS(x, w));
    add_output(test->graph, add_unary(test->graph, "Relu", "relu", mixed));
    layer_pace_of("mix_c16")->ns = 5000000; /* never worth it here */
    layer_pace_of("mix_plain")->ns = plain_ns;
    layer_pace_of("mix_fused")->ns = 1020000;
}

static tn_status lower_with(build_stage *stage, network *fake, tn_timing_cache *cache) {
    const tn_lower_runner runner = {open_network, fake, close_network, race};
    return stage_lower(stage, (tn_lower_options){.runner = &runner, .cache = cache});
}

static bool is_fused(graph_test *test, network *fake) {
    build_stage stage;
    stage_infer(&stage, test->graph, NULL);
    if (lower_with(&stage, fake, NULL) != TN_OK) fail_msg("%s", tn_last_error()->message);
    const bool answer = step_of(&stage, "relu") == NULL;
    assert_int_equal(fake->open, 0);
    stage_end(&stage);
    return answer;
}

/* --- tests --- */

static void test_a_network_overrules_times_alone(void **state) {
    network fused_wins = {.plain_ns = 2000e3, .fused_ns = 1000e3, .relu_ns = 1e3},
            plain_wins = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3};
    add_network(*state, 1000000);
    assert_true(is_fused(*state, &fused_wins));
    assert_false(is_fused(*state, &plain_wins));
    assert_true(fused_wins.runs >= 1 && plain_wins.runs >= 2);
}

/* What is far behind by itself is not tried, whatever it would take. */
static void test_what_is_far_behind_does_not_run(void **state) {
    network fake = {.plain_ns = 1e3, .fused_ns = 1000e3, .relu_ns = 1e3};
    add_network(*state, 4000000);
    assert_true(is_fused(*state, &fake));
    assert_int_equal(fake.plain_runs, 0);
}

/* But what estimates choose does. */
static void test_what_estimates_choose_runs(void **state) {
    network fake = {.plain_ns = 1000e3, .fused_ns = 100e3, .relu_ns = 1e3};
    add_network(*state, 1000000);
    layer_pace_of("mix_fused")->ns = 4000000;
    assert_true(is_fused(*state, &fake));
}

/* The same networks run, and the same one is chosen. */
static void test_a_slow_second_of_the_machine_decides_nothing(void **state) {
    add_network(*state, 1000000);
    layer_pace_of("mix_c16")->ns = 1001000;
    for (int is_fused_better = 0; is_fused_better < 2; is_fused_better++) {
        network quiet = {.plain_ns = is_fused_better ? 1500e3 : 300e3,
                         .fused_ns = 1300e3,
                         .relu_ns = 800e3},
                slow = quiet;
        const bool expected = is_fused(*state, &quiet);
        assert_int_equal(expected, is_fused_better);
        assert_true(quiet.runs > 3);
        for (uint32_t race = 1; race <= quiet.runs; race++) {
            slow.slow_race = race;
            slow.runs = 0;
            assert_int_equal(is_fused(*state, &slow), expected);
            assert_int_equal(slow.runs, quiet.runs);
        }
    }
}

static void test_a_network_that_fails_leaves_others(void **state) {
    graph_test *test = *state;
    network fake = {.plain_ns = 1000e3, .fused_ns = 100e3, .relu_ns = 1e3, .refused = "mix_fused"};
    build_stage stage;
    add_network(test, 1000000);
    layer_pace_of("mix_c16")->ns = 1001000;
    stage_infer(&stage, test->graph, NULL);
    assert_int_equal(lower_with(&stage, &fake, NULL), TN_OK);
    assert_string_equal(kernel_of(&stage, "mix"), "mix_c16"); /* it takes the others' 1 us */
    assert_int_equal(fake.open, 0);
    stage_end(&stage);
}

static void test_a_network_that_cannot_run_changes_nothing(void **state) {
    network fake = {.status = TN_ERROR_RANGE};
    add_network(*state, 4000000);
    assert_true(is_fused(*state, &fake));
    assert_int_equal(fake.runs, 0);
}

static void test_no_memory_ends_the_build(void **state) {
    graph_test *test = *state;
    network fake = {.status = TN_ERROR_MEMORY};
    build_stage stage;
    add_network(test, 1000000);
    stage_infer(&stage, test->graph, NULL);
    assert_int_equal(lower_with(&stage, &fake, NULL), TN_ERROR_MEMORY);
    stage_end(&stage);
}

/* 20 seconds are all the time; what is compared with the first network runs nevertheless. */
static void test_trials_end_with_the_time(void **state) {
    network fake = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3, .run_ns = 21e9};
    add_network(*state, 1000000);
    (void)is_fused(*state, &fake);
    assert_int_equal(fake.runs, 2);
}

/* What began last would end after the time. */
static void test_no_trial_begins_that_would_end_too_late(void **state) {
    network fake = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3, .run_ns = 8e9};
    add_network(*state, 1000000);
    layer_pace_of("mix_c16")->ns = 1001000;
    const uint64_t before_ns = test_clock_ns;
    (void)is_fused(*state, &fake);
    assert_int_equal(fake.runs, 2);
    assert_true(test_clock_ns - before_ns <= 20000000000u);
}

static void test_trials_are_shorter_where_all_the_time_is(void **state) {
    static const struct {
        double seconds, most_ns;
    } times[] = {{0, 300e6}, {20, 300e6}, {2, 300e6}, {1, 150e6}};
    graph_test *test = *state;
    build_stage stage;
    add_network(test, 1000000);
    stage_infer(&stage, test->graph, NULL);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        network fake = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3};
        const tn_lower_runner runner = {open_network, &fake, close_network, race};
        const tn_lower_options options = {.runner = &runner, .timing_seconds = times[i].seconds};
        assert_int_equal(stage_lower(&stage, options), TN_OK);
        assert_true(fabs(fake.most_ns - times[i].most_ns) < 1);
    }
    stage_end(&stage);
}

/* --- where the time is over before each node had something measured --- */

/* The first one of two nodes takes all the time, and mix_plain is measured there alone. */
static bool is_fused_in_short_time(graph_test *test, network *fake) {
    const tn_lower_runner runner = {open_network, fake, close_network, race};
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "y", TN_F32, 4, EXTENTS(1, 20, 2, 2)),
                 w = add_floats(test->graph, "v", 1, (const int64_t[]){20});
    add_network(test, 1000000);
    add_output(test->graph, add_node(test->graph, "Mix", "small", 2, TENSORS(x, w)));
    layer_pace_of("mix_fused")->ns = 4000000;
    stage_infer(&stage, test->graph, NULL);
    assert_int_equal(
        stage_lower(&stage, (tn_lower_options){.runner = &runner, .timing_seconds = 20e-3}), TN_OK);
    const bool answer = step_of(&stage, "relu") == NULL;
    stage_end(&stage);
    return answer;
}

static void test_where_time_is_short_estimates_have_to_be_beaten(void **state) {
    network fake = {.plain_ns = 1000e3, .fused_ns = 1000e3, .relu_ns = 1e3, .run_ns = 1e9};
    assert_true(is_fused_in_short_time(*state, &fake));
    assert_int_equal(fake.runs, 2);
}

static void test_where_time_is_short_what_was_measured_may_win(void **state) {
    network fake = {.plain_ns = 500e3, .fused_ns = 1000e3, .relu_ns = 1e3, .run_ns = 1e9};
    assert_false(is_fused_in_short_time(*state, &fake));
}

static void test_where_time_is_short_and_nothing_runs_estimates_decide(void **state) {
    network fake = {.status = TN_ERROR_RANGE};
    assert_true(is_fused_in_short_time(*state, &fake));
}

static bool choose_slowly(void *user, const char *stage, uint64_t done, uint64_t count) {
    (void)user, (void)done, (void)count;
    if (strcmp(stage, "choose") == 0) test_clock_ns += 30000000000u;
    return true;
}

static uint32_t searches;
static bool count_searches(void *user, const char *stage, uint64_t done, uint64_t count) {
    (void)user, (void)done, (void)count;
    searches += strcmp(stage, "choose") == 0;
    return true;
}

/* Choices that could not run are not looked for: in a large network each takes its time. */
static void test_no_choice_is_looked_for_that_could_not_run(void **state) {
    graph_test *test = *state;
    network fake = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3, .run_ns = 8e9};
    const tn_lower_runner runner = {open_network, &fake, close_network, race};
    tn_progress progress = {.function = count_searches};
    build_stage stage;
    add_network(test, 1000000);
    layer_pace_of("mix_c16")->ns = 1001000;
    stage_infer(&stage, test->graph, NULL);
    searches = 0;
    assert_int_equal(
        stage_lower(&stage, (tn_lower_options){.runner = &runner, .progress = &progress}), TN_OK);
    assert_int_equal(fake.runs, 2);
    assert_int_equal(searches, 5); /* of the first choice, of two trials, and at the end */
    stage_end(&stage);
}

/* What was measured runs beside what estimates choose, in however large a network. */
static void test_choosing_takes_no_time_of_trials(void **state) {
    graph_test *test = *state;
    network fake = {.plain_ns = 1000e3, .fused_ns = 100e3, .relu_ns = 1e3};
    const tn_lower_runner runner = {open_network, &fake, close_network, race};
    tn_progress progress = {.function = choose_slowly};
    build_stage stage;
    add_network(test, 1000000);
    layer_pace_of("mix_fused")->ns = 4000000;
    stage_infer(&stage, test->graph, NULL);
    assert_int_equal(
        stage_lower(&stage, (tn_lower_options){.runner = &runner, .progress = &progress}), TN_OK);
    assert_null(step_of(&stage, "relu"));
    stage_end(&stage);
}

/* The same choice from the cache, and nothing runs. */
static void test_a_cache_remembers_networks(void **state) {
    graph_test *test = *state;
    network fake = {.plain_ns = 900e3, .fused_ns = 2000e3, .relu_ns = 1e3};
    tn_timing_cache *cache;
    build_stage stage;
    add_network(test, 1000000);
    assert_int_equal(tn_timing_cache_open(test->runtime, NULL, &cache), TN_OK);
    stage_infer(&stage, test->graph, NULL);
    assert_int_equal(lower_with(&stage, &fake, cache), TN_OK);
    const uint32_t runs = fake.runs;
    assert_non_null(step_of(&stage, "relu"));
    fake = (network){.status = TN_ERROR_INTERNAL, .runs = runs};
    assert_int_equal(lower_with(&stage, &fake, cache), TN_OK);
    assert_int_equal(fake.runs, runs);
    assert_non_null(step_of(&stage, "relu"));
    stage_end(&stage);
    tn_timing_cache_close(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_a_network_overrules_times_alone),
        BUILD_TEST(test_what_is_far_behind_does_not_run),
        BUILD_TEST(test_what_estimates_choose_runs),
        BUILD_TEST(test_a_slow_second_of_the_machine_decides_nothing),
        BUILD_TEST(test_a_network_that_fails_leaves_others),
        BUILD_TEST(test_a_network_that_cannot_run_changes_nothing),
        BUILD_TEST(test_no_memory_ends_the_build),
        BUILD_TEST(test_trials_end_with_the_time),
        BUILD_TEST(test_no_trial_begins_that_would_end_too_late),
        BUILD_TEST(test_trials_are_shorter_where_all_the_time_is),
        BUILD_TEST(test_where_time_is_short_estimates_have_to_be_beaten),
        BUILD_TEST(test_where_time_is_short_what_was_measured_may_win),
        BUILD_TEST(test_where_time_is_short_and_nothing_runs_estimates_decide),
        BUILD_TEST(test_no_choice_is_looked_for_that_could_not_run),
        BUILD_TEST(test_choosing_takes_no_time_of_trials),
        BUILD_TEST(test_a_cache_remembers_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
