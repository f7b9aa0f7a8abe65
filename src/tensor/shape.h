/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and formats: counts, strides and bytes, with checked arithmetic; text for messages. */
#ifndef TN_TENSOR_SHAPE_H
#define TN_TENSOR_SHAPE_H

#include "base/memory.h"
#include "tensor/type.h"

typedef struct tn_shape {
    uint32_t rank;
    int64_t extents[TN_MAX_RANK];
} tn_shape;

/* TN_ERROR_SHAPE: rank above TN_MAX_RANK, a negative extent, more elements than can be addressed.
 */
tn_status tn_shape_set(tn_shape *shape, uint32_t rank, const int64_t *extents);
bool tn_shape_equal(const tn_shape *a, const tn_shape *b);
/* Whether `a` is broadcast to exactly `to`: aligned at the last axis, extents equal or 1. */
bool tn_shape_is_broadcast(const tn_shape *a, const tn_shape *to);
tn_status tn_shape_count(const tn_shape *shape, size_t *out_count); /* elements; 1 for rank 0 */
/* Writes "[1, 3, 224, 224]" (cut when it does not fit) and returns `buffer`. Negative extents print
 * as "?". */
const char *tn_shape_print(uint32_t rank, const int64_t *extents, char *buffer, size_t bytes);
#define TN_SHAPE_TEXT_BYTES 200

bool tn_format_is_valid(tn_format format);
/* Whether the format makes sense at this rank (channels last needs rank 3 and above, a blocked axis
 * must exist). */
bool tn_format_fits(tn_format format, uint32_t rank);
const char *
tn_format_name(tn_format format); /* "linear", "nhwc", "c2", "c4" ... "c64"; "unknown" */
bool tn_format_parse(const char *name, size_t length, tn_format *out_format);
/* The axes from the slowest to the fastest; the blocked axis appears where it is in the shape, its
 * lanes are innermost. */
void tn_format_axes(tn_format format, uint32_t rank, uint32_t *out_order);
int64_t tn_format_block(tn_format format); /* elements a block; 0: not blocked */
uint32_t tn_format_axis(tn_format format); /* that is blocked */
/* Strides as tn_tensor states them, and the bytes with padding. TN_ERROR_TYPE; TN_ERROR_SHAPE, also
 * where they are more than can be addressed. */
tn_status tn_format_strides(tn_format format, const tn_shape *shape, int64_t *out_strides);
tn_status tn_format_bytes(tn_format format, tn_type type, const tn_shape *shape, size_t *out_bytes);

/* A tn_tensor with the storage of its shape and strides beside it. */
typedef struct tn_tensor_storage {
    tn_tensor tensor;
    tn_shape shape;
    int64_t strides[TN_MAX_RANK];
} tn_tensor_storage;
/* Sets type, format, shape, strides, bytes; data is null. The pointers point into *storage: it must
 * not be moved. */
tn_status tn_tensor_init(tn_tensor_storage *storage, tn_type type, tn_format format,
                         const tn_shape *shape);

/* The same of a tensor of which only the rank is known: extents and strides are -1, bytes 0. */
void tn_tensor_init_open(tn_tensor_storage *storage, tn_type type, uint32_t rank);
/* In a mask of axes that nothing bounds: nor is the rank known. */
#define TN_UNBOUNDED_RANK (1u << 31)
#define TN_UNBOUNDED_AXES (TN_UNBOUNDED_RANK - 1)
/* The same of one that is there, whose extents along `axes` (bit i: axis i) nothing bounds: they
 * become TN_UNBOUNDED, strides -1, bytes 0; with TN_UNBOUNDED_RANK the rank is TN_RANK_UNKNOWN. No
 * axes: nothing is changed. */
void tn_tensor_unbound(tn_tensor_storage *storage, uint32_t axes);

#endif
