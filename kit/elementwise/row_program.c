/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row programs from what operators declare; see row_program.h. Every step makes a row of its own
 * here; row_program_run.c drops those that nothing reads, and gives the rows out again.
 */
#include "kit/elementwise/row_program.h"
#include "kit/elementwise/row_pattern.h"
#include "src/expression/expression_field.h"
#include <tenon/kit/epilogue.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct maker {
    const tn_call *call;
    tn_row_program *program;
    char *why;
    size_t why_bytes;
    bool has_patterns;
} maker;

static bool fail(const maker *m, const char *format, ...) {
    va_list arguments;
    if (m->why_bytes == 0) return false;
    va_start(arguments, format);
    if (vsnprintf(m->why, m->why_bytes, format, arguments) < 0) m->why[0] = 0;
    va_end(arguments);
    return false;
}

static bool is_number(uint32_t value) {
    return value >= TN_ROW_PROGRAM_FIRST_NUMBER && value < TN_ROW_PROGRAM_FIRST_ROW;
}

static bool add_number(const maker *m, double number, uint32_t *out_value) {
    tn_row_program *program = m->program;
    const float value = (float)number;
    uint32_t i = 0;
    while (i < program->number_count && memcmp(&program->numbers[i], &value, sizeof(value)) != 0)
        i++;
    if (i == TN_ROW_PROGRAM_NUMBERS) return fail(m, "it has too many numbers");
    program->numbers[i] = value;
    if (i == program->number_count) program->number_count++;
    *out_value = TN_ROW_PROGRAM_FIRST_NUMBER + i;
    return true;
}

/* Every step makes a row of its own, by its number, until rows are given out. */
static bool add_step(const maker *m, tn_row_step step, uint32_t *out_value) {
    tn_row_program *program = m->program;
    if (program->step_count == TN_ROW_PROGRAM_STEPS) return fail(m, "it has too many steps");
    step.result = TN_ROW_PROGRAM_FIRST_ROW + program->step_count;
    program->steps[program->step_count++] = step;
    *out_value = step.result;
    return true;
}

static bool add_map(const maker *m, uint32_t function, float alpha, float beta, uint32_t x,
                    uint32_t *out_value) {
    float y;
    if (is_number(x)) {
        tn_rows_baseline.maps[function](alpha, beta, 1,
                                        &m->program->numbers[x - TN_ROW_PROGRAM_FIRST_NUMBER], &y);
        return add_number(m, (double)y, out_value);
    }
    return add_step(m,
                    (tn_row_step){.kind = TN_ROW_STEP_MAP,
                                  .function = function,
                                  .alpha = alpha,
                                  .beta = beta,
                                  .operand_count = 1,
                                  .operands = {x}},
                    out_value);
}

static bool add_combine(const maker *m, uint32_t function, uint32_t a, uint32_t b,
                        uint32_t *out_value) {
    const float *numbers = m->program->numbers;
    float y;
    if (is_number(a) && is_number(b)) {
        tn_rows_baseline.combines[function](1, &numbers[a - TN_ROW_PROGRAM_FIRST_NUMBER], 1,
                                            &numbers[b - TN_ROW_PROGRAM_FIRST_NUMBER], 1, &y);
        return add_number(m, (double)y, out_value);
    }
    return add_step(m,
                    (tn_row_step){.kind = TN_ROW_STEP_COMBINE,
                                  .function = function,
                                  .operand_count = 2,
                                  .operands = {a, b}},
                    out_value);
}

static bool add_choose(const maker *m, uint32_t condition, uint32_t a, uint32_t b,
                       uint32_t *out_value) {
    if (is_number(condition)) {
        *out_value = m->program->numbers[condition - TN_ROW_PROGRAM_FIRST_NUMBER] != 0 ? a : b;
        return true;
    }
    return add_step(m,
                    (tn_row_step){.kind = TN_ROW_STEP_CHOOSE,
                                  .operand_count = 3,
                                  .operands = {condition, a, b}},
                    out_value);
}

