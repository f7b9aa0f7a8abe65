/* SPDX-License-Identifier: Apache-2.0 */
/* The services by which kernels write strings, used wrong and right, and tables that treat strings
 * as numbers. */
#include "string_test.h"

/* --- the services, used wrong and right --- */

enum {
    APPENDS_TO_NUMBERS,
    APPENDS_TO_NOTHING,
    APPENDS_WHAT_IS_SHARED,
    APPENDS_NULL,
    SHARES_WHAT_IS_APPENDED,
    SHARES_NUMBERS,
    APPENDS_IN_INFER,
    APPENDS_ITSELF
};
typedef struct use_params {
    uint64_t present;
    int64_t manner;
} use_params;
static const tn_field use_fields[] = {
    TN_FIELD(use_params, manner, TN_FIELD_I64, TN_REQUIRED, NULL, "")};
static const tn_port use_inputs[] = {TN_PORT("x", "string", 0, ""), TN_PORT("n", "i64", 0, "")};
static const tn_port use_outputs[] = {TN_PORT("y", "string", 0, ""), TN_PORT("m", "i64", 0, "")};

static tn_status use_infer(tn_call *call) {
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    uint64_t at;
    for (uint32_t i = 0; i < 2; i++) {
        call->outputs[i]->rank = 1;
        call->outputs[i]->shape[0] = 1;
    }
    if (((const use_params *)call->params)->manner == APPENDS_IN_INFER)
        return strings->append(call, 0, "a", 1, &at);
    return TN_OK;
}

/* "ab", then itself ten times: 2048 bytes, from memory that moves meanwhile. */
static tn_status append_itself(tn_call *call, const tn_string_services *strings) {
    tn_string *y = call->outputs[0]->data;
    uint64_t at;
    TN_TRY(strings->append(call, 0, "ab", 2, &y->offset));
    for (y->bytes = 2; y->bytes < 2048; y->bytes *= 2)
        TN_TRY(strings->append(call, 0, call->outputs[0]->heap->data, y->bytes, &at));
    return strings->append(call, 0, NULL, 0, &at);
}

static tn_status use_run(tn_call *call) {
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    uint64_t at;
    memset(call->outputs[0]->data, 0, sizeof(tn_string));
    memset(call->outputs[1]->data, 0, sizeof(int64_t));
    switch (((const use_params *)call->params)->manner) {
    case APPENDS_TO_NUMBERS:
        return strings->append(call, 1, "a", 1, &at);
    case APPENDS_TO_NOTHING:
        return strings->append(call, 2, "a", 1, &at);
    case APPENDS_WHAT_IS_SHARED:
        TN_TRY(strings->share(call, 0, 0));
        return strings->append(call, 0, "a", 1, &at);
    case APPENDS_NULL:
        return strings->append(call, 0, NULL, 1, &at);
    case SHARES_WHAT_IS_APPENDED:
        TN_TRY(strings->append(call, 0, "a", 1, &at));
        return strings->share(call, 0, 0);
    case SHARES_NUMBERS:
        return strings->share(call, 0, 1);
    default:
        return append_itself(call, strings);
    }
}

static const tn_operator use_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .domain = "Test",
                                         .name = "Use",
                                         TN_FIELDS(use_params, use_fields),
                                         TN_INPUTS(use_inputs),
                                         TN_OUTPUTS(use_outputs),
                                         .infer = use_infer,
                                         .reference = use_run};
static const tn_operator *const users[] = {&use_operator};
static tn_library with_user = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .name = "with_user",
                               .version = "1",
                               .operator_count = 1,
                               .operators = users};
static tn_library *user_entry(const tn_host *host) {
    (void)host;
    return &with_user;
}

