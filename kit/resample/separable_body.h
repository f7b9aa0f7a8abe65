/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling along and across a row, compiled by separable_<level>.c for that level's vectors.
 * Before it is included, TN_RESAMPLE_LEVEL names the table to define. The loops are plain: the
 * compiler makes gathers and vectors of them.
 */
#include <tenon/kit/vector.h>
#include <tenon/kit/resample.h>

#define TAPS_LOOP(T)                                                                               \
    for (int64_t i = 0; i < axis->out; i++) {                                                      \
        float sum = 0;                                                                             \
        for (int64_t t = 0; t < (T); t++)                                                          \
            sum += weight[t * out + i] * from[index[t * out + i]];                                 \
        to[i] = sum;                                                                               \
    }

static void horizontal(const tn_resample_axis *axis, const float *restrict from,
                       float *restrict to) {
    const int32_t *restrict index = axis->index;
    const float *restrict weight = axis->weight;
    const int64_t out = axis->out;
    if (axis->taps == 4) {
        TAPS_LOOP(4)
    } else if (axis->taps == 2) {
        TAPS_LOOP(2)
    } else {
        TAPS_LOOP(axis->taps)
    }
}

static void vertical(int64_t taps, const float *const *rows, const float *weights,
                     int64_t weight_stride, int64_t count, float *restrict to) {
    if (taps == 4) {
        const float *restrict a = rows[0], *restrict b = rows[1], *restrict c = rows[2],
                              *restrict d = rows[3];
        const float wa = weights[0], wb = weights[weight_stride], wc = weights[2 * weight_stride],
                    wd = weights[3 * weight_stride];
        for (int64_t i = 0; i < count; i++)
            to[i] = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = weights[0] * rows[0][i];
    for (int64_t t = 1; t < taps; t++) {
        const float weight = weights[t * weight_stride];
        const float *restrict row = rows[t];
        for (int64_t i = 0; i < count; i++)
            to[i] += weight * row[i];
    }
}

/* The sum over all taps of one position, `count` lanes at most a vector. */
TN_INLINE tn_vector sum_taps(const tn_resample_axis *vertical, const tn_resample_axis *horizontal,
                             int64_t y, int64_t x, int64_t lanes, const float *from,
                             int64_t count) {
    tn_vector sum = {0};
    for (int64_t v = 0; v < vertical->taps; v++) {
        const int64_t down = v * vertical->out + y;
        const float *row = from + vertical->index[down] * horizontal->in * lanes;
        for (int64_t h = 0; h < horizontal->taps; h++) {
            const int64_t across = h * horizontal->out + x;
            const float *at = row + horizontal->index[across] * lanes;
            const tn_vector value =
                count < TN_LANES ? tn_vector_load_part(at, count) : tn_vector_load(at);
            sum += value * (vertical->weight[down] * horizontal->weight[across]);
        }
    }
    return sum;
}

static void resample_lanes(const tn_resample_axis *vertical, const tn_resample_axis *horizontal,
                           int64_t y, int64_t lanes, const float *from, float *to) {
    for (int64_t x = 0; x < horizontal->out; x++, to += lanes) {
        int64_t c = 0;
        for (; c + TN_LANES <= lanes; c += TN_LANES)
            tn_vector_store(to + c,
                            sum_taps(vertical, horizontal, y, x, lanes, from + c, TN_LANES));
        if (c < lanes)
            tn_vector_store_part(to + c,
                                 sum_taps(vertical, horizontal, y, x, lanes, from + c, lanes - c),
                                 lanes - c);
    }
}

const tn_resample_level TN_RESAMPLE_LEVEL = {
    .horizontal = horizontal, .vertical = vertical, .lanes = resample_lanes};
