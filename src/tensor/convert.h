/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked conversions between formats and between element types, of whole tensors. Fast for the
 * pairs that networks use (linear, channels last and blocked, in 4-byte elements), plain for all
 * others.
 */
#ifndef TN_TENSOR_CONVERT_H
#define TN_TENSOR_CONVERT_H

#include "tensor/shape.h"

/* Copies `from` into `to`: same shape, any formats, any types; padding lanes of `to` are written
 * zero. Numbers are converted as ONNX's Cast does (floats to integers truncate and saturate,
 * anything to bool is != 0). With quantisation on both sides stored values go through real numbers.
 * The memories must not overlap. TN_ERROR_SHAPE, TN_ERROR_TYPE. `begin` and `end` bound the outer
 * work items done by this call, so that it can be split over threads: 0..tn_convert_items(). */
tn_status tn_convert(const tn_tensor *from, const tn_tensor *to, int64_t begin, int64_t end);
int64_t tn_convert_items(const tn_tensor *from, const tn_tensor *to);

#endif
