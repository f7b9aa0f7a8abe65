/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_for does every item once, in ranges no smaller than the grain, and answers failures,
 * whoever calls: on the runtime's workers and on OpenMP's team. */
#include "base/clock.h"
#include "base/memory.h"
#include "device/cpu/cpu.h" /* before cmocka's macro `fail`, which is also a member of tn_host */
#include "device/cpu/workers.h"

#include "random.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <sys/wait.h>
#include <tenon/runtime.h>
#include <time.h>
#include <unistd.h>

static tn_workers *workers; /* of the group that runs */
static bool is_openmp;

static void init_pool(tn_thread_pool *out_pool, uint32_t threads) {
    tn_cpu_pool_init(out_pool, threads, workers, is_openmp);
}

#define MOST_THREADS 4
#define MOST_RANGES  64

typedef struct visit {
    atomic_int busy[MOST_THREADS]; /* bodies that run with this thread's number */
    atomic_int is_wrong;
    atomic_int range_count;
    int64_t ranges[MOST_RANGES][2];
    uint32_t threads;
} visit;

static tn_status note_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    visit *seen = user;
    const int slot = atomic_fetch_add(&seen->range_count, 1);
    if (slot >= MOST_RANGES || thread >= seen->threads || begin >= end) {
        atomic_store(&seen->is_wrong, 1);
        return TN_OK;
    }
    if (atomic_fetch_add(&seen->busy[thread], 1) != 0) atomic_store(&seen->is_wrong, 1);
    seen->ranges[slot][0] = begin;
    seen->ranges[slot][1] = end;
    atomic_fetch_sub(&seen->busy[thread], 1);
    return TN_OK;
}

static int compare_ranges(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void assert_covers(uint32_t threads, int64_t count, int64_t grain) {
    visit seen = {.threads = threads};
    tn_thread_pool pool;
    init_pool(&pool, threads);
    assert_int_equal(pool.threads, threads);
    assert_int_equal(pool.parallel_for(&pool, count, grain, note_range, &seen), TN_OK);
    assert_false(seen.is_wrong);
    const int ranges = seen.range_count;
    qsort(seen.ranges, (size_t)ranges, sizeof(seen.ranges[0]), compare_ranges);
    int64_t at = 0;
    for (int i = 0; i < ranges; i++) {
        assert_true(seen.ranges[i][0] == at);
        at = seen.ranges[i][1];
        if (ranges > 1) assert_true(at - seen.ranges[i][0] >= grain);
    }
    assert_true(at == (count > 0 ? count : 0));
    if (threads == 1) assert_int_equal(ranges, count > 0);
}

static void test_every_item_is_done_once_in_ranges_of_the_grain(void **state) {
    (void)state;
    test_random random = {.state = 3};
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
        for (int64_t count = 0; count < 20; count++)
            assert_covers(threads, count, 1);
        for (int i = 0; i < 50; i++)
            assert_covers(threads, random_between(&random, 0, 1000),
                          random_between(&random, 1, 300));
        assert_covers(threads, -5, 1);
        assert_covers(threads, 100, 0);
        assert_covers(threads, 100, -7);
    }
}

static void test_counts_up_to_the_highest_do_not_overflow(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
        assert_covers(threads, INT64_MAX, 1);
        assert_covers(threads, INT64_MAX - 1, INT64_MAX / 3);
        assert_covers(threads, INT64_MAX, INT64_MAX);
    }
}

typedef struct failure {
    atomic_int_fast64_t done;
    int64_t fails_at;
} failure;

static tn_status fail_at_item(void *user, int64_t begin, int64_t end, uint32_t thread) {
    failure *job = user;
    (void)thread;
    if (begin <= job->fails_at && job->fails_at < end) return TN_ERROR_RANGE;
    atomic_fetch_add(&job->done, end - begin);
    return TN_OK;
}