/* ----------------------------------------------------------------------------------------------
 * expressions */

static bool add_call(const maker *m, const tn_expression_step *step, const uint32_t *values,
                     uint32_t *out_value) {
    static const struct {
        const char *name;
        uint32_t map;
    } maps[] = {{"exp", TN_MAP_EXP},
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
                {"softplus", TN_MAP_SOFTPLUS}};
    static const struct {
        const char *name;
        uint32_t combine;
    } combines[] = {{"pow", TN_COMBINE_POW}, {"fmin", TN_COMBINE_FMIN}, {"fmax", TN_COMBINE_FMAX},
                    {"min", TN_COMBINE_MIN}, {"max", TN_COMBINE_MAX},   {"fmod", TN_COMBINE_FMOD},
                    {"mod", TN_COMBINE_MOD}};
    const char *name = tn_expression_function_name(step->function);
    const uint32_t *o = step->operands;
    for (size_t i = 0; i < sizeof(combines) / sizeof(combines[0]); i++)
        if (strcmp(name, combines[i].name) == 0)
            return add_combine(m, combines[i].combine, values[o[0]], values[o[1]], out_value);
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        if (strcmp(name, maps[i].name) == 0)
            return add_map(m, maps[i].map, 0, 0, values[o[0]], out_value);
    return fail(m, "there is no row function for '%s'", name);
}

static bool add_operation(const maker *m, const tn_expression_step *step, const uint32_t *values,
                          uint32_t *out_value) {
    static const uint32_t combines[] = {[TN_EXPRESSION_ADD] = TN_COMBINE_ADD,
                                        [TN_EXPRESSION_SUBTRACT] = TN_COMBINE_SUB,
                                        [TN_EXPRESSION_MULTIPLY] = TN_COMBINE_MUL,
                                        [TN_EXPRESSION_DIVIDE] = TN_COMBINE_DIV,
                                        [TN_EXPRESSION_LESS] = TN_COMBINE_LESS,
                                        [TN_EXPRESSION_LESS_EQUAL] = TN_COMBINE_LESS_EQUAL,
                                        [TN_EXPRESSION_EQUAL] = TN_COMBINE_EQUAL,
                                        [TN_EXPRESSION_NOT_EQUAL] = TN_COMBINE_NOT_EQUAL,
                                        [TN_EXPRESSION_AND] = TN_COMBINE_AND,
                                        [TN_EXPRESSION_OR] = TN_COMBINE_OR};
    const uint32_t *o = step->operands;
    switch (step->kind) {
    case TN_EXPRESSION_CALL:
        return add_call(m, step, values, out_value);
    case TN_EXPRESSION_NEGATE:
        return add_map(m, TN_MAP_NEG, 0, 0, values[o[0]], out_value);
    case TN_EXPRESSION_NOT:
        return add_map(m, TN_MAP_NOT, 0, 0, values[o[0]], out_value);
    case TN_EXPRESSION_CHOOSE:
        return add_choose(m, values[o[0]], values[o[1]], values[o[2]], out_value);
    case TN_EXPRESSION_GREATER:
        return add_combine(m, TN_COMBINE_LESS, values[o[1]], values[o[0]], out_value);
    case TN_EXPRESSION_GREATER_EQUAL:
        return add_combine(m, TN_COMBINE_LESS_EQUAL, values[o[1]], values[o[0]], out_value);
    default:
        return add_combine(m, combines[step->kind], values[o[0]], values[o[1]], out_value);
    }
}

/* An operator with its node's parameters, and the values of its inputs; UINT32_MAX: not there. */
typedef struct operands {
    const tn_operator *op;
    const void *params;
    uint32_t count;
    uint32_t values[TN_ROW_PROGRAM_TENSORS];
} operands;

