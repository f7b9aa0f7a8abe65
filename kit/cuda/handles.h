/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of NVIDIA's libraries that nobody uses at the moment. Making one takes milliseconds, so
 * that what one user gives back, like a candidate that a build has timed, the next one gets. Those
 * in use are shared as resources (tenon/plugin/cuda.h).
 */
#ifndef TN_KIT_CUDA_HANDLES_H
#define TN_KIT_CUDA_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_HANDLE_CUBLASLT = 1, TN_CUDA_HANDLE_CUDNN = 2 };

/* One that was kept, or null. `device` is the GPU's index. [thread: any] */
void *tn_cuda_handle_take(uint32_t library, uint32_t device);
/* False: there is no room, and the caller destroys it. [thread: any] */
bool tn_cuda_handle_keep(uint32_t library, uint32_t device, void *handle);

#ifdef __cplusplus
}
#endif

#endif
