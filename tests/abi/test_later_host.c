/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that knows a type which the header does not have yet: nothing of it reaches a library of
 * today, whose groups and '*' mean what they meant when it was compiled; a library of the later
 * minor version gets it. Real binaries. TN_TEST_LATER_TYPE is the type's number.
 */
#include "tensor/type.h"

#include <tenon/tenon.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const tn_type later = TN_TEST_LATER_TYPE;

static tn_runtime *load(const char *name) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime;
    char path[4096];
    snprintf(path, sizeof(path), "%s/lib%s.so", ABI_FOLDER, name);
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    if (tn_runtime_load_library(runtime, path) != TN_OK) fail_msg("%s", tn_last_error()->message);
    return runtime;
}

static tn_status build(tn_runtime *runtime, const char *domain, tn_type type, tn_graph **out_graph,
                       tn_plan **out_plan) {
    const tn_builder_options options = {.size = sizeof(options), .threads = 1};
    tn_tensor_id input, output;
    assert_int_equal(tn_graph_create(runtime, "later", out_graph), TN_OK);
    assert_int_equal(
        tn_graph_add_input(*out_graph, "x", type, 1, (const int64_t[]){4}, NULL, &input), TN_OK);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = "Copy",
                                      .name = "copy",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &input};
    assert_int_equal(tn_graph_add_node(*out_graph, &node, &output), TN_OK);
    assert_int_equal(tn_graph_add_output(*out_graph, output, "y"), TN_OK);
    return tn_build(*out_graph, &options, out_plan);
}

static void test_a_library_of_today_is_not_offered_it(void **state) {
    tn_runtime *runtime = load("abi_types");
    tn_graph *graph;
    tn_plan *plan = NULL;
    (void)state;
    assert_int_equal(build(runtime, "abi_types", later, &graph, &plan), TN_ERROR_TYPE);
    assert_non_null(strstr(tn_last_error()->message, "is later; f64|f32|f16|bf16 is allowed"));
    tn_graph_destroy(graph);
    assert_int_equal(build(runtime, "abi_types", TN_BF16, &graph, &plan), TN_OK);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
}

static void test_a_later_library_gets_it(void **state) {
    static const uint16_t x[4] = {1, 2, 3, 0xffff};
    tn_runtime *runtime = load("abi_types_newer");
    const tn_tensor *result;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    uint64_t bytes;
    (void)state;
    if (build(runtime, "abi_types_newer", later, &graph, &plan) != TN_OK)
        fail_msg("%s", tn_last_error()->message);
    assert_non_null(strstr(tn_plan_report(plan), "\"kernel\": \"copy\""));
    const void *data = tn_plan_bytes(plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(runtime, data, bytes, NULL, &engine), TN_OK);
    assert_int_equal(tn_context_create(engine, &context), TN_OK);
    assert_int_equal(tn_context_bind_input(context, 0, x, sizeof(x)), TN_OK);
    assert_int_equal(tn_context_run(context), TN_OK);
    assert_int_equal(tn_context_output(context, 0, &result), TN_OK);
    assert_memory_equal(result->data, x, sizeof(x));
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    tn_runtime_release(runtime);
}

static void test_groups_by_minor_version(void **state) {
    (void)state;
    assert_true(tn_type_is_valid(later));
    assert_false(tn_type_set_parse("any", 3, TN_ABI_MINOR) & TN_TYPE_BIT(later));
    assert_true(tn_type_set_parse("any|i4", 6, TN_ABI_MINOR + 1) & TN_TYPE_BIT(later));
    assert_true(tn_type_set_parse("later", 5, TN_ABI_MINOR) == TN_TYPE_BIT(later));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_of_today_is_not_offered_it),
        cmocka_unit_test(test_a_later_library_gets_it),
        cmocka_unit_test(test_groups_by_minor_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
