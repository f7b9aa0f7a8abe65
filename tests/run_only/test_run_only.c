/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run-only library, linked into this program with third parties' libraries: plans that the
 * whole library built give the same bits, and what would need the builder is refused. With
 * ONLY_LENET the library has LeNet's layers alone.
 */
#include "networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The entries of third parties' libraries: each is compiled with -Dtenon_library_1=NAME. */
TN_EXTERN_C tn_library *soft_clip_library(const tn_host *host) TN_NOEXCEPT;
TN_EXTERN_C tn_library *grid_sample_library(const tn_host *host) TN_NOEXCEPT;
TN_EXTERN_C tn_library *quirk_library(const tn_host *host) TN_NOEXCEPT;
TN_EXTERN_C tn_library *relu_library(const tn_host *host) TN_NOEXCEPT;
TN_EXTERN_C tn_library *changed_library(const tn_host *host) TN_NOEXCEPT;

#define ENTRIES(...) ((const tn_library_entry[]){__VA_ARGS__, NULL})
#define NO_ENTRIES   ENTRIES(NULL)

static void must(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static tn_runtime *make_runtime(const tn_library_entry *entries) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime;
    must(tn_runtime_create(&options, &runtime));
    for (; *entries; entries++)
        must(tn_runtime_register_library(runtime, *entries));
    return runtime;
}

static tn_engine *load(const char *plan, const tn_library_entry *entries) {
    tn_runtime *runtime = make_runtime(entries);
    tn_engine *engine;
    must(tn_engine_load(runtime, plan, NULL, &engine));
    tn_runtime_release(runtime);
    return engine;
}

static run_only_bytes read_file(const char *path) {
    run_only_bytes bytes = {malloc(1 << 20), 0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(bytes.data);
    bytes.count = fread(bytes.data, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void check_same_bits(tn_engine *engine, int64_t extent, const char *out) {
    run_only_bytes wanted = read_file(out), found;
    must(run_only_compute(engine, extent, &found));
    assert_true(wanted.count > 0);
    assert_int_equal(found.count, wanted.count);
    assert_memory_equal(found.data, wanted.data, wanted.count);
    free(found.data);
    free(wanted.data);
}

static void check_plan(const char *plan, const char *out, int64_t extent,
                       const tn_library_entry *entries) {
    tn_engine *engine = load(plan, entries);
    check_same_bits(engine, extent, out);
    tn_engine_release(engine);
}

/* The last error has the status and all of the words. */
static void check_error(tn_status found, tn_status wanted, const char *const *words) {
    assert_int_equal(found, wanted);
    for (; *words; words++)
        if (!strstr(tn_last_error()->message, *words))
            fail_msg("'%s' is not in: %s", *words, tn_last_error()->message);
    assert_null(strstr(tn_last_error()->message, "chosen again"));
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_refused(const char *plan, const tn_library_entry *entries, uint32_t threads,
                          tn_status status, const char *const *words) {
    const tn_engine_options options = {.size = sizeof(options), .threads = threads};
    tn_runtime *runtime = make_runtime(entries);
    tn_engine *engine = NULL;
    check_error(tn_engine_load(runtime, plan, &options, &engine), status, words);
    assert_null(engine);
    tn_runtime_release(runtime);
}

static void test_lenet_gives_the_same_bits(void **state) {
    (void)state;
    check_plan(RUN_ONLY_FILE("lenet", ".plan"), RUN_ONLY_FILE("lenet", ".out"), 2, NO_ENTRIES);
}

#ifdef ONLY_LENET
static void test_a_layer_that_is_not_linked_is_named(void **state) {
    (void)state;
    check_refused(RUN_ONLY_FILE("srcnn", ".plan"), NO_ENTRIES, 0, TN_ERROR_UNSUPPORTED,
                  WORDS("Resize", "builtin"));
}
#else
static void test_srcnn_gives_the_same_bits(void **state) {
    (void)state;
    check_plan(RUN_ONLY_FILE("srcnn", ".plan"), RUN_ONLY_FILE("srcnn", ".out"), 0, NO_ENTRIES);
}

static void test_plugins_that_are_linked_in_give_the_same_bits(void **state) {
    (void)state;
    check_plan(RUN_ONLY_FILE("plugins", ".plan"), RUN_ONLY_FILE("plugins", ".out"), 0,
               ENTRIES(soft_clip_library, grid_sample_library));
    check_plan(RUN_ONLY_FILE("relu", ".plan"), RUN_ONLY_FILE("relu", ".out"), 0,
               ENTRIES(relu_library));
}

static void test_a_library_that_is_not_registered_is_named(void **state) {
    (void)state;
    check_refused(RUN_ONLY_FILE("plugins", ".plan"), ENTRIES(soft_clip_library), 0,
                  TN_ERROR_NOT_FOUND, WORDS("grid_sample"));
    check_refused(RUN_ONLY_FILE("relu", ".plan"), NO_ENTRIES, 0, TN_ERROR_NOT_FOUND,
                  WORDS("relu_kernel"));
}

static void test_kernels_that_have_changed_are_refused(void **state) {
    (void)state;
    check_refused(RUN_ONLY_FILE("relu", ".plan"), ENTRIES(changed_library), 0, TN_ERROR_UNSUPPORTED,
                  WORDS("run-only", "third"));
}

static void test_another_number_of_threads_is_refused(void **state) {
    (void)state;
    check_refused(RUN_ONLY_FILE("lenet", ".plan"), NO_ENTRIES, 3, TN_ERROR_UNSUPPORTED,
                  WORDS("run-only", "for 2 threads, not 3"));
}

static void test_shapes_that_break_a_fusion_are_refused(void **state) {
    tn_engine *engine = load(RUN_ONLY_FILE("quirk", ".plan"), ENTRIES(quirk_library));
    run_only_bytes bytes;
    (void)state;
    check_same_bits(engine, 4, RUN_ONLY_FILE("quirk", ".out"));
    check_error(run_only_compute(engine, 5, &bytes), TN_ERROR_UNSUPPORTED,
                WORDS("run-only", "fused", "profile"));
    free(bytes.data);
    check_same_bits(engine, 4, RUN_ONLY_FILE("quirk", ".out"));
    tn_engine_release(engine);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lenet_gives_the_same_bits),
#ifdef ONLY_LENET
        cmocka_unit_test(test_a_layer_that_is_not_linked_is_named),
#else
        cmocka_unit_test(test_srcnn_gives_the_same_bits),
        cmocka_unit_test(test_plugins_that_are_linked_in_give_the_same_bits),
        cmocka_unit_test(test_a_library_that_is_not_registered_is_named),
        cmocka_unit_test(test_kernels_that_have_changed_are_refused),
        cmocka_unit_test(test_another_number_of_threads_is_refused),
        cmocka_unit_test(test_shapes_that_break_a_fusion_are_refused),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
