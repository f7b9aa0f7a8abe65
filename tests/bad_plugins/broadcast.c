/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Between, y = a * b + c with b broadcast to a, an optional c, and an optional second output,
 * the product before c; absorbs factors, additions and ReLU in any order: and the mistakes that
 * axes that change together, short rows and short chains do not show. */
#include "mistake.h"
#include "../support/steps.h"

#include <math.h>

static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "broadcast to a"),
                                 TN_PORT("c", "f32", TN_PORT_OPTIONAL, "one element")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a"),
                                  TN_PORT("product", "f32", TN_PORT_OPTIONAL, "as a")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *c = call->inputs[2];
    if (b->rank > a->rank || (c && count_of(c) != 1))
        return call->host->fail(call, TN_ERROR_SHAPE, "b has more axes than a, or c elements");
    for (uint32_t i = 1; i <= b->rank; i++)
        if (b->shape[b->rank - i] != 1 && b->shape[b->rank - i] != a->shape[a->rank - i])
            return call->host->fail(call, TN_ERROR_SHAPE, "b cannot be broadcast to a");
    for (uint32_t k = 0; k < 2; k++) {
        if (!call->outputs[k]) continue;
        call->outputs[k]->rank = a->rank;
        for (uint32_t i = 0; i < a->rank; i++)
            call->outputs[k]->shape[i] = a->shape[i];
    }
    return TN_OK;
}

/* Where element `index` of a is in b. */
static int64_t offset_in(const tn_tensor *a, const tn_tensor *b, int64_t index) {
    int64_t offset = 0, step = 1;
    for (uint32_t i = 1; i <= b->rank; i++) {
        const int64_t own = b->shape[b->rank - i], extent = a->shape[a->rank - i];
        if (own != 1) offset += index % extent * step;
        step *= own;
        index /= extent;
    }
    return offset;
}

static int64_t offset_by_kernel(const tn_tensor *a, const tn_tensor *b, int64_t index) {
    if (WITH(takes_b_as_whole)) return index;
    if (WITH(four_axes_at_most) && a->rank > 4) return 0;
    if (WITH(five_axes_at_most) && a->rank > 5) return 0;
    if (WITH(broadcasts_scalars) && count_of(b) != count_of(a)) return 0;
    if (WITH(broadcasts_last_axis) && count_of(b) != count_of(a)) return index % count_of(b);
    if (WITH(operand_of_16_bits)) return (uint16_t)offset_in(a, b, index);
    return offset_in(a, b, index);
}

/* The position of an element along an axis; a negative one counts from the end. */
static int64_t position_along(const tn_tensor *y, int32_t axis, int64_t index) {
    int64_t inner = 1;
    if (axis < 0) axis += (int32_t)y->rank;
    for (uint32_t i = (uint32_t)axis + 1; i < y->rank; i++)
        inner *= y->shape[i];
    return index / inner % y->shape[axis];
}

static float finish(const tn_call *call, float x, int64_t index) {
    const tn_tensor *y = call->outputs[0];
    float factor = 1;
    bool is_rectified = false;
    for (uint32_t i = 0; i < call->step_count; i++) {
        const seen_step *step = SEE_STEP(call, i);
        if (WITH(two_steps_alone) && i == 2) break;
        if (step->kind == SEEN_ACTIVATION) {
            is_rectified = true;
            if (!WITH(activation_last)) x = x < 0 ? 0 : x;
            continue;
        }
        const float *operand = call->operands[step->operand]->data;
        const float number =
            operand[step->kind == SEEN_RESIDUAL ? index : position_along(y, step->axis, index)];
        if (step->kind == SEEN_RESIDUAL)
            x += number;
        else if (WITH(scale_after_all))
            factor *= number;
        else
            x *= number;
    }
    x *= factor;
    return WITH(activation_last) && is_rectified && x < 0 ? 0 : x;
}

static tn_status compute(const tn_call *call, bool is_kernel) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *c = call->inputs[2];
    float *y = call->outputs[0] ? call->outputs[0]->data : NULL;
    float *product = call->outputs[1] ? call->outputs[1]->data : NULL;
    if (is_kernel && WITH(index_when_asked) && product) y = NULL;
    float shift = c ? *(const float *)c->data : 0;
    if (is_kernel && WITH(bias_by_count) && !c) shift = 1;
    const int64_t row = a->rank > 0 ? a->shape[a->rank - 1] : 1;
    for (int64_t i = 0, n = count_of(a); i < n; i++) {
        if (is_kernel && WITH(long_rows_in_pieces) && row > 256 && i % row >= row / 8 * 8) continue;
        const int64_t at = is_kernel ? offset_by_kernel(a, b, i) : offset_in(a, b, i);
        const float value = ((const float *)a->data)[i] * ((const float *)b->data)[at];
        if (product) product[i] = value;
        if (y) y[i] = is_kernel ? finish(call, value + shift, i) : value + shift;
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {"| a=f32[3,4,5] b=f32[3,4,5] c=f32[]",
                                    "| a=f32[2,6] b=f32[2,6] c=f32[1]"};
static const tn_operator between = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Bad",
                                    .name = "Between",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const tn_kernel between_cpu = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Bad",
                                      .op = "Between",
                                      .device = "cpu",
                                      .name = "plain",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      .absorbs = "tn.scale/1, tn.residual/1, tn.activation/1(relu)",
                                      .run = run};
static const tn_operator *const operators[] = {&between};
static const tn_kernel *const kernels[] = {&between_cpu};
TN_LIBRARY("bad_between", "1", operators, kernels)
