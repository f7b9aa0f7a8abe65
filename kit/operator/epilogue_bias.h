/* SPDX-License-Identifier: Apache-2.0 */
/* The biases of a node and of the chain behind it as one, for kernels that add them to sums. */
#ifndef TN_KIT_OPERATOR_EPILOGUE_BIAS_H
#define TN_KIT_OPERATOR_EPILOGUE_BIAS_H

#include <tenon/kit/epilogue.h>

/* out_bias[i] = own[i * own_stride] * factor + the chain's biases of channel first + i. `own` is
 * null where the node has none. */
static inline void tn_epilogue_gather_bias(const tn_call *call, const tn_float_epilogue *epilogue,
                                           const float *own, int64_t own_stride, float factor,
                                           int64_t first, int64_t count, float *out_bias) {
    for (int64_t i = 0; i < count; i++)
        out_bias[i] = own ? own[i * own_stride] * factor : 0.0f;
    for (uint32_t b = 0; b < epilogue->bias_count; b++) {
        const float *more = (const float *)call->operands[epilogue->bias[b]]->data + first;
        for (int64_t i = 0; i < count; i++)
            out_bias[i] += more[i];
    }
}

#endif
