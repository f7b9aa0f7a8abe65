/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over a plane's rows; see tenon/kit/resample.h. */
#include <tenon/kit/resample.h>

static int64_t row_floats(const tn_resample_axis *horizontal) {
    return (horizontal->out + 15) / 16 * 16;
}

int64_t tn_resample_scratch_floats(const tn_resample_axis *vertical,
                                   const tn_resample_axis *horizontal) {
    return vertical->taps * row_floats(horizontal);
}

void tn_resample_plane(const tn_resample_level *level, const tn_resample_axis *vertical,
                       const tn_resample_axis *horizontal, const float *input, float *output,
                       int64_t first, int64_t last, float *scratch) {
    int64_t held[TN_RESAMPLE_MAXIMUM_TAPS]; /* the input row that each slot of the ring holds */
    const float *rows[TN_RESAMPLE_MAXIMUM_TAPS];
    for (int64_t t = 0; t < vertical->taps; t++)
        held[t] = -1;
    for (int64_t y = first; y < last; y++) {
        for (int64_t t = 0; t < vertical->taps; t++) {
            const int64_t row = vertical->index[t * vertical->out + y], slot = row % vertical->taps;
            float *kept = scratch + slot * row_floats(horizontal);
            if (held[slot] != row) {
                level->horizontal(horizontal, input + row * horizontal->in, kept);
                held[slot] = row;
            }
            rows[t] = kept;
        }
        level->vertical(vertical->taps, rows, vertical->weight + y, vertical->out, horizontal->out,
                        output + y * horizontal->out);
    }
}
