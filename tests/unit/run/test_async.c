/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are cancelled, and asynchronous runs. */
#include "hook_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "run_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <tenon/async.h>
#include <time.h>

#define NODES 5

static tn_context *hooked; /* the context that the hook is about */
static sem_t is_inside, may_go;

static void cancel_at_second(int count) {
    if (count == 2) assert_true(tn_context_cancel(hooked));
}

static void cancel_at_last(int count) {
    if (count == NODES) assert_true(tn_context_cancel(hooked));
}

static void stop_inside(int count) {
    if (count != 1) return;
    sem_post(&is_inside);
    sem_wait(&may_go);
}

static void begin(run_test *test, uint32_t flags) {
    hook = NULL;
    hook_count = 0;
    sem_init(&is_inside, 0, 0);
    sem_init(&may_go, 0, 0);
    run_must(tn_runtime_register_library(test->runtime, hook_entry));
    tn_tensor_id last = add_input(test->graph, "x", TN_F32, 1, EXTENTS(3));
    for (int i = 0; i < NODES; i++)
        last = run_unary(test->graph, "Hook", NULL, last);
    run_output(test->graph, last, "y");
    run_build_with(test, 0, NULL, flags);
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    hooked = test->context;
}

static void expect(tn_status status, tn_status expected, const char *message) {
    assert_int_equal(status, expected);
    assert_error(message, NULL);
}

static void expect_result(run_test *test) {
    assert_floats(run_result(test, 0), 3, FLOATS(1 + NODES, 2 + NODES, 3 + NODES));
}

/* ----------------------------------------------------------------------------------------------
 * cancel */

static void test_a_run_ends_before_its_next_node(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    for (int profiled = 0; profiled < 2; profiled++) {
        run_must(tn_context_set_profiling(test->context, profiled));
        hook = cancel_at_second;
        hook_count = 0;
        expect(tn_context_run(test->context), TN_ERROR_CANCELLED, "tn_context_cancel");
        assert_int_equal(hook_count, 2);
        hook = NULL;
        run_must(tn_context_run(test->context));
        expect_result(test);
    }
}

static void test_a_cancel_in_the_last_node_counts(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    hook = cancel_at_last;
    expect(tn_context_run(test->context), TN_ERROR_CANCELLED, "cancelled");
    assert_int_equal(hook_count, NODES);
    run_must(tn_context_run(test->context));
    expect_result(test);
}

static void test_a_cancel_without_a_run_does_nothing(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    assert_false(tn_context_cancel(test->context));
    assert_false(tn_context_cancel(NULL));
    run_must(tn_context_run(test->context));
    assert_false(tn_context_cancel(test->context));
    run_must(tn_context_run(test->context));
    expect_result(test);
}

static void on_alarm(int number) {
    (void)number;
    tn_context_cancel(hooked);
}

static void raise_at_third(int count) {
    if (count == 3) raise(SIGUSR1);
}

static void test_a_signal_handler_may_cancel(void **state) {
    run_test *test = *state;
    run_buffer in = {0};
    struct sigaction before;
    const struct sigaction action = {.sa_handler = on_alarm};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    sigaction(SIGUSR1, &action, &before);
    hook = raise_at_third;
    expect(tn_context_run(test->context), TN_ERROR_CANCELLED, "cancelled");
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(hook_count, 3);
}

static void test_guarded_runs_are_cancelled_too(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    uint64_t bytes;
    const tn_engine_options options = {.size = sizeof(options), .flags = TN_ENGINE_CHECKED};
    begin(test, 0);
    tn_context_destroy(test->context);
    tn_engine_release(test->engine);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
    hooked = test->context;
    run_bind(test, "x", in.aligned, 12);
    hook = cancel_at_second;
    expect(tn_context_run(test->context), TN_ERROR_CANCELLED, "cancelled");
    assert_int_equal(hook_count, 2);
    run_must(tn_context_run(test->context));
    expect_result(test);
}

/* ----------------------------------------------------------------------------------------------
 * asynchronous runs */

static void test_a_run_goes_on_elsewhere(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    bool is_done = true;
    begin(test, 0);
    expect(tn_context_wait(test->context, 0, &is_done), TN_ERROR_STATE, "no run was begun");
    run_bind(test, "x", in.aligned, 12);
    hook = stop_inside;
    run_must(tn_context_run_async(test->context, NULL, NULL));
    sem_wait(&is_inside);
    run_must(tn_context_wait(test->context, 0, &is_done));
    assert_false(is_done);
    run_must(tn_context_wait(test->context, 5, &is_done));
    assert_false(is_done);
    sem_post(&may_go);
    run_must(tn_context_wait(test->context, TN_WAIT_FOREVER, &is_done));
    assert_true(is_done);
    expect_result(test);
    run_must(tn_context_wait(test->context, TN_WAIT_FOREVER, NULL));
    expect(tn_context_wait(test->context, 7, NULL), TN_ERROR_ARGUMENT, "is_done");
}

