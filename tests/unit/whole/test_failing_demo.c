/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main job at small size, with each allocation failing in turn: a plugin is registered, a
 * network with its node read, built, saved, loaded, and run at two sizes. Each failure must come
 * back as an error with a reason, leak nothing, and leave no file behind. The plugin is the
 * example's own source.
 */
#include "../../../examples/dynamic_resize/dynamic_resize.c"
#include "failing_allocator.h"
#include <tenon/tenon.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != TN_OK) goto done;                                                            \
    } while (0)

static char model_path[4096], folder[] = "failing_demo_XXXXXX", plan_path[4096];
static float image[1 * 2 * 4 * 5], enlarged[1 * 2 * 12 * 11];

/* One upscaling; tiny_dynamic.onnx has inputs "image" and "size" and two channels. */
static tn_status upscale(tn_context *context, int64_t height, int64_t width) {
    const int64_t image_shape[] = {1, 2, 4, 5}, size_shape[] = {1, 1, height, width};
    tn_status status = tn_context_set_shape(context, 0, 4, image_shape);
    if (status == TN_OK) status = tn_context_set_shape(context, 1, 4, size_shape);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, image, sizeof(image));
    if (status == TN_OK) status = tn_context_bind_output(context, 0, enlarged, sizeof(enlarged));
    return status == TN_OK ? tn_context_run(context) : status;
}

static tn_status whole_job(const tn_allocator *allocator) {
    const tn_runtime_options options = {
        .size = sizeof(options), .allocator = allocator, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    const tn_builder_options build = {
        .size = sizeof(build), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    char *json = NULL;
    tn_status status;
    TRY(tn_runtime_create(&options, &runtime));
    TRY(tn_runtime_register_library(runtime, tenon_library_1));
    TRY(tn_graph_load_onnx(runtime, model_path, &graph));
    TRY(tn_build(graph, &build, &plan));
    TRY(tn_plan_save(plan, plan_path));
    TRY(tn_plan_inspect(runtime, plan_path, &json));
    TRY(tn_engine_load(runtime, plan_path, NULL, &engine));
    TRY(tn_context_create(engine, &context));
    TRY(upscale(context, 8, 10));
    TRY(upscale(context, 12, 11));
    TRY(upscale(context, 8, 10));
done:
    tn_text_free(runtime, json);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
    return status;
}

/* Files in the folder other than the plan: none may be left. */
static int count_other_files(void) {
    DIR *directory = opendir(folder);
    int count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.' && strcmp(entry->d_name, "net.plan") != 0;
    closedir(directory);
    return count;
}

static void test_every_allocation_may_fail(void **state) {
    failing_allocator allocator;
    (void)state;
    failing_allocator_init(&allocator);
    assert_int_equal(whole_job(&allocator.functions), TN_OK);
    assert_int_equal(allocator.live, 0);
    const uint64_t total = allocator.allocations;
    uint64_t failures = 0;
    for (uint64_t at = 1; at <= total; at++) {
        failing_allocator_init(&allocator);
        allocator.fail_at = at;
        const tn_status status = whole_job(&allocator.functions);
        if (allocator.live != 0)
            fail_msg("allocation %llu of %llu failing leaves %lld blocks", (unsigned long long)at,
                     (unsigned long long)total, (long long)allocator.live);
        if (status != TN_OK) {
            failures++;
            assert_int_equal(tn_last_error()->status, status);
            assert_true(tn_last_error()->message[0] != 0);
        }
        assert_int_equal(count_other_files(), 0);
    }
    /* A few are for caches that may do without; most must be told. */
    assert_true(failures * 10 > total * 9);
}

int main(void) {
    snprintf(model_path, sizeof(model_path), "%s/models/tiny/tiny_dynamic.onnx", TENON_ROOT);
    for (size_t i = 0; i < sizeof(image) / sizeof(image[0]); i++)
        image[i] = (float)(i % 7) / 7.0f;
    if (!mkdtemp(folder)) return 1;
    snprintf(plan_path, sizeof(plan_path), "%s/net.plan", (const char *)folder);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(plan_path);
    rmdir(folder);
    return failed;
}
