/* SPDX-License-Identifier: Apache-2.0 */
/* The body of rows.h, included by a file a level that defines TN_CAUSAL_CONV_ROW. */
#include <tenon/kit/vector_math.h>
#include "causal_conv/rows.h"

void TN_CAUSAL_CONV_ROW(int64_t count, int64_t taps, bool is_silu, const float *x,
                        const float *weights, float bias, float *y) {
    for (int64_t t = 0; t < count; t += TN_LANES) {
        const int64_t left = count - t;
        tn_vector sum = tn_vector_all(bias);
        for (int64_t j = 0; j < taps; j++)
            sum += weights[j] * (left >= TN_LANES ? tn_vector_load(x + t + j)
                                                  : tn_vector_load_part(x + t + j, left));
        if (is_silu) sum *= tn_vector_sigmoid(sum);
        if (left >= TN_LANES)
            tn_vector_store(y + t, sum);
        else
            tn_vector_store_part(y + t, sum, left);
    }
}
