/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tensors; see strided.h. */
#include <tenon/kit/strided.h>
#include "kit/operator/physical.h"

void tn_strided_physical(const tn_tensor *tensor, int64_t *out_strides) {
    tn_physical physical;
    tn_physical_init(&physical, tensor->format, tensor->rank, tensor->shape);
    if (physical.rank > tensor->rank) out_strides[physical.rank - 1] = 1; /* lanes of a block */
    for (uint32_t i = 0; i < tensor->rank; i++)
        out_strides[physical.positions[i]] = tensor->strides[i];
}

void tn_strided_init(tn_strided *strided, const tn_tensor *tensor) {
    tn_physical physical;
    int64_t strides[TN_MAX_RANK + 1] = {0};
    bool is_row = true;
    tn_physical_init(&physical, tensor->format, tensor->rank, tensor->shape);
    tn_strided_physical(tensor, strides);
    *strided = (tn_strided){.count = 1, .row = 1};
    for (uint32_t i = physical.rank; i-- > 0;) {
        if (is_row && physical.shape[i] != 1 && strides[i] != strided->row) {
            strided->pitch = strides[i];
            is_row = false;
        }
        if (is_row) strided->row *= physical.shape[i];
        strided->count *= physical.shape[i];
    }
    if (is_row) strided->pitch = strided->row;
}
