/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tensors on the host and on devices; see stored_memory.h. */
#include "cases/stored/stored_memory.h"
#include "base/status.h"
#include "tensor/convert.h"

#include <tenon/plugin/device.h>

#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, GUARD_BYTE = 0xA5, RUBBISH = 0xFF };

static tn_status fail_device(const tn_stored_memory *memory, const char *doing) {
    const tn_device *device = memory->target.device;
    return tn_fail(TN_ERROR_DEVICE, "%s: %s", doing, device->last_error(device));
}

static tn_status allocate_host(tn_stored_memory *memory, size_t guard, size_t bytes, int byte) {
    void *data = NULL;
    const size_t all = bytes + 2 * guard;
    if (posix_memalign(&data, 64, all + (all == 0)) != 0) return tn_fail_memory("a tensor");
    memset(data, byte, all);
    memory->memory = data;
    memory->guard = guard;
    memory->bytes = bytes;
    return TN_OK;
}

/* On the device there are guards on both sides always, of `byte`. */
static tn_status allocate_device(tn_stored_memory *memory, uint32_t byte) {
    const tn_device *device = memory->target.device;
    const size_t all = memory->bytes + 2 * GUARD;
    if (!device || memory->is_on_host || memory->is_shape_only) return TN_OK;
    if (device->allocate(device, all, memory->target.stream, &memory->on_device) != TN_OK)
        return fail_device(memory, "memory of the device");
    return device->fill(device, memory->on_device, byte, all, memory->target.stream) == TN_OK
               ? TN_OK
               : fail_device(memory, "filling memory of the device");
}

static tn_status describe(const tn_stored_tensor *tensor, tn_stored_memory *memory) {
    TN_TRY(tn_tensor_init(&memory->storage, tensor->type, tensor->format, tensor->shape));
    memory->storage.tensor.name = "";
    memory->quantization = (tn_quantization){.size = sizeof(memory->quantization),
                                             .scale_type = TN_F32,
                                             .count = 1,
                                             .scales = &tensor->scale};
    tn_element_set_i64(memory->zero_point, tensor->type, 0, tensor->zero_point);
    if (tensor->zero_point != 0) memory->quantization.zero_points = memory->zero_point;
    if (tensor->scale != 0) memory->storage.tensor.quantization = &memory->quantization;
    return TN_OK;
}

tn_status tn_stored_memory_describe_own(const tn_stored_tensor *tensor, void *data,
                                        tn_tensor_storage *out_storage) {
    TN_TRY(tn_tensor_init(out_storage, tensor->own_type, TN_LINEAR, tensor->shape));
    out_storage->tensor.data = data;
    return TN_OK;
}

/* Exactly as long as it must be on the host, so that address sanitizers see a read past its end. */
tn_status tn_stored_memory_fill(tn_stored_memory *memory, const tn_stored_tensor *tensor) {
    tn_tensor *to = &memory->storage.tensor;
    const tn_device *device = memory->target.device;
    tn_tensor_storage own;
    TN_TRY(describe(tensor, memory));
    TN_TRY(tn_stored_memory_describe_own(tensor, (void *)(uintptr_t)tensor->data, &own));
    TN_TRY(allocate_host(memory, 0, (size_t)to->bytes, 0));
    to->data = memory->memory;
    TN_TRY(tn_convert(&own.tensor, to, 0, tn_convert_items(&own.tensor, to)));
    TN_TRY(allocate_device(memory, RUBBISH));
    if (!memory->on_device) return TN_OK;
    return device->copy(device, (char *)memory->on_device + GUARD, memory->memory, memory->bytes,
                        TN_COPY_TO_DEVICE, memory->target.stream) == TN_OK
               ? TN_OK
               : fail_device(memory, "copying an input to the device");
}

tn_status tn_stored_memory_poison(tn_stored_memory *memory, const tn_stored_tensor *tensor) {
    TN_TRY(describe(tensor, memory));
    TN_TRY(allocate_host(memory, GUARD, (size_t)memory->storage.tensor.bytes, GUARD_BYTE));
    return allocate_device(memory, GUARD_BYTE);
}

tn_status tn_stored_memory_rubbish(tn_stored_memory *memory, size_t bytes) {
    TN_TRY(allocate_host(memory, GUARD, bytes, RUBBISH));
    memset(memory->memory, GUARD_BYTE, GUARD);
    memset(memory->memory + GUARD + bytes, GUARD_BYTE, GUARD);
    TN_TRY(allocate_device(memory, GUARD_BYTE));
    const tn_device *device = memory->target.device;
    if (!memory->on_device) return TN_OK;
    return device->fill(device, (char *)memory->on_device + GUARD, RUBBISH, bytes,
                        memory->target.stream) == TN_OK
               ? TN_OK
               : fail_device(memory, "filling a workspace");
}

void *tn_stored_memory_host(const tn_stored_memory *memory) {
    return memory->memory + memory->guard;
}

void tn_stored_memory_show(tn_stored_memory *memory, bool is_running, bool is_constant) {
    tn_tensor *tensor = &memory->storage.tensor;
    tensor->data = NULL;
    if (memory->is_shape_only) return;
    if (memory->on_device && is_running)
        tensor->data = (char *)memory->on_device + GUARD;
    else if (is_running || is_constant)
        tensor->data = tn_stored_memory_host(memory);
}

tn_status tn_stored_memory_fetch(tn_stored_memory *memory) {
    const tn_device *device = memory->target.device;
    if (!memory->on_device) return TN_OK;
    const char *from = (const char *)memory->on_device + GUARD - memory->guard;
    const tn_status status =
        device->copy(device, memory->memory, from, memory->bytes + 2 * memory->guard,
                     TN_COPY_TO_HOST, memory->target.stream);
    if (status != TN_OK || device->stream_wait(device, memory->target.stream) != TN_OK)
        return fail_device(memory, "copying from the device");
    return TN_OK;
}

bool tn_stored_memory_is_guarded(const tn_stored_memory *memory) {
    const unsigned char *bytes = (const unsigned char *)memory->memory;
    for (size_t i = 0; i < memory->guard; i++) {
        if (bytes[i] != GUARD_BYTE || bytes[memory->guard + memory->bytes + i] != GUARD_BYTE)
            return false;
    }
    return true;
}

bool tn_stored_memory_is_unchanged(const tn_stored_memory *memory) {
    tn_stored_memory copy = *memory;
    if (!memory->on_device || memory->bytes == 0) return true;
    copy.memory = malloc(memory->bytes);
    const bool is_same = copy.memory && tn_stored_memory_fetch(&copy) == TN_OK &&
                         memcmp(copy.memory, memory->memory, memory->bytes) == 0;
    free(copy.memory);
    return is_same;
}

void tn_stored_memory_free(tn_stored_memory *memory) {
    const tn_device *device = memory->target.device;
    free(memory->memory);
    if (memory->on_device) device->deallocate(device, memory->on_device, memory->target.stream);
    memory->memory = NULL;
    memory->on_device = NULL;
}
