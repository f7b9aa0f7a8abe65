/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, and expressions in CUDA; see fused_text.h. */
#include "kit/cuda/fused/fused_text.h"
#include "src/expression/expression_field.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tn_fused_text_fail(tn_fused_text *source, tn_status status, const char *format, ...) {
    va_list arguments;
    if (source->status != TN_OK) return false;
    source->status = status;
    va_start(arguments, format);
    if (source->why_bytes > 0 && vsnprintf(source->why, source->why_bytes, format, arguments) < 0)
        source->why[0] = 0;
    va_end(arguments);
    return false;
}

static bool grow(tn_fused_text *source, size_t length) {
    if (source->length + length < source->capacity) return true;
    const size_t capacity = (source->length + length) * 2 + 8192;
    char *data = source->host->allocate(source->host, capacity, 64);
    if (!data)
        return tn_fused_text_fail(source, TN_ERROR_MEMORY, "no memory for the source of a kernel");
    if (source->data) memcpy(data, source->data, source->length);
    source->host->deallocate(source->host, source->data);
    source->data = data;
    source->capacity = capacity;
    return true;
}

bool tn_fused_text_append(tn_fused_text *source, const char *text) {
    const size_t length = strlen(text);
    if (source->status != TN_OK || !grow(source, length)) return false;
    memcpy(source->data + source->length, text, length + 1);
    source->length += length;
    return true;
}

bool tn_fused_text_add(tn_fused_text *source, const char *format, ...) {
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(line))
        return tn_fused_text_fail(source, TN_ERROR_INTERNAL, "a line of a source is too long");
    return tn_fused_text_append(source, line);
}

/* ----------------------------------------------------------------------------------------------
 * expressions */

void tn_fused_value_number(double number, tn_fused_value *out_value) {
    const float value = (float)number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    snprintf(out_value->text, sizeof(out_value->text), "__uint_as_float(0x%08xu)", bits);
}

/* Of expressions that are no operator's: x, alpha, beta and b. */
static bool find_own(const tn_expression *expression, uint32_t step, uint32_t *out_input) {
    static const char *const own[] = {"x", "alpha", "beta", "b"};
    for (uint32_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (!tn_expression_is_name(expression, step, own[i])) continue;
        *out_input = i;
        return true;
    }
    return false;
}

static bool bind(tn_fused_text *source, const tn_expression *expression, uint32_t step,
                 const tn_fused_names *names, tn_fused_value *out_value) {
    const tn_expression_step *s = &expression->steps[step];
    const int length = (int)(s->name_length < 40 ? s->name_length : 40);
    const char *name = expression->text + s->name_at;
    const tn_field *field = NULL;
    uint32_t input = 0;
    double number;
    if (names->op ? tn_expression_find_input(expression, step, names->op, &input)
                  : find_own(expression, step, &input)) {
        if (input >= names->input_count || !names->inputs[input].text[0])
            return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "its input '%.*s' is not there",
                                      length, name);
        *out_value = names->inputs[input];
        return true;
    }
    if (names->op && names->params) field = tn_expression_find_field(expression, step, names->op);
    if (!field)
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED,
                                  "'%.*s' in its expression is neither an input nor a field",
                                  length, name);
    if (!tn_expression_field(field, names->params, &number))
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "its field '%.*s' is no number",
                                  length, name);
    tn_fused_value_number(number, out_value);
    return true;
}

/* Functions that C's library has not, of operands A and B. */
static const struct {
    const char *name, *text;
} own_functions[] = {
    {"sigmoid", "1.0f / (1.0f + expf(-A))"},
    {"softplus", "fmaxf(A, 0.0f) + log1pf(expf(-fabsf(A)))"},
    {"sign", "A > 0.0f ? 1.0f : A < 0.0f ? -1.0f : A"},
    {"min", "A != A || A < B ? A : B"},
    {"max", "A != A || A > B ? A : B"},
    {"mod", "fmodf(A, B) != 0.0f && (fmodf(A, B) < 0.0f) != (B < 0.0f) ? fmodf(A, B) + B "
            ": fmodf(A, B)"},
};

