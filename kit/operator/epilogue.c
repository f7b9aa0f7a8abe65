/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an epilogue chain; see epilogue.h. */
#include <tenon/kit/epilogue.h>

static bool add_step(const tn_known_step *step, int32_t rank, int32_t channel_axis,
                     tn_float_epilogue *chain) {
    const int32_t axis = step->axis < 0 ? step->axis + rank : step->axis;
    const bool is_end = step->kind == TN_KNOWN_WINDOW_MAX || step->kind == TN_KNOWN_SOFTMAX ||
                        step->kind == TN_KNOWN_PLANE_MEAN;
    const bool has_end = chain->window[0] || chain->has_softmax || chain->has_mean;
    if (has_end || (chain->activation && !is_end)) return false;
    switch (step->kind) {
    case TN_KNOWN_BIAS:
        if (chain->residual != UINT32_MAX || chain->bias_count == 4 ||
            axis != (channel_axis < 0 ? channel_axis + rank : channel_axis))
            return false;
        chain->bias[chain->bias_count++] = step->operand;
        return true;
    case TN_KNOWN_RESIDUAL:
        if (chain->residual != UINT32_MAX) return false;
        chain->residual = step->operand;
        return true;
    case TN_KNOWN_ACTIVATION:
        chain->activation = step->activation;
        chain->alpha = step->alpha;
        chain->beta = step->beta;
        return true;
    case TN_KNOWN_WINDOW_MAX:
        chain->window[0] = step->window[0];
        chain->window[1] = step->window[1];
        return true;
    case TN_KNOWN_SOFTMAX:
        chain->has_softmax = true;
        return axis + 1 == rank;
    case TN_KNOWN_PLANE_MEAN:
        chain->has_mean = true;
        return true;
    default:
        return false;
    }
}

bool tn_float_epilogue_read(const tn_call *call, int32_t channel_axis,
                            tn_float_epilogue *out_epilogue) {
    tn_float_epilogue chain = {.residual = UINT32_MAX};
    const int32_t rank =
        call->output_count && call->outputs[0] ? (int32_t)call->outputs[0]->rank : 0;
    tn_known_steps steps;
    if (!tn_known_steps_read(call, &steps)) return false;
    for (uint32_t i = 0; i < steps.count; i++)
        if (!add_step(&steps.items[i], rank, channel_axis, &chain)) return false;
    *out_epilogue = chain;
    return true;
}

bool tn_epilogue_tensors(const tn_call *call, uint32_t most, const tn_tensor **out_tensors,
                         uint32_t *out_count) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) continue;
        if (count == most) return false;
        out_tensors[count++] = call->inputs[i];
    }
    for (uint32_t i = 0; i < call->operand_count; i++) {
        if (!call->operands[i] || count == most) return false;
        out_tensors[count++] = call->operands[i];
    }
    *out_count = count;
    return true;
}

bool tn_epilogue_vector_axis(const tn_call *call, uint32_t operand, uint32_t *out_axis) {
    const int32_t rank = (int32_t)call->outputs[0]->rank;
    tn_known_steps steps;
    if (!tn_known_steps_read(call, &steps)) return false;
    for (uint32_t i = 0; i < steps.count; i++) {
        const tn_known_step *step = &steps.items[i];
        if ((step->kind != TN_KNOWN_BIAS && step->kind != TN_KNOWN_SCALE) ||
            step->operand != operand)
            continue;
        *out_axis = (uint32_t)(step->axis < 0 ? step->axis + rank : step->axis);
        return true;
    }
    return false;
}
