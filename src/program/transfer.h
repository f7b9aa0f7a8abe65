/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor from one storage to another where one of them, or both, lie in a device's memory: a
 * copy, and a conversion on the device where types, formats or scales differ. Conversions within
 * the host's memory are src/tensor/convert.c's.
 */
#ifndef TN_PROGRAM_TRANSFER_H
#define TN_PROGRAM_TRANSFER_H

#include <stdbool.h>
#include <tenon/plugin.h>

enum { TN_TRANSFER_TO_DEVICE = 1, TN_TRANSFER_TO_HOST = 2, TN_TRANSFER_ON_DEVICE = 3 };

/* Whether both have the same bytes: type, format and scale. */
bool tn_transfer_is_copy(const tn_tensor *from, const tn_tensor *to);
/* Bytes of device memory that a transfer needs besides both tensors. */
uint64_t tn_transfer_scratch_bytes(const tn_tensor *from, const tn_tensor *to, uint32_t direction);
/* Enqueues it. Host memory that was read may be written again when this returns, unless it is
 * pinned; host memory that was written is there when the stream was waited for. TN_ERROR_DEVICE,
 * TN_ERROR_UNSUPPORTED: the device cannot convert between the two. */
tn_status tn_transfer(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                      uint32_t direction, void *scratch, void *stream);

#endif
