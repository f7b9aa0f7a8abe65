/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are an expression: what the host fills into their tables, what it refuses, and
 * what the filled-in shape rule and reference compute, in every arithmetic. */
#include <tenon/plugin/elementwise.h>

#include "plugin/runtime.h"
#include "tensor/shape.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

/* ----------------------------------------------------------------------------------------------
 * a library of one operator, which a test sets */

static tn_operator the_operator;

static tn_library *entry(const tn_host *host) {
    static const tn_operator *rows[] = {&the_operator};
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .name = "one",
                                 .version = "1",
                                 .operator_count = 1,
                                 .operators = rows};
    (void)host;
    return &library;
}

static bool keep_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    (void)library;
    if (strcmp(op->name, "It") == 0) *(const tn_operator **)user = op;
    return true;
}

static tn_status register_operator(tn_operator op, tn_runtime **out_runtime,
                                   const tn_operator **out_op) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *out_op = NULL;
    the_operator = op;
    assert_int_equal(tn_runtime_create(&options, out_runtime), TN_OK);
    const tn_status status = tn_runtime_register_library(*out_runtime, entry);
    tn_runtime_visit_operators(*out_runtime, keep_operator, out_op);
    return status;
}

static tn_operator plain(const char *text) {
    const tn_operator op = TN_ELEMENTWISE_PLAIN("test", "It", 1, text, "a test");
    return op;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_field number_fields[] = {TN_NUMBER(low, F32, "0.25", "a number"),
                                         TN_NUMBER(count, I64, NULL, "another one"),
                                         TN_NUMBER_RANGE(on, BOOL, "1", 0, 1, "a truth")};

static void test_a_table_is_filled_from_the_expression(void **state) {
    tn_operator op =
        TN_ELEMENTWISE("test", "It", 1, "on ? low * b + count : a - b", number_fields, "a test");
    const tn_operator *found;
    tn_runtime *runtime;
    (void)state;
    assert_int_equal(register_operator(op, &runtime, &found), TN_OK);
    assert_int_equal(found->input_count, 2);
    assert_string_equal(found->inputs[0].name, "b");
    assert_string_equal(found->inputs[1].name, "a");
    assert_string_equal(found->inputs[0].types, "T:float");
    assert_int_equal(found->output_count, 1);
    assert_string_equal(found->outputs[0].name, "y");
    assert_int_equal(found->params_bytes, 32);
    assert_int_equal(found->fields[1].offset, 16);
    assert_int_equal(found->fields[1].bytes, 8);
    assert_non_null(found->infer);
    assert_non_null(found->reference);
    assert_true(found->case_count >= 9 + 3);
    for (uint64_t i = 0; i < found->case_count; i++)
        assert_memory_equal(found->cases[i], "count=1 | b=", 12);
    tn_runtime_release(runtime);
}

static void test_an_input_named_y_leaves_the_output_another_name(void **state) {
    const tn_operator *found;
    tn_runtime *runtime;
    (void)state;
    assert_int_equal(register_operator(plain("x - y"), &runtime, &found), TN_OK);
    assert_string_equal(found->outputs[0].name, "result");
    tn_runtime_release(runtime);
}

static tn_status own_infer(tn_call *call) {
    (void)call;
    return TN_OK;
}

static void test_what_the_library_gives_stays(void **state) {
    static const char *const cases[] = {"| x=f32[2]"};
    tn_operator op = plain("x + 1");
    const tn_operator *found;
    tn_runtime *runtime;
    (void)state;
    op.infer = own_infer;
    op.case_count = 1;
    op.cases = cases;
    assert_int_equal(register_operator(op, &runtime, &found), TN_OK);
    assert_true(found->infer == own_infer);
    assert_non_null(found->reference);
    assert_int_equal(found->case_count, 1);
    tn_runtime_release(runtime);
}

static void assert_refused(tn_operator op, const char *why) {
    const tn_operator *found;
    tn_runtime *runtime;
    const tn_status status = register_operator(op, &runtime, &found);
    assert_failed(status, TN_ERROR_PLUGIN, why);
    assert_null(found);
    tn_runtime_release(runtime);
}

static void test_what_no_expression_can_serve_is_refused(void **state) {
    static const tn_port optional[] = {TN_PORT("x", "T:float", TN_PORT_OPTIONAL, "absent")};
    static const tn_port output[] = {TN_PORT("y", "T", 0, "the result")};
    static const tn_port input[] = {TN_PORT("value", "T:float", 0, "elements")};
    static const tn_field text[] = {TN_NUMBER(label, STRING, "a", "no number")};
    static const tn_field misplaced[] = {
        {"low", "has an offset", "0", NULL, TN_FIELD_F32, 0, 8, 4, 0, 0, 0, 0}};
    tn_operator wrong = TN_ELEMENTWISE_WITH("test", "It", 1, "valeu + 1", "a test", TN_NO_FIELDS,
                                            TN_INPUTS(input), TN_OUTPUTS(output));
    (void)state;
    assert_refused(plain("x + * 2"), "column 5");
    assert_refused(plain("1 + 2"), "no input");
    assert_refused(plain("a + b + c + d + e + f + g"), "'g'");
    assert_refused(wrong,
                   "column 1: 'valeu' is neither an input nor a field: the nearest is 'value'");
    tn_operator absent = TN_ELEMENTWISE_WITH("test", "It", 1, "x + 1", "a test", TN_NO_FIELDS,
                                             TN_INPUTS(optional), TN_OUTPUTS(output));
    assert_refused(absent, "may be absent");
    tn_operator label = TN_ELEMENTWISE("test", "It", 1, "x + 1", text, "a test");
    assert_refused(label, "'label' is no number");
    tn_operator offset = TN_ELEMENTWISE("test", "It", 1, "x + low", misplaced, "a test");
    assert_refused(offset, "'low' has an offset");
    tn_operator untold = plain("x + 1");
    untold.traits = 0;
    assert_refused(untold, "TN_OPERATOR_ELEMENTWISE");
}

/* ----------------------------------------------------------------------------------------------
 * values */

static tn_status fail_call(tn_call *call, tn_status status, const char *format, ...) {
    (void)call, (void)format;
    return status;
}
static const tn_host host = {.size = sizeof(tn_host), .fail = fail_call};

typedef struct operand {
    tn_type type;
    const void *data;
    tn_shape shape;
} operand;

/* Computes `text` of a and b into `y`, by the filled-in callbacks. */
static void compute(const char *text, const operand *operands, uint32_t count, tn_type type,
                    void *y) {
    static const tn_port inputs[] = {TN_PORT("a", "any", 0, "elements"),
                                     TN_PORT("b", "any", 0, "elements")};
    static const tn_port outputs[] = {TN_PORT("y", "any", 0, "the result")};
    tn_operator op = plain(text);
    tn_tensor_storage storages[3];
    const tn_tensor *tensors[2];
    tn_tensor *output = &storages[2].tensor;
    tn_shape result = {.rank = TN_MAX_RANK};
    const tn_operator *found;
    tn_runtime *runtime;
    op.port_size = sizeof(tn_port);
    op.input_count = count;
    op.inputs = inputs;
    op.output_count = 1;
    op.outputs = outputs;
    if (register_operator(op, &runtime, &found) != TN_OK) fail_msg("%s", tn_last_error()->message);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(
            tn_tensor_init(&storages[i], operands[i].type, TN_LINEAR, &operands[i].shape), TN_OK);
        storages[i].tensor.data = (void *)(uintptr_t)operands[i].data;
        tensors[i] = &storages[i].tensor;
    }
    assert_int_equal(tn_tensor_init(&storages[2], type, TN_LINEAR, &result), TN_OK);
    output->data = y;
    tn_call call = {.size = sizeof(call),
                    .input_count = count,
                    .output_count = 1,
                    .host = &host,
                    .op = found,
                    .inputs = tensors,
                    .outputs = &output};
    assert_int_equal(found->infer(&call), TN_OK);
    assert_int_equal(found->reference(&call), TN_OK);
    tn_runtime_release(runtime);
}

