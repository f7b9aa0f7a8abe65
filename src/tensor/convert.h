/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked conversions between formats and between element types, of whole tensors. Fast for the
 * pairs that networks use (linear, channels last and blocked, in 4-byte elements), plain for all
 * others.
 */
#ifndef TN_TENSOR_CONVERT_H
#define TN_TENSOR_CONVERT_H

#include "tensor/shape.h"

/* Copies `from` into `to`: same shape, any formats, any types, any strides; padding lanes of `to`
 * are written zero. Numbers are converted as ONNX's Cast does: floats to integers are cut toward
 * zero and kept within the type's range (NaN becomes 0), integers to integers keep their low bits,
 * anything to bool is != 0, and what becomes a float is rounded once, to nearest even. Where scales
 * differ, or the types of tensors with scales, stored values go through floating-point values: a
 * tensor without scales holds floating-point values themselves. The memories must not overlap; data
 * is aligned to its elements at least. TN_ERROR_SHAPE, TN_ERROR_TYPE. `begin` and `end` bound the
 * work items done by this call, within 0..tn_convert_items() (TN_ERROR_ARGUMENT), so that it can be
 * split over threads; what an item is depends on the pair. [thread: any, on items of their own] */
tn_status tn_convert(const tn_tensor *from, const tn_tensor *to, int64_t begin, int64_t end);
/* 0 when there are no elements. */
int64_t tn_convert_items(const tn_tensor *from, const tn_tensor *to);

#endif
