/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor's layout in memory: the shape whose row-major order is that of the elements. Linear:
 * the shape itself. Channels last: the channels behind the others. Blocked: blocks of channels
 * where the channels were, and the lanes of a block behind all. So that what works on linear
 * tensors works on all formats, padded lanes included.
 */
#ifndef TN_KIT_OPERATOR_PHYSICAL_H
#define TN_KIT_OPERATOR_PHYSICAL_H

#include <tenon/plugin.h>

/* Elements of a block; 0: the format is not blocked. */
static inline int64_t tn_physical_block(tn_format format) {
    return (format & 0xff) == TN_LAYOUT_BLOCKED ? (int64_t)(format >> 16) : 0;
}

typedef struct tn_physical {
    uint32_t rank;
    int64_t shape[TN_MAX_RANK + 1];
    uint32_t positions[TN_MAX_RANK]; /* of each logical axis; of a blocked one, its blocks' */
} tn_physical;

/* The shape `shape` in a format whose blocked axis is 1, as those of plugin.h are. */
void tn_physical_init(tn_physical *physical, tn_format format, uint32_t rank, const int64_t *shape);

/* Whether the tensor has lanes in which no element lies. */
bool tn_physical_is_padded(const tn_tensor *tensor);

#endif
