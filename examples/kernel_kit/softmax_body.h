/* SPDX-License-Identifier: Apache-2.0 */
/* A lane's softmax by vectors, included by a file a level, which names it as SOFTMAX_LANE. */
#include "kernel_kit.h"

#include <math.h>
#include <tenon/kit/vector_math.h>

void SOFTMAX_LANE(int64_t count, const float *x, float *y) {
    const int64_t whole = count / TN_LANES * TN_LANES;
    tn_vector most = tn_vector_all(-INFINITY), sums = {0};
    float largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < whole; i += TN_LANES)
        most = tn_vector_max(most, tn_vector_load(x + i));
    for (int k = 0; k < TN_LANES; k++)
        largest = largest < most[k] ? most[k] : largest;
    for (int64_t i = whole; i < count; i++)
        largest = largest < x[i] ? x[i] : largest;
    for (int64_t i = 0; i < whole; i += TN_LANES) {
        const tn_vector value = tn_vector_exp(tn_vector_load(x + i) - largest);
        tn_vector_store(y + i, value);
        sums += value;
    }
    const tn_vector rest = tn_vector_load_part(x + whole, count - whole) - largest;
    tn_vector_store_part(y + whole, tn_vector_exp(rest), count - whole);
    for (int k = 0; k < TN_LANES; k++)
        sum += sums[k];
    for (int64_t i = whole; i < count; i++)
        sum += y[i];
    const float scale = 1.0f / sum;
    for (int64_t i = 0; i < whole; i += TN_LANES)
        tn_vector_store(y + i, tn_vector_load(y + i) * scale);
    for (int64_t i = whole; i < count; i++)
        y[i] *= scale;
}
