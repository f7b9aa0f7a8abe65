/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries under domains of their own, and those that are compiled again: what is registered then,
 * also where each allocation fails in turn, and where two threads load at once. The library is that
 * of tests/guarded, whose operators are in the domain tests.guarded. */
#include "plugin/library.h"
#include "plugin/runtime.h"

#include "failing_allocator.h"
#include "test.h"

#include <pthread.h>
#include <unistd.h>

#define LIBRARY    "guarded/libguarded_layers.so"
#define OWN_DOMAIN "tests.guarded"

typedef struct counts {
    const char *domain;
    uint32_t operators, kernels;
} counts;

static bool count_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    counts *found = user;
    (void)library;
    found->operators += strcmp(op->domain, found->domain) == 0;
    return true;
}

static bool count_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    counts *found = user;
    (void)library;
    found->kernels += strcmp(kernel->domain, found->domain) == 0;
    return true;
}

static counts count(tn_runtime *runtime, const char *domain) {
    counts found = {.domain = domain};
    tn_runtime_visit_operators(runtime, count_operator, &found);
    tn_runtime_visit_kernels(runtime, count_kernel, &found);
    return found;
}

static tn_runtime *make_runtime(const tn_allocator *allocator) {
    const tn_runtime_options options = {
        .size = sizeof(options), .allocator = allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime = NULL;
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    return runtime;
}

static void test_operators_and_their_kernels_move(void **state) {
    (void)state;
    tn_runtime *runtime = make_runtime(NULL);
    assert_int_equal(tn_runtime_load_library(runtime, LIBRARY), TN_OK);
    const counts own = count(runtime, OWN_DOMAIN);
    assert_true(own.operators > 0 && own.kernels > 0);
    assert_int_equal(tn_runtime_load_library_as(runtime, LIBRARY, "P"), TN_OK);
    assert_int_equal(tn_runtime_load_library_as(runtime, LIBRARY, "P"), TN_OK); /* counted */
    assert_int_equal(tn_runtime_load_library_as(runtime, LIBRARY, NULL), TN_OK);
    const counts moved = count(runtime, "P"), kept = count(runtime, OWN_DOMAIN);
    assert_int_equal(moved.operators, own.operators);
    assert_int_equal(moved.kernels, own.kernels);
    assert_int_equal(kept.operators, own.operators);
    assert_int_equal(kept.kernels, own.kernels);
    tn_runtime_release(runtime);
}

static void test_bad_domains_are_refused(void **state) {
    (void)state;
    tn_runtime *runtime = make_runtime(NULL);
    char domain[200];
    memset(domain, 'x', sizeof(domain) - 1);
    domain[sizeof(domain) - 1] = 0;
    const char *const bad[] = {"a b", "a:b", "a@b", "a/b", "\n", "\xc3\xa4", domain};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_failed(tn_runtime_load_library_as(runtime, LIBRARY, bad[i]), TN_ERROR_ARGUMENT,
                      "is no domain");
    assert_failed(tn_runtime_load_library_as(runtime, "no/such.so", "P"), TN_ERROR_NOT_FOUND,
                  "no/such.so");
    tn_runtime_release(runtime);
}

static void test_each_allocation_of_a_load_may_fail(void **state) {
    (void)state;
    failing_allocator allocator;
    failing_allocator_init(&allocator);
    tn_runtime *runtime = make_runtime(&allocator.functions);
    uint64_t failures = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; failures++) {
        allocator.fail_at = allocator.allocations + failures + 1;
        status = tn_runtime_load_library_as(runtime, LIBRARY, "P");
        allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_int_equal(count(runtime, "P").operators, 0);
        assert_int_equal(count(runtime, "P").kernels, 0);
    }
    assert_true(failures > 1);
    assert_true(count(runtime, "P").operators > 0);
    tn_runtime_release(runtime);
    assert_int_equal(allocator.live, 0);
}

typedef struct loading {
    tn_runtime *runtime;
    const char *domain;
} loading;

static void *load_often(void *user) {
    const loading *work = user;
    for (int i = 0; i < 50; i++)
        if (tn_runtime_load_library_as(work->runtime, LIBRARY, work->domain) != TN_OK) return user;
    return NULL;
}

static void test_two_threads_load_under_two_domains(void **state) {
    (void)state;
    tn_runtime *runtime = make_runtime(NULL);
    loading work[2] = {{runtime, "P"}, {runtime, "Q"}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_often, &work[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(count(runtime, "P").operators, count(runtime, "Q").operators);
    assert_true(count(runtime, "P").operators > 0);
    tn_runtime_release(runtime);
}

static void test_unloading_wants_a_path_where_names_repeat(void **state) {
    (void)state;
    char copy[] = "/tmp/domains.XXXXXX.so";
    const int descriptor = mkstemps(copy, 3);
    assert_true(descriptor >= 0);
    FILE *from = fopen(LIBRARY, "rb"), *to = fdopen(descriptor, "wb");
    for (int byte; (byte = getc(from)) != EOF;)
        putc(byte, to);
    putc(0, to); /* other content */
    fclose(from);
    fclose(to);
    tn_runtime *runtime = make_runtime(NULL);
    assert_int_equal(tn_runtime_load_library(runtime, LIBRARY), TN_OK);
    assert_failed(tn_runtime_load_library(runtime, copy), TN_ERROR_ARGUMENT, "@DOMAIN");
    assert_int_equal(tn_runtime_load_library_as(runtime, copy, "P"), TN_OK);
    assert_failed(tn_runtime_unload_library(runtime, "guarded_layers"), TN_ERROR_ARGUMENT,
                  "several libraries");
    assert_true(count(runtime, "P").operators > 0);
    assert_int_equal(tn_runtime_unload_library(runtime, copy), TN_OK);
    assert_int_equal(count(runtime, "P").operators, 0);
    assert_int_equal(tn_runtime_unload_library(runtime, "guarded_layers"), TN_OK);
    assert_int_equal(count(runtime, OWN_DOMAIN).operators, 0);
    tn_runtime_release(runtime);
    unlink(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators_and_their_kernels_move),
        cmocka_unit_test(test_bad_domains_are_refused),
        cmocka_unit_test(test_each_allocation_of_a_load_may_fail),
        cmocka_unit_test(test_two_threads_load_under_two_domains),
        cmocka_unit_test(test_unloading_wants_a_path_where_names_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