static operand vector(tn_type type, const void *data, int64_t count) {
    return (operand){type, data, {.rank = 1, .extents = {count}}};
}

static void test_integers_of_64_bits_are_exact(void **state) {
    const int64_t a[] = {INT64_MAX, INT64_MIN, -7, 7}, b[] = {1, -1, 2, 0};
    const uint64_t u[] = {UINT64_MAX, 1, 10, 0}, v[] = {2, 3, 0, 5};
    const operand whole[] = {vector(TN_I64, a, 4), vector(TN_I64, b, 4)};
    const operand natural[] = {vector(TN_U64, u, 4), vector(TN_U64, v, 4)};
    int64_t y[4];
    uint64_t n[4];
    (void)state;
    compute("a + b", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){INT64_MIN, INT64_MAX, -5, 7}), sizeof(y));
    compute("a / b", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){INT64_MAX, INT64_MIN, -3, 0}), sizeof(y));
    compute("mod(a, b)", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){0, 0, 1, 0}), sizeof(y));
    compute("fmod(a, b)", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){0, 0, -1, 0}), sizeof(y));
    compute("sign(a) * min(fabs(a), 3)", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){3, INT64_MIN, -3, 3}), sizeof(y)); /* |lowest| wraps */
    compute("a < 0 ? -1 : a", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){INT64_MAX, -1, -1, 7}), sizeof(y));
    compute("a / b", natural, 2, TN_U64, n);
    assert_memory_equal(n, ((uint64_t[]){UINT64_MAX / 2, 0, 0, 0}), sizeof(n));
    compute("a > -1 ? max(a, b) : 0", natural, 2, TN_U64, n);
    assert_memory_equal(n, ((uint64_t[]){UINT64_MAX, 3, 10, 5}), sizeof(n));
    compute("a - b", natural, 2, TN_U64, n);
    assert_memory_equal(n, ((uint64_t[]){UINT64_MAX - 2, UINT64_MAX - 1, 10, UINT64_MAX - 4}),
                        sizeof(n));
}

