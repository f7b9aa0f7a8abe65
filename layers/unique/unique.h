/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator Unique and its kernels share. Items are the tensor's slices along an axis, or
 * its elements where the node has none; who has sorted them lets tn_unique_write write all outputs.
 */
#ifndef TN_LAYERS_UNIQUE_UNIQUE_H
#define TN_LAYERS_UNIQUE_UNIQUE_H

#include "kit/operator/layer.h"
#include <tenon/kit/lanes.h>

typedef struct tn_unique_params {
    uint64_t present; /* bit 0: axis */
    int64_t axis;
    bool sorted;
} tn_unique_params;

enum { TN_UNIQUE_Y = 0, TN_UNIQUE_INDICES = 1, TN_UNIQUE_INVERSE = 2, TN_UNIQUE_COUNTS = 3 };

/* The tensor as outer x items x inner; *out_axis is the output's. TN_ERROR_SHAPE, TN_ERROR_RANGE.
 */
tn_status tn_unique_read(tn_call *call, tn_lanes *out_lanes, uint32_t *out_axis);

/* Items in their order, those that are equal in the order of their numbers. */
typedef struct tn_unique_order {
    int64_t *items;
    uint8_t *begins; /* whether an item differs from the one before it; the first one does */
    int64_t *groups; /* room for as many numbers */
} tn_unique_order;

/* The bytes of an order of `count` items, up to whole 64; 0: too many. */
uint64_t tn_unique_order_bytes(int64_t count);
/* Lays it out in memory of so many bytes. */
tn_unique_order tn_unique_order_in(void *memory, int64_t count);

/* Writes the outputs and the extents that this run has found. */
void tn_unique_write(tn_call *call, const tn_lanes *lanes, uint32_t axis,
                     const tn_unique_order *order);

TN_LEVEL_KERNELS_EXTERN(tn_unique);

#endif
