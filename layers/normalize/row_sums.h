/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of normalisations of 32-bit floats share: the rows of a processor level, and sums of
 * them. */
#ifndef TN_LAYERS_NORMALIZE_ROW_SUMS_H
#define TN_LAYERS_NORMALIZE_ROW_SUMS_H

#include <tenon/kit/reduce_rows.h>
#include <tenon/kit/rows.h>

/* What a kernel's `user` points at. */
typedef struct tn_normalize_level {
    const tn_reduce_level *reduce;
    const tn_rows_level *rows;
} tn_normalize_level;
extern const tn_normalize_level tn_normalize_baseline, tn_normalize_avx2, tn_normalize_avx512;

/* The sum of the elements (mean null), or of the squares of what they are off `mean`: in 32 bits
 * block by block, in double precision over the blocks. */
double tn_normalize_sum(const tn_normalize_level *level, const float *x, int64_t count,
                        const float *mean);

#endif
