/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a step of LinearAttention over some columns of the state, compiled once a processor
 * level from step_body.h. */
#ifndef TN_LAYERS_LINEAR_ATTENTION_STEP_H
#define TN_LAYERS_LINEAR_ATTENTION_STEP_H

#include <stdint.h>

enum { TN_LINEAR_COLUMNS = 64 }; /* of the state that are done together; unused ones are zero */

/* Matrices of `depth` rows of TN_LINEAR_COLUMNS floats, and rows of such. */
typedef struct tn_linear_level {
    /* state[i] *= factors[i] */
    void (*decay)(int64_t depth, const float *factors, float *state);
    /* sums = sum over i of weights[i] * state[i] */
    void (*read)(int64_t depth, const float *weights, const float *state, float *sums);
    /* state[i] += key[i] * values */
    void (*add)(int64_t depth, const float *key, const float *values, float *state);
} tn_linear_level;

extern const tn_linear_level tn_linear_baseline, tn_linear_avx2, tn_linear_avx512;

#endif
