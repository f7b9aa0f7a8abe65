/* SPDX-License-Identifier: Apache-2.0 */
/* Values and steps of a row program, and expressions as such steps; see row_build.h. */
#include "kit/elementwise/row_build.h"
#include "kit/elementwise/cells.h"
#include "kit/elementwise/row_pattern.h"
#include "src/expression/expression_field.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tn_row_build_fail(const tn_row_builder *builder, const char *format, ...) {
    va_list arguments;
    if (builder->why_bytes == 0) return false;
    va_start(arguments, format);
    if (vsnprintf(builder->why, builder->why_bytes, format, arguments) < 0) builder->why[0] = 0;
    va_end(arguments);
    return false;
}

/* ----------------------------------------------------------------------------------------------
 * values */

/* Null: the value is none of the text's or the fields' numbers. */
static const float *number_of(const tn_row_builder *builder, uint32_t value) {
    return value >= TN_ROW_PROGRAM_FIRST_NUMBER && value < TN_ROW_PROGRAM_FIRST_RESULT
               ? &builder->program->numbers[value - TN_ROW_PROGRAM_FIRST_NUMBER]
               : NULL;
}

bool tn_row_build_number(const tn_row_builder *builder, double number, uint32_t *out_value) {
    tn_row_program *program = builder->program;
    const float value = (float)number;
    uint32_t i = 0;
    while (i < program->number_count && memcmp(&program->numbers[i], &value, sizeof(value)) != 0)
        i++;
    if (i == TN_ROW_PROGRAM_NUMBERS) return tn_row_build_fail(builder, "it has too many numbers");
    program->numbers[i] = value;
    if (i == program->number_count) program->number_count++;
    *out_value = TN_ROW_PROGRAM_FIRST_NUMBER + i;
    return true;
}

/* A row function need not be one of numbers alone: it is called when the program runs. */
static bool fold(const tn_row_builder *builder, const tn_row_step *step, uint32_t *out_value) {
    static const int64_t strides[TN_ROW_STEP_OPERANDS];
    const float *operands[TN_ROW_STEP_OPERANDS];
    float y;
    for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++)
        operands[i] = number_of(builder, step->operands[i]);
    tn_row_step_run(step, &tn_rows_baseline, 1, operands, strides, &y);
    return tn_row_build_number(builder, (double)y, out_value);
}

static bool append(const tn_row_builder *builder, tn_row_step step, uint32_t *out_value) {
    tn_row_program *program = builder->program;
    if (program->step_count == TN_ROW_PROGRAM_STEPS)
        return tn_row_build_fail(builder, "it has too many steps");
    step.result = TN_ROW_PROGRAM_FIRST_RESULT + program->step_count;
    program->steps[program->step_count++] = step;
    *out_value = step.result;
    return true;
}

bool tn_row_step_is_of_cells(const tn_row_step *step) {
    return (step->kind == TN_ROW_STEP_MAP && step->function >= TN_MAP_COUNT) ||
           (step->kind == TN_ROW_STEP_COMBINE && step->function >= TN_COMBINE_COUNT);
}

bool tn_row_build_step(const tn_row_builder *builder, tn_row_step step, uint32_t *out_value) {
    const float *first = number_of(builder, step.operands[0]);
    bool are_numbers = step.kind != TN_ROW_STEP_ROW && !tn_row_step_is_of_cells(&step);
    for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++)
        are_numbers = are_numbers && number_of(builder, step.operands[i]);
    if (are_numbers) return fold(builder, &step, out_value);
    if (step.kind == TN_ROW_STEP_CHOOSE && first) {
        *out_value = step.operands[*first != 0 ? 1 : 2];
        return true;
    }
    return append(builder, step, out_value);
}

bool tn_row_build_copy(const tn_row_builder *builder, uint32_t value, uint32_t *out_value) {
    uint32_t zero = 0;
    if (!tn_row_build_number(builder, 0, &zero)) return false;
    const tn_row_step choose = {.kind = TN_ROW_STEP_CHOOSE, .operands = {zero, value, value}};
    return append(builder, choose, out_value);
}

bool tn_row_build_map(const tn_row_builder *builder, uint32_t function, float alpha, float beta,
                      uint32_t x, uint32_t *out_value) {
    const tn_row_step step = {.kind = TN_ROW_STEP_MAP,
                              .function = function,
                              .alpha = alpha,
                              .beta = beta,
                              .operands = {x, x, x}};
    return tn_row_build_step(builder, step, out_value);
}

