/* SPDX-License-Identifier: Apache-2.0 */
/* The host's services as a library sees them: memory, failures and their reasons, extensions, and
 * what is refused outside the callback that it belongs to. */
#include "plugin_test.h"

#include <tenon/plugin/body.h>
#include <tenon/plugin/output.h>
#include <tenon/plugin/resource.h>
#include <tenon/plugin/rewrite.h>
#include <tenon/plugin/sequence.h>
#include <tenon/plugin/string.h>

static const tn_host *host_of(plugin_test *test) {
    return tn_runtime_host(test->runtime);
}

static void test_host_memory_is_the_runtimes_and_aligned(void **state) {
    plugin_test *test = *state;
    const tn_host *host = host_of(test);
    const int64_t live = test->allocator.live;
    for (uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
        char *memory = host->allocate(host, 100, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        memset(memory, 1, 100);
        assert_int_equal(test->allocator.live, live + 1);
        host->deallocate(host, memory);
    }
    assert_int_equal(test->allocator.live, live);
    static const uint64_t wrong[] = {0, 3, 48, 8192, UINT64_MAX};
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_null(host->allocate(host, 100, wrong[i]));
    assert_null(host->allocate(host, UINT64_MAX, 64));
    test->allocator.fail_at = test->allocator.allocations + 1;
    assert_null(host->allocate(host, 100, 64));
    host->deallocate(host, NULL);
}

static void test_host_knows_its_extensions_and_no_others(void **state) {
    plugin_test *test = *state;
    static const char *const known[] = {TN_REWRITES,      TN_RESOURCES, TN_BODIES,
                                        TN_OUTPUT_MEMORY, TN_STRINGS,   TN_SEQUENCES};
    for (size_t i = 0; i < TEST_COUNT(known); i++)
        assert_non_null(host_of(test)->extension(host_of(test), known[i]));
    assert_null(host_of(test)->extension(host_of(test), "tn.no_such/1"));
    assert_null(host_of(test)->extension(host_of(test), ""));
    assert_null(host_of(test)->extension(host_of(test), NULL));
    /* this runtime reads no environment, and nobody does so through it */
    assert_null(host_of(test)->extension(host_of(test), TN_ENVIRONMENT));
}

static void test_host_failures_keep_their_status_and_reason(void **state) {
    plugin_test *test = *state;
    const tn_host *host = host_of(test);
    tn_call_scope scope = {.runtime = test->runtime};
    tn_call call = {.size = sizeof(call), .host = host, .host_private = &scope};
    assert_failed((host->fail)(&call, TN_ERROR_RANGE, "axis %d of %s", 7, "x"), TN_ERROR_RANGE,
                  "axis 7 of x");
    assert_int_equal(scope.failed, TN_ERROR_RANGE);
    assert_failed((host->fail)(&call, TN_OK, "no failure"), TN_ERROR_PLUGIN, "no failure");
    assert_failed((host->fail)(&call, (tn_status)4711, "no status"), TN_ERROR_PLUGIN, "no status");
    assert_failed((host->fail)(&call, TN_ERROR_IO, NULL), TN_ERROR_IO, "no reason given");
    assert_failed((host->fail)(NULL, TN_ERROR_IO, "without a call"), TN_ERROR_IO, "without a call");
    char format[8];
    snprintf(format, sizeof(format), "%%4000d"); /* longer than any reason is kept */
    assert_int_equal((host->fail)(&call, TN_ERROR_IO, format, 1), TN_ERROR_IO);
    assert_true(strlen(tn_last_error()->message) <= 1000);
}

static void test_host_registers_in_a_librarys_load_alone(void **state) {
    plugin_test *test = *state;
    const tn_host *host = host_of(test);
    const tn_operator op = sound_operator("Late");
    const tn_kernel kernel = sound_kernel("Late", "one");
    plugin_test_library = sound_library("late");
    assert_int_equal(tn_runtime_register_library(test->runtime, plugin_test_entry), TN_OK);
    assert_failed(host->register_operator(host, &plugin_test_library, &op), TN_ERROR_STATE,
                  "in the library's load alone");
    assert_failed(host->register_kernel(host, &plugin_test_library, &kernel), TN_ERROR_STATE,
                  "in the library's load alone");
}

static tn_status write_nothing(void *user, void *data, uint64_t bytes) {
    (void)user, (void)data, (void)bytes;
    return TN_OK;
}

static void test_host_packs_weights_in_prepare_alone(void **state) {
    plugin_test *test = *state;
    const tn_host *host = host_of(test);
    tn_call_scope scope = {.runtime = test->runtime};
    tn_call call = {.size = sizeof(call), .host = host, .host_private = &scope};
    const void *data = NULL;
    assert_failed(host->packed(&call, 0, "key", 4, write_nothing, NULL, &data), TN_ERROR_STATE,
                  "in prepare alone");
    assert_null(data);
}

static void test_host_resources_need_all_parts_and_an_owner(void **state) {
    plugin_test *test = *state;
    const tn_resources *resources = host_of(test)->extension(host_of(test), TN_RESOURCES);
    tn_call_scope scope = {.runtime = test->runtime};
    tn_call call = {.size = sizeof(call), .host = host_of(test), .host_private = &scope};
    const tn_resource lacking = {
        .size = sizeof(lacking), .scope = TN_SCOPE_CONTEXT, .key = "test/1"};
    void *found = NULL;
    assert_failed(resources->acquire(&call, NULL, &found), TN_ERROR_ARGUMENT, "needs a key");
    assert_failed(resources->acquire(&call, &lacking, &found), TN_ERROR_ARGUMENT, "both callbacks");
    assert_null(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLUGIN_TEST(test_host_memory_is_the_runtimes_and_aligned),
        PLUGIN_TEST(test_host_knows_its_extensions_and_no_others),
        PLUGIN_TEST(test_host_failures_keep_their_status_and_reason),
        PLUGIN_TEST(test_host_registers_in_a_librarys_load_alone),
        PLUGIN_TEST(test_host_packs_weights_in_prepare_alone),
        PLUGIN_TEST(test_host_resources_need_all_parts_and_an_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
