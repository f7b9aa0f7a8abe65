/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines and contexts of one runtime in several threads: engines that come and go and share
 * weights, runs beside refits and cancels, and when borrowed memory is given back.
 */
#include <tenon/plugin.h> /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "refit/refit_nets.h"

#include "combination_private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 4, REPEATS = 12, COUNT = 8 * 3 * 8 * 8, RESULTS = 8 * 10 };

static combination network = {.net = NET_CONV, .abilities = WITH(PROFILES) | WITH(REFIT)};
static const void *plan_bytes;
static uint64_t plan_count;
static tn_plan *plan;
static float expected[2][RESULTS]; /* of 2 rows by profile 0, and of 5 by profile 1 */
static atomic_int released, failures, cancelled;

static void clear(void *user) {
    memset(user, 0xff, plan_count); /* whoever still reads it shows it */
    free(user);
    released++;
}

static void *copy_of_plan(void) {
    void *copy = aligned_alloc(64, (size_t)(plan_count + 63) / 64 * 64);
    if (!copy) abort();
    memcpy(copy, plan_bytes, (size_t)plan_count);
    return copy;
}

static tn_status run_rows(tn_context *context, int profile, bool is_async, float *y) {
    _Alignas(64) float x[COUNT];
    const tn_tensor *made = NULL;
    const int64_t rows = profile ? 5 : 2;
    for (size_t i = 0; i < COUNT; i++)
        x[i] = net_number("x", i, 3);
    TN_TRY(tn_context_set_shape(context, 0, 4, SHAPE(rows, 3, 8, 8)));
    TN_TRY(tn_context_bind_input(context, 0, x, sizeof(x)));
    if (is_async) {
        TN_TRY(tn_context_run_async(context, NULL, NULL));
        TN_TRY(tn_context_wait(context, TN_WAIT_FOREVER, NULL));
    } else {
        TN_TRY(tn_context_run(context));
    }
    TN_TRY(tn_context_output(context, 0, &made));
    memcpy(y, made->data, (size_t)made->bytes);
    return TN_OK;
}

static bool is_expected(int profile, const float *y) {
    return memcmp(y, expected[profile], (profile ? 50 : 20) * sizeof(float)) == 0;
}

static int set_up(void **state) {
    static const char *const libraries[] = {KEEP_LIBRARY, BODIES_LIBRARY, SEQUENCES_LIBRARY,
                                            STUB_LIBRARY};
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    (void)state;
    must(tn_runtime_create(&options, &network.runtime));
    for (size_t i = 0; i < TN_COUNT(libraries); i++)
        must(tn_runtime_load_library(network.runtime, libraries[i]));
    must(combination_build(&network, SEED, &plan));
    plan_bytes = tn_plan_bytes(plan, &plan_count);
    must(tn_engine_load_bytes(network.runtime, plan_bytes, plan_count, NULL, &engine));
    must(tn_context_create(engine, &context));
    for (int p = 0; p < 2; p++)
        must(run_rows(context, p, false, expected[p]));
    tn_context_destroy(context);
    tn_engine_release(engine);
    released = failures = cancelled = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tn_plan_destroy(plan);
    tn_runtime_release(network.runtime);
    return 0;
}

static void join_all(void *(*function)(void *), void *user) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, function, user), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
}

/* --- engines come and go --- */

static tn_status load_run_free(int round) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    float y[RESULTS];
    tn_status status;
    if (round % 2) {
        void *copy = copy_of_plan();
        status =
            tn_engine_load_borrowed(network.runtime, copy, plan_count, NULL, clear, copy, &engine);
        if (status != TN_OK) free(copy);
    } else {
        status = tn_engine_load_bytes(network.runtime, plan_bytes, plan_count, NULL, &engine);
    }
    if (status == TN_OK) status = tn_context_create(engine, &context);
    for (int p = 0; p < 2 && status == TN_OK; p++) {
        status = run_rows(context, p, round % 3 == 0, y);
        if (status == TN_OK && !is_expected(p, y)) status = TN_ERROR_INTERNAL;
    }
    tn_engine_release(engine); /* before its context */
    tn_context_destroy(context);
    return status;
}

static void *come_and_go(void *user) {
    (void)user;
    for (int round = 0; round < REPEATS; round++)
        failures += load_run_free(round) != TN_OK;
    return NULL;
}

static void test_engines_come_and_go_in_four_threads(void **state) {
    (void)state;
    join_all(come_and_go, NULL);
    assert_int_equal(released, THREADS * REPEATS / 2);
}

/* --- runs beside refits and cancels --- */

typedef struct shared_engine {
    tn_engine *engine;
    tn_context *contexts[2];
    atomic_int next, running;
} shared_engine;