static bool bind(const maker *m, const tn_expression *expression, uint32_t step,
                 const operands *from, uint32_t *out_value) {
    const tn_expression_step *s = &expression->steps[step];
    const int length = (int)(s->name_length < 40 ? s->name_length : 40);
    const char *name = expression->text + s->name_at;
    uint32_t input = 0;
    double number = 0;
    if (tn_expression_find_input(expression, step, from->op, &input)) {
        if (input >= from->count || from->values[input] == UINT32_MAX)
            return fail(m, "its input '%.*s' is not there", length, name);
        *out_value = from->values[input];
        return true;
    }
    const tn_field *field = tn_expression_find_field(expression, step, from->op);
    if (!field || !from->params || !tn_expression_field(field, from->params, &number))
        return fail(m, "'%.*s' in its expression is neither an input nor a field with a number",
                    length, name);
    return add_number(m, number, out_value);
}

static bool add_pattern(const maker *m, const tn_row_pattern *pattern, const uint32_t *values,
                        uint32_t *out_value) {
    const float *numbers = m->program->numbers;
    if (pattern->is_combine)
        return add_combine(m, pattern->function, values[pattern->x], values[pattern->b], out_value);
    /* One without an alpha is a special case of another, or has none. */
    const float alpha = pattern->alpha == UINT32_MAX
                            ? 0
                            : numbers[values[pattern->alpha] - TN_ROW_PROGRAM_FIRST_NUMBER];
    const float beta = pattern->beta == UINT32_MAX
                           ? 0
                           : numbers[values[pattern->beta] - TN_ROW_PROGRAM_FIRST_NUMBER];
    return add_map(m, pattern->function, alpha, beta, values[pattern->x], out_value);
}

