/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any text as an operator's expression. What is read has steps over earlier steps
 * alone, names that lie in the text, and computes; what is refused says why. Nothing may crash or
 * take long.
 */
#include "src/expression/expression_compute.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int is_sound) {
    if (!is_sound) abort();
}

static void check_steps(const tn_expression *expression) {
    const size_t length = strlen(expression->text);
    check(expression->count > 0 && expression->count <= TN_EXPRESSION_MOST_STEPS);
    for (uint32_t i = 0; i < expression->count; i++) {
        const tn_expression_step *step = &expression->steps[i];
        check(step->operand_count <= 3);
        for (uint32_t k = 0; k < step->operand_count; k++)
            check(step->operands[k] < i);
        if (step->kind == TN_EXPRESSION_NAME)
            check(step->name_length > 0 && step->name_at + step->name_length <= length);
        if (step->kind == TN_EXPRESSION_CALL)
            check(tn_expression_function_name(step->function)[0] != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_expression expression;
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    char why[100] = "";
    char *text = malloc(bytes + 1);
    if (!text) return 0;
    if (bytes > 0) memcpy(text, data, bytes);
    text[bytes] = 0;
    if (tn_expression_read(text, &expression, why, sizeof(why))) {
        check_steps(&expression);
        (void)tn_expression_compute(&expression, values);
    } else {
        check(why[0] != 0);
    }
    free(text);
    return 0;
}