/* Everything but cancel, wait and destroy is refused, and hurts nothing. */
static void test_a_context_that_runs_is_left_alone(void **state) {
    run_test *test = *state;
    tn_context *context;
    run_buffer in = {.aligned = {1, 2, 3}};
    const tn_tensor *tensor = NULL;
    void *memory = NULL;
    char *json = NULL;
    bool is_done = true;
    tn_context_statistics statistics = {.size = sizeof(statistics), .runs = 77};
    begin(test, 0);
    context = test->context;
    run_bind(test, "x", in.aligned, 12);
    hook = stop_inside;
    run_must(tn_context_run_async(context, NULL, NULL));
    sem_wait(&is_inside);
    const char *busy = "is under way";
    expect(tn_context_run(context), TN_ERROR_STATE, busy);
    expect(tn_context_run_async(context, NULL, NULL), TN_ERROR_STATE, busy);
    expect(tn_context_reshape(context), TN_ERROR_STATE, busy);
    expect(tn_context_set_shape(context, 0, 1, EXTENTS(3)), TN_ERROR_STATE, busy);
    expect(tn_context_bind_input(context, 0, in.aligned, 12), TN_ERROR_STATE, busy);
    expect(tn_context_bind_output(context, 0, in.aligned, 12), TN_ERROR_STATE, busy);
    expect(tn_context_bind_device_input(context, 0, in.aligned, 12), TN_ERROR_STATE, busy);
    expect(tn_context_bind_device_output(context, 0, in.aligned, 12), TN_ERROR_STATE, busy);
    expect(tn_context_bind_count(context, 0, 0, NULL), TN_ERROR_STATE, busy);
    expect(tn_context_lend_input(context, 0, 12, &memory), TN_ERROR_STATE, busy);
    expect(tn_context_set_stream(context, NULL), TN_ERROR_STATE, busy);
    expect(tn_context_output(context, 0, &tensor), TN_ERROR_STATE, busy);
    expect(tn_context_set_profiling(context, true), TN_ERROR_STATE, busy);
    expect(tn_context_report(context, &json), TN_ERROR_STATE, busy);
    expect(tn_context_call_when_done(context, (void (*)(void *))free, NULL), TN_ERROR_STATE, busy);
    run_must(tn_context_is_done(context, &is_done));
    assert_false(is_done);
    assert_int_equal(tn_context_profile_count(context), 0);
    tn_context_get_statistics(context, &statistics);
    assert_int_equal(statistics.runs, 77);
    sem_post(&may_go);
    run_must(tn_context_wait(context, TN_WAIT_FOREVER, NULL));
    expect_result(test);
}

static void *wait_elsewhere(void *user) {
    const tn_status status = tn_context_wait(user, TN_WAIT_FOREVER, NULL);
    return (void *)(intptr_t)(status == TN_ERROR_CANCELLED &&
                              tn_last_error()->status == TN_ERROR_CANCELLED &&
                              strstr(tn_last_error()->message, "cancelled"));
}

static void test_a_run_elsewhere_is_cancelled(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    pthread_t waiter;
    void *is_right = NULL;
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    hook = stop_inside;
    run_must(tn_context_run_async(test->context, NULL, NULL));
    sem_wait(&is_inside);
    assert_int_equal(pthread_create(&waiter, NULL, wait_elsewhere, test->context), 0);
    assert_true(tn_context_cancel(test->context));
    assert_false(tn_context_cancel(test->context));
    sem_post(&may_go);
    pthread_join(waiter, &is_right);
    assert_non_null(is_right);
    assert_int_equal(hook_count, 1);
    expect(tn_context_wait(test->context, TN_WAIT_FOREVER, NULL), TN_ERROR_CANCELLED, "cancelled");
    run_must(tn_context_run(test->context));
    expect_result(test);
}

/* The error of the run is the waiting thread's, as tn_context_run's would have been. */
static void test_an_error_is_handed_over(void **state) {
    run_test *test = *state;
    begin(test, 0);
    run_must(tn_context_run_async(test->context, NULL, NULL));
    expect(tn_context_wait(test->context, TN_WAIT_FOREVER, NULL), TN_ERROR_STATE, "'x'");
}

typedef struct chain {
    int left, seen;
    tn_status wait_status;
    tn_context *destroyed;
} chain;

static void run_again(void *user, tn_status status) {
    chain *own = user;
    assert_int_equal(status, TN_OK);
    own->seen++;
    own->wait_status = tn_context_wait(hooked, TN_WAIT_FOREVER, NULL);
    if (own->left-- > 0) run_must(tn_context_run_async(hooked, run_again, own));
}