static void test_powers_of_integers(void **state) {
    const int64_t a[] = {-3, -1, 0, 3}, b[] = {3, -5, -1, 41};
    const double c[] = {2, 0.5, 1, 0.5};
    const operand whole[] = {vector(TN_I64, a, 4), vector(TN_I64, b, 4)};
    const operand mixed[] = {vector(TN_I64, b, 4), vector(TN_F64, c, 4)};
    uint64_t wrapped = 1;
    int64_t y[4];
    (void)state;
    for (int i = 0; i < 41; i++)
        wrapped *= 3;
    compute("pow(a, b)", whole, 2, TN_I64, y);
    assert_memory_equal(y, ((int64_t[]){-27, -1, 0, (int64_t)wrapped}), sizeof(y));
    compute("pow(a, b)", mixed, 2, TN_I64, y);
    assert_int_equal(y[0], 9);
    assert_int_equal(y[3], 6); /* the root of 41, without its fraction */
}

static void test_narrow_integers_wrap_and_truths_are_one_or_zero(void **state) {
    const uint8_t a[] = {250, 3, 0}, b[] = {10, 3, 1};
    const operand bytes[] = {vector(TN_U8, a, 3), vector(TN_U8, b, 3)};
    const operand truths[] = {vector(TN_BOOL, (const uint8_t[]){1, 1, 0}, 3),
                              vector(TN_BOOL, (const uint8_t[]){1, 0, 0}, 3)};
    uint8_t y[3];
    (void)state;
    compute("a + b", bytes, 2, TN_U8, y);
    assert_memory_equal(y, ((uint8_t[]){4, 6, 1}), 3);
    compute("-a", bytes, 1, TN_U8, y);
    assert_memory_equal(y, ((uint8_t[]){6, 253, 0}), 3);
    compute("a == b || b > a", bytes, 2, TN_BOOL, y);
    assert_memory_equal(y, ((uint8_t[]){0, 1, 1}), 3);
    compute("a != b", truths, 2, TN_BOOL, y);
    assert_memory_equal(y, ((uint8_t[]){0, 1, 0}), 3);
    compute("a && !b", truths, 2, TN_BOOL, y);
    assert_memory_equal(y, ((uint8_t[]){0, 1, 0}), 3);
}

static void test_floating_point_follows_ieee(void **state) {
    const double a[] = {NAN, -7.5, INFINITY, 1}, b[] = {1, 2, NAN, -0.0};
    const operand both[] = {vector(TN_F64, a, 4), vector(TN_F64, b, 4)};
    double y[4];
    (void)state;
    compute("max(a, b)", both, 2, TN_F64, y);
    assert_true(isnan(y[0]) && y[1] == 2 && isnan(y[2]) && y[3] == 1);
    compute("fmax(a, b)", both, 2, TN_F64, y);
    assert_true(y[0] == 1 && y[1] == 2 && isinf(y[2]) && y[3] == 1);
    compute("a / b", both, 2, TN_F64, y);
    assert_true(isnan(y[0]) && y[1] == -3.75 && isnan(y[2]) && y[3] == -INFINITY);
    compute("mod(a, b)", both, 2, TN_F64, y);
    assert_true(y[1] == 0.5);
    compute("fmod(a, b)", both, 2, TN_F64, y);
    assert_true(y[1] == -1.5);
    compute("a * (1 / 2) + 2 * 3 / 4", both, 1, TN_F64, y);
    assert_true(y[1] == -2.25 && y[3] == 2);
}

/* More than a block, with an input that is repeated along the first and the last axis. */
static void test_inputs_are_broadcast(void **state) {
    enum { N = 2, C = 70, W = 11 };
    float a[N * C * W], b[C], y[N * C * W];
    const operand both[] = {{TN_F32, a, {.rank = 3, .extents = {N, C, W}}},
                            {TN_F32, b, {.rank = 2, .extents = {C, 1}}}};
    (void)state;
    for (int i = 0; i < N * C * W; i++)
        a[i] = (float)i;
    for (int i = 0; i < C; i++)
        b[i] = (float)i * 0.5f;
    compute("a * b + a", both, 2, TN_F32, y);
    for (int i = 0; i < N * C * W; i++) {
        const double channel = (double)b[i / W % C];
        assert_true(y[i] == (float)((double)a[i] * channel + (double)a[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_is_filled_from_the_expression),
        cmocka_unit_test(test_an_input_named_y_leaves_the_output_another_name),
        cmocka_unit_test(test_what_the_library_gives_stays),
        cmocka_unit_test(test_what_no_expression_can_serve_is_refused),
        cmocka_unit_test(test_integers_of_64_bits_are_exact),
        cmocka_unit_test(test_powers_of_integers),
        cmocka_unit_test(test_narrow_integers_wrap_and_truths_are_one_or_zero),
        cmocka_unit_test(test_floating_point_follows_ieee),
        cmocka_unit_test(test_inputs_are_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
