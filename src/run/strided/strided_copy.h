/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between packed memory and one of the same shape whose elements lie apart. */
#ifndef TN_RUN_STRIDED_STRIDED_COPY_H
#define TN_RUN_STRIDED_STRIDED_COPY_H

#include "tensor/shape.h"

/* A copy between two memories of one shape; strides in bytes, of axes whose extent is not 1. */
typedef struct strided_copy {
    uint32_t rank;
    size_t element;
    int64_t extents[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
} strided_copy;

/* From or to a packed memory of this shape, of which no extent is 0. `strides` count elements, of
 * 1, 2, 4 or 8 bytes; all offsets fit. `is_gather`: to the packed one. */
strided_copy strided_copy_make(const tn_shape *shape, const int64_t *strides, size_t element,
                               bool is_gather);
void strided_copy_run(const strided_copy *copy, const unsigned char *from, unsigned char *to);

#endif