static void test_a_failure_is_answered_wherever_it_is(void **state) {
    (void)state;
    for (uint32_t threads = 0; threads <= MOST_THREADS; threads++) {
        tn_thread_pool pool;
        init_pool(&pool, threads);
        for (int64_t item = 0; item < 100; item += 7) {
            failure job = {.fails_at = item};
            assert_int_equal(pool.parallel_for(&pool, 100, 1, fail_at_item, &job), TN_ERROR_RANGE);
            assert_true(job.done < 100);
        }
    }
}

static tn_status fail_always(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)begin;
    (void)end;
    (void)thread;
    atomic_fetch_add((atomic_int *)user, 1);
    return TN_ERROR_SHAPE;
}

static void test_a_failure_cancels_what_has_not_begun(void **state) {
    (void)state;
    tn_thread_pool pool;
    init_pool(&pool, 2);
    atomic_int calls = 0;
    assert_int_equal(pool.parallel_for(&pool, 1000, 1, fail_always, &calls), TN_ERROR_SHAPE);
    assert_in_range(calls, 1, 2); /* of the eight pieces: one for each thread at most */
}

static tn_status note_thread(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    assert_int_equal(begin, 0);
    assert_int_equal(end, 1000);
    *(pthread_t *)user = pthread_self();
    return TN_OK;
}

static void test_one_thread_calls_once_and_here(void **state) {
    (void)state;
    tn_thread_pool pool;
    for (uint32_t threads = 0; threads <= 1; threads++) {
        pthread_t thread;
        init_pool(&pool, threads);
        assert_int_equal(pool.threads, 1);
        assert_int_equal(pool.parallel_for(&pool, 1000, 1, note_thread, &thread), TN_OK);
        assert_true(pthread_equal(thread, pthread_self()));
    }
}

typedef struct caller {
    const tn_thread_pool *pool;
    int64_t sums[64];
    bool is_right;
} caller;

static tn_status fill_sums(void *user, int64_t begin, int64_t end, uint32_t thread) {
    caller *self = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        self->sums[i] += i;
    return TN_OK;
}

static void *call_often(void *user) {
    caller *self = user;
    self->is_right = true;
    for (int round = 1; round <= 50; round++) {
        if (self->pool->parallel_for(self->pool, 64, 1, fill_sums, self) != TN_OK)
            self->is_right = false;
        for (int64_t i = 0; i < 64; i++)
            self->is_right &= self->sums[i] == round * i; /* all done before it returns */
    }
    return NULL;
}

static void test_two_threads_share_a_pool(void **state) {
    (void)state;
    tn_thread_pool pool;
    static caller callers[2];
    pthread_t threads[2];
    init_pool(&pool, 2);
    for (int i = 0; i < 2; i++) {
        callers[i] = (caller){.pool = &pool};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(callers[i].is_right);
    }
}

/* --- workers alone --- */

static tn_status run_inner_loop(void *user, int64_t begin, int64_t end, uint32_t thread) {
    static caller inner[64];
    const tn_thread_pool *pool = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        inner[i] = (caller){.pool = pool};
        call_often(&inner[i]);
        if (!inner[i].is_right) return TN_ERROR_STATE;
    }
    return TN_OK;
}

static void test_bodies_run_loops_of_their_own(void **state) {
    (void)state;
    tn_thread_pool pool;
    init_pool(&pool, MOST_THREADS);
    assert_int_equal(pool.parallel_for(&pool, 64, 1, run_inner_loop, &pool), TN_OK);
}