static void run_often(shared_engine *own, int which) {
    float y[RESULTS];
    for (int round = 0; round < REPEATS * 4; round++) {
        const int profile = round % 2;
        const tn_status status = run_rows(own->contexts[which], profile, which == 1, y);
        cancelled += status == TN_ERROR_CANCELLED;
        failures += status == TN_OK ? !is_expected(profile, y) : status != TN_ERROR_CANCELLED;
    }
    own->running--;
}

static void refit_often(const shared_engine *own) {
    for (uint32_t round = 0; round < REPEATS / 2; round++) {
        tn_graph *graph = make_network(network.runtime, network.net, SEED + round % 2);
        tn_refit *refit = NULL;
        tn_engine *made = NULL;
        tn_context *context = NULL;
        float y[RESULTS];
        tn_status status = tn_refit_create(own->engine, &refit);
        if (status == TN_OK) status = tn_refit_set_all(refit, graph, NULL);
        if (status == TN_OK) status = tn_refit_apply(refit, &made);
        if (status == TN_OK) status = tn_context_create(made, &context);
        if (status == TN_OK) status = run_rows(context, 1, false, y);
        failures += status != TN_OK || is_expected(1, y) != (round % 2 == 0);
        tn_context_destroy(context);
        tn_engine_release(made);
        tn_refit_destroy(refit);
        tn_graph_destroy(graph);
    }
}

static void *take_a_part(void *user) {
    shared_engine *own = user;
    const int part = own->next++;
    if (part < 2) run_often(own, part);
    if (part == 2) refit_often(own);
    while (part == 3 && own->running > 0) {
        tn_context_cancel(own->contexts[0]);
        tn_context_cancel(own->contexts[1]);
        sched_yield();
    }
    return NULL;
}

static void test_runs_beside_refits_and_cancels(void **state) {
    shared_engine own = {.running = 2};
    (void)state;
    must(tn_engine_load_bytes(network.runtime, plan_bytes, plan_count, NULL, &own.engine));
    for (int i = 0; i < 2; i++)
        must(tn_context_create(own.engine, &own.contexts[i]));
    join_all(take_a_part, &own);
    float y[RESULTS];
    for (int i = 0; i < 2; i++) {
        must(run_rows(own.contexts[i], 0, false, y));
        assert_true(is_expected(0, y));
        tn_context_destroy(own.contexts[i]);
    }
    tn_engine_release(own.engine);
}

/* --- borrowed memory --- */

static tn_engine *load_borrowed(void) {
    tn_engine *engine = NULL;
    void *copy = copy_of_plan();
    must(tn_engine_load_borrowed(network.runtime, copy, plan_count, NULL, clear, copy, &engine));
    return engine;
}

static void check(tn_engine *engine) {
    tn_context *context = NULL;
    float y[RESULTS];
    must(tn_context_create(engine, &context));
    for (int p = 0; p < 2; p++) {
        must(run_rows(context, p, false, y));
        assert_true(is_expected(p, y));
    }
    tn_context_destroy(context);
}

/* Whatever holds a count keeps it; who shares weights with it does not read it any more. */
static void test_borrowed_memory_goes_last(void **state) {
    (void)state;
    tn_engine *first = load_borrowed(), *second = load_borrowed(), *fitted = NULL;
    const tn_plan_description *description = NULL;
    tn_context *context = NULL;
    tn_refit *refit = NULL;
    check(first);
    check(second);
    must(tn_context_create(first, &context));
    must(tn_engine_describe(first, &description));
    must(tn_refit_create(first, &refit));
    tn_engine_release(first);
    assert_int_equal(released, 0);
    tn_plan_description_destroy(description);
    tn_refit_destroy(refit);
    assert_int_equal(released, 0);
    tn_context_destroy(context);
    assert_int_equal(released, 1);
    check(second); /* what it found of the first one's is its own by now */
    tn_graph *graph = make_network(network.runtime, network.net, SEED + 1);
    must(tn_refit_create(second, &refit));
    must(tn_refit_set_all(refit, graph, NULL));
    must(tn_refit_apply(refit, &fitted));
    tn_refit_destroy(refit);
    tn_graph_destroy(graph);
    tn_engine_release(second); /* the new one may share some of its memory */
    float y[RESULTS];
    must(tn_context_create(fitted, &context));
    must(run_rows(context, 1, false, y));
    assert_false(is_expected(1, y));
    tn_context_destroy(context);
    tn_engine_release(fitted);
    assert_int_equal(released, 2);
}

#define THREAD_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        THREAD_TEST(test_engines_come_and_go_in_four_threads),
        THREAD_TEST(test_runs_beside_refits_and_cancels),
        THREAD_TEST(test_borrowed_memory_goes_last),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
