/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of expressions: what it takes and refuses, what it computes, and that every built-in
 * operator's expression says the same as its reference.
 */
#include "src/expression/expression_compute.h"

#include "plugin/fields/fields.h"
#include "plugin/registry.h"
#include "plugin/runtime.h"
#include "tensor/shape.h"
#include "test.h"
#include <tenon/tenon.h>

#include <math.h>
#include <stdlib.h>

static double value_of(const char *text, double x) {
    tn_expression expression;
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    char why[200] = "";
    if (!tn_expression_read(text, &expression, why, sizeof(why))) fail_msg("%s: %s", text, why);
    for (uint32_t i = 0; i < expression.count; i++)
        if (tn_expression_is_name(&expression, i, "x")) values[i] = x;
    return tn_expression_compute(&expression, values);
}

/* In 32-bit floats, as kernels compute it. */
static double value_in_f32(const char *text, double x) {
    tn_expression expression;
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    assert_true(tn_expression_read(text, &expression, NULL, 0));
    for (uint32_t i = 0; i < expression.count; i++)
        if (tn_expression_is_name(&expression, i, "x")) values[i] = x;
    return tn_expression_compute_f32(&expression, values);
}

static void assert_near(double found, double wanted) {
    if (!(fabs(found - wanted) <= 1e-15 * fabs(wanted)))
        fail_msg("%.17g, not %.17g", found, wanted);
}

static void test_operators_bind_as_in_c(void **state) {
    (void)state;
    assert_near(value_of("1 + 2 * 3", 0), 7);
    assert_near(value_of("(1 + 2) * 3", 0), 9);
    assert_near(value_of("8 - 4 - 2", 0), 2);
    assert_near(value_of("8 / 4 / 2", 0), 1);
    assert_near(value_of("-x * -x + - -x", 3), 12);
    assert_near(value_of("1 < 2 == 1 && 3 != 4 || 0", 0), 1);
    assert_near(value_of("x < 0 ? 1 : x > 4 ? 2 : 3", 5), 2);
    assert_near(value_of("x < 0 ? 1 : x > 4 ? 2 : 3", -5), 1);
    assert_near(value_of("!x + !!x * 4", 2), 4);
    assert_near(value_of("1 / 2", 0), 0.5);
    assert_near(value_of(" fmax ( x , pow(2, 3) ) ", 3), 8);
    assert_near(value_of("x <= 2", 2) + value_of("x >= 3", 2), 1);
}

static void test_functions_of_bits_are_those_of_integers(void **state) {
    (void)state;
    assert_near(value_of("bitand(x, 10)", 12), 8);
    assert_near(value_of("bitor(x, 10)", 12), 14);
    assert_near(value_of("bitxor(x, 10)", 12.9), 6);
    assert_near(value_of("bitnot(x)", 7), -8);
    assert_near(value_of("shift_left(x, 3)", -5), -40);
    assert_near(value_of("shift_left(x, 64)", 5), 0);
    assert_near(value_of("shift_right(x, 1)", -5), -3);
    assert_near(value_of("shift_right(x, -1)", -5), -1);
    assert_near(value_of("shift_right(x, 0)", 1e300), 0x1p63);
}

static void test_steps_overflow_as_32_bit_floats_do(void **state) {
    (void)state;
    assert_true(isinf(value_in_f32("log(1 + exp(x))", 89)));
    assert_near(value_of("log(1 + exp(x))", 89), 89);
    assert_near(value_in_f32("fmax(x, 0) + log1p(exp(-fabs(x)))", 89), 89);
    assert_near(value_in_f32("1 / (1 + exp(-x))", -100), 0);
    assert_near(value_in_f32("x", 0.1), (double)0.1f);
    assert_near(value_in_f32("x + 1 - x", 1e9), 0);
    assert_true(isnan(value_in_f32("x * x * x - x * x * x", 1e20)));
}

static void test_numbers_are_read_without_a_locale(void **state) {
    (void)state;
    assert_near(value_of("1.5957691216057308", 0), 1.5957691216057308);
    assert_near(value_of("0.7071067811865476", 0), 0.7071067811865476);
    assert_near(value_of(".5 + 5.", 0), 5.5);
    assert_near(value_of("1e3 + 1.25E-2 + 2e+1", 0), 1020.0125);
    assert_near(value_of("3.4028234663852886e+38", 0), 3.4028234663852886e+38);
    assert_near(value_of("12345678901234567890123", 0), 12345678901234567890123.0);
    assert_near(value_of("1e-300", 0), 1e-300);
    assert_near(value_of("0.000000000000000000000000001", 0), 1e-27);
    assert_near(value_of("0e99999", 0) + value_of("1e-99999", 0), 0);
}