bool tn_row_build_combine(const tn_row_builder *builder, uint32_t function, uint32_t a, uint32_t b,
                          uint32_t *out_value) {
    const tn_row_step step = {
        .kind = TN_ROW_STEP_COMBINE, .function = function, .operands = {a, b, b}};
    return tn_row_build_step(builder, step, out_value);
}

/* ----------------------------------------------------------------------------------------------
 * expressions */

static bool add_call(const tn_row_builder *builder, const tn_expression_step *step,
                     const uint32_t *values, uint32_t *out_value) {
    static const struct {
        const char *name;
        uint32_t function; /* of rows.h: a map with one operand, a combination with two */
    } functions[] = {{"exp", TN_MAP_EXP},
                     {"expm1", TN_MAP_EXPM1},
                     {"log", TN_MAP_LOG},
                     {"log1p", TN_MAP_LOG1P},
                     {"sqrt", TN_MAP_SQRT},
                     {"erf", TN_MAP_ERF},
                     {"erfc", TN_MAP_ERFC},
                     {"sin", TN_MAP_SIN},
                     {"cos", TN_MAP_COS},
                     {"tan", TN_MAP_TAN},
                     {"asin", TN_MAP_ASIN},
                     {"acos", TN_MAP_ACOS},
                     {"atan", TN_MAP_ATAN},
                     {"sinh", TN_MAP_SINH},
                     {"cosh", TN_MAP_COSH},
                     {"asinh", TN_MAP_ASINH},
                     {"acosh", TN_MAP_ACOSH},
                     {"atanh", TN_MAP_ATANH},
                     {"floor", TN_MAP_FLOOR},
                     {"ceil", TN_MAP_CEIL},
                     {"rint", TN_MAP_ROUND},
                     {"fabs", TN_MAP_ABS},
                     {"tanh", TN_ACTIVATION_TANH},
                     {"sign", TN_MAP_SIGN},
                     {"sigmoid", TN_ACTIVATION_SIGMOID},
                     {"softplus", TN_MAP_SOFTPLUS},
                     {"pow", TN_COMBINE_POW},
                     {"fmin", TN_COMBINE_FMIN},
                     {"fmax", TN_COMBINE_FMAX},
                     {"min", TN_COMBINE_MIN},
                     {"max", TN_COMBINE_MAX},
                     {"fmod", TN_COMBINE_FMOD},
                     {"mod", TN_COMBINE_MOD},
                     {"bitnot", TN_CELL_MAP_BIT_NOT},
                     {"bitand", TN_CELL_BIT_AND},
                     {"bitor", TN_CELL_BIT_OR},
                     {"bitxor", TN_CELL_BIT_XOR},
                     {"shift_left", TN_CELL_SHIFT_LEFT},
                     {"shift_right", TN_CELL_SHIFT_RIGHT}};
    const char *name = tn_expression_function_name(step->function);
    const uint32_t *o = step->operands;
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        if (strcmp(name, functions[i].name) != 0) continue;
        const uint32_t limit = step->operand_count == 1 ? (uint32_t)TN_MAP_COUNT : TN_COMBINE_COUNT;
        if (functions[i].function >= limit && !builder->has_cells) break;
        return step->operand_count == 1
                   ? tn_row_build_map(builder, functions[i].function, 0, 0, values[o[0]], out_value)
                   : tn_row_build_combine(builder, functions[i].function, values[o[0]],
                                          values[o[1]], out_value);
    }
    return tn_row_build_fail(builder, "there is no row function for '%s'", name);
}