/* Builds and runs the node; the last output of a run that went well is checked. */
static tn_status use(run_test *test, int64_t manner) {
    const int64_t one = 1;
    const block x = block_of(1, TEXTS("text"));
    const tn_attribute how = {
        .size = sizeof(how), .type = TN_FIELD_I64, .name = "manner", .i = manner};
    const tn_attribute *const attributes[] = {&how};
    tn_tensor_id inputs[2], outputs[2];
    tn_context *context = NULL;
    const tn_tensor *y;
    tn_graph_destroy(test->graph);
    test->graph = NULL;
    assert_int_equal(tn_graph_create(test->runtime, "net", &test->graph), TN_OK);
    inputs[0] = input_of(test->graph, 1, 1);
    assert_int_equal(
        tn_graph_add_constant(test->graph, "n", TN_I64, 1, &one, &one, sizeof(one), &inputs[1]),
        TN_OK);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "Test",
                                      .version = 1,
                                      .op = "Use",
                                      .name = "user",
                                      .input_count = 2,
                                      .inputs = inputs,
                                      .output_count = 2,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    assert_int_equal(tn_graph_add_node(test->graph, &node, outputs), TN_OK);
    run_output(test->graph, outputs[0], "y");
    run_output(test->graph, outputs[1], "m");
    tn_status status = try_to_load(test, TN_BUILD_NO_TIMING, 0);
    if (status == TN_OK) status = tn_context_create(test->engine, &context);
    if (status == TN_OK) status = run_once(context, &x);
    if (status == TN_OK) {
        uint64_t bytes;
        assert_int_equal(tn_context_output(context, 0, &y), TN_OK);
        const char *text = tn_string_at(y, 0, &bytes);
        assert_int_equal(bytes, 2048);
        for (uint64_t i = 0; i < bytes; i++)
            assert_int_equal(text[i], "ab"[i % 2]);
    }
    if (context) tn_context_destroy(context);
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    test->engine = NULL;
    test->plan = NULL;
    return status;
}

static void test_services_refuse_what_is_wrong(void **state) {
    static const struct {
        int64_t manner;
        tn_status status;
        const char *says;
    } all[] = {
        {APPENDS_TO_NUMBERS, TN_ERROR_ARGUMENT, "output 1 is no tensor of strings"},
        {APPENDS_TO_NOTHING, TN_ERROR_ARGUMENT, "output 2 is no tensor of strings"},
        {APPENDS_WHAT_IS_SHARED, TN_ERROR_STATE, "output 0 shares an input's heap"},
        {APPENDS_NULL, TN_ERROR_ARGUMENT, "append needs the string's bytes"},
        {SHARES_WHAT_IS_APPENDED, TN_ERROR_STATE, "something was appended to output 0"},
        {SHARES_NUMBERS, TN_ERROR_ARGUMENT, "input 1 is no tensor of strings"},
        {APPENDS_IN_INFER, TN_ERROR_STATE, "in the reference and in run alone"},
    };
    run_test *test = *state;
    assert_int_equal(tn_runtime_register_library(test->runtime, user_entry), TN_OK);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        assert_int_equal(use(test, all[i].manner), all[i].status);
        assert_error(all[i].says, "user");
    }
    assert_int_equal(use(test, APPENDS_ITSELF), TN_OK);
}

/* --- tables that are refused --- */

static const tn_port text_inputs[] = {TN_PORT("x", "T:float|string", 0, "")};
static const tn_port text_outputs[] = {TN_PORT("y", "T", 0, "")};
static tn_status text_infer(tn_call *call) {
    (void)call;
    return TN_OK;
}
static const tn_operator text_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          .domain = "Test",
                                          .name = "Twice",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(text_inputs),
                                          TN_OUTPUTS(text_outputs),
                                          .infer = text_infer,
                                          .expression = "x + x"};
static const char *const strided[] = {"string:strided, i64 -> string"};
static const tn_kernel strided_kernel = {.size = sizeof(tn_kernel),
                                         .revision = 1,
                                         .domain = "Test",
                                         .op = "Select",
                                         .device = "cpu",
                                         .name = "strided",
                                         TN_COMBINATIONS(strided),
                                         .run = text_infer};
static const tn_operator *const operators[] = {&text_operator};
static const tn_kernel *const kernels[] = {&strided_kernel};
static tn_library with_operator = {.size = sizeof(tn_library),
                                   .abi_major = TN_ABI_MAJOR,
                                   .name = "with_operator",
                                   .version = "1",
                                   .operator_count = 1,
                                   .operators = operators};
static tn_library with_kernel = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .name = "with_kernel",
                                 .version = "1",
                                 .kernel_count = 1,
                                 .kernels = kernels};
static tn_library *operator_entry(const tn_host *host) {
    (void)host;
    return &with_operator;
}
static tn_library *kernel_entry(const tn_host *host) {
    (void)host;
    return &with_kernel;
}

static void test_tables_that_treat_strings_as_numbers_are_refused(void **state) {
    run_test *test = *state;
    assert_int_equal(tn_runtime_register_library(test->runtime, operator_entry), TN_ERROR_PLUGIN);
    assert_error("port 'x' has strings, and the operator has an expression", NULL);
    assert_int_equal(tn_runtime_register_library(test->runtime, kernel_entry), TN_ERROR_PLUGIN);
    assert_error("strings are neither strided nor counted", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STRING_TEST(test_services_refuse_what_is_wrong),
        STRING_TEST(test_tables_that_treat_strings_as_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
