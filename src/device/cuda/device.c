/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU as a tn_device: a pool of its own from which memory is taken in the order of a stream,
 * streams that never wait for the default one, and events. A null stream means that the work is
 * done when the call returns. Declared in cuda.h; captured graphs are graph.c, conversions
 * convert.cu.
 */
#include "cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static tn_cuda_device *device_of(const tn_device *device) {
    return device->user;
}

int tn_cuda_device_enter(const tn_device *device) {
    int before = 0;
    if (cudaGetDevice(&before) != cudaSuccess) before = -1;
    if (before != device_of(device)->ordinal) (void)cudaSetDevice(device_of(device)->ordinal);
    return before;
}

void tn_cuda_device_leave(const tn_device *device, int before) {
    if (before >= 0 && before != device_of(device)->ordinal) (void)cudaSetDevice(before);
}

/* The stream that stands for null, which is not the default one: nothing else waits for it. */
static cudaStream_t stream_of(void *stream) {
    return stream ? (cudaStream_t)stream : cudaStreamPerThread;
}

/* Waits where the caller gave no stream. */
static cudaError_t finish(cudaError_t error, void *stream) {
    return error == cudaSuccess && !stream ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

/* ----------------------------------------------------------------------------------------------
 * memory */

static const char *cuda_fingerprint(const tn_device *device) {
    return device_of(device)->fingerprint;
}

/* What was freed stays with the pool, so that the next network finds it. */
static cudaError_t make_pool(const tn_cuda_device *device, cudaMemPool_t *out_pool) {
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .handleTypes = cudaMemHandleTypeNone,
        .location = {.type = cudaMemLocationTypeDevice, .id = device->ordinal}};
    uint64_t threshold = UINT64_MAX;
    cudaMemPool_t pool = NULL;
    cudaError_t error = cudaMemPoolCreate(&pool, &properties);
    if (error != cudaSuccess) return error;
    error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
    if (error != cudaSuccess)
        (void)cudaMemPoolDestroy(pool);
    else
        *out_pool = pool;
    return error;
}

static cudaError_t get_pool(tn_cuda_device *device, cudaMemPool_t *out_pool) {
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&device->lock);
    if (!device->pool) error = make_pool(device, &device->pool);
    *out_pool = device->pool;
    pthread_mutex_unlock(&device->lock);
    return error;
}

static tn_status fail_allocation(const tn_device *device, cudaError_t error, const char *what,
                                 uint64_t bytes) {
    char text[200];
    size_t free_bytes = 0, total_bytes = 0;
    snprintf(text, sizeof(text), "%llu bytes of %s", (unsigned long long)bytes, what);
    if (error == cudaErrorMemoryAllocation &&
        cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
        snprintf(text, sizeof(text), "%llu bytes of %s (%zu of the GPU's %zu are free)",
                 (unsigned long long)bytes, what, free_bytes, total_bytes);
    return tn_cuda_error_set(device, error, text);
}

/* What the pool keeps in pieces that are too small goes back to the GPU before it is said that
 * there is no memory. */
static cudaError_t take_from_pool(cudaMemPool_t pool, size_t bytes, void *stream,
                                  void **out_memory) {
    const cudaStream_t on = stream_of(stream);
    cudaError_t error = cudaMallocFromPoolAsync(out_memory, bytes, pool, on);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        error = cudaStreamSynchronize(on);
        if (error == cudaSuccess) error = cudaMemPoolTrimTo(pool, 0);
        if (error == cudaSuccess) error = cudaMallocFromPoolAsync(out_memory, bytes, pool, on);
    }
    return finish(error, stream);
}

static tn_status cuda_allocate(const tn_device *device, uint64_t bytes, void *stream,
                               void **out_memory) {
    tn_cuda_device *own = device_of(device);
    const size_t wanted = bytes ? (size_t)bytes : 1;
    void *memory = NULL;
    cudaMemPool_t pool = NULL;
    const int before = tn_cuda_device_enter(device);
    cudaError_t error = own->has_pools ? get_pool(own, &pool) : cudaSuccess;
    if (error == cudaSuccess && own->has_pools)
        error = take_from_pool(pool, wanted, stream, &memory);
    else if (error == cudaSuccess)
        error = cudaMalloc(&memory, wanted);
    const tn_status status =
        error == cudaSuccess ? TN_OK
                             : fail_allocation(device, error, "device memory", (uint64_t)wanted);
    tn_cuda_device_leave(device, before);
    if (status == TN_OK) *out_memory = memory;
    return status;
}

