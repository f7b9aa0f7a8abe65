/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: what is found by domain, name and version, which kernels serve an operator, what is
 * refused, and that what a library provided goes with it. */
#include "plugin_test.h"

static tn_registry *registry_of(plugin_test *test) {
    return tn_runtime_registry(test->runtime);
}

/* The version that is found, or 0; gives the library back. */
static uint32_t found_version(plugin_test *test, const char *domain, const char *name,
                              uint32_t version) {
    const tn_operator_entry *entry = NULL;
    if (tn_registry_find_operator(registry_of(test), domain, name, version, &entry) != TN_OK)
        return 0;
    const uint32_t found = entry->op->since_version;
    tn_library_release(entry->library);
    return found;
}

static void test_registry_refuses_two_operators_of_one_name(void **state) {
    plugin_test *test = *state;
    const tn_operator twice[] = {sound_operator("Twin"), sound_operator("Twin")};
    assert_failed(register_tables_of(test, "one", 2, twice, 0, NULL), TN_ERROR_ARGUMENT,
                  "operator 'test::Twin' version 1 is offered twice by library 'one'");
    assert_int_equal(found_version(test, "test", "Twin", 0), 0);
    assert_int_equal(register_tables_of(test, "one", 1, twice, 0, NULL), TN_OK);
    assert_failed(register_tables_of(test, "other", 1, twice, 0, NULL), TN_ERROR_ARGUMENT,
                  "library 'other' (linked in) and already by library 'one' (linked in)");
}

static void test_registry_refuses_two_kernels_of_one_name(void **state) {
    plugin_test *test = *state;
    const tn_operator op = sound_operator("Single");
    tn_kernel kernels[] = {sound_kernel("Single", "fast"), sound_kernel("Single", "fast")};
    assert_failed(register_tables_of(test, "one", 1, &op, 2, kernels), TN_ERROR_ARGUMENT,
                  "kernel 'fast' of operator 'Single' is offered twice by library 'one'");
    kernels[1].device = "elsewhere";
    assert_int_equal(register_tables_of(test, "one", 1, &op, 2, kernels), TN_OK);
}

static void test_registry_adds_all_of_a_library_or_nothing(void **state) {
    plugin_test *test = *state;
    tn_operator operators[] = {sound_operator("Good"), sound_operator("Bad")};
    operators[1].infer = NULL;
    assert_int_not_equal(register_tables_of(test, "half", 2, operators, 0, NULL), TN_OK);
    assert_int_equal(found_version(test, "test", "Good", 0), 0);
    operators[1] = sound_operator("Bad");
    assert_int_equal(register_tables_of(test, "half", 2, operators, 0, NULL), TN_OK);
    assert_int_equal(found_version(test, "test", "Good", 0), 1);
}

static void test_registry_finds_the_newest_version_that_is_not_newer(void **state) {
    plugin_test *test = *state;
    tn_operator operators[] = {sound_operator("Grown"), sound_operator("Grown"),
                               sound_operator("Grown")};
    operators[1].since_version = 6;
    operators[2].since_version = 13;
    assert_int_equal(register_tables_of(test, "versions", 3, operators, 0, NULL), TN_OK);
    static const uint32_t asked[] = {0, 1, 5, 6, 12, 13, 99}, found[] = {13, 1, 1, 6, 6, 13, 13};
    for (size_t i = 0; i < TEST_COUNT(asked); i++)
        assert_int_equal(found_version(test, "test", "Grown", asked[i]), found[i]);
    const tn_operator_entry *entry = NULL;
    assert_failed(tn_registry_find_operator_exact(registry_of(test), "test", "Grown", 7, &entry),
                  TN_ERROR_UNSUPPORTED,
                  "operator 'test::Grown' has versions 1, 6, 13; version 7 was asked for");
    assert_null(entry);
}

static void test_registry_names_what_is_nearest_to_a_missing_operator(void **state) {
    plugin_test *test = *state;
    const tn_operator op = sound_operator("Reversed");
    const tn_operator_entry *entry = NULL;
    assert_int_equal(register_tables_of(test, "near", 1, &op, 0, NULL), TN_OK);
    assert_failed(tn_registry_find_operator(registry_of(test), "test", "Reversd", 1, &entry),
                  TN_ERROR_UNSUPPORTED, "the nearest is 'test::Reversed' (library near)");
    assert_failed(tn_registry_find_operator(registry_of(test), "else", "Reversed", 1, &entry),
                  TN_ERROR_UNSUPPORTED,
                  "no operator 'else::Reversed': the nearest is 'test::Reversed' (library near)");
    assert_null(entry);
}

