/* SPDX-License-Identifier: Apache-2.0 */
/* Physical layouts of tensors; see physical.h. */
#include "kit/operator/physical.h"

static void init_channels_last(tn_physical *physical, uint32_t rank, const int64_t *shape) {
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t position = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
        physical->positions[i] = position;
        physical->shape[position] = shape[i];
    }
}

void tn_physical_init(tn_physical *physical, tn_format format, uint32_t rank,
                      const int64_t *shape) {
    const int64_t block = tn_physical_block(format);
    *physical = (tn_physical){.rank = rank};
    if (rank > 1 && (format & 0xff) == TN_LAYOUT_CHANNELS_LAST) {
        init_channels_last(physical, rank, shape);
        return;
    }
    for (uint32_t i = 0; i < rank; i++) {
        physical->positions[i] = i;
        physical->shape[i] = shape[i];
    }
    if (block == 0 || rank < 2) return;
    physical->shape[1] = (shape[1] + block - 1) / block;
    physical->shape[physical->rank++] = block;
}

bool tn_physical_is_padded(const tn_tensor *tensor) {
    const int64_t block = tn_physical_block(tensor->format);
    return block != 0 && tensor->rank > 1 && tensor->shape[1] % block != 0;
}