static void cuda_deallocate(const tn_device *device, void *memory, void *stream) {
    if (!memory) return;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        device_of(device)->has_pools ? cudaFreeAsync(memory, stream_of(stream)) : cudaFree(memory);
    (void)tn_cuda_error_set(device, error, "freeing device memory");
    tn_cuda_device_leave(device, before);
}

static tn_status cuda_host_allocate(const tn_device *device, uint64_t bytes, void **out_memory) {
    void *memory = NULL;
    const size_t wanted = bytes ? (size_t)bytes : 1;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        cudaHostAlloc(&memory, wanted, cudaHostAllocPortable | cudaHostAllocMapped);
    const tn_status status =
        error == cudaSuccess ? TN_OK : fail_allocation(device, error, "pinned host memory", bytes);
    tn_cuda_device_leave(device, before);
    if (status == TN_OK) *out_memory = memory;
    return status;
}

static void cuda_host_deallocate(const tn_device *device, void *memory) {
    if (!memory) return;
    const int before = tn_cuda_device_enter(device);
    (void)tn_cuda_error_set(device, cudaFreeHost(memory), "freeing pinned host memory");
    tn_cuda_device_leave(device, before);
}

static tn_status cuda_copy(const tn_device *device, void *to, const void *from, uint64_t bytes,
                           uint32_t direction, void *stream) {
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyDefault, cudaMemcpyHostToDevice,
                                                cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    if (direction == 0 || direction > TN_COPY_ON_DEVICE)
        return tn_cuda_error_set_text(TN_ERROR_ARGUMENT, "a copy's direction is not known");
    if (bytes == 0) return TN_OK;
    const int before = tn_cuda_device_enter(device);
    const bool is_small =
        direction != TN_COPY_ON_DEVICE &&
        tn_cuda_small_copy_fits(to, from, bytes, direction == TN_COPY_TO_DEVICE ? from : to);
    cudaError_t error =
        is_small ? tn_cuda_small_copy(to, from, bytes, stream_of(stream))
                 : cudaMemcpyAsync(to, from, (size_t)bytes, kinds[direction], stream_of(stream));
    error = finish(error, stream);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "a copy");
}

static tn_status cuda_fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                           void *stream) {
    if (bytes == 0) return TN_OK;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        finish(cudaMemsetAsync(to, (int)(byte & 0xff), (size_t)bytes, stream_of(stream)), stream);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "filling memory");
}

static tn_status cuda_memory(const tn_device *device, uint64_t *out_free, uint64_t *out_total) {
    size_t available = 0, total = 0;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaMemGetInfo(&available, &total);
    tn_cuda_device_leave(device, before);
    *out_free = available;
    *out_total = total;
    return tn_cuda_error_set(device, error, "asking for its memory");
}

/* ----------------------------------------------------------------------------------------------
 * streams and events */

static tn_status cuda_stream_create(const tn_device *device, void **out_stream) {
    cudaStream_t stream = NULL;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    tn_cuda_device_leave(device, before);
    if (error == cudaSuccess) *out_stream = stream;
    return tn_cuda_error_set(device, error, "making a stream");
}

static void cuda_stream_destroy(const tn_device *device, void *stream) {
    if (stream) (void)tn_cuda_error_set(device, cudaStreamDestroy(stream), "closing a stream");
}

static tn_status cuda_stream_wait(const tn_device *device, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamSynchronize(stream_of(stream));
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "waiting for the GPU");
}

static tn_status cuda_event_create(const tn_device *device, void **out_event) {
    cudaEvent_t event = NULL;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaEventCreate(&event);
    tn_cuda_device_leave(device, before);
    if (error == cudaSuccess) *out_event = event;
    return tn_cuda_error_set(device, error, "making an event");
}

static void cuda_event_destroy(const tn_device *device, void *event) {
    if (event) (void)tn_cuda_error_set(device, cudaEventDestroy(event), "closing an event");
}

/* In a capture the event becomes a node of the graph, whose time can be asked for after a launch.
 */
static tn_status cuda_event_record(const tn_device *device, void *event, void *stream) {
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const int before = tn_cuda_device_enter(device);
    cudaError_t error = cudaStreamIsCapturing(stream_of(stream), &capturing);
    if (error == cudaSuccess)
        error = cudaEventRecordWithFlags(event, stream_of(stream),
                                         capturing == cudaStreamCaptureStatusActive
                                             ? cudaEventRecordExternal
                                             : cudaEventRecordDefault);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "recording an event");
}

