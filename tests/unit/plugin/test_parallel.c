/* SPDX-License-Identifier: Apache-2.0 */
/* The host's parallel_for where it fails: the reason is that of who failed, a body or the pool. */
#include "plugin/call.h" /* before cmocka's macro `fail`, which is also a member of tn_host */
#include "plugin/runtime.h"

#include "test.h"

static tn_status fail_pool(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                           void *user) {
    (void)pool, (void)count, (void)grain, (void)body, (void)user;
    return tn_fail(TN_ERROR_STATE, "no threads");
}

static tn_status run_here(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                          void *user) {
    (void)pool, (void)grain;
    return body(user, 0, count, 0);
}

static tn_status fail_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)user, (void)begin, (void)end, (void)thread;
    return tn_fail(TN_ERROR_RANGE, "item 3");
}

/* What the call recorded of its failure. */
static tn_status call_with(tn_thread_pool pool, tn_status expected, const char *reason) {
    tn_runtime *runtime = NULL;
    assert_int_equal(tn_runtime_create(NULL, &runtime), TN_OK);
    tn_call_scope scope = {.runtime = runtime, .pool = &pool};
    tn_call call = {.host = tn_runtime_host(runtime), .host_private = &scope, .threads = 2};
    assert_int_equal(call.host->parallel_for(&call, 8, 1, fail_body, NULL), expected);
    assert_string_equal(tn_last_error()->message, reason);
    tn_runtime_release(runtime);
    return scope.failed;
}

static void test_a_pools_own_failure_keeps_its_reason(void **state) {
    (void)state;
    assert_int_equal(call_with((tn_thread_pool){.threads = 2, .parallel_for = fail_pool},
                               TN_ERROR_STATE, "no threads"),
                     TN_ERROR_STATE);
}

static void test_a_bodys_failure_keeps_its_reason(void **state) {
    (void)state;
    assert_int_equal(call_with((tn_thread_pool){.threads = 2, .parallel_for = run_here},
                               TN_ERROR_RANGE, "item 3"),
                     TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pools_own_failure_keeps_its_reason),
        cmocka_unit_test(test_a_bodys_failure_keeps_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
