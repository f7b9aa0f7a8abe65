/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices of elements, as gathers and scatters have them in input 1 for the data in input 0: one of
 * an axis each, or tuples of several axes at once, which the indices' last axis holds.
 */
#ifndef TN_KIT_INDEX_INDEX_H
#define TN_KIT_INDEX_INDEX_H

#include <tenon/plugin.h>

enum { TN_INDEX_DATA = 0, TN_INDEX_INDICES = 1 };

/* Index number `at` of an axis of this extent: negative ones count from the end. TN_ERROR_RANGE. */
tn_status tn_index_load(tn_call *call, int64_t at, int64_t extent, int64_t *out_index);

/* out_offsets[i] = the index number at + i, times `stride`, for `count` of them. TN_ERROR_RANGE, of
 * the first that is outside. */
tn_status tn_index_offsets(tn_call *call, int64_t at, int64_t count, int64_t extent, int64_t stride,
                           int64_t *out_offsets);
enum { TN_INDEX_BLOCK = 256 /* that are best read at once */ };

/* Whether the indices have no more elements than the data along any axis but this one.
 * TN_ERROR_SHAPE. */
tn_status tn_index_check_axes(tn_call *call, uint32_t axis);

/* Indices in a tuple, for the data's axes from `batch` on. TN_ERROR_SHAPE. */
tn_status tn_index_tuple_width(tn_call *call, uint32_t batch, uint32_t *out_width);
/* What tuple number `tuple` points at, in elements from the first one of its batch; `strides` are
 * the data's. TN_ERROR_RANGE. */
tn_status tn_index_tuple(tn_call *call, uint32_t batch, const int64_t *strides, int64_t tuple,
                         int64_t *out_offset);

#endif
