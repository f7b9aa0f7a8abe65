/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real binaries, loaded as a user would load them: built against older, equal and newer headers, as
 * C and C++, and libraries that break the contract. ABI_FOLDER is where the build puts them. Public
 * interface alone.
 */
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static tn_runtime *make_runtime(void) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime;
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    return runtime;
}

static const char *path_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof(path), "%s/lib%s.so", ABI_FOLDER, name);
    return path;
}

/* Scales for all that the network has. */
static tn_calibration *make_table(tn_runtime *runtime) {
    tn_calibration *table;
    assert_int_equal(tn_calibration_create(runtime, &table), TN_OK);
    assert_int_equal(tn_calibration_set(table, "x", 0.2f), TN_OK);
    assert_int_equal(tn_calibration_set(table, "y", 0.6f), TN_OK);
    return table;
}

/* A network of the library's one node, built and run: y = 3 * x + 0.75. Whatever the precision:
 * its kernel names no lower type and is never given one. */
static void run_layer(tn_runtime *runtime, const char *domain, uint32_t flags, uint32_t precision) {
    const int64_t shape[2] = {4, 50};
    float x[200], *y;
    const tn_attribute factor = {
        .size = sizeof(factor), .type = TN_FIELD_F32, .name = "factor", .f = 3};
    const tn_attribute *const attributes[] = {&factor};
    tn_calibration *table = make_table(runtime);
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 2,
                                        .flags = flags,
                                        .precision = precision,
                                        .calibration = table};
    tn_tensor_id input, output;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    const tn_tensor *result;
    uint64_t bytes;
    for (int i = 0; i < 200; i++)
        x[i] = (float)i / 8.0f;
    assert_int_equal(tn_graph_create(runtime, "abi", &graph), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 2, shape, NULL, &input), TN_OK);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = "Scale",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &input,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    assert_int_equal(tn_graph_add_node(graph, &node, &output), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, output, "y"), TN_OK);
    assert_int_equal(tn_build(graph, &options, &plan), TN_OK);
    tn_calibration_destroy(table);
    const void *data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(runtime, data, bytes, NULL, &engine), TN_OK);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    assert_int_equal(tn_context_bind_input(context, 0, x, sizeof(x)), TN_OK);
    assert_int_equal(tn_context_run(context), TN_OK);
    assert_int_equal(tn_context_output(context, 0, &result), TN_OK);
    y = result->data;
    for (int i = 0; i < 200; i++)
        assert_true(fabsf(y[i] - (3.0f * x[i] + 0.75f)) < 1e-5f);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void check_layer(const char *name) {
    tn_runtime *runtime = make_runtime();
    if (tn_runtime_load_library(runtime, path_of(name)) != TN_OK)
        fail_msg("%s: %s", name, tn_last_error()->message);
    run_layer(runtime, name, 0, TN_PRECISION_F32);
    run_layer(runtime, name, TN_BUILD_REFERENCE, TN_PRECISION_F32);
    run_layer(runtime, name, 0, TN_PRECISION_F16);
    run_layer(runtime, name, 0, TN_PRECISION_I8);
    tn_runtime_release(runtime);
}

static void test_library_of_an_older_header_runs(void **state) {
    (void)state;
    check_layer("abi_older");
}
static void test_library_of_the_equal_header_runs(void **state) {
    (void)state;
    check_layer("abi_equal");
}
static void test_library_of_a_newer_header_runs(void **state) {
    (void)state;
    check_layer("abi_newer");
}
static void test_library_in_cpp_runs(void **state) {
    (void)state;
    check_layer("abi_cpp");
}
static void check_where_built(const char *name) {
    FILE *file = fopen(path_of(name), "rb");
    if (!file) skip(); /* its compiler is not on this machine */
    fclose(file);
    check_layer(name);
}
static void test_library_of_the_other_compiler_runs(void **state) {
    (void)state;
    check_where_built("abi_clang");
}
static void test_library_of_the_cuda_compiler_runs(void **state) {
    (void)state;
    check_where_built("abi_cu");
}
static void test_all_run_side_by_side(void **state) {
    static const char *const names[] = {"abi_older", "abi_equal", "abi_newer", "abi_cpp"};
    tn_runtime *runtime = make_runtime();
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(tn_runtime_load_library(runtime, path_of(names[i])), TN_OK);
    for (int i = 0; i < 4; i++)
        run_layer(runtime, names[i], 0, TN_PRECISION_F32);
    tn_runtime_release(runtime);
}

typedef struct bad_library {
    int number;
    tn_status status;
    const char *says; /* the message has this */
} bad_library;

