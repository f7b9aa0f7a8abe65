/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState of one channel of floats, compiled once a processor level from rows_body.h.
 */
#ifndef TN_LAYERS_CAUSAL_CONV_ROWS_H
#define TN_LAYERS_CAUSAL_CONV_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* y[t] = bias + sum over j of weights[j] * x[t + j] for t < count, then times its sigmoid where
 * is_silu. */
typedef void (*tn_causal_conv_row)(int64_t count, int64_t taps, bool is_silu, const float *x,
                                   const float *weights, float bias, float *y);

void tn_causal_conv_baseline(int64_t count, int64_t taps, bool is_silu, const float *x,
                             const float *weights, float bias, float *y);
void tn_causal_conv_avx2(int64_t count, int64_t taps, bool is_silu, const float *x,
                         const float *weights, float bias, float *y);
void tn_causal_conv_avx512(int64_t count, int64_t taps, bool is_silu, const float *x,
                           const float *weights, float bias, float *y);

#endif
