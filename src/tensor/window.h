/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: where the elements of a part of a tensor lie in the tensor's memory. */
#ifndef TN_TENSOR_WINDOW_H
#define TN_TENSOR_WINDOW_H

#include "tensor/shape.h"

typedef struct tn_window {
    size_t offset_bytes; /* of its first element */
    size_t row_count;    /* 1: it is contiguous, as a tensor of its own would be */
    size_t row_bytes;    /* of contiguous elements */
    size_t pitch_bytes;  /* from row to row */
} tn_window;

/* The part of a packed tensor of this type, format and shape that begins at `offsets` and has
 * `extents` elements along each axis. False where it is not rows at one distance, where it cuts a
 * block of channels or a byte, or is not within the tensor. An empty part has no rows. */
bool tn_window_find(tn_type type, tn_format format, const tn_shape *shape, const int64_t *offsets,
                    const int64_t *extents, tn_window *out_window);

#endif
