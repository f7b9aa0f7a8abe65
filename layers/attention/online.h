/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of Attention's kernels over rows of floats, compiled once a processor level from
 * online_body.h.
 */
#ifndef TN_LAYERS_ATTENTION_ONLINE_H
#define TN_LAYERS_ATTENTION_ONLINE_H

#include <tenon/kit/matrix.h>

enum { TN_ATTENTION_KEYS = 256 /* of a block; a multiple of any level's block of columns */ };

typedef struct tn_attention_level {
    const tn_matrix_level *matrix;
    /* scores = softcap * tanh(scores / softcap) */
    void (*cap)(int64_t count, float softcap, float *scores);
    /* Adds a mask to scores; where it is minus infinity, or false, the score becomes that. */
    void (*add_bias)(int64_t count, const float *bias, float *scores);
    void (*hide)(int64_t count, const uint8_t *seen, float *scores);
    float (*largest)(int64_t count, const float *scores);
    /* scores = exp(scores - offset); returns their sum. */
    float (*exponentials)(int64_t count, float offset, float *scores);
    void (*scale)(int64_t count, float factor, float *values);
    /* scores[r * TN_ATTENTION_KEYS + k] = sum over i of q[r * depth + i] * keys[k * stride + i],
     * for `rows` rows. */
    void (*dots)(int64_t rows, int64_t depth, int64_t count, int64_t stride, const float *q,
                 const float *keys, float *scores);
    /* sums[r * depth + i] += sum over k of scores[r * TN_ATTENTION_KEYS + k] * values[k * stride +
     * i], for `rows` rows. */
    void (*accumulate)(int64_t rows, int64_t depth, int64_t count, int64_t stride,
                       const float *scores, const float *values, float *sums);
    /* `count` elements as 32-bit floats, of TN_F16 or TN_BF16. */
    void (*widen)(tn_type type, int64_t count, const uint16_t *from, float *to);
} tn_attention_level;

extern const tn_attention_level tn_attention_baseline, tn_attention_avx2, tn_attention_avx512;

#endif
