/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and epilogues of the quantised kernels; see dot_end.h. */
#include <tenon/kit/dot_end.h>
#include "kit/math/byte_table.h"
#include "kit/operator/epilogue_bias.h"

#include <math.h>

static bool is_plain_float(const tn_tensor *tensor) {
    return tensor->type == TN_F32 && !tensor->quantization;
}

bool tn_dot_call_read(const tn_call *call, int32_t channel_axis, tn_float_epilogue *out_epilogue) {
    const tn_tensor *x = call->inputs[0], *weights = call->inputs[1];
    const tn_tensor *bias = call->input_count > 2 ? call->inputs[2] : NULL, *y = call->outputs[0];
    if (!x || !weights || !y || tn_byte_scale(x) == 0 || !is_plain_float(weights) ||
        !weights->data || (bias && !is_plain_float(bias)) ||
        (tn_byte_scale(y) == 0 && !is_plain_float(y)) ||
        !tn_float_epilogue_read(call, channel_axis, out_epilogue))
        return false;
    for (uint32_t i = 0; i < out_epilogue->bias_count; i++) {
        if (!is_plain_float(call->operands[out_epilogue->bias[i]])) return false;
    }
    if (out_epilogue->residual == UINT32_MAX) return true;
    const tn_tensor *residual = call->operands[out_epilogue->residual];
    return y->type == TN_I8 ? tn_byte_scale(residual) != 0 : is_plain_float(residual);
}

/* Whether activation(x) / s is activation(x / s), with alpha and beta over s where they are bounds.
 */
static bool is_homogeneous(uint32_t activation) {
    return activation == 0 || activation == TN_ACTIVATION_RELU ||
           activation == TN_ACTIVATION_CLIP || activation == TN_ACTIVATION_LEAKY_RELU;
}

float tn_dot_end_make(const tn_call *call, const tn_float_epilogue *epilogue, tn_dot_end *out_end) {
    const tn_tensor *y = call->outputs[0];
    const bool is_bytes = y->type == TN_I8;
    const float inverse = is_bytes ? 1.0f / tn_byte_scale(y) : 1.0f;
    const float fold = is_homogeneous(epilogue->activation) ? inverse : 1.0f;
    tn_dot_end end = {.type = y->type,
                      .activation = epilogue->activation,
                      .alpha = epilogue->alpha,
                      .beta = epilogue->beta,
                      .residual_scale = 1.0f,
                      .unit = inverse / fold,
                      .low = is_bytes ? -128.0f : -INFINITY,
                      .high = is_bytes ? 127.0f : INFINITY};
    if (is_bytes && epilogue->residual != UINT32_MAX)
        end.residual_scale = tn_byte_scale(call->operands[epilogue->residual]) * fold;
    if (end.activation == TN_ACTIVATION_RELU) {
        end.low = 0;
        end.activation = 0;
    } else if (end.activation == TN_ACTIVATION_CLIP) {
        const float lowest = end.low, highest = end.high;
        end.low = fmaxf(lowest, fminf(end.alpha * fold, highest));
        end.high = fmaxf(lowest, fminf(end.beta * fold, highest));
        end.activation = 0;
    }
    end.is_plain = epilogue->residual == UINT32_MAX && end.activation == 0 && end.unit == 1.0f;
    *out_end = end;
    return fold;
}

void tn_dot_end_gather(const tn_call *call, const tn_float_epilogue *epilogue,
                       const tn_dot_layout *layout, const void *blob, int64_t period, float factor,
                       float fold, float factor_of_sum, float *scale, float *bias) {
    const tn_tensor *own = call->input_count > 2 ? call->inputs[2] : NULL;
    const float *own_values = own ? own->data : NULL;
    const bool is_scalar = own && own->bytes == sizeof(float);
    const float *scales = tn_dot_scales(layout, blob, 0);
    for (int64_t i = 0; i < layout->matrices * layout->padded; i++)
        scale[i] = scales[i] * factor_of_sum;
    for (int64_t m = 0; m < layout->matrices; m++, bias += layout->padded) {
        const int64_t first = m * period;
        const float *of_matrix = own_values && !is_scalar ? own_values + first : own_values;
        tn_epilogue_gather_bias(call, epilogue, of_matrix, !is_scalar, factor, first, period, bias);
        for (int64_t n = 0; n < period; n++)
            bias[n] *= fold;
        for (int64_t n = period; n < layout->columns; n++)
            bias[n] = bias[n - period];
        for (int64_t n = layout->columns; n < layout->padded; n++)
            bias[n] = 0;
    }
}