static void test_broken_libraries_are_refused_with_a_reason(void **state) {
    static const bad_library all[] = {
        {1, TN_ERROR_PLUGIN, "does not export"},
        {2, TN_ERROR_PLUGIN, "this library refuses on Saturdays"},
        {3, TN_ERROR_PLUGIN, "ABI version 99"},
        {4, TN_ERROR_PLUGIN, "needs ABI version"},
        {5, TN_ERROR_PLUGIN, "null"},
        {6, TN_ERROR_PLUGIN, "no run"},
        {7, TN_ERROR_PLUGIN, "0 bytes"},
        {8, TN_ERROR_PLUGIN, "seven"},
        {9, TN_ERROR_PLUGIN, "column 5"},
        {10, TN_ERROR_PLUGIN, "member has 8 bytes"},
        {11, TN_ERROR_ARGUMENT, "offered twice by library 'bad'"},
        {12, TN_ERROR_PLUGIN, "tenon_test_symbol_that_nobody_has"},
        {13, TN_ERROR_PLUGIN, "tables are not there"},
        {14, TN_ERROR_PLUGIN, "without a reason"},
        {15, TN_ERROR_PLUGIN, "letters, digits"},
        {16, TN_ERROR_PLUGIN, "f31"},
        {17, TN_ERROR_PLUGIN, "since_version is 0"},
        {18, TN_ERROR_PLUGIN, "no shape rule"},
        {19, TN_ERROR_DEVICE, "rests on Sundays"},
        {20, TN_ERROR_MEMORY, "no memory for its load"},
        {21, TN_ERROR_PLUGIN, "its member 'reserved' is 1: expected 0"},
        {22, TN_ERROR_PLUGIN, "field 'number' is a graph: the last input port is to be VARIADIC"},
    };
    tn_runtime *runtime = make_runtime();
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "bad_%d", all[i].number);
        const tn_status status = tn_runtime_load_library(runtime, path_of(name));
        if (status != all[i].status || !strstr(tn_last_error()->message, all[i].says))
            fail_msg("%s: status %d, \"%s\": expected %d and \"%s\"", name, status,
                     tn_last_error()->message, all[i].status, all[i].says);
        assert_int_equal(tn_runtime_unload_library(runtime, "bad"), TN_ERROR_NOT_FOUND);
    }
    /* Nothing of them stays, and the runtime goes on. */
    assert_int_equal(tn_runtime_load_library(runtime, path_of("abi_equal")), TN_OK);
    run_layer(runtime, "abi_equal", 0, TN_PRECISION_F32);
    tn_runtime_release(runtime);
}

static bool count_library(void *user, const tn_library_info *library) {
    *(int *)user += strcmp(library->name, "abi_equal") == 0;
    return true;
}

static void test_the_same_content_is_one_library(void **state) {
    tn_runtime *runtime = make_runtime();
    int count = 0;
    (void)state;
    assert_int_equal(tn_runtime_load_library(runtime, path_of("abi_equal")), TN_OK);
    assert_int_equal(tn_runtime_load_library(runtime, path_of("abi_equal_copy")), TN_OK);
    tn_runtime_visit_libraries(runtime, count_library, &count);
    assert_int_equal(count, 1);
    assert_int_equal(tn_runtime_unload_library(runtime, "abi_equal"), TN_OK);
    run_layer(runtime, "abi_equal", 0, TN_PRECISION_F32); /* the second load still counts */
    assert_int_equal(tn_runtime_unload_library(runtime, "abi_equal"), TN_OK);
    assert_int_equal(tn_runtime_unload_library(runtime, "abi_equal"), TN_ERROR_NOT_FOUND);
    assert_int_equal(tn_runtime_load_library(runtime, path_of("abi_equal")), TN_OK);
    run_layer(runtime, "abi_equal", 0, TN_PRECISION_F32);
    tn_runtime_release(runtime);
}

static void test_files_that_are_no_libraries_are_refused(void **state) {
    tn_runtime *runtime = make_runtime();
    (void)state;
    assert_int_equal(tn_runtime_load_library(runtime, "no/such/file.so"), TN_ERROR_NOT_FOUND);
    assert_non_null(strstr(tn_last_error()->message, "no/such/file.so"));
    assert_int_equal(tn_runtime_load_library(runtime, "/proc/self/exe"), TN_ERROR_PLUGIN);
    assert_int_equal(tn_runtime_load_library(runtime, "/"), TN_ERROR_IO);
    assert_int_equal(tn_runtime_load_library(runtime, ""), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_runtime_load_library(runtime, NULL), TN_ERROR_ARGUMENT);
    tn_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_of_an_older_header_runs),
        cmocka_unit_test(test_library_of_the_equal_header_runs),
        cmocka_unit_test(test_library_of_a_newer_header_runs),
        cmocka_unit_test(test_library_in_cpp_runs),
        cmocka_unit_test(test_library_of_the_other_compiler_runs),
        cmocka_unit_test(test_library_of_the_cuda_compiler_runs),
        cmocka_unit_test(test_all_run_side_by_side),
        cmocka_unit_test(test_broken_libraries_are_refused_with_a_reason),
        cmocka_unit_test(test_the_same_content_is_one_library),
        cmocka_unit_test(test_files_that_are_no_libraries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
