/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions from expressions; see expression_row.h. */
#include "plugin/fields/expression_row.h"
#include "base/status.h"

#include "src/expression/expression_compute.h"
#include "src/expression/expression_field.h"

#include <string.h>

enum { MOST_VALUES = 4096 };

/* Before the copy of the parameters. */
typedef struct row_head {
    tn_expression expression;
    tn_expression_domain domains[TN_EXPRESSION_MOST_STEPS];
    bool is_input[TN_EXPRESSION_MOST_STEPS];
    double numbers[TN_EXPRESSION_MOST_STEPS]; /* of the fields */
} row_head;
#define HEAD_BYTES ((sizeof(row_head) + 63) / 64 * 64)

/* [called: run; cannot fail] */
static void compute_block(const row_head *head, uint32_t count, const float *x, uint64_t stride,
                          float *y) {
    tn_expression_value values[MOST_VALUES];
    const uint32_t last = head->expression.count - 1;
    for (uint32_t s = 0; s <= last; s++) {
        if (head->expression.steps[s].kind != TN_EXPRESSION_NAME) continue;
        const bool is_float = head->domains[s] == TN_EXPRESSION_FLOAT;
        for (uint32_t i = 0; i < count; i++) {
            const double number = head->is_input[s] ? (double)x[i * stride] : head->numbers[s];
            if (is_float)
                values[s * count + i].real = number;
            else
                values[s * count + i].whole = (int64_t)number;
        }
    }
    tn_expression_compute_block(&head->expression, head->domains, count, values);
    for (uint32_t i = 0; i < count; i++) {
        const tn_expression_value value = values[last * count + i];
        y[i] = head->domains[last] == TN_EXPRESSION_FLOAT ? (float)value.real : (float)value.whole;
    }
}

static void expression_row(const void *params, uint64_t count, const float *const *inputs,
                           const uint64_t *strides, float *output) {
    const row_head *head = (const row_head *)(const void *)((const char *)params - HEAD_BYTES);
    const uint64_t most = MOST_VALUES / head->expression.count;
    const uint64_t block = most < TN_EXPRESSION_BLOCK ? most : TN_EXPRESSION_BLOCK;
    for (uint64_t i = 0; i < count; i += block) {
        const uint64_t some = count - i < block ? count - i : block;
        compute_block(head, (uint32_t)some, inputs[0] + i * strides[0], strides[0], output + i);
    }
}

/* The names of the text: fields' values are read now, in the reference's arithmetic. */
static tn_status bind_names(row_head *head, const tn_operator *op, const void *params,
                            uint32_t input) {
    for (uint32_t s = 0; s < head->expression.count; s++) {
        uint32_t found = 0;
        head->domains[s] = TN_EXPRESSION_FLOAT;
        if (head->expression.steps[s].kind != TN_EXPRESSION_NAME) continue;
        head->is_input[s] = tn_expression_find_input(&head->expression, s, op, &found);
        if (head->is_input[s] && found == input) continue;
        const tn_field *field =
            head->is_input[s] ? NULL : tn_expression_find_field(&head->expression, s, op);
        if (!field || !params || !tn_expression_field(field, params, &head->numbers[s]))
            return TN_ERROR_UNSUPPORTED;
        if (field->type != TN_FIELD_F32 && field->type != TN_FIELD_F64)
            head->domains[s] = TN_EXPRESSION_SIGNED;
    }
    (void)tn_expression_domains(&head->expression, head->domains);
    return TN_OK;
}

tn_status tn_expression_row_make(tn_arena *arena, const tn_operator *op, const void *params,
                                 uint32_t input, tn_facet_expression *facet) {
    char *block = tn_arena_allocate(arena, 1, HEAD_BYTES + op->params_bytes);
    if (!block) return tn_fail_memory("a row function");
    row_head *head = (row_head *)(void *)block;
    if (!tn_expression_read(op->expression, &head->expression, NULL, 0))
        return TN_ERROR_UNSUPPORTED;
    const tn_status status = bind_names(head, op, params, input);
    if (status != TN_OK) return status;
    if (params && op->params_bytes) memcpy(block + HEAD_BYTES, params, op->params_bytes);
    facet->row = expression_row;
    facet->params = block + HEAD_BYTES;
    return TN_OK;
}
