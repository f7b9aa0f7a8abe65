/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors to, from and on a device: see transfer.h. */
#include "tensor/quantization.h"
#include "program/transfer.h"
#include "base/status.h"
#include "plugin/devices.h"
#include "tensor/shape.h"
#include "tensor/type.h"

bool tn_transfer_is_copy(const tn_tensor *from, const tn_tensor *to) {
    return from->type == to->type && from->format == to->format &&
           tn_quantization_equal(from->quantization, to->quantization, from->type);
}

uint64_t tn_transfer_scratch_bytes(const tn_tensor *from, const tn_tensor *to, uint32_t direction) {
    if (direction == TN_TRANSFER_ON_DEVICE || tn_transfer_is_copy(from, to)) return 0;
    return direction == TN_TRANSFER_TO_DEVICE ? from->bytes : to->bytes;
}

static tn_status copy_bytes(const tn_device *device, void *to, const void *from, uint64_t bytes,
                            uint32_t direction, void *stream) {
    static const uint32_t directions[] = {0, TN_COPY_TO_DEVICE, TN_COPY_TO_HOST, TN_COPY_ON_DEVICE};
    const tn_status status = device->copy(device, to, from, bytes, directions[direction], stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "a copy");
}

static tn_status convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                         void *stream) {
    const tn_status status = TN_DEVICE_HAS(device, convert)
                                 ? device->convert(device, from, to, stream)
                                 : TN_ERROR_UNSUPPORTED;
    if (status == TN_OK) return TN_OK;
    if (status != TN_ERROR_UNSUPPORTED) return tn_device_failed(device, status, "a conversion");
    return tn_fail(status, "device '%s' does not convert from %s:%s to %s:%s", device->kind,
                   tn_type_name(from->type), tn_format_name(from->format), tn_type_name(to->type),
                   tn_format_name(to->format));
}

tn_status tn_transfer(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                      uint32_t direction, void *scratch, void *stream) {
    tn_tensor between;
    if (from->bytes == 0 || to->bytes == 0) return TN_OK;
    if (tn_transfer_is_copy(from, to))
        return copy_bytes(device, to->data, from->data, from->bytes, direction, stream);
    switch (direction) {
    case TN_TRANSFER_TO_DEVICE:
        between = *from;
        between.data = scratch;
        TN_TRY(copy_bytes(device, scratch, from->data, from->bytes, direction, stream));
        return convert(device, &between, to, stream);
    case TN_TRANSFER_TO_HOST:
        between = *to;
        between.data = scratch;
        TN_TRY(convert(device, from, &between, stream));
        return copy_bytes(device, to->data, scratch, to->bytes, direction, stream);
    default:
        return convert(device, from, to, stream);
    }
}