static bool add_own(tn_fused_text *source, uint32_t link, const uint32_t *operands,
                    const char *text) {
    for (; *text; text++) {
        const char letter[] = {*text, 0};
        const bool is_operand = *text == 'A' || *text == 'B';
        if (is_operand ? !tn_fused_text_add(source, "((float)e%u_%u)", link,
                                            operands[*text == 'A' ? 0 : 1])
                       : !tn_fused_text_append(source, letter))
            return false;
    }
    return tn_fused_text_append(source, ";\n");
}

static bool add_call(tn_fused_text *source, uint32_t link, const tn_expression_step *s) {
    const char *name = tn_expression_function_name(s->function);
    const uint32_t *o = s->operands;
    for (size_t i = 0; i < sizeof(own_functions) / sizeof(own_functions[0]); i++)
        if (strcmp(name, own_functions[i].name) == 0)
            return add_own(source, link, o, own_functions[i].text);
    if (s->operand_count == 1)
        return tn_fused_text_add(source, "%sf((float)e%u_%u);\n", name, link, o[0]);
    return tn_fused_text_add(source, "%sf((float)e%u_%u, (float)e%u_%u);\n", name, link, o[0], link,
                             o[1]);
}

/* The right side of step `index` of link `link`. Its operands are e<link>_<step>. */
static bool add_operation(tn_fused_text *source, uint32_t link, const tn_expression_step *s) {
    static const char *const signs[] = {
        [TN_EXPRESSION_ADD] = "+",      [TN_EXPRESSION_SUBTRACT] = "-",
        [TN_EXPRESSION_MULTIPLY] = "*", [TN_EXPRESSION_DIVIDE] = "/",
        [TN_EXPRESSION_LESS] = "<",     [TN_EXPRESSION_LESS_EQUAL] = "<=",
        [TN_EXPRESSION_GREATER] = ">",  [TN_EXPRESSION_GREATER_EQUAL] = ">=",
        [TN_EXPRESSION_EQUAL] = "==",   [TN_EXPRESSION_NOT_EQUAL] = "!=",
        [TN_EXPRESSION_AND] = "&&",     [TN_EXPRESSION_OR] = "||"};
    const uint32_t *o = s->operands;
    switch (s->kind) {
    case TN_EXPRESSION_CALL:
        return add_call(source, link, s);
    case TN_EXPRESSION_NEGATE:
        return tn_fused_text_add(source, "-(float)e%u_%u;\n", link, o[0]);
    case TN_EXPRESSION_NOT:
        return tn_fused_text_add(source, "e%u_%u == 0;\n", link, o[0]);
    case TN_EXPRESSION_CHOOSE:
        return tn_fused_text_add(source, "e%u_%u != 0 ? (float)e%u_%u : (float)e%u_%u;\n", link,
                                 o[0], link, o[1], link, o[2]);
    case TN_EXPRESSION_AND:
    case TN_EXPRESSION_OR:
        return tn_fused_text_add(source, "(e%u_%u != 0) %s (e%u_%u != 0);\n", link, o[0],
                                 signs[s->kind], link, o[1]);
    default:
        return tn_fused_text_add(source, "(float)e%u_%u %s (float)e%u_%u;\n", link, o[0],
                                 signs[s->kind], link, o[1]);
    }
}

/* Lines that end in `const float r<link>`. */
bool tn_fused_text_add_expression(tn_fused_text *source, uint32_t link, const char *text,
                                  const tn_fused_names *names) {
    tn_expression expression;
    char why[200];
    if (!text) return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "it has no expression");
    if (!tn_expression_read(text, &expression, why, sizeof(why)))
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED,
                                  "its expression is none of the language: %s", why);
    for (uint32_t i = 0; i < expression.count; i++) {
        const tn_expression_step *s = &expression.steps[i];
        tn_fused_value value;
        tn_fused_text_add(source, "    const %s e%u_%u = ",
                          tn_expression_is_truth(s->kind) ? "bool" : "float", link, i);
        if (s->kind == TN_EXPRESSION_NUMBER)
            tn_fused_value_number(s->number, &value);
        else if (s->kind == TN_EXPRESSION_NAME) {
            if (!bind(source, &expression, i, names, &value)) return false;
        } else {
            if (!add_operation(source, link, s)) return false;
            continue;
        }
        tn_fused_text_add(source, "%s;\n", value.text);
    }
    return tn_fused_text_add(source, "    const float r%u = (float)e%u_%u;\n", link, link,
                             expression.count - 1);
}