static void test_registry_prefers_a_given_library_where_no_domain_is_named(void **state) {
    plugin_test *test = *state;
    tn_operator ours[] = {sound_operator("Relu"), sound_operator("Double")};
    const tn_operator_entry *entry = NULL;
    assert_int_equal(tn_registry_find_any(registry_of(test), "Relu", &entry), TN_OK);
    assert_string_equal(entry->library->name, "builtin");
    tn_library_release(entry->library);
    assert_false(tn_registry_has_given(registry_of(test), "Relu"));
    assert_int_equal(register_tables_of(test, "given", 2, ours, 0, NULL), TN_OK);
    assert_int_equal(tn_registry_find_any(registry_of(test), "Relu", &entry), TN_OK);
    assert_string_equal(entry->library->name, "given");
    tn_library_release(entry->library);
    assert_true(tn_registry_has_given(registry_of(test), "Relu"));
    ours[1].domain = "other";
    assert_int_equal(register_tables_of(test, "second", 1, &ours[1], 0, NULL), TN_OK);
    assert_failed(tn_registry_find_any(registry_of(test), "Double", &entry), TN_ERROR_UNSUPPORTED,
                  "'Double' may be 'test::Double' of library 'given' or 'other::Double' of library "
                  "'second'; load one of the two");
}

static uint32_t count_kernels(plugin_test *test, const tn_operator *op, const char *device) {
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    assert_int_equal(tn_registry_kernels(registry_of(test), op, device, &entries, &count), TN_OK);
    tn_registry_free_kernels(registry_of(test), entries, count);
    return count;
}

static void test_registry_offers_kernels_of_the_device_version_and_features(void **state) {
    plugin_test *test = *state;
    tn_operator op = sound_operator("Served");
    tn_kernel kernels[] = {sound_kernel("Served", "any"), sound_kernel("Served", "old"),
                           sound_kernel("Served", "new"), sound_kernel("Served", "device"),
                           sound_kernel("Served", "features")};
    op.since_version = 6;
    kernels[1].maximum_version = 5;
    kernels[2].minimum_version = 7;
    kernels[3].device = "elsewhere";
    kernels[4].requires_features = "no_such_feature";
    assert_int_equal(register_tables_of(test, "served", 1, &op, TEST_COUNT(kernels), kernels),
                     TN_OK);
    assert_int_equal(count_kernels(test, &op, "cpu"), 1);
    assert_int_equal(count_kernels(test, &op, "elsewhere"), 1);
    op.since_version = 5;
    assert_int_equal(count_kernels(test, &op, "cpu"), 2);
    op.since_version = 7;
    assert_int_equal(count_kernels(test, &op, "cpu"), 2);
    op.domain = "another";
    assert_int_equal(count_kernels(test, &op, "cpu"), 0);
}

static void test_registry_finds_a_kernel_by_name_and_library(void **state) {
    plugin_test *test = *state;
    const tn_operator op = sound_operator("Named");
    const tn_kernel kernel = sound_kernel("Named", "one");
    assert_int_equal(register_tables_of(test, "first", 1, &op, 1, &kernel), TN_OK);
    assert_int_equal(register_tables_of(test, "second", 0, NULL, 1, &kernel), TN_OK);
    static const char *const libraries[] = {"first", "second"};
    for (size_t i = 0; i < TEST_COUNT(libraries); i++) {
        const tn_library_key key = {.name = libraries[i]};
        const tn_kernel_entry *entry =
            tn_registry_find_kernel(registry_of(test), &op, "cpu", "one", &key);
        assert_non_null(entry);
        assert_string_equal(entry->library->name, libraries[i]);
        tn_library_release(entry->library);
    }
    const tn_library_key third = {.name = "third"};
    assert_null(tn_registry_find_kernel(registry_of(test), &op, "cpu", "one", &third));
    assert_null(tn_registry_find_kernel(registry_of(test), &op, "cpu", "two", NULL));
}

static void test_registry_forgets_a_library_that_is_unloaded(void **state) {
    plugin_test *test = *state;
    const tn_operator op = sound_operator("Short");
    const tn_kernel kernel = sound_kernel("Short", "one");
    assert_int_equal(register_tables_of(test, "short", 1, &op, 1, &kernel), TN_OK);
    assert_int_equal(count_kernels(test, &op, "cpu"), 1);
    assert_int_equal(tn_runtime_unload_library(test->runtime, "short"), TN_OK);
    assert_int_equal(found_version(test, "test", "Short", 0), 0);
    assert_int_equal(count_kernels(test, &op, "cpu"), 0);
    assert_int_equal(register_tables_of(test, "short", 1, &op, 1, &kernel), TN_OK);
    assert_int_equal(found_version(test, "test", "Short", 0), 1);
}

static void test_registry_adds_nothing_where_memory_runs_out(void **state) {
    plugin_test *test = *state;
    const tn_operator op = sound_operator("Large");
    const tn_kernel kernel = sound_kernel("Large", "one");
    uint64_t failures = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; failures++) {
        test->allocator.fail_at = test->allocator.allocations + failures + 1;
        status = register_tables_of(test, "large", 1, &op, 1, &kernel);
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_int_equal(found_version(test, "test", "Large", 0), 0);
        assert_int_equal(count_kernels(test, &op, "cpu"), 0);
    }
    assert_true(failures > 1);
    assert_int_equal(found_version(test, "test", "Large", 0), 1);
}

