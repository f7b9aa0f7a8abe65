/* SPDX-License-Identifier: Apache-2.0 */
/* Equal and Where, for operator.c alone: they take strings, too, which their expressions do not
 * compute. */
#include "kit/operator/strings.h"

static bool are_equal_strings(const tn_tensor *a, int64_t i, const tn_tensor *b, int64_t k) {
    uint64_t bytes, other;
    const char *first = tn_string_at(a, (uint64_t)i, &bytes);
    const char *second = tn_string_at(b, (uint64_t)k, &other);
    return bytes == other && memcmp(first, second, bytes) == 0;
}

static tn_status equal_strings(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *c = call->outputs[0];
    uint8_t *to = c->data;
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, c->rank, c->shape);
    tn_broadcast_add(&rows, a->rank, a->shape);
    tn_broadcast_add(&rows, b->rank, b->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        for (int64_t i = 0; i < rows.count; i++)
            to[rows.output_offset + i] = are_equal_strings(a, rows.offset[0] + i * rows.stride[0],
                                                           b, rows.offset[1] + i * rows.stride[1]);
    return TN_OK;
}

static tn_status equal_reference(tn_call *call) {
    const tn_elementwise_view view = {.text = call->op->expression};
    return call->inputs[0]->type == TN_STRING ? equal_strings(call)
                                              : tn_elementwise_compute(call, &view);
}

static const tn_port equal_inputs[] = {
    TN_PORT("A", "T:any|string", 0, "any tensor"),
    TN_PORT("B", "T", 0, "what it is compared with"),
};
static const tn_port equal_outputs[] = {TN_PORT("C", "bool", 0, "whether they are equal")};
static const char *const equal_cases[] = {
    "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",
    "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",
    "| A=bool[4]{0,1,0,1} B=bool[4]{0,0,1,1}",
    "| A=f16[3]{1,2,3} B=f16[1]{2}",
    "| A=u64[2]{1,2} B=u64[]{2}",
    "| A=i8[0,3] B=i8[3]",
    "| A=f32[7,1,33] B=f32[5,1]",
    "| A=string[2,1]{a,bc} B=string[2]{bc,a} | C=bool[2,2]{0,1,1,0}",
};
static const tn_operator equal_operator = {
    TN_OPERATOR_BEGIN("", "Equal", 7, "Equality of two tensors, broadcast with each other."),
    .traits = TN_OPERATOR_ELEMENTWISE,
    TN_NO_FIELDS,
    TN_INPUTS(equal_inputs),
    TN_OUTPUTS(equal_outputs),
    .reference = equal_reference,
    .expression = "A == B",
    TN_CASES(equal_cases)};

static tn_status where_strings(tn_call *call) {
    const uint8_t *condition = call->inputs[0]->data;
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, call->outputs[0]->rank, call->outputs[0]->shape);
    for (uint32_t k = 0; k < 3; k++)
        tn_broadcast_add(&rows, call->inputs[k]->rank, call->inputs[k]->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        for (int64_t i = 0; i < rows.count; i++) {
            const uint32_t k = condition[rows.offset[0] + i * rows.stride[0]] ? 1 : 2;
            TN_TRY(tn_strings_append(call, rows.output_offset + i, call->inputs[k],
                                     rows.offset[k] + i * rows.stride[k]));
        }
    return TN_OK;
}

static tn_status where_reference(tn_call *call) {
    const tn_elementwise_view view = {.text = call->op->expression};
    return call->outputs[0]->type == TN_STRING ? where_strings(call)
                                               : tn_elementwise_compute(call, &view);
}

static const tn_port where_inputs[] = {
    TN_PORT("condition", "bool", 0, "which to take"),
    TN_PORT("X", "T:any|string", 0, "taken where the condition is true"),
    TN_PORT("Y", "T", 0, "taken where it is false")};
static const tn_port where_outputs[] = {TN_PORT("output", "T", 0, "what was taken")};
static const char *const where_cases[] = {
    "| condition=bool[2,2]{1,0,1,1} X=f32[2,2] Y=f32[2,2]",
    "| condition=bool[3,1]{1,0,1} X=f32[4] Y=f32[]",
    "| condition=bool[]{1} X=i64[5] Y=i64[5]",
    "| condition=bool[2,1,2]{1,0,0,1} X=f16[1,3,1] Y=f16[2,1,1]",
    "| condition=bool[4]{1,0,1,0} X=u8[1] Y=u8[4]",
    "| condition=bool[1]{0} X=f64[0,2] Y=f64[1,2]",
    "| condition=bool[2]{1,0} X=bool[2]{0,1} Y=bool[2]{1,0}",
    "| condition=bool[1,1,64,64] X=f32[1,12,64,64] Y=f32[]",
    "| condition=bool[2,1]{1,0} X=string[2]{a,bc} Y=string[1]{d} | output=string[2,2]{a,bc,d,d}",
    ("| condition=bool[2]{1,0} X=u64[2]{18446744073709551615,1} Y=u64[]{9223372036854775809}"
     " | output=u64[2]{18446744073709551615,9223372036854775809}")};
static const tn_operator where_operator = {
    TN_OPERATOR_BEGIN("", "Where", 9, "Elements of one of two tensors, by a condition."),
    .traits = TN_OPERATOR_ELEMENTWISE,
    TN_NO_FIELDS,
    TN_INPUTS(where_inputs),
    TN_OUTPUTS(where_outputs),
    .reference = where_reference,
    .expression = "condition ? X : Y",
    TN_CASES(where_cases)};