static void test_done_may_begin_the_next_run(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    chain own = {.left = 9};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    run_must(tn_context_run_async(test->context, run_again, &own));
    run_must(tn_context_wait(test->context, TN_WAIT_FOREVER, NULL));
    assert_int_equal(own.seen, 10);
    assert_int_equal(own.wait_status, TN_ERROR_STATE);
    assert_int_equal(hook_count, 10 * NODES);
    expect_result(test);
}

static void destroy(void *user, tn_status status) {
    assert_int_equal(status, TN_OK);
    tn_context_destroy(hooked);
    sem_post(user);
}

static void test_done_may_destroy_the_context(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    sem_t is_gone;
    sem_init(&is_gone, 0, 0);
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    test->context = NULL;
    run_must(tn_context_run_async(hooked, destroy, &is_gone));
    sem_wait(&is_gone);
    while (atomic_load(&test->engine->references) > 1) /* it goes when `done` has returned */
        sched_yield();
}

static void *let_go(void *user) {
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)user;
    sem_wait(&is_inside);
    nanosleep(&pause, NULL);
    sem_post(&may_go);
    return NULL;
}

static void *run_here(void *user) {
    return (void *)(intptr_t)tn_context_run(user);
}

static void test_destroy_waits(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    pthread_t helper, runner;
    for (int is_async = 0; is_async < 2; is_async++) {
        if (is_async) {
            run_must(tn_context_create(test->engine, &test->context));
            hook_count = 0;
        } else {
            begin(test, 0);
        }
        run_bind(test, "x", in.aligned, 12);
        hook = stop_inside;
        assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
        if (is_async)
            run_must(tn_context_run_async(test->context, NULL, NULL));
        else
            assert_int_equal(pthread_create(&runner, NULL, run_here, test->context), 0);
        while (hook_count == 0)
            sched_yield();
        tn_context_destroy(test->context);
        test->context = NULL;
        assert_int_equal(hook_count, NODES);
        pthread_join(helper, NULL);
        if (!is_async) pthread_join(runner, NULL);
    }
}

/* ----------------------------------------------------------------------------------------------
 * many */

enum { CONTEXTS = 12, ROUNDS = 40 };

static _Atomic int finished;

static void count_finished(void *user, tn_status status) {
    (void)user;
    finished += status == TN_OK || status == TN_ERROR_CANCELLED;
}

static void *cancel_often(void *user) {
    tn_context **contexts = user;
    for (int i = 0; i < ROUNDS * CONTEXTS; i++) {
        tn_context_cancel(contexts[i % CONTEXTS]);
        sched_yield();
    }
    return NULL;
}

static void test_many_contexts_share_few_threads(void **state) {
    run_test *test = *state;
    static _Alignas(64) float in[CONTEXTS][16], out[CONTEXTS][16];
    tn_context *contexts[CONTEXTS];
    pthread_t canceller;
    begin(test, 0);
    finished = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        run_must(tn_context_create(test->engine, &contexts[i]));
        run_must(tn_context_bind_input(contexts[i], 0, in[i], 12));
        run_must(tn_context_bind_output(contexts[i], 0, out[i], 12));
    }
    assert_int_equal(pthread_create(&canceller, NULL, cancel_often, contexts), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CONTEXTS; i++)
            run_must(tn_context_run_async(contexts[i], count_finished, NULL));
        for (int i = 0; i < CONTEXTS; i++)
            (void)tn_context_wait(contexts[i], TN_WAIT_FOREVER, NULL);
    }
    pthread_join(canceller, NULL);
    assert_int_equal(finished, ROUNDS * CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++) {
        in[i][0] = (float)i;
        run_must(tn_context_run_async(contexts[i], NULL, NULL));
    }
    for (int i = 0; i < CONTEXTS; i++) {
        run_must(tn_context_wait(contexts[i], TN_WAIT_FOREVER, NULL));
        assert_true(out[i][0] == (float)(i + NODES));
        tn_context_destroy(contexts[i]);
    }
}

/* ----------------------------------------------------------------------------------------------
 * threads that engines share */

static _Atomic int at_work, most_at_work;

static void count_at_work(int count) {
    const struct timespec pause = {.tv_nsec = 200000};
    const int now = ++at_work;
    int most = most_at_work;
    (void)count;
    while (now > most && !atomic_compare_exchange_weak(&most_at_work, &most, now))
        continue;
    nanosleep(&pause, NULL);
    at_work--;
}

static void *run_some(void *user) {
    tn_status status = TN_OK;
    for (int i = 0; i < 10 && status == TN_OK; i++)
        status = tn_context_run(user);
    return (void *)(intptr_t)status;
}

