/* SPDX-License-Identifier: Apache-2.0 */
/* The body of channels.h, included by a file a level that defines TN_CHANNELS_LEVEL and
 * TN_CHANNELS_ROWS. */
#include "batch_normalization/channels.h"
#include <tenon/kit/vector.h>

static void plane(int64_t count, float factor, float shift, const float *x, float *y) {
    const tn_vector factors = tn_vector_all(factor), shifts = tn_vector_all(shift);
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        tn_vector_store(y + i, tn_vector_load(x + i) * factors + shifts);
    const tn_vector rest = tn_vector_load_part(x + i, count - i) * factors + shifts;
    tn_vector_store_part(y + i, rest, count - i);
}

static void lanes(int64_t count, int64_t channels, const float *factors, const float *shifts,
                  const float *x, float *y) {
    const int64_t whole = channels / TN_LANES * TN_LANES;
    for (int64_t i = 0; i < count; i++, x += channels, y += channels) {
        for (int64_t c = 0; c < whole; c += TN_LANES)
            tn_vector_store(y + c, tn_vector_load(x + c) * tn_vector_load(factors + c) +
                                       tn_vector_load(shifts + c));
        for (int64_t c = whole; c < channels; c++)
            y[c] = x[c] * factors[c] + shifts[c];
    }
}

const tn_channels_level TN_CHANNELS_LEVEL = {&TN_CHANNELS_ROWS, plane, lanes};
