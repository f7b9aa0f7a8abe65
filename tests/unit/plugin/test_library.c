/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of libraries: files that are none, tables that are wrong, loads that fail, and names by
 * which they are unloaded. */
#include "plugin/runtime_private.h" /* before cmocka's macro `fail` */

#include "plugin_test.h"

#include <unistd.h>

#define LIBRARY "guarded/libguarded_layers.so"

static void test_library_files_that_cannot_be_loaded_say_why(void **state) {
    plugin_test *test = *state;
    char text[] = "/tmp/tenon-no-library.XXXXXX";
    const int file = mkstemp(text);
    assert_true(file >= 0 && write(file, "text", 4) == 4 && close(file) == 0);
    assert_failed(tn_runtime_load_library(test->runtime, ""), TN_ERROR_ARGUMENT, "is empty");
    assert_failed(tn_runtime_load_library(test->runtime, NULL), TN_ERROR_ARGUMENT, "is empty");
    assert_failed(tn_runtime_load_library(test->runtime, "/no/such/lib.so"), TN_ERROR_NOT_FOUND,
                  "there is no library file '/no/such/lib.so'");
    assert_failed(tn_runtime_load_library(test->runtime, text), TN_ERROR_PLUGIN,
                  "cannot load library");
    assert_failed(tn_runtime_load_library(test->runtime, "../lib/libtenon.so"), TN_ERROR_PLUGIN,
                  "does not export 'tenon_library_1'");
    assert_failed(tn_runtime_register_library(test->runtime, NULL), TN_ERROR_ARGUMENT,
                  "the entry of a library is null");
    unlink(text);
}

static tn_library *refuse(const tn_host *host) {
    host->log(host, TN_LOG_ERROR, "not on a Tuesday");
    return NULL;
}

static void test_library_entries_may_refuse_with_a_reason(void **state) {
    plugin_test *test = *state;
    assert_failed(tn_runtime_register_library(test->runtime, refuse), TN_ERROR_PLUGIN,
                  "its entry refused this host: not on a Tuesday");
}

static void test_library_tables_that_are_wrong_are_refused(void **state) {
    plugin_test *test = *state;
    const tn_library sound = sound_library("sound");
    tn_library wrong[9];
    static const char *const why[] = {"its table says it has 4 bytes",
                                      "its table says it has 65537 bytes",
                                      "it was built for ABI version",
                                      "or newer, this is",
                                      "its name is not made of letters",
                                      "its name is not made of letters",
                                      "it counts 1 operators and 0 kernels",
                                      "it counts 0 operators and 2000000 kernels",
                                      "it counts 3 rewrites"};
    static const tn_kernel *const none[] = {NULL};
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        wrong[i] = sound;
    wrong[0].size = 4;
    wrong[1].size = 65537;
    wrong[2].abi_major = TN_ABI_MAJOR + 1;
    wrong[3].abi_minor = TN_ABI_MINOR + 1;
    wrong[3].flags = TN_LIBRARY_NEEDS_ITS_MINOR;
    wrong[4].name = "a b";
    wrong[5].name = NULL;
    wrong[6].operator_count = 1;
    wrong[7].kernel_count = 2000000;
    wrong[7].kernels = none;
    wrong[8].rewrite_count = 3;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        plugin_test_library = wrong[i];
        assert_failed(tn_runtime_register_library(test->runtime, plugin_test_entry),
                      TN_ERROR_PLUGIN, why[i]);
    }
    plugin_test_library = sound;
    plugin_test_library.abi_minor = TN_ABI_MINOR + 1; /* it does without what is newer */
    assert_int_equal(tn_runtime_register_library(test->runtime, plugin_test_entry), TN_OK);
}

static tn_status fail_without_reason(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    return TN_ERROR_IO;
}
static tn_status fail_with_a_line(const tn_host *host, tn_library *library) {
    (void)library;
    host->log(host, TN_LOG_ERROR, "the table of weights is gone");
    return TN_ERROR_IO;
}
static tn_status answer_nonsense(const tn_host *host, tn_library *library) {
    (void)host, (void)library;
    return (tn_status)4711;
}

static void test_library_loads_that_fail_leave_nothing(void **state) {
    plugin_test *test = *state;
    static tn_status (*const loads[])(const tn_host *, tn_library *) = {
        fail_without_reason, fail_with_a_line, answer_nonsense};
    static const tn_status statuses[] = {TN_ERROR_PLUGIN, TN_ERROR_IO, TN_ERROR_PLUGIN};
    static const char *const why[] = {"without a reason",
                                      "its load failed: the table of weights is gone",
                                      "its load returned 4711 without a reason"};
    const tn_operator op = sound_operator("Loaded");
    const tn_operator *const operators[] = {&op};
    for (size_t i = 0; i < TEST_COUNT(loads); i++) {
        const tn_operator_entry *entry = NULL;
        plugin_test_library = sound_library("loading");
        plugin_test_library.operator_count = 1;
        plugin_test_library.operators = operators;
        plugin_test_library.load = loads[i];
        assert_failed(tn_runtime_register_library(test->runtime, plugin_test_entry), statuses[i],
                      why[i]);
        assert_int_not_equal(tn_registry_find_operator(tn_runtime_registry(test->runtime), "test",
                                                       "Loaded", 0, &entry),
                             TN_OK);
    }
}

