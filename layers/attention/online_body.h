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

/* The sum of a vector's lanes, by halves. */
TN_INLINE float sum_of(tn_vector value) {
    float lanes[TN_LANES];
    tn_vector_store(lanes, value);
    TN_UNROLL for (int half = TN_LANES / 2; half > 0; half /= 2)
        TN_UNROLL for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return lanes[0];
}

/* Rows that meet a key or a value once it is loaded. */
enum { HELD_ROWS = 4 };

TN_INLINE void dot_rows(const int rows, int64_t depth, const float *q, const float *key,
                        float *scores) {
    tn_vector sums[HELD_ROWS];
    int64_t i = 0;
    TN_UNROLL for (int r = 0; r < rows; r++) sums[r] = (tn_vector){0};
    for (; i + TN_LANES <= depth; i += TN_LANES) {
        const tn_vector value = tn_vector_load(key + i);
        TN_UNROLL for (int r = 0; r < rows; r++) sums[r] +=
            tn_vector_load(q + r * depth + i) * value;
    }
    TN_UNROLL for (int r = 0; r < rows; r++) {
        float sum = sum_of(sums[r]);
        for (int64_t k = i; k < depth; k++)
            sum += q[r * depth + k] * key[k];
        scores[r * TN_ATTENTION_KEYS] = sum;
    }
}

static void dots(int64_t rows, int64_t depth, int64_t count, int64_t stride, const float *q,
                 const float *keys, float *scores) {
    for (int64_t k = 0; k < count; k++) {
        int64_t r = 0;
        for (; r + HELD_ROWS <= rows; r += HELD_ROWS)
            dot_rows(HELD_ROWS, depth, q + r * depth, keys + k * stride,
                     scores + r * TN_ATTENTION_KEYS + k);
        for (; r < rows; r++)
            dot_rows(1, depth, q + r * depth, keys + k * stride,
                     scores + r * TN_ATTENTION_KEYS + k);
    }
}

/* Some vectors of columns of some rows stay in registers while all values are added. */
TN_INLINE void accumulate_vectors(const int rows, const int vectors, int64_t depth, int64_t count,
                                  int64_t stride, const float *scores, const float *values,
                                  float *sums) {
    tn_vector held[HELD_ROWS][4];
    TN_UNROLL for (int r = 0; r < rows; r++) TN_UNROLL for (int v = 0; v < vectors; v++)
        held[r][v] = tn_vector_load(sums + r * depth + v * TN_LANES);
    for (int64_t k = 0; k < count; k++) {
        tn_vector value[4];
        TN_UNROLL for (int v = 0; v < vectors; v++) value[v] =
            tn_vector_load(values + k * stride + v * TN_LANES);
        TN_UNROLL for (int r = 0; r < rows; r++) {
            const tn_vector score = tn_vector_all(scores[r * TN_ATTENTION_KEYS + k]);
            TN_UNROLL for (int v = 0; v < vectors; v++) held[r][v] += score * value[v];
        }
    }
    TN_UNROLL for (int r = 0; r < rows; r++) TN_UNROLL for (int v = 0; v < vectors; v++)
        tn_vector_store(sums + r * depth + v * TN_LANES, held[r][v]);
}

TN_INLINE void accumulate_rows(const int rows, int64_t depth, int64_t count, int64_t stride,
                               const float *scores, const float *values, float *sums) {
    const int vectors = TN_LANES == 16 ? 4 : 2; /* as many as there are registers for */
    int64_t i = 0;
    for (; i + vectors * TN_LANES <= depth; i += vectors * TN_LANES)
        accumulate_vectors(rows, vectors, depth, count, stride, scores, values + i, sums + i);
    for (; i + TN_LANES <= depth; i += TN_LANES)
        accumulate_vectors(rows, 1, depth, count, stride, scores, values + i, sums + i);
    for (; i < depth; i++)
        for (int r = 0; r < rows; r++)
            for (int64_t k = 0; k < count; k++)
                sums[r * depth + i] += scores[r * TN_ATTENTION_KEYS + k] * values[k * stride + i];
}

static void accumulate(int64_t rows, int64_t depth, int64_t count, int64_t stride,
                       const float *scores, const float *values, float *sums) {
    int64_t r = 0;
    for (; r + HELD_ROWS <= rows; r += HELD_ROWS)
        accumulate_rows(HELD_ROWS, depth, count, stride, scores + r * TN_ATTENTION_KEYS, values,
                        sums + r * depth);
    for (; r < rows; r++)
        accumulate_rows(1, depth, count, stride, scores + r * TN_ATTENTION_KEYS, values,
                        sums + r * depth);
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
