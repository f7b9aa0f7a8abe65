/* SPDX-License-Identifier: Apache-2.0 */
/* A device that a caller has opened, and the memory that it took there. See device_memory.h. */
#include "plugin/device_memory/device_memory.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

static tn_status open_device(tn_device_handle *handle, const char *name) {
    TN_TRY(tn_device_take(handle->runtime, name, &handle->used));
    handle->device = handle->used.device;
    if (!tn_device_is_remote(handle->device)) return TN_OK;
    const tn_status status = handle->device->stream_create(handle->device, &handle->own_stream);
    return status == TN_OK ? TN_OK : tn_device_failed(handle->device, status, "a stream");
}

tn_status tn_device_open(tn_runtime *runtime, const char *name, tn_device_handle **out_device) {
    if (!runtime || !name || !out_device)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_device_open needs a runtime, a name and a pointer for the device");
    tn_device_handle *handle = tn_allocate_zero(tn_runtime_allocator(runtime), 1, sizeof(*handle));
    if (!handle) return tn_fail_memory("a device");
    atomic_init(&handle->references, 1);
    handle->runtime = tn_runtime_retain(runtime);
    pthread_mutex_init(&handle->lock, NULL);
    const tn_status status = open_device(handle, name);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_device_release(handle);
        tn_error_restore(&error);
        return status;
    }
    *out_device = handle;
    return TN_OK;
}

tn_device_handle *tn_device_retain(tn_device_handle *device) {
    if (device) atomic_fetch_add(&device->references, 1);
    return device;
}

static void deallocate(const tn_device_handle *handle, const tn_device_block *block, void *stream) {
    const tn_device *device = handle->device;
    if (!block->is_host)
        device->deallocate(device, block->memory, stream);
    else if (TN_DEVICE_HAS(device, host_allocate) && TN_DEVICE_HAS(device, host_deallocate))
        device->host_deallocate(device, block->memory);
    else
        tn_deallocate(tn_device_handle_allocator(handle), block->memory);
}

void tn_device_release(tn_device_handle *device) {
    if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
    tn_runtime *runtime = device->runtime;
    if (device->own_stream) (void)device->device->stream_wait(device->device, device->own_stream);
    for (size_t i = 0; i < device->block_count; i++)
        deallocate(device, &device->blocks[i], device->own_stream);
    if (device->own_stream) {
        (void)device->device->stream_wait(device->device, device->own_stream);
        device->device->stream_destroy(device->device, device->own_stream);
    }
    tn_device_give_back(&device->used);
    pthread_mutex_destroy(&device->lock);
    tn_deallocate(tn_runtime_allocator(runtime), device->blocks);
    tn_deallocate(tn_runtime_allocator(runtime), device);
    tn_runtime_release(runtime);
}

tn_status tn_device_get_info(tn_device_handle *device, tn_device_info *out_info) {
    if (!device || !out_info || out_info->size < sizeof(out_info->size))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_device_get_info needs a device, and a struct with its size");
    const uint32_t size = out_info->size;
    const tn_device_info info =
        tn_device_describe(device->device, device->used.library ? device->used.library->name : "");
    memcpy(out_info, &info, size < sizeof(info) ? size : sizeof(info));
    out_info->size = size;
    return TN_OK;
}

tn_status tn_device_handle_stream(const tn_device_handle *handle, const tn_stream *stream,
                                  void **out_native) {
    if (!handle) return tn_fail(TN_ERROR_ARGUMENT, "the device is null");
    if (stream && stream->handle->device != handle->device)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the stream is of device '%s:%" PRIu32 "', not of '%s:%" PRIu32 "'",
                       stream->handle->device->kind, stream->handle->device->index,
                       handle->device->kind, handle->device->index);
    *out_native = stream ? stream->native : handle->own_stream;
    return TN_OK;
}

tn_status tn_device_handle_finish(const tn_device_handle *handle, const tn_stream *stream,
                                  tn_status status, const char *doing) {
    if (status == TN_OK && !stream)
        status = handle->device->stream_wait(handle->device, handle->own_stream);
    return status == TN_OK ? TN_OK : tn_device_failed(handle->device, status, doing);
}

/* ----------------------------------------------------------------------------------------------
 * blocks */

/* The number of blocks that begin at or before an address. [holds the lock] */
static size_t count_before(const tn_device_handle *handle, const char *memory) {
    size_t low = 0, high = handle->block_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)handle->blocks[middle].memory <= (uintptr_t)memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Room for one more block, before there is one: nothing is left to fail then. */
static tn_status reserve_block(tn_device_handle *handle) {
    pthread_mutex_lock(&handle->lock);
    const tn_status status =
        tn_grow(tn_device_handle_allocator(handle), (void **)&handle->blocks,
                &handle->block_capacity, handle->block_count + 1, sizeof(*handle->blocks));
    pthread_mutex_unlock(&handle->lock);
    return status;
}

static tn_status add_block(tn_device_handle *handle, const tn_device_block *block) {
    pthread_mutex_lock(&handle->lock);
    const tn_status status =
        tn_grow(tn_device_handle_allocator(handle), (void **)&handle->blocks,
                &handle->block_capacity, handle->block_count + 1, sizeof(*handle->blocks));
    if (status == TN_OK) {
        const size_t at = count_before(handle, block->memory);
        memmove(&handle->blocks[at + 1], &handle->blocks[at],
                (handle->block_count - at) * sizeof(*handle->blocks));
        handle->blocks[at] = *block;
        handle->block_count++;
    }
    pthread_mutex_unlock(&handle->lock);
    return status;
}

