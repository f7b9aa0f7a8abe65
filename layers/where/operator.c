/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where: elements of X where the condition holds, of Y elsewhere; all three are broadcast. Elements
 * are moved as they are, whatever their type.
 */
#include "kit/math/element.h"
#include "kit/operator/broadcast.h"
#include "kit/operator/layer.h"

static tn_status where_infer(tn_call *call) {
    return tn_broadcast_infer(call, 3);
}

static void choose_row(const tn_call *call, const tn_broadcast_rows *rows, size_t bytes) {
    const uint8_t *condition = (const uint8_t *)call->inputs[0]->data + rows->offset[0];
    const char *x = call->inputs[1]->data, *y = call->inputs[2]->data;
    char *output = (char *)call->outputs[0]->data + (size_t)rows->output_offset * bytes;
    for (int64_t i = 0; i < rows->count; i++) {
        const char *from = condition[i * rows->stride[0]]
                               ? x + (size_t)(rows->offset[1] + i * rows->stride[1]) * bytes
                               : y + (size_t)(rows->offset[2] + i * rows->stride[2]) * bytes;
        memcpy(output + (size_t)i * bytes, from, bytes);
    }
}

static tn_status where_reference(tn_call *call) {
    const tn_tensor *output = call->outputs[0];
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, output->rank, output->shape);
    for (uint32_t i = 0; i < 3; i++)
        tn_broadcast_add(&rows, call->inputs[i]->rank, call->inputs[i]->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        choose_row(call, &rows, tn_element_bytes(output->type));
    return TN_OK;
}

static const tn_port where_inputs[] = {
    TN_PORT("condition", "bool", 0, "which to take"),
    TN_PORT("X", "T:any", 0, "taken where the condition is true"),
    TN_PORT("Y", "T", 0, "taken where it is false"),
};
static const tn_port where_outputs[] = {
    TN_PORT("output", "T", 0, "what was taken"),
};
static const char *const where_cases[] = {
    "| condition=bool[2,2]{1,0,1,1} X=f32[2,2] Y=f32[2,2]",
    "| condition=bool[3,1]{1,0,1} X=f32[4] Y=f32[]",
    "| condition=bool[]{1} X=i64[5] Y=i64[5]",
    "| condition=bool[2,1,2]{1,0,0,1} X=f16[1,3,1] Y=f16[2,1,1]",
    "| condition=bool[4]{1,0,1,0} X=u8[1] Y=u8[4]",
    "| condition=bool[1]{0} X=f64[0,2] Y=f64[1,2]",
    "| condition=bool[2]{1,0} X=bool[2]{0,1} Y=bool[2]{1,0}",
    "| condition=bool[1,1,64,64] X=f32[1,12,64,64] Y=f32[]",
};

static const tn_operator where_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Where",
    .doc = "Elements of one of two tensors, by a condition.",
    TN_NO_FIELDS,
    TN_INPUTS(where_inputs),
    TN_OUTPUTS(where_outputs),
    .infer = where_infer,
    .reference = where_reference,
    .expression = "condition ? X : Y",
    TN_CASES(where_cases),
};

static const tn_operator *const where_operators[] = {&where_9};
TN_LAYER_WITHOUT_KERNELS(where, where_operators);