static tn_engine *load_shared(run_test *test, tn_threads *threads) {
    tn_engine *engine = NULL;
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    const tn_engine_options options = {.size = sizeof(options), .shared_threads = threads};
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &engine));
    return engine;
}

enum { SHARING = 6 };

static void test_engines_share_threads(void **state) {
    run_test *test = *state;
    static _Alignas(64) float in[16];
    tn_threads *threads = NULL;
    pthread_t runners[SHARING];
    tn_context *contexts[SHARING];
    begin(test, 0);
    run_must(tn_threads_create(2, &threads));
    assert_int_equal(tn_threads_count(threads), 2);
    for (int i = 0; i < SHARING; i++) {
        tn_engine *engine = load_shared(test, threads);
        run_must(tn_context_create(engine, &contexts[i]));
        run_must(tn_context_bind_input(contexts[i], 0, in, 12));
        tn_engine_release(engine);
    }
    at_work = most_at_work = 0;
    hook = count_at_work;
    for (int i = 0; i < SHARING; i++)
        assert_int_equal(pthread_create(&runners[i], NULL, run_some, contexts[i]), 0);
    for (int i = 0; i < SHARING; i++) {
        void *status = NULL;
        pthread_join(runners[i], &status);
        assert_null(status);
        tn_context_destroy(contexts[i]);
    }
    assert_int_equal(most_at_work, 2);
    assert_int_equal(tn_threads_free(threads), 2);
    tn_threads_release(threads);
}

static void test_a_run_that_waits_for_its_turn_is_cancelled(void **state) {
    run_test *test = *state;
    static _Alignas(64) float in[16];
    tn_threads *threads = NULL;
    tn_context *first = NULL, *second = NULL;
    begin(test, 0);
    run_must(tn_threads_create(1, &threads));
    tn_engine *engine = load_shared(test, threads);
    run_must(tn_context_create(engine, &first));
    run_must(tn_context_create(engine, &second));
    run_must(tn_context_bind_input(first, 0, in, 12));
    run_must(tn_context_bind_input(second, 0, in, 12));
    hook = stop_inside;
    pthread_t runner;
    void *status = NULL;
    assert_int_equal(pthread_create(&runner, NULL, run_here, first), 0);
    sem_wait(&is_inside);
    assert_int_equal(tn_threads_free(threads), 0);
    run_must(tn_context_run_async(second, NULL, NULL));
    assert_true(tn_context_cancel(second));
    expect(tn_context_wait(second, TN_WAIT_FOREVER, NULL), TN_ERROR_CANCELLED, "cancelled");
    assert_int_equal(hook_count, 1);
    sem_post(&may_go);
    pthread_join(runner, &status);
    assert_null(status);
    run_must(tn_context_run(second));
    tn_context_destroy(first);
    tn_context_destroy(second);
    tn_engine_release(engine);
    const tn_engine_options options = {
        .size = sizeof(options), .threads = 2, .shared_threads = threads};
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    expect(tn_engine_load_bytes(test->runtime, data, bytes, &options, &engine), TN_ERROR_ARGUMENT,
           "2 threads were asked for, of 1");
    tn_threads_release(threads);
}

static void test_memory_that_is_not_there_is_an_error(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    begin(test, 0);
    run_bind(test, "x", in.aligned, 12);
    tn_status status = TN_ERROR_MEMORY;
    for (uint64_t n = 1; status == TN_ERROR_MEMORY && n < 100; n++) {
        test->allocator.fail_at = test->allocator.allocations + n;
        status = tn_context_run_async(test->context, NULL, NULL);
        if (status == TN_OK) status = tn_context_wait(test->context, TN_WAIT_FOREVER, NULL);
        test->allocator.fail_at = 0;
        assert_true(status == TN_OK || tn_last_error()->status == TN_ERROR_MEMORY);
    }
    assert_int_equal(status, TN_OK);
    expect_result(test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_a_run_ends_before_its_next_node),
        RUN_TEST(test_a_cancel_in_the_last_node_counts),
        RUN_TEST(test_a_cancel_without_a_run_does_nothing),
        RUN_TEST(test_a_signal_handler_may_cancel),
        RUN_TEST(test_guarded_runs_are_cancelled_too),
        RUN_TEST(test_a_run_goes_on_elsewhere),
        RUN_TEST(test_a_context_that_runs_is_left_alone),
        RUN_TEST(test_a_run_elsewhere_is_cancelled),
        RUN_TEST(test_an_error_is_handed_over),
        RUN_TEST(test_done_may_begin_the_next_run),
        RUN_TEST(test_done_may_destroy_the_context),
        RUN_TEST(test_destroy_waits),
        RUN_TEST(test_many_contexts_share_few_threads),
        RUN_TEST(test_engines_share_threads),
        RUN_TEST(test_a_run_that_waits_for_its_turn_is_cancelled),
        RUN_TEST(test_memory_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
