/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of online.h for one processor level. Included by a file a level, which names the
 * table as TN_ATTENTION_LEVEL, and that of the matrix product as TN_ATTENTION_MATRIX.
 */
#include "attention/online.h"
#include "kit/math/softmax_row.h"
#include "kit/math/widen.h"

#include <math.h>

static void cap(int64_t count, float softcap, float *scores) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(scores + i, softcap * tn_vector_tanh(tn_vector_load(scores + i) / softcap));
    const tn_vector rest = tn_vector_load_part(scores + i, count - i);
    tn_vector_store_part(scores + i, softcap * tn_vector_tanh(rest / softcap), count - i);
}

static void add_bias(int64_t count, const float *bias, float *scores) {
    for (int64_t i = 0; i < count; i++)
        scores[i] = bias[i] == -INFINITY ? -INFINITY : scores[i] + bias[i];
}

static void hide(int64_t count, const uint8_t *seen, float *scores) {
    for (int64_t i = 0; i < count; i++)
        scores[i] = seen[i] ? scores[i] : -INFINITY;
}

static float largest(int64_t count, const float *scores) {
    return tn_softmax_largest(count, scores);
}

static float exponentials(int64_t count, float offset, float *scores) {
    return tn_softmax_exponentials(count, scores, offset, scores);
}

static void scale(int64_t count, float factor, float *values) {
    tn_softmax_scale(count, factor, values);
}

static float dot(int64_t count, const float *a, const float *b) {
    tn_vector sums[4] = {0};
    float sum = 0;
    int64_t i = 0;
    for (; i + 4 * TN_LANES <= count; i += 4 * TN_LANES)
        for (int k = 0; k < 4; k++)
            sums[k] += tn_vector_load(a + i + k * TN_LANES) * tn_vector_load(b + i + k * TN_LANES);
    for (; i + TN_LANES <= count; i += TN_LANES)
        sums[0] += tn_vector_load(a + i) * tn_vector_load(b + i);
    for (; i < count; i++)
        sum += a[i] * b[i];
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int k = 0; k < TN_LANES; k++)
        sum += sums[0][k];
    return sum;
}

static void dots(int64_t depth, int64_t count, int64_t stride, const float *q, const float *keys,
                 float *scores) {
    for (int64_t k = 0; k < count; k++)
        scores[k] = dot(depth, q, keys + k * stride);
}

/* Up to four vectors of columns stay in registers while all rows are added. */
TN_INLINE void accumulate_vectors(const int vectors, int64_t count, int64_t stride,
                                  const float *scores, const float *values, float *sums) {
    tn_vector held[4];
    TN_UNROLL for (int v = 0; v < vectors; v++) held[v] = tn_vector_load(sums + v * TN_LANES);
    for (int64_t k = 0; k < count; k++) {
        const tn_vector score = tn_vector_all(scores[k]);
        TN_UNROLL for (int v = 0; v < vectors; v++) held[v] +=
            score * tn_vector_load(values + k * stride + v * TN_LANES);
    }
    TN_UNROLL for (int v = 0; v < vectors; v++) tn_vector_store(sums + v * TN_LANES, held[v]);
}

static void accumulate(int64_t depth, int64_t count, int64_t stride, const float *scores,
                       const float *values, float *sums) {
    int64_t i = 0;
    for (; i + 4 * TN_LANES <= depth; i += 4 * TN_LANES)
        accumulate_vectors(4, count, stride, scores, values + i, sums + i);
    for (; i + TN_LANES <= depth; i += TN_LANES)
        accumulate_vectors(1, count, stride, scores, values + i, sums + i);
    for (; i < depth; i++)
        for (int64_t k = 0; k < count; k++)
            sums[i] += scores[k] * values[k * stride + i];
}

static void widen(tn_type type, int64_t count, const uint16_t *from, float *to) {
    if (type == TN_BF16)
        tn_widen_bf16_row(count, from, to);
    else
        tn_widen_f16_row(count, from, to);
}

const tn_attention_level TN_ATTENTION_LEVEL = {
    &TN_ATTENTION_MATRIX, cap,   add_bias, hide,       largest,
    exponentials,         scale, dots,     accumulate, widen};