static void sleep_ms(long ms) {
    const struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

static void test_workers_that_sleep_are_woken(void **state) {
    (void)state;
    tn_thread_pool pool;
    init_pool(&pool, MOST_THREADS);
    for (int i = 0; i < 20; i++) {
        caller self = {.pool = &pool};
        call_often(&self);
        assert_true(self.is_right);
        sleep_ms(2); /* far longer than they look for a loop */
    }
}

typedef struct meeting {
    atomic_int present;
} meeting;

/* Ends when two threads are in it at once. */
static tn_status meet(void *user, int64_t begin, int64_t end, uint32_t thread) {
    meeting *at = user;
    (void)begin, (void)end, (void)thread;
    atomic_fetch_add(&at->present, 1);
    const uint64_t until = tn_now_ns() + 10000000000;
    while (atomic_load(&at->present) < 2 && tn_now_ns() < until)
        sched_yield();
    return atomic_load(&at->present) >= 2 ? TN_OK : TN_ERROR_STATE;
}

static void test_a_worker_runs_beside_the_caller(void **state) {
    (void)state;
    tn_thread_pool pool;
    meeting at = {0};
    init_pool(&pool, 2);
    assert_int_equal(pool.parallel_for(&pool, 2, 1, meet, &at), TN_OK);
}

/* A worker that has just begun may fall asleep while it is offered its first loop. */
static void test_a_new_worker_runs_beside_the_caller(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        tn_workers *own = NULL;
        tn_thread_pool pool;
        meeting at = {0};
        assert_int_equal(tn_workers_create(tn_allocator_default(), &own), TN_OK);
        tn_cpu_pool_init(&pool, 2, own, false);
        assert_int_equal(pool.parallel_for(&pool, 2, 1, meet, &at), TN_OK);
        tn_workers_destroy(own);
    }
}

static tn_status note_helpers(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)begin, (void)end;
    if (thread != 0) atomic_store((atomic_int *)user, 1);
    sleep_ms(1);
    return TN_OK;
}

static void test_callers_on_all_processors_have_no_helpers(void **state) {
    (void)state;
    tn_thread_pool pool;
    atomic_int is_helped = 0;
    const uint32_t callers = tn_cpu_core_count() + 1;
    init_pool(&pool, MOST_THREADS);
    for (uint32_t i = 0; i < callers; i++)
        tn_workers_enter(workers);
    assert_int_equal(pool.parallel_for(&pool, 16, 1, note_helpers, &is_helped), TN_OK);
    for (uint32_t i = 0; i < callers; i++)
        tn_workers_leave(workers);
    assert_false(atomic_load(&is_helped));
}

/* A fork's child has none of the workers: its loops run, and it ends. */
static void test_a_forks_child_runs_loops_alone(void **state) {
    (void)state;
    tn_thread_pool pool;
    caller self = {.pool = &pool};
    init_pool(&pool, MOST_THREADS);
    call_often(&self);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        caller own = {.pool = &pool};
        alarm(20);
        call_often(&own);
        tn_workers_destroy(workers);
        _exit(own.is_right ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int create_workers(void **state) {
    (void)state;
    return tn_workers_create(tn_allocator_default(), &workers) == TN_OK ? 0 : -1;
}

static int create_workers_for_openmp(void **state) {
    is_openmp = true;
    return create_workers(state);
}

static int destroy_workers(void **state) {
    (void)state;
    tn_workers_destroy(workers);
    return 0;
}

#define POOL_TESTS                                                                                 \
    cmocka_unit_test(test_every_item_is_done_once_in_ranges_of_the_grain),                         \
        cmocka_unit_test(test_counts_up_to_the_highest_do_not_overflow),                           \
        cmocka_unit_test(test_a_failure_is_answered_wherever_it_is),                               \
        cmocka_unit_test(test_a_failure_cancels_what_has_not_begun),                               \
        cmocka_unit_test(test_one_thread_calls_once_and_here),                                     \
        cmocka_unit_test(test_two_threads_share_a_pool)

int main(void) {
    const struct CMUnitTest on_workers[] = {
        POOL_TESTS,
        cmocka_unit_test(test_bodies_run_loops_of_their_own),
        cmocka_unit_test(test_workers_that_sleep_are_woken),
        cmocka_unit_test(test_a_worker_runs_beside_the_caller),
        cmocka_unit_test(test_a_new_worker_runs_beside_the_caller),
        cmocka_unit_test(test_callers_on_all_processors_have_no_helpers),
        cmocka_unit_test(test_a_forks_child_runs_loops_alone),
    };
    const struct CMUnitTest on_openmp[] = {POOL_TESTS};
    const int failed = cmocka_run_group_tests(on_workers, create_workers, destroy_workers);
    return failed + cmocka_run_group_tests(on_openmp, create_workers_for_openmp, destroy_workers);
}