static void refuse(const char *text, const char *part) {
    tn_expression expression;
    char why[200] = "";
    if (tn_expression_read(text, &expression, NULL, 0)) fail_msg("'%s' is taken", text);
    assert_false(tn_expression_read(text, &expression, why, sizeof(why)));
    if (!strstr(why, part)) fail_msg("'%s' is refused with '%s', not '%s'", text, why, part);
}

static void test_what_is_not_of_the_language_is_refused(void **state) {
    (void)state;
    refuse("", "column 1: expected a name");
    refuse("x +", "column 4: expected a name");
    refuse("x y", "column 3: expected an operator or the end");
    refuse("system(x)", "'system' is no function");
    refuse("x; asm(\"trap;\")", "column 2");
    refuse("x = 1", "column 3");
    refuse("x++ + 1", "column");
    refuse("--x", "'--'");
    refuse("x /* */", "column");
    refuse("x // y", "column");
    refuse("(float)x", "column 8");
    refuse("x[0]", "column 2");
    refuse("*x", "column 1");
    refuse("&x", "column 1");
    refuse("x & 1", "column 3");
    refuse("x, x", "column 2");
    refuse("exp(x, x)", "expected ')'");
    refuse("pow(x)", "expected ','");
    refuse("exp x", "column 5");
    refuse("(x", "expected ')'");
    refuse("x ? 1", "expected ':'");
    refuse("1.5f", "expected a number");
    refuse("0x10", "expected a number");
    refuse("1.2.3", "expected a number");
    refuse("1e", "expected a number");
    refuse("1e999", "beyond all doubles");
    refuse("x\n}\nextern", "column");
    refuse("x\\", "column 2");
    refuse("\"x\"", "column 1");
    refuse("#define x", "column 1");
    refuse("a_very_long_name_of_a_function_that_there_is_not_in_the_language(x)", "is no function");
}

static void test_length_and_depth_are_bounded(void **state) {
    char text[20000];
    const char *const openings[] = {"(", "- ", "!", "x?x:", "exp(", "x?"};
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(openings); i++) {
        text[0] = 0;
        for (size_t k = 0; k < 3000; k++)
            strcat(text, openings[i]);
        refuse(text, "nested more than");
    }
    strcpy(text, "x");
    for (size_t k = 0; k < 3000; k++)
        strcat(text, "+x");
    refuse(text, "more than 256 steps");
}

/* ----------------------------------------------------------------------------------------------
 * the built-in operators */

enum { COUNT = 64 };

typedef struct operators_check {
    tn_runtime *runtime;
    const tn_operator *items[400];
    size_t count;
} operators_check;

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    operators_check *check = user;
    (void)library;
    if (op->expression && check->count < TEST_COUNT(check->items))
        check->items[check->count++] = op;
    return true;
}

static double field_value(const tn_operator *op, const void *params,
                          const tn_expression *expression, uint32_t step, bool *out_is_found) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        const char *member = (const char *)params + field->offset;
        if (!tn_expression_is_name(expression, step, field->name)) continue;
        *out_is_found = true;
        if (field->type == TN_FIELD_F32) return (double)*(const float *)(const void *)member;
        if (field->type == TN_FIELD_BOOL) return *(const bool *)(const void *)member;
        if (field->type == TN_FIELD_ENUM) return *(const uint32_t *)(const void *)member;
        fail_msg("%s: field '%s' is of type %u", op->name, field->name, field->type);
    }
    return 0;
}

/* The expression on element `at` of the inputs. */
static double expected(const tn_operator *op, const void *params, const tn_expression *expression,
                       double inputs[][COUNT], size_t at) {
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    for (uint32_t i = 0; i < expression->count; i++) {
        bool is_found = expression->steps[i].kind != TN_EXPRESSION_NAME;
        for (uint32_t k = 0; k < op->input_count && !is_found; k++) {
            if (!tn_expression_is_name(expression, i, op->inputs[k].name)) continue;
            values[i] = inputs[k][at];
            is_found = true;
        }
        if (!is_found) values[i] = field_value(op, params, expression, i, &is_found);
        if (!is_found) fail_msg("%s: a name of '%s' is unknown", op->name, op->expression);
    }
    return tn_expression_compute(expression, values);
}

static tn_type type_of(const tn_operator_entry *entry, const tn_port_rule *rule) {
    (void)entry;
    return rule->types & TN_TYPE_BIT(TN_F64) ? TN_F64 : TN_BOOL;
}

