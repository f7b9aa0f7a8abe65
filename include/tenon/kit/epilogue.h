/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epilogue chain that float kernels of the kit absorb: any biases, then at most one residual of
 * the output's shape, then at most one simple activation; and at the end, where a kernel lists
 * them, windows of which the largest element is kept, softmax, or the mean of planes.
 */
#ifndef TENON_KIT_EPILOGUE_H
#define TENON_KIT_EPILOGUE_H

#include <tenon/kit/known_steps.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What such a kernel's table says; `functions` are variants of activations. */
#define TN_FLOAT_ABSORBS(functions)                                                                \
    TN_FACET_BIAS ", " TN_FACET_RESIDUAL ", " TN_FACET_ACTIVATION "(" functions ")"
/* What those that absorb any elementwise operator list. */
#define TN_ELEMENTWISE_ABSORBS                                                                     \
    TN_FACET_BIAS ", " TN_FACET_SCALE ", " TN_FACET_RESIDUAL ", " TN_FACET_ACTIVATION              \
                  "(" TN_ACTIVATIONS_1_0 "), " TN_FACET_ROW ", " TN_FACET_EXPRESSION

typedef struct tn_float_epilogue {
    uint32_t bias_count;
    uint32_t bias[4];  /* indices of operands, each a vector along the channels */
    uint32_t residual; /* index of an operand, UINT32_MAX: none */
    uint32_t activation;
    float alpha, beta;
    uint32_t window[2];         /* of which the largest element is kept; 0: none */
    bool has_softmax, has_mean; /* mean: of whole planes */
} tn_float_epilogue;

/* Reads call->steps; false when the chain is of another form or a bias is not along
 * `channel_axis` (counted as in the output; negative axes count from its end). */
bool tn_float_epilogue_read(const tn_call *call, int32_t channel_axis,
                            tn_float_epilogue *out_epilogue);

/* --- for kernels that absorb chains of elementwise operators --- */

/* What such a kernel reads: the inputs that are there, then all operands. False: more than `most`.
 */
bool tn_epilogue_tensors(const tn_call *call, uint32_t most, const tn_tensor **out_tensors,
                         uint32_t *out_count);
/* The axis of the output along which an operand lies as a vector, a bias or a scale; false: it is
 * neither. May be past the last axis where a description says so. */
bool tn_epilogue_vector_axis(const tn_call *call, uint32_t operand, uint32_t *out_axis);

#ifdef __cplusplus
}
#endif

#endif
