/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of columns.h for one processor level. Included by a file a level, which names the
 * table as TN_LRN_LEVEL. Each sum is taken anew: a running one would gather errors.
 */
#include <tenon/kit/vector_math.h>
#include "lrn/columns.h"

TN_INLINE tn_vector load(const float *from, int64_t columns) {
    return columns == TN_LANES ? tn_vector_load(from) : tn_vector_load_part(from, columns);
}

static void lrn_columns(const tn_lrn_column_job *job, int64_t columns, const float *x, float *y) {
    for (int64_t c = 0; c < job->channels; c++) {
        const int64_t first = c < job->before ? 0 : c - job->before;
        const int64_t last =
            job->channels - 1 - c < job->after ? job->channels - 1 : c + job->after;
        tn_vector sum = {0};
        for (int64_t k = first; k <= last; k++) {
            const tn_vector value = load(x + k * job->stride, columns);
            sum += value * value;
        }
        const tn_vector base = job->bias + job->scale * sum;
        const tn_vector factor = tn_vector_exp(-job->beta * tn_vector_log(base));
        const tn_vector result = load(x + c * job->stride, columns) * factor;
        if (columns == TN_LANES)
            tn_vector_store(y + c * job->stride, result);
        else
            tn_vector_store_part(y + c * job->stride, result, columns);
    }
}

const tn_lrn_level TN_LRN_LEVEL = {TN_LANES, lrn_columns};
