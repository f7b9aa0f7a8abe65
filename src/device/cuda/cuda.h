/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA device as tenon/plugin.h knows devices: one tn_device for each GPU, and the library that
 * links them with all CUDA kernels of layers/. Nothing here knows an operator; the
 * kernels are collected by the build. Related folders: ../cpu is the processor's device,
 * kit/cuda what kernels share.
 */
#ifndef TN_DEVICE_CUDA_H
#define TN_DEVICE_CUDA_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <tenon/plugin.h>
#include <tenon/plugin/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_CUDA_ERROR_BYTES 600

/* A flag that threads share; C++ sees the same byte. */
#ifdef __cplusplus
typedef bool tn_cuda_flag;
#else
typedef _Atomic bool tn_cuda_flag;
#endif

/* One GPU. `table.user` points here. */
typedef struct tn_cuda_device {
    tn_device table;
    int ordinal; /* CUDA's own number */
    bool has_pools;
    pthread_mutex_t lock; /* of `pool` while it is made, and of what follows `is_lost` */
    cudaMemPool_t pool;   /* null until the first allocation: making it wakes the GPU */
    char name[256];
    char fingerprint[400];
    char libraries[120];                /* "": not asked for yet */
    tn_cuda_flag is_lost;               /* every call fails until the process ends */
    char lost[TN_CUDA_ERROR_BYTES / 2]; /* why; written once, before is_lost */
} tn_cuda_device;

/* Fills the table of the GPU with this number, whose properties are these. */
void tn_cuda_device_init(tn_cuda_device *device, int ordinal,
                         const struct cudaDeviceProp *properties);

/* Makes the GPU the calling thread's current one; answers the one that was, for
 * tn_cuda_device_leave. */
int tn_cuda_device_enter(const tn_device *device);
void tn_cuda_device_leave(const tn_device *device, int before);

/* Records `error` as the calling thread's last one (with what was being done) and answers the
 * status for it; TN_OK for cudaSuccess. One that the GPU does not recover from is kept with it. */
tn_status tn_cuda_error_set(const tn_device *device, cudaError_t error, const char *doing);
tn_status tn_cuda_error_set_text(tn_status status, const char *text);
const char *tn_cuda_error_text(const tn_device *device) TN_NOEXCEPT;

/* tn_device.check and check_launch; error.c. */
tn_status tn_cuda_check(const tn_device *device) TN_NOEXCEPT;
tn_status tn_cuda_check_launch(const tn_device *device) TN_NOEXCEPT;

/* tn_device's of the same names; graph.c. */
tn_status tn_cuda_capture_begin(const tn_device *device, void *stream) TN_NOEXCEPT;
tn_status tn_cuda_capture_end(const tn_device *device, void *stream, void **out_graph) TN_NOEXCEPT;
tn_status tn_cuda_graph_launch(const tn_device *device, void *graph, void *stream) TN_NOEXCEPT;
void tn_cuda_graph_destroy(const tn_device *device, void *graph) TN_NOEXCEPT;

/* tn_device_branches' of the same names; branches.c. */
void *tn_cuda_branches_last(const tn_device *device, void *stream) TN_NOEXCEPT;
tn_status tn_cuda_branches_put_beside(const tn_device *device, void *stream, void *first,
                                      void *second) TN_NOEXCEPT;
uint32_t tn_cuda_is_capturing(const tn_device *device, void *stream) TN_NOEXCEPT;

/* tn_device.libraries; libraries.c. */
const char *tn_cuda_libraries(const tn_device *device) TN_NOEXCEPT;

/* tn_device.convert; convert.cu. */
tn_status tn_cuda_convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                          void *stream) TN_NOEXCEPT;

/* small_copy.cu. Whether a copy is one for it: `host`, one of the two pointers, is pinned memory.
 */
#define TN_CUDA_SMALL_COPY_BYTES 65536u
bool tn_cuda_small_copy_fits(const void *to, const void *from, uint64_t bytes, const void *host);
cudaError_t tn_cuda_small_copy(void *to, const void *from, uint64_t bytes, cudaStream_t stream);

/* Kernels of each folder of layers/, arrays that end with a null; then null. Generated. */
extern const tn_kernel *const *const tn_cuda_kernel_tables[];

#ifdef __cplusplus
}
#endif

#endif
