/* SPDX-License-Identifier: Apache-2.0 */
/* What a build tells of its progress, and that it ends when it is told to. */
#include "build_test.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct told {
    uint64_t calls, stop_at; /* the call that answers false; 0: none */
    int stage;               /* the last one's number */
    uint64_t done, count, measured;
    bool is_right;
} told;

static bool note(void *user, const char *stage, uint64_t done, uint64_t count) {
    static const char *const stages[] = {"passes", "lower", "measure", "choose", "write"};
    told *all = user;
    int number = 0;
    while (number < 5 && strcmp(stages[number], stage) != 0)
        number++;
    all->is_right =
        all->is_right && number < 5 && number >= all->stage && done <= count &&
        (all->calls == 0 || number > all->stage || (done >= all->done && count == all->count));
    all->stage = number;
    all->done = done;
    all->count = count;
    if (number == 2) all->measured = done;
    return ++all->calls != all->stop_at;
}

static void make_network(tn_graph *graph) {
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(1, 20, 3, 3));
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(20));
    tn_tensor_id mixed = add_node(graph, "Mix", "mix", 2, TENSORS(x, w));
    add_output(graph, add_unary(graph, "Only16", "blocked", add_unary(graph, "Relu", "r", mixed)));
}

static tn_status build(graph_test *test, told *all, tn_plan **out_plan) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .progress = note, .progress_user = all};
    all->is_right = true;
    return tn_build(test->graph, &options, out_plan);
}

static void test_stages_come_in_order(void **state) {
    graph_test *test = *state;
    told all = {0};
    tn_plan *plan = NULL;
    make_network(test->graph);
    assert_int_equal(build(test, &all, &plan), TN_OK);
    assert_true(all.is_right && all.stage == 4 && all.done == 1 && all.measured > 0);
    tn_plan_destroy(plan);
}

static void test_a_build_ends_where_it_is_told_to(void **state) {
    graph_test *test = *state;
    told all = {0};
    tn_plan *plan = NULL;
    make_network(test->graph);
    assert_int_equal(build(test, &all, &plan), TN_OK);
    tn_plan_destroy(plan);
    plan = NULL;
    for (uint64_t call = 1; call <= 12; call++) { /* all of the stages before measuring */
        told stopped = {.stop_at = call};
        assert_int_equal(build(test, &stopped, &plan), TN_ERROR_CANCELLED);
        assert_true(stopped.calls == call && !plan);
    }
    told last = {.stop_at = all.calls};
    const tn_status status = build(test, &last, &plan);
    if (status == TN_OK) /* it measured more this time */
        tn_plan_destroy(plan);
    else
        assert_int_equal(status, TN_ERROR_CANCELLED);
}

static void test_a_stopped_build_keeps_its_timings(void **state) {
    graph_test *test = *state;
    char path[] = "/tmp/tenon-progress-XXXXXX";
    const int descriptor = mkstemp(path);
    told first = {.is_right = true}, second = {.is_right = true};
    tn_plan *plan = NULL;
    make_network(test->graph);
    assert_true(descriptor >= 0);
    close(descriptor);
    remove(path);
    tn_builder_options options = {.size = sizeof(options),
                                  .threads = 1,
                                  .timing_cache = path,
                                  .progress = note,
                                  .progress_user = &first};
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_OK);
    tn_plan_destroy(plan);
    plan = NULL;
    remove(path);
    first.stop_at = first.calls - 4; /* while it chooses, when all was measured */
    first.calls = 0;
    first.stage = 0;
    first.is_right = true;
    const tn_status status = tn_build(test->graph, &options, &plan);
    assert_true(status == TN_ERROR_CANCELLED || status == TN_OK);
    tn_plan_destroy(plan);
    assert_int_equal(access(path, R_OK), 0);
    options.progress_user = &second;
    assert_int_equal(tn_build(test->graph, &options, &plan), TN_OK);
    assert_true(second.is_right);
    tn_plan_destroy(plan);
    remove(path);
    char lock[64];
    snprintf(lock, sizeof(lock), "%s.lock", path);
    remove(lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_stages_come_in_order),
        BUILD_TEST(test_a_build_ends_where_it_is_told_to),
        BUILD_TEST(test_a_stopped_build_keeps_its_timings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