static bool add_operation(const tn_row_builder *builder, const tn_expression_step *step,
                          const uint32_t *values, uint32_t *out_value) {
    static const uint32_t combines[] = {[TN_EXPRESSION_ADD] = TN_COMBINE_ADD,
                                        [TN_EXPRESSION_SUBTRACT] = TN_COMBINE_SUB,
                                        [TN_EXPRESSION_MULTIPLY] = TN_COMBINE_MUL,
                                        [TN_EXPRESSION_DIVIDE] = TN_COMBINE_DIV,
                                        [TN_EXPRESSION_LESS] = TN_COMBINE_LESS,
                                        [TN_EXPRESSION_LESS_EQUAL] = TN_COMBINE_LESS_EQUAL,
                                        [TN_EXPRESSION_GREATER] = TN_COMBINE_LESS,
                                        [TN_EXPRESSION_GREATER_EQUAL] = TN_COMBINE_LESS_EQUAL,
                                        [TN_EXPRESSION_EQUAL] = TN_COMBINE_EQUAL,
                                        [TN_EXPRESSION_NOT_EQUAL] = TN_COMBINE_NOT_EQUAL,
                                        [TN_EXPRESSION_AND] = TN_COMBINE_AND,
                                        [TN_EXPRESSION_OR] = TN_COMBINE_OR};
    const bool is_swapped =
        step->kind == TN_EXPRESSION_GREATER || step->kind == TN_EXPRESSION_GREATER_EQUAL;
    const uint32_t *o = step->operands;
    switch (step->kind) {
    case TN_EXPRESSION_CALL:
        return add_call(builder, step, values, out_value);
    case TN_EXPRESSION_NEGATE:
        return tn_row_build_map(builder, TN_MAP_NEG, 0, 0, values[o[0]], out_value);
    case TN_EXPRESSION_NOT:
        return tn_row_build_map(builder, TN_MAP_NOT, 0, 0, values[o[0]], out_value);
    case TN_EXPRESSION_CHOOSE: {
        const tn_row_step choose = {.kind = TN_ROW_STEP_CHOOSE,
                                    .operands = {values[o[0]], values[o[1]], values[o[2]]}};
        return tn_row_build_step(builder, choose, out_value);
    }
    default:
        return tn_row_build_combine(builder, combines[step->kind], values[o[is_swapped]],
                                    values[o[!is_swapped]], out_value);
    }
}

static bool bind(const tn_row_builder *builder, const tn_expression *expression, uint32_t step,
                 const tn_row_inputs *inputs, uint32_t *out_value) {
    const tn_expression_step *s = &expression->steps[step];
    const int length = (int)(s->name_length < 40 ? s->name_length : 40);
    const char *name = expression->text + s->name_at;
    uint32_t input = 0;
    double number = 0;
    if (tn_expression_find_input(expression, step, inputs->op, &input)) {
        if (input >= inputs->count || inputs->values[input] == UINT32_MAX)
            return tn_row_build_fail(builder, "its input '%.*s' is not there", length, name);
        *out_value = inputs->values[input];
        return true;
    }
    const tn_field *field = tn_expression_find_field(expression, step, inputs->op);
    if (!field || !inputs->params || !tn_expression_field(field, inputs->params, &number))
        return tn_row_build_fail(
            builder, "'%.*s' in its expression is neither an input nor a field with a number",
            length, name);
    return tn_row_build_number(builder, number, out_value);
}

static bool add_pattern(const tn_row_builder *builder, const tn_row_pattern *pattern,
                        const uint32_t *values, uint32_t *out_value) {
    if (pattern->is_combine)
        return tn_row_build_combine(builder, pattern->function, values[pattern->x],
                                    values[pattern->b], out_value);
    /* One without an alpha is a special case of another, or has none. */
    const float alpha =
        pattern->alpha == UINT32_MAX ? 0 : *number_of(builder, values[pattern->alpha]);
    const float beta = pattern->beta == UINT32_MAX ? 0 : *number_of(builder, values[pattern->beta]);
    return tn_row_build_map(builder, pattern->function, alpha, beta, values[pattern->x], out_value);
}

bool tn_row_build_expression(const tn_row_builder *builder, const char *text,
                             const tn_row_inputs *inputs, uint32_t *out_value) {
    tn_expression expression;
    tn_row_pattern pattern;
    uint32_t values[TN_EXPRESSION_MOST_STEPS];
    bool are_numbers[TN_EXPRESSION_MOST_STEPS] = {false};
    char why[200];
    if (!text) return tn_row_build_fail(builder, "operator %s has no expression", inputs->op->name);
    if (!tn_expression_read(text, &expression, why, sizeof(why)))
        return tn_row_build_fail(builder, "the expression of %s is none of the language: %s",
                                 inputs->op->name, why);
    for (uint32_t i = 0; i < expression.count; i++) {
        if (expression.steps[i].kind != TN_EXPRESSION_NAME) continue;
        if (!bind(builder, &expression, i, inputs, &values[i])) return false;
        are_numbers[i] = number_of(builder, values[i]) != NULL;
    }
    if (builder->has_patterns && tn_row_pattern_find(&expression, are_numbers, &pattern))
        return add_pattern(builder, &pattern, values, out_value);
    for (uint32_t i = 0; i < expression.count; i++) {
        const tn_expression_step *step = &expression.steps[i];
        if (step->kind == TN_EXPRESSION_NAME) continue;
        if (step->kind == TN_EXPRESSION_NUMBER
                ? !tn_row_build_number(builder, step->number, &values[i])
                : !add_operation(builder, step, values, &values[i]))
            return false;
    }
    *out_value = values[expression.count - 1];
    return true;
}
