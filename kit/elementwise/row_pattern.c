/* SPDX-License-Identifier: Apache-2.0 */
/* The table of patterns; see row_pattern.h. */
#include "kit/elementwise/row_pattern.h"
#include <tenon/kit/rows.h>

#include <string.h>

typedef struct pattern {
    uint32_t steps; /* of the text: others need not be read */
    bool is_combine;
    uint32_t function;
    const char *text;
} pattern;

#define SOFTPLUS "fmax(x, 0) + log1p(exp(-fabs(x)))"
static const pattern patterns[] = {
    {7, false, TN_ACTIVATION_SIGMOID, "1 / (1 + exp(-x))"},
    {6, false, TN_ACTIVATION_RELU, "x < 0 ? 0 : x"},
    {3, false, TN_ACTIVATION_RELU, "fmax(x, 0)"},
    {8, false, TN_ACTIVATION_LEAKY_RELU, "x < 0 ? alpha * x : x"},
    {8, true, TN_COMBINE_PRELU, "x < 0 ? b * x : x"},
    {16, false, TN_ACTIVATION_CLIP,
     "x < alpha ? (alpha > beta ? beta : alpha) : x > beta ? beta : x"},
    {9, false, TN_ACTIVATION_SWISH, "x / (1 + exp(-alpha * x))"},
    {9, false, TN_ACTIVATION_ELU, "x < 0 ? alpha * expm1(x) : x"},
    {11, false, TN_MAP_SELU, "beta * (x < 0 ? alpha * expm1(x) : x)"},
    {11, false, TN_MAP_CELU, "x < 0 ? alpha * expm1(x / alpha) : x"},
    {23, false, TN_ACTIVATION_HARD_SIGMOID,
     "alpha * x + beta < 0 ? 0 : alpha * x + beta > 1 ? 1 : alpha * x + beta"},
    {18, false, TN_ACTIVATION_HARD_SWISH, "x * (x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5)"},
    {9, false, TN_MAP_SOFTPLUS, SOFTPLUS},
    {12, false, TN_MAP_MISH, "x * tanh(" SOFTPLUS ")"},
    {6, false, TN_MAP_SOFTSIGN, "x / (1 + fabs(x))"},
    {6, false, TN_MAP_THRESHOLDED_RELU, "x > alpha ? x : 0"},
    {6, false, TN_MAP_THRESHOLD, "x > alpha ? 1 : 0"},
    {12, false, TN_MAP_SIGN, "x > 0 ? 1 : x < 0 ? -1 : x"},
    {3, false, TN_MAP_RECIPROCAL, "1 / x"},
    {9, false, TN_ACTIVATION_GELU_ERF, "0.5 * x * erfc(-0.7071067811865476 * x)"},
    {17, false, TN_ACTIVATION_GELU_TANH,
     "x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))"},
};
enum { PATTERN_COUNT = sizeof(patterns) / sizeof(patterns[0]) };

/* The member for a name of a pattern. */
static uint32_t *slot_of(const tn_expression *text, uint32_t step, tn_row_pattern *found,
                         bool *out_is_number) {
    *out_is_number = false;
    if (tn_expression_is_name(text, step, "x")) return &found->x;
    if (tn_expression_is_name(text, step, "b")) return &found->b;
    *out_is_number = true;
    return tn_expression_is_name(text, step, "alpha") ? &found->alpha : &found->beta;
}

static bool is_same_name(const tn_expression *expression, uint32_t a, uint32_t b) {
    const tn_expression_step *one = &expression->steps[a], *other = &expression->steps[b];
    return one->name_length == other->name_length &&
           memcmp(expression->text + one->name_at, expression->text + other->name_at,
                  one->name_length) == 0;
}

static bool fits_step(const tn_expression *expression, const bool *is_number,
                      const tn_expression *text, uint32_t step, tn_row_pattern *found) {
    const tn_expression_step *s = &expression->steps[step], *like = &text->steps[step];
    bool wants_number = false;
    if (s->kind != like->kind) return false;
    if (s->kind == TN_EXPRESSION_NUMBER) return s->number == like->number;
    if (s->kind == TN_EXPRESSION_NAME) {
        uint32_t *slot = slot_of(text, step, found, &wants_number);
        if (is_number[step] != wants_number) return false;
        if (*slot != UINT32_MAX) return is_same_name(expression, *slot, step);
        *slot = step;
        return true;
    }
    if (s->kind == TN_EXPRESSION_CALL && s->function != like->function) return false;
    return s->operand_count == like->operand_count &&
           memcmp(s->operands, like->operands, s->operand_count * sizeof(*s->operands)) == 0;
}

bool tn_row_pattern_find(const tn_expression *expression, const bool *is_number,
                         tn_row_pattern *out_pattern) {
    tn_expression text;
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
        uint32_t step = 0;
        if (patterns[p].steps != expression->count ||
            !tn_expression_read(patterns[p].text, &text, NULL, 0))
            continue;
        *out_pattern = (tn_row_pattern){patterns[p].is_combine,
                                        patterns[p].function,
                                        UINT32_MAX,
                                        UINT32_MAX,
                                        UINT32_MAX,
                                        UINT32_MAX};
        while (step < text.count && fits_step(expression, is_number, &text, step, out_pattern))
            step++;
        if (step == text.count) return true;
    }
    return false;
}