static tn_status cuda_event_wait(const tn_device *device, void *event, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamWaitEvent(stream_of(stream), event, 0);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "making a stream wait for an event");
}

/* Waits for the later event. */
static tn_status cuda_event_elapsed(const tn_device *device, void *from, void *to, double *out_ns) {
    float milliseconds = 0;
    cudaError_t error = cudaEventSynchronize(to);
    if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, from, to);
    if (error == cudaSuccess) *out_ns = (double)milliseconds * 1e6;
    return tn_cuda_error_set(device, error, "measuring the time between events");
}

static tn_status cuda_event_query(const tn_device *device, void *event, uint32_t *out_is_done) {
    const cudaError_t error = cudaEventQuery(event);
    *out_is_done = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TN_OK;
    }
    return tn_cuda_error_set(device, error, "running on the GPU");
}

static tn_status cuda_call_host(const tn_device *device, void *stream, void (*function)(void *user),
                                void *user) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaLaunchHostFunc(stream_of(stream), function, user);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "enqueuing a call of the host");
}

static const void *cuda_extension(const tn_device *device, const char *name) {
    static const tn_device_completion completion = {
        .size = sizeof(completion), .event_query = cuda_event_query, .call_host = cuda_call_host};
    static const tn_device_branches branches = {.size = sizeof(branches),
                                                .last = tn_cuda_branches_last,
                                                .put_beside = tn_cuda_branches_put_beside};
    (void)device;
    if (strcmp(name, TN_DEVICE_BRANCHES) == 0) return &branches;
    return strcmp(name, TN_DEVICE_COMPLETION) == 0 ? &completion : NULL;
}

static uint32_t cuda_enter(const tn_device *device) {
    return (uint32_t)tn_cuda_device_enter(device);
}

static void cuda_leave(const tn_device *device, uint32_t before) {
    tn_cuda_device_leave(device, (int)before);
}

void tn_cuda_device_init(tn_cuda_device *device, int ordinal,
                         const struct cudaDeviceProp *properties) {
    int driver = 0, runtime = 0, has_pools = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal);
    device->ordinal = ordinal;
    device->has_pools = has_pools != 0;
    pthread_mutex_init(&device->lock, NULL);
    snprintf(device->name, sizeof(device->name), "%s", properties->name);
    snprintf(device->fingerprint, sizeof(device->fingerprint),
             "cuda; %s; sm_%d%d; driver %d; runtime %d", device->name, properties->major,
             properties->minor, driver, runtime);
    device->table =
        (tn_device){.size = sizeof(tn_device),
                    .index = (uint32_t)ordinal,
                    .kind = "cuda",
                    .name = device->name,
                    .alignment = 256,
                    .capabilities = properties->canMapHostMemory && properties->unifiedAddressing
                                        ? TN_DEVICE_REACHES_HOST
                                        : 0,
                    .user = device,
                    .fingerprint = cuda_fingerprint,
                    .allocate = cuda_allocate,
                    .deallocate = cuda_deallocate,
                    .copy = cuda_copy,
                    .fill = cuda_fill,
                    .stream_create = cuda_stream_create,
                    .stream_destroy = cuda_stream_destroy,
                    .stream_wait = cuda_stream_wait,
                    .event_create = cuda_event_create,
                    .event_destroy = cuda_event_destroy,
                    .event_record = cuda_event_record,
                    .event_wait = cuda_event_wait,
                    .event_elapsed = cuda_event_elapsed,
                    .capture_begin = tn_cuda_capture_begin,
                    .capture_end = tn_cuda_capture_end,
                    .graph_launch = tn_cuda_graph_launch,
                    .graph_destroy = tn_cuda_graph_destroy,
                    .last_error = tn_cuda_error_text,
                    .memory = cuda_memory,
                    .convert = tn_cuda_convert,
                    .host_allocate = cuda_host_allocate,
                    .host_deallocate = cuda_host_deallocate,
                    .check = tn_cuda_check,
                    .check_launch = tn_cuda_check_launch,
                    .libraries = tn_cuda_libraries,
                    .enter = cuda_enter,
                    .leave = cuda_leave,
                    .is_capturing = tn_cuda_is_capturing,
                    .extension = cuda_extension};
}