/* ----------------------------------------------------------------------------------------------
 * built-in tables, which are read when they are asked for first */

enum { MOST_BUILTIN = 4096 };
typedef struct builtin_tables {
    uint32_t operator_count, kernel_count;
    const tn_operator *operators[MOST_BUILTIN];
    const tn_kernel *kernels[MOST_BUILTIN];
} builtin_tables;

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    builtin_tables *all = user;
    assert_string_equal(library->name, "builtin");
    all->operators[all->operator_count++] = op;
    return all->operator_count < MOST_BUILTIN;
}

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    builtin_tables *all = user;
    (void)library;
    all->kernels[all->kernel_count++] = kernel;
    return all->kernel_count < MOST_BUILTIN;
}

static bool note_counts(void *user, const tn_library_info *library) {
    *(tn_library_info *)user = *library;
    return false;
}

static bool are_same_texts(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void test_registry_reads_each_built_in_table(void **state) {
    plugin_test *test = *state;
    builtin_tables *all = calloc(1, sizeof(*all));
    tn_library_info info = {0};
    assert_non_null(all);
    tn_runtime_visit_libraries(test->runtime, note_counts, &info);
    tn_runtime_visit_operators(test->runtime, note_operator, all);
    tn_runtime_visit_kernels(test->runtime, note_kernel, all);
    assert_true(info.operator_count > 200 && info.kernel_count > 400);
    assert_int_equal(all->operator_count, info.operator_count);
    assert_int_equal(all->kernel_count, info.kernel_count);
    for (uint32_t i = 0; i < all->operator_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const tn_operator *a = all->operators[i], *b = all->operators[k];
            assert_false(strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0 &&
                         a->since_version == b->since_version &&
                         are_same_texts(a->variant, b->variant));
        }
    for (uint32_t i = 0; i < all->kernel_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const tn_kernel *a = all->kernels[i], *b = all->kernels[k];
            assert_false(strcmp(a->name, b->name) == 0 && strcmp(a->op, b->op) == 0 &&
                         strcmp(a->domain, b->domain) == 0 && strcmp(a->device, b->device) == 0 &&
                         a->minimum_version == b->minimum_version);
        }
    free(all);
}

static void test_registry_reads_each_built_in_rewrite(void **state) {
    plugin_test *test = *state;
    const tn_rewrite_entry **entries = NULL;
    uint32_t count = 0;
    assert_int_equal(tn_registry_rewrites(registry_of(test), &entries, &count), TN_OK);
    assert_true(count > 40);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tn_registry_read_rewrite(registry_of(test), entries[i]), TN_OK);
        assert_non_null(entries[i]->pattern);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(entries[i]->rewrite->name, entries[k]->rewrite->name);
    }
    tn_registry_free_rewrites(registry_of(test), entries, count);
}

/* Entries lie in blocks of memory, so that some are made before the first block is missing. */
static void test_registry_makes_entries_again_after_memory_ran_out(void **state) {
    plugin_test *test = *state;
    builtin_tables *all = calloc(1, sizeof(*all));
    tn_library_info info = {0};
    assert_non_null(all);
    tn_runtime_visit_libraries(test->runtime, note_counts, &info);
    test->allocator.fail_at = test->allocator.allocations + 1;
    tn_runtime_visit_kernels(test->runtime, note_kernel, all);
    test->allocator.fail_at = 0;
    assert_true(all->kernel_count < info.kernel_count);
    all->kernel_count = 0;
    tn_runtime_visit_kernels(test->runtime, note_kernel, all);
    assert_int_equal(all->kernel_count, info.kernel_count);
    free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLUGIN_TEST(test_registry_reads_each_built_in_table),
        PLUGIN_TEST(test_registry_reads_each_built_in_rewrite),
        PLUGIN_TEST(test_registry_makes_entries_again_after_memory_ran_out),
        PLUGIN_TEST(test_registry_refuses_two_operators_of_one_name),
        PLUGIN_TEST(test_registry_refuses_two_kernels_of_one_name),
        PLUGIN_TEST(test_registry_adds_all_of_a_library_or_nothing),
        PLUGIN_TEST(test_registry_finds_the_newest_version_that_is_not_newer),
        PLUGIN_TEST(test_registry_names_what_is_nearest_to_a_missing_operator),
        PLUGIN_TEST(test_registry_prefers_a_given_library_where_no_domain_is_named),
        PLUGIN_TEST(test_registry_offers_kernels_of_the_device_version_and_features),
        PLUGIN_TEST(test_registry_finds_a_kernel_by_name_and_library),
        PLUGIN_TEST(test_registry_forgets_a_library_that_is_unloaded),
        PLUGIN_TEST(test_registry_adds_nothing_where_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