static bool add_expression(const maker *m, const char *text, const operands *from,
                           uint32_t *out_value) {
    tn_expression expression;
    tn_row_pattern pattern;
    uint32_t values[TN_EXPRESSION_MOST_STEPS];
    bool are_numbers[TN_EXPRESSION_MOST_STEPS] = {false};
    char why[200];
    if (!text) return fail(m, "operator %s has no expression", from->op->name);
    if (!tn_expression_read(text, &expression, why, sizeof(why)))
        return fail(m, "the expression of %s is none of the language: %s", from->op->name, why);
    for (uint32_t i = 0; i < expression.count; i++) {
        if (expression.steps[i].kind != TN_EXPRESSION_NAME) continue;
        if (!bind(m, &expression, i, from, &values[i])) return false;
        are_numbers[i] = is_number(values[i]);
    }
    if (m->has_patterns && tn_row_pattern_find(&expression, are_numbers, &pattern))
        return add_pattern(m, &pattern, values, out_value);
    for (uint32_t i = 0; i < expression.count; i++) {
        const tn_expression_step *step = &expression.steps[i];
        if (step->kind == TN_EXPRESSION_NAME) continue;
        if (step->kind == TN_EXPRESSION_NUMBER ? !add_number(m, step->number, &values[i])
                                               : !add_operation(m, step, values, &values[i]))
            return false;
    }
    *out_value = values[expression.count - 1];
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * the chain */

static bool add_row(const maker *m, const tn_known_step *link, uint32_t x, uint32_t *out_value) {
    if (!link->row) return fail(m, "a row function is not there");
    return add_step(m,
                    (tn_row_step){.kind = TN_ROW_STEP_ROW,
                                  .operand_count = 1,
                                  .operands = {x},
                                  .row = link->row,
                                  .params = link->params},
                    out_value);
}

/* An operator of its own: the value so far comes in at one of its inputs, the operand at another.
 */
static bool add_declared(const maker *m, const tn_known_step *link, uint32_t x, uint32_t operand,
                         uint32_t *out_value) {
    operands from = {.op = link->op, .params = link->params};
    if (link->kind == TN_KNOWN_ROW && !link->expression) return add_row(m, link, x, out_value);
    if (!from.op || from.op->input_count > TN_ROW_PROGRAM_TENSORS ||
        link->input >= from.op->input_count)
        return fail(m, "a step says not whose it is");
    from.count = from.op->input_count;
    for (uint32_t i = 0; i < from.count; i++)
        from.values[i] = UINT32_MAX;
    from.values[link->input] = x;
    if (link->operand != UINT32_MAX) {
        if (link->operand_input >= from.count) return fail(m, "a step has too many inputs");
        from.values[link->operand_input] = operand;
    }
    return add_expression(m, link->expression, &from, out_value);
}

static bool add_link(const maker *m, const tn_known_step *link, uint32_t first_operand,
                     uint32_t *inout_value) {
    const uint32_t x = *inout_value, operand = first_operand + link->operand;
    if (link->type != TN_F32 && link->type != TN_NONE) return fail(m, "a step's type");
    switch (link->kind) {
    case TN_KNOWN_BIAS:
    case TN_KNOWN_RESIDUAL:
        return add_combine(m, TN_COMBINE_ADD, x, operand, inout_value);
    case TN_KNOWN_SCALE:
        return add_combine(m, TN_COMBINE_MUL, x, operand, inout_value);
    case TN_KNOWN_ACTIVATION:
        if (link->activation >= TN_MAP_EXP || !tn_rows_baseline.maps[link->activation])
            return fail(m, "there is no row function for activation %u", link->activation);
        return add_map(m, link->activation, link->alpha, link->beta, x, inout_value);
    case TN_KNOWN_ROW:
    case TN_KNOWN_EXPRESSION:
        return add_declared(m, link, x, operand, inout_value);
    default:
        return fail(m, "a step of kind %u", link->kind);
    }
}

static bool add_all(const maker *m, uint32_t *out_value) {
    const tn_call *call = m->call;
    operands from = {.op = call->op, .params = call->params, .count = call->input_count};
    uint32_t first_operand = 0;
    if (call->input_count > TN_ROW_PROGRAM_TENSORS || call->input_count > call->op->input_count)
        return fail(m, "it has too many inputs");
    for (uint32_t i = 0; i < call->input_count; i++)
        from.values[i] = call->inputs[i] ? first_operand++ : UINT32_MAX;
    if (!add_expression(m, call->op->expression, &from, out_value)) return false;
    tn_known_steps steps;
    if (!tn_known_steps_read(call, &steps)) return fail(m, "a step that is not known");
    for (uint32_t i = 0; i < steps.count; i++)
        if (!add_link(m, &steps.items[i], first_operand, out_value)) return false;
    return true;
}

static bool make(maker m, tn_row_program *out_program) {
    const tn_tensor *tensors[TN_ROW_PROGRAM_TENSORS];
    uint32_t value = 0, zero = 0;
    out_program->number_count = out_program->step_count = 0;
    if (!tn_epilogue_tensors(m.call, TN_ROW_PROGRAM_TENSORS, tensors, &out_program->tensor_count))
        return fail(&m, "it has too many tensors");
    if (!add_all(&m, &value)) return false;
    if (value < TN_ROW_PROGRAM_FIRST_ROW &&
        (!add_number(&m, 0, &zero) || !add_step(&m,
                                                (tn_row_step){.kind = TN_ROW_STEP_CHOOSE,
                                                              .operand_count = 3,
                                                              .operands = {zero, value, value}},
                                                &value)))
        return false;
    return tn_row_program_finish(out_program, value) || fail(&m, "too many values live at once");
}

bool tn_row_program_make(const tn_call *call, tn_row_program *out_program, char *out_why,
                         size_t why_bytes) {
    return make((maker){call, out_program, out_why, why_bytes, true}, out_program);
}

bool tn_row_program_make_steps(const tn_call *call, tn_row_program *out_program, char *out_why,
                               size_t why_bytes) {
    return make((maker){call, out_program, out_why, why_bytes, false}, out_program);
}
