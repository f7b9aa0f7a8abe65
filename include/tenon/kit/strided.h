/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose rows may lie apart (tenon/plugin/view.h), as their elements lie in memory. */
#ifndef TENON_KIT_STRIDED_H
#define TENON_KIT_STRIDED_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of contiguous elements at one distance, in elements, padded lanes included. A packed tensor
 * is one row. */
typedef struct tn_strided {
    int64_t count; /* of elements in all rows */
    int64_t row, pitch;
} tn_strided;
void tn_strided_init(tn_strided *strided, const tn_tensor *tensor);

/* Where element `index`, counted through the rows, lies, and how many elements of its row there are
 * from it on, at most *inout_count. */
static inline int64_t tn_strided_at(const tn_strided *strided, int64_t index,
                                    int64_t *inout_count) {
    const int64_t within = index % strided->row, left = strided->row - within;
    if (left < *inout_count) *inout_count = left;
    return index / strided->row * strided->pitch + within;
}

/* Strides of a tensor in the order of its memory: of each axis of tn_physical_init. */
void tn_strided_physical(const tn_tensor *tensor, int64_t *out_strides);

#ifdef __cplusplus
}
#endif

#endif