/* Of integers alone nothing is compared: bits are those of 64-bit integers. */
static bool is_of_integers(const tn_operator_entry *entry) {
    return !(entry->inputs[0].types & (TN_TYPE_BIT(TN_F64) | TN_TYPE_BIT(TN_BOOL)));
}

static void check_operator(const operators_check *check, const tn_operator *op) {
    static double inputs[4][COUNT];
    static bool truths[4][COUNT], truth[COUNT];
    static double numbers[COUNT];
    const tn_operator_entry *entry = NULL;
    tn_expression expression;
    tn_tensor_storage storages[4], output;
    const tn_tensor *pointers[4];
    tn_arena *arena = NULL;
    void *params = NULL;
    char why[200];
    const tn_shape shape = {1, {COUNT}};
    if (!tn_expression_read(op->expression, &expression, why, sizeof(why)))
        fail_msg("%s: %s", op->name, why);
    assert_int_equal(tn_registry_find_operator_exact(tn_runtime_registry(check->runtime),
                                                     op->domain, op->name, op->since_version,
                                                     &entry),
                     TN_OK);
    if (is_of_integers(entry)) {
        tn_library_release(entry->library);
        return;
    }
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_int_equal(tn_fields_parse(arena, op, 0, NULL, &params), TN_OK);
    assert_true(op->input_count <= 4);
    for (uint32_t k = 0; k < op->input_count; k++) {
        const tn_type type = type_of(entry, &entry->inputs[k]);
        assert_int_equal(tn_tensor_init(&storages[k], type, TN_LINEAR, &shape), TN_OK);
        for (size_t i = 0; i < COUNT; i++) {
            const double drawn = (double)((i * 37 + k * 11) % COUNT) / 8 - 4;
            truths[k][i] = (i >> k) & 1;
            inputs[k][i] = type == TN_BOOL ? truths[k][i] : drawn;
        }
        storages[k].tensor.data = type == TN_BOOL ? (void *)truths[k] : (void *)inputs[k];
        pointers[k] = &storages[k].tensor;
    }
    const tn_type type = type_of(entry, &entry->outputs[0]);
    assert_int_equal(tn_tensor_init(&output, type, TN_LINEAR, &shape), TN_OK);
    output.tensor.data = type == TN_BOOL ? (void *)truth : (void *)numbers;
    tn_tensor *outputs[] = {&output.tensor};
    tn_call call = {.size = sizeof(call),
                    .input_count = op->input_count,
                    .output_count = 1,
                    .threads = 1,
                    .host = tn_runtime_host(check->runtime),
                    .op = op,
                    .params = params,
                    .user = op->user,
                    .inputs = pointers,
                    .outputs = outputs,
                    .device = tn_runtime_cpu(check->runtime)};
    assert_int_equal(op->reference(&call), TN_OK);
    for (size_t i = 0; i < COUNT; i++) {
        const double wanted = type == TN_BOOL ? truth[i] : numbers[i];
        const double found = expected(op, params, &expression, inputs, i);
        const bool is_near = wanted == found || (isnan(wanted) && isnan(found)) ||
                             fabs(wanted - found) <= 1e-9 * (fabs(wanted) + 1e-3);
        if (!is_near)
            fail_msg("%s version %u: '%s' gives %.17g for %.17g, the reference %.17g", op->name,
                     op->since_version, op->expression, found, inputs[0][i], wanted);
    }
    tn_arena_destroy(arena);
    tn_library_release(entry->library);
}

static void test_every_builtin_expression_says_what_the_reference_does(void **state) {
    operators_check check = {0};
    const tn_runtime_options options = {.size = sizeof options, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    (void)state;
    assert_int_equal(tn_runtime_create(&options, &check.runtime), TN_OK);
    tn_runtime_visit_operators(check.runtime, note_operator, &check);
    assert_true(check.count > 40);
    for (size_t i = 0; i < check.count; i++)
        check_operator(&check, check.items[i]);
    tn_runtime_release(check.runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators_bind_as_in_c),
        cmocka_unit_test(test_functions_of_bits_are_those_of_integers),
        cmocka_unit_test(test_steps_overflow_as_32_bit_floats_do),
        cmocka_unit_test(test_numbers_are_read_without_a_locale),
        cmocka_unit_test(test_what_is_not_of_the_language_is_refused),
        cmocka_unit_test(test_length_and_depth_are_bounded),
        cmocka_unit_test(test_every_builtin_expression_says_what_the_reference_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
