/* SPDX-License-Identifier: Apache-2.0 */
/* The body of rotate.h, included by a file a level that defines TN_ROTARY_FUNCTION. */
#include <tenon/kit/vector.h>
#include "rotary_embedding/rotate.h"

static void rotate_pair(float a, float b, float cosine, float sine, float *out_a, float *out_b) {
    *out_a = cosine * a - sine * b;
    *out_b = sine * a + cosine * b;
}

static void rotate_halves(int64_t half, const float *x, const float *cosines, const float *sines,
                          float *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= half; i += TN_LANES) {
        const tn_vector a = tn_vector_load(x + i), b = tn_vector_load(x + half + i);
        const tn_vector cosine = tn_vector_load(cosines + i), sine = tn_vector_load(sines + i);
        tn_vector_store(y + i, cosine * a - sine * b);
        tn_vector_store(y + half + i, sine * a + cosine * b);
    }
    for (; i < half; i++)
        rotate_pair(x[i], x[half + i], cosines[i], sines[i], y + i, y + half + i);
}

void TN_ROTARY_FUNCTION(int64_t half, bool is_interleaved, const float *x, const float *cosines,
                        const float *sines, float *y) {
    if (!is_interleaved) {
        rotate_halves(half, x, cosines, sines, y);
        return;
    }
    for (int64_t i = 0; i < half; i++)
        rotate_pair(x[2 * i], x[2 * i + 1], cosines[i], sines[i], y + 2 * i, y + 2 * i + 1);
}
