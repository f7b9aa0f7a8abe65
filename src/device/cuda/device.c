/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU as a tn_device: a pool of its own from which memory is taken in the order of a stream,
 * streams that never wait for the default one, events, and captured graphs. A null stream means
 * that the work is done when the call returns. Declared in cuda.h; conversions are convert.cu.
 */
#include "cuda.h"

#include <stdint.h>
#include <stdio.h>

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

static tn_status fail_allocation(cudaError_t error, const char *what, uint64_t bytes) {
    char text[200];
    size_t free_bytes = 0, total_bytes = 0;
    snprintf(text, sizeof(text), "%llu bytes of %s", (unsigned long long)bytes, what);
    if (error == cudaErrorMemoryAllocation &&
        cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
        snprintf(text, sizeof(text), "%llu bytes of %s (%zu of the GPU's %zu are free)",
                 (unsigned long long)bytes, what, free_bytes, total_bytes);
    return tn_cuda_error_set(error, text);
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
        error = finish(cudaMallocFromPoolAsync(&memory, wanted, pool, stream_of(stream)), stream);
    else if (error == cudaSuccess)
        error = cudaMalloc(&memory, wanted);
    const tn_status status =
        error == cudaSuccess ? TN_OK : fail_allocation(error, "device memory", (uint64_t)wanted);
    tn_cuda_device_leave(device, before);
    if (status == TN_OK) *out_memory = memory;
    return status;
}

static void cuda_deallocate(const tn_device *device, void *memory, void *stream) {
    if (!memory) return;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        device_of(device)->has_pools ? cudaFreeAsync(memory, stream_of(stream)) : cudaFree(memory);
    (void)tn_cuda_error_set(error, "freeing device memory");
    tn_cuda_device_leave(device, before);
}

static tn_status cuda_host_allocate(const tn_device *device, uint64_t bytes, void **out_memory) {
    void *memory = NULL;
    const size_t wanted = bytes ? (size_t)bytes : 1;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        cudaHostAlloc(&memory, wanted, cudaHostAllocPortable | cudaHostAllocMapped);
    const tn_status status =
        error == cudaSuccess ? TN_OK : fail_allocation(error, "pinned host memory", bytes);
    tn_cuda_device_leave(device, before);
    if (status == TN_OK) *out_memory = memory;
    return status;
}

static void cuda_host_deallocate(const tn_device *device, void *memory) {
    if (!memory) return;
    const int before = tn_cuda_device_enter(device);
    (void)tn_cuda_error_set(cudaFreeHost(memory), "freeing pinned host memory");
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
    const cudaError_t error = finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, kinds[direction], stream_of(stream)), stream);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "a copy");
}

static tn_status cuda_fill(const tn_device *device, void *to, uint32_t byte, uint64_t bytes,
                           void *stream) {
    if (bytes == 0) return TN_OK;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error =
        finish(cudaMemsetAsync(to, (int)(byte & 0xff), (size_t)bytes, stream_of(stream)), stream);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "filling memory");
}

/* ----------------------------------------------------------------------------------------------
 * streams and events */

static tn_status cuda_stream_create(const tn_device *device, void **out_stream) {
    cudaStream_t stream = NULL;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    tn_cuda_device_leave(device, before);
    if (error == cudaSuccess) *out_stream = stream;
    return tn_cuda_error_set(error, "making a stream");
}

static void cuda_stream_destroy(const tn_device *device, void *stream) {
    (void)device;
    if (stream) (void)tn_cuda_error_set(cudaStreamDestroy(stream), "closing a stream");
}

static tn_status cuda_stream_wait(const tn_device *device, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamSynchronize(stream_of(stream));
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "waiting for the GPU");
}

static tn_status cuda_event_create(const tn_device *device, void **out_event) {
    cudaEvent_t event = NULL;
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaEventCreate(&event);
    tn_cuda_device_leave(device, before);
    if (error == cudaSuccess) *out_event = event;
    return tn_cuda_error_set(error, "making an event");
}

static void cuda_event_destroy(const tn_device *device, void *event) {
    (void)device;
    if (event) (void)tn_cuda_error_set(cudaEventDestroy(event), "closing an event");
}

static tn_status cuda_event_record(const tn_device *device, void *event, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaEventRecord(event, stream_of(stream));
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "recording an event");
}

static tn_status cuda_event_wait(const tn_device *device, void *event, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = cudaStreamWaitEvent(stream_of(stream), event, 0);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "making a stream wait for an event");
}

/* Waits for the later event. */
static tn_status cuda_event_elapsed(const tn_device *device, void *from, void *to, double *out_ns) {
    float milliseconds = 0;
    (void)device;
    cudaError_t error = cudaEventSynchronize(to);
    if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, from, to);
    if (error == cudaSuccess) *out_ns = (double)milliseconds * 1e6;
    return tn_cuda_error_set(error, "measuring the time between events");
}

/* ----------------------------------------------------------------------------------------------
 * graphs */

static tn_status cuda_capture_begin(const tn_device *device, void *stream) {
    (void)device;
    if (!stream) return tn_cuda_error_set_text(TN_ERROR_ARGUMENT, "capturing needs a stream");
    return tn_cuda_error_set(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                             "beginning a capture");
}

/* What the kernels enqueued becomes a graph that can be launched; its memory on the GPU is made
 * ready here and not by the first launch. */
static tn_status cuda_capture_end(const tn_device *device, void *stream, void **out_graph) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    const int before = tn_cuda_device_enter(device);
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess && graph) error = cudaGraphInstantiate(&executable, graph, 0);
    if (error == cudaSuccess && executable) error = cudaGraphUpload(executable, stream);
    if (error != cudaSuccess && executable) (void)cudaGraphExecDestroy(executable);
    if (graph) (void)cudaGraphDestroy(graph);
    tn_cuda_device_leave(device, before);
    if (error == cudaSuccess && !executable)
        return tn_cuda_error_set_text(TN_ERROR_DEVICE, "a capture gave no graph");
    if (error == cudaSuccess) *out_graph = executable;
    return tn_cuda_error_set(error, "ending a capture");
}

static tn_status cuda_graph_launch(const tn_device *device, void *graph, void *stream) {
    const int before = tn_cuda_device_enter(device);
    const cudaError_t error = finish(cudaGraphLaunch(graph, stream_of(stream)), stream);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(error, "launching a graph");
}

static void cuda_graph_destroy(const tn_device *device, void *graph) {
    (void)device;
    if (graph) (void)tn_cuda_error_set(cudaGraphExecDestroy(graph), "closing a graph");
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
    device->table = (tn_device){.size = sizeof(tn_device),
                                .index = (uint32_t)ordinal,
                                .kind = "cuda",
                                .name = device->name,
                                .alignment = 256,
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
                                .capture_begin = cuda_capture_begin,
                                .capture_end = cuda_capture_end,
                                .graph_launch = cuda_graph_launch,
                                .graph_destroy = cuda_graph_destroy,
                                .last_error = tn_cuda_error_text,
                                .convert = tn_cuda_convert,
                                .host_allocate = cuda_host_allocate,
                                .host_deallocate = cuda_host_deallocate};
}
