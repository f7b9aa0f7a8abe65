/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a quantised kernel does with its exact sums: weights' scales, bias, residual, activation,
 * and the output's scale, folded into one multiplication and one addition a channel as far as the
 * activation lets them (see tn_dot_end).
 */
#ifndef TENON_KIT_DOT_END_H
#define TENON_KIT_DOT_END_H

#include <tenon/kit/dot_pack.h>
#include <tenon/kit/epilogue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether input 0 and output 0 are what these kernels take (8 bits with a scale; or an output of
 * 32-bit floats), the constant weights are there, and the epilogue chain can be done along
 * `channel_axis`. */
bool tn_dot_call_read(const tn_call *call, int32_t channel_axis, tn_float_epilogue *out_epilogue);

/* Fills *out_end from the call's scales and epilogues; answers what scales and biases in real
 * numbers are to be multiplied by. */
float tn_dot_end_make(const tn_call *call, const tn_float_epilogue *epilogue, tn_dot_end *out_end);

/* The biases of all output channels, floating-point values: input 2 (one number or one a channel,
 * times `factor`) where the node has it, and those of the chain; a matrix has `period` channels,
 * again and again in its columns. Written to matrices x padded floats, times `fold`; lanes without
 * a channel are zero. `scale` gets as many: the scales of the weights times `factor_of_sum`. */
void tn_dot_end_gather(const tn_call *call, const tn_float_epilogue *epilogue,
                       const tn_dot_layout *layout, const void *blob, int64_t period, float factor,
                       float fold, float factor_of_sum, float *scale, float *bias);

#ifdef __cplusplus
}
#endif

#endif
