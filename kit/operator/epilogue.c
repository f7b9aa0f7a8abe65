/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an epilogue chain; see epilogue.h. */
#include "kit/operator/epilogue.h"

bool tn_float_epilogue_read(const tn_call *call, int32_t channel_axis,
                            tn_float_epilogue *out_epilogue) {
    tn_float_epilogue chain = {.residual = UINT32_MAX};
    const int32_t rank =
        call->output_count && call->outputs[0] ? (int32_t)call->outputs[0]->rank : 0;
    for (uint32_t i = 0; i < call->epilogue_count; i++) {
        const tn_epilogue *step = call->epilogues[i];
        int32_t axis = step->axis < 0 ? step->axis + rank : step->axis;
        const bool is_end =
            step->kind == TN_EPILOGUE_MAX_WINDOWS || step->kind == TN_EPILOGUE_SOFTMAX;
        if (chain.window[0] || chain.has_softmax || (chain.activation && !is_end)) return false;
        switch (step->kind) {
        case TN_EPILOGUE_BIAS:
            if (chain.residual != UINT32_MAX || chain.bias_count == 4 ||
                axis != (channel_axis < 0 ? channel_axis + rank : channel_axis))
                return false;
            chain.bias[chain.bias_count++] = step->operand;
            break;
        case TN_EPILOGUE_ADD:
            if (chain.residual != UINT32_MAX) return false;
            chain.residual = step->operand;
            break;
        case TN_EPILOGUE_ACTIVATION:
            chain.activation = step->activation;
            chain.alpha = step->alpha;
            chain.beta = step->beta;
            break;
        case TN_EPILOGUE_MAX_WINDOWS:
            chain.window[0] = step->window[0];
            chain.window[1] = step->window[1];
            break;
        case TN_EPILOGUE_SOFTMAX:
            chain.has_softmax = true;
            break;
        default:
            return false;
        }
    }
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
    bool is_vector = false;
    for (uint32_t i = 0; i < call->epilogue_count; i++) {
        const tn_epilogue *step = call->epilogues[i];
        if ((step->kind != TN_EPILOGUE_BIAS && step->kind != TN_EPILOGUE_SCALE) ||
            step->operand != operand)
            continue;
        *out_axis = (uint32_t)(step->axis < 0 ? step->axis + rank : step->axis);
        is_vector = true;
    }
    return is_vector;
}