/* Takes a block out that begins at `memory`. */
static tn_status take_block(tn_device_handle *handle, const void *memory, bool is_host,
                            tn_device_block *out_block) {
    pthread_mutex_lock(&handle->lock);
    const size_t count = count_before(handle, memory);
    const bool is_there = count > 0 && handle->blocks[count - 1].memory == memory &&
                          handle->blocks[count - 1].is_host == is_host;
    if (is_there) {
        *out_block = handle->blocks[count - 1];
        memmove(&handle->blocks[count - 1], &handle->blocks[count],
                (handle->block_count - count) * sizeof(*handle->blocks));
        handle->block_count--;
    }
    pthread_mutex_unlock(&handle->lock);
    return is_there ? TN_OK
                    : tn_fail(TN_ERROR_ARGUMENT,
                              "the memory is not what this device handle has %s, or was freed "
                              "before",
                              is_host ? "allocated on the host" : "allocated");
}

tn_status tn_device_handle_check(tn_device_handle *handle, const void *memory, uint64_t bytes,
                                 bool is_host, const char *role) {
    if (!memory && bytes > 0) return tn_fail(TN_ERROR_ARGUMENT, "%s is null", role);
    pthread_mutex_lock(&handle->lock);
    const size_t count = count_before(handle, memory);
    const tn_device_block block = count > 0 ? handle->blocks[count - 1] : (tn_device_block){0};
    pthread_mutex_unlock(&handle->lock);
    const uint64_t offset = (uint64_t)((uintptr_t)memory - (uintptr_t)block.memory);
    if (!block.memory || offset >= block.bytes) return TN_OK;
    if (block.is_host != is_host && tn_device_is_remote(handle->device))
        return tn_fail(TN_ERROR_ARGUMENT, "%s is memory of the %s; of the %s was expected", role,
                       block.is_host ? "host" : "device", is_host ? "host" : "device");
    if (bytes > block.bytes - offset)
        return tn_fail(TN_ERROR_RANGE,
                       "%s: %" PRIu64 " bytes from byte %" PRIu64
                       " on, of memory that has %" PRIu64,
                       role, bytes, offset, block.bytes);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * memory */

tn_status tn_device_allocate(tn_device_handle *device, uint64_t bytes, tn_stream *stream,
                             void **out_memory) {
    void *native = NULL, *memory = NULL;
    if (!out_memory)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_device_allocate needs a pointer for the memory");
    TN_TRY(tn_device_handle_stream(device, stream, &native));
    TN_TRY(reserve_block(device));
    tn_status status = device->device->allocate(device->device, bytes, native, &memory);
    if (status != TN_OK)
        return tn_error_at(tn_device_failed(device->device, status, "memory"), "%" PRIu64 " bytes",
                           bytes);
    if (!stream) status = tn_device_handle_finish(device, NULL, TN_OK, "memory");
    const tn_device_block block = {memory, bytes, false};
    if (status == TN_OK) status = add_block(device, &block);
    if (status != TN_OK) {
        device->device->deallocate(device->device, memory, native);
        return status;
    }
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_device_free(tn_device_handle *device, void *memory, tn_stream *stream) {
    tn_device_block block;
    void *native = NULL;
    TN_TRY(tn_device_handle_stream(device, stream, &native));
    if (!memory) return TN_OK;
    TN_TRY(take_block(device, memory, false, &block));
    deallocate(device, &block, native);
    return TN_OK;
}

static tn_status host_allocate(const tn_device_handle *handle, uint64_t bytes, void **out_memory) {
    const tn_device *device = handle->device;
    if (TN_DEVICE_HAS(device, host_allocate) && TN_DEVICE_HAS(device, host_deallocate)) {
        const tn_status status = device->host_allocate(device, bytes ? bytes : 64, out_memory);
        return status == TN_OK ? TN_OK
                               : tn_error_at(tn_device_failed(device, status, "memory of the host"),
                                             "%" PRIu64 " bytes", bytes);
    }
    *out_memory = bytes < SIZE_MAX ? tn_allocate_aligned(tn_device_handle_allocator(handle),
                                                         bytes ? (size_t)bytes : 64, 64)
                                   : NULL;
    return *out_memory ? TN_OK : tn_fail(TN_ERROR_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
}

tn_status tn_device_host_allocate(tn_device_handle *device, uint64_t bytes, void **out_memory) {
    void *memory = NULL;
    if (!device || !out_memory)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_device_host_allocate needs a device and a pointer for the memory");
    TN_TRY(reserve_block(device));
    TN_TRY(host_allocate(device, bytes, &memory));
    const tn_device_block block = {memory, bytes, true};
    const tn_status status = add_block(device, &block);
    if (status != TN_OK) {
        deallocate(device, &block, NULL);
        return status;
    }
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_device_host_free(tn_device_handle *device, void *memory) {
    tn_device_block block;
    if (!device) return tn_fail(TN_ERROR_ARGUMENT, "the device is null");
    if (!memory) return TN_OK;
    TN_TRY(take_block(device, memory, true, &block));
    deallocate(device, &block, NULL);
    return TN_OK;
}