static void test_library_loads_are_counted_and_given_back_by_name(void **state) {
    plugin_test *test = *state;
    assert_int_equal(tn_runtime_load_library(test->runtime, LIBRARY), TN_OK);
    assert_int_equal(tn_runtime_load_library(test->runtime, "./" LIBRARY), TN_OK);
    assert_failed(tn_runtime_unload_library(test->runtime, NULL), TN_ERROR_ARGUMENT, "is null");
    assert_failed(tn_runtime_unload_library(test->runtime, "tests_guardet"), TN_ERROR_NOT_FOUND,
                  "no library 'tests_guardet' is loaded");
    assert_int_equal(tn_runtime_unload_library(test->runtime, LIBRARY), TN_OK);
    assert_int_equal(tn_runtime_unload_library(test->runtime, LIBRARY), TN_OK);
    assert_failed(tn_runtime_unload_library(test->runtime, LIBRARY), TN_ERROR_NOT_FOUND,
                  "is loaded");
}

static void test_library_folders_leave_out_what_is_broken(void **state) {
    plugin_test *test = *state;
    char folder[] = "/tmp/tenon-libraries.XXXXXX", link[128], broken[128], target[4096];
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof(link), "%s/liba.so", folder);
    snprintf(broken, sizeof(broken), "%s/libb.so", folder);
    assert_non_null(realpath(LIBRARY, target));
    assert_int_equal(symlink(target, link), 0);
    FILE *file = fopen(broken, "w");
    assert_true(file && fputs("text", file) >= 0 && fclose(file) == 0);
    assert_int_equal(tn_runtime_load_directory(test->runtime, folder), TN_OK);
    assert_non_null(strstr(test->log, "libb.so' is left out"));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(tn_runtime_load_directory(test->runtime, folder), TN_ERROR_PLUGIN);
    assert_int_equal(unlink(broken), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_failed(tn_runtime_load_directory(test->runtime, folder), TN_ERROR_NOT_FOUND,
                  "there is no directory");
}

static bool is_operator(const void *user, const char *name) {
    return strcmp(user, name) == 0;
}

/* Loads what a network of one operator needs; whether the library is there then. */
static bool loads_for(plugin_test *test, const char *name) {
    assert_int_equal(tn_runtime_load_companions(test->runtime, is_operator, name), TN_OK);
    return tn_runtime_unload_library(test->runtime, "guarded_layers") == TN_OK;
}

static void test_library_of_kernels_waits_for_their_operators(void **state) {
    plugin_test *test = *state;
    char folder[] = "/tmp/tenon-libraries.XXXXXX", link[128], listing[128], target[4096];
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof(link), "%s/liba.so", folder);
    snprintf(listing, sizeof(listing), "%s/liba.so.kernels", folder);
    assert_non_null(realpath(LIBRARY, target));
    assert_int_equal(symlink(target, link), 0);
    FILE *file = fopen(listing, "w");
    assert_true(file && fputs("# Two.\nAlpha\nBeta\n", file) >= 0 && fclose(file) == 0);
    test->runtime->companions = folder;
    assert_false(loads_for(test, "Gamma"));
    assert_false(loads_for(test, "# Two."));
    assert_true(loads_for(test, "Beta"));
    assert_false(loads_for(test, "Beta")); /* once */
    assert_int_equal(unlink(listing), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
}

#ifdef ONEDNN_KERNELS /* where they are built */
typedef struct listed_kernels {
    char text[4096];
    size_t count;
} listed_kernels;

static bool check_is_listed(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    char line[128];
    listed_kernels *listed = user;
    if (strcmp(library->name, "onednn") != 0) return true;
    listed->count++;
    snprintf(line, sizeof(line), "\n%s\n", kernel->op);
    if (!strstr(listed->text, line))
        fail_msg("kernels.txt of layers/onednn does not list %s", kernel->op);
    return true;
}

static void test_library_listings_name_the_operators_of_all_kernels(void **state) {
    plugin_test *test = *state;
    listed_kernels listed = {0};
    FILE *file = fopen(ONEDNN_KERNELS "/libtenon_onednn.so.kernels", "r");
    assert_non_null(file);
    assert_true(fread(listed.text, 1, sizeof(listed.text) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    test->runtime->companions = ONEDNN_KERNELS;
    assert_int_equal(tn_runtime_load_companions(test->runtime, NULL, NULL), TN_OK);
    tn_runtime_visit_kernels(test->runtime, check_is_listed, &listed);
    assert_true(listed.count > 0);
}
#endif

static void test_library_of_kernels_without_a_listing_is_loaded(void **state) {
    plugin_test *test = *state;
    char folder[] = "/tmp/tenon-libraries.XXXXXX", link[128], target[4096];
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof(link), "%s/liba.so", folder);
    assert_non_null(realpath(LIBRARY, target));
    assert_int_equal(symlink(target, link), 0);
    test->runtime->companions = folder;
    assert_true(loads_for(test, "Gamma"));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PLUGIN_TEST(test_library_files_that_cannot_be_loaded_say_why),
        PLUGIN_TEST(test_library_entries_may_refuse_with_a_reason),
        PLUGIN_TEST(test_library_tables_that_are_wrong_are_refused),
        PLUGIN_TEST(test_library_loads_that_fail_leave_nothing),
        PLUGIN_TEST(test_library_loads_are_counted_and_given_back_by_name),
        PLUGIN_TEST(test_library_folders_leave_out_what_is_broken),
        PLUGIN_TEST(test_library_of_kernels_waits_for_their_operators),
        PLUGIN_TEST(test_library_of_kernels_without_a_listing_is_loaded),
#ifdef ONEDNN_KERNELS
        PLUGIN_TEST(test_library_listings_name_the_operators_of_all_kernels),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
