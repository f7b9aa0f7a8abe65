/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of UFF::MaxPool, which pool_plugin.c and cuda.cu share. */
#ifndef POOL_PLUGIN_H
#define POOL_PLUGIN_H

#include <tenon/layer.h>

typedef struct params {
    uint64_t present;
    tn_type T;
    uint32_t data_format, padding;
    tn_i64s ksize, strides;
} params;

#ifdef WITH_CUDA /* cuda.cu */
#ifdef __cplusplus
extern "C" {
#endif
extern const tn_kernel uff_pool_cuda_f32, uff_pool_cuda_f16, uff_pool_cuda_i8;
#ifdef __cplusplus
}
#endif
#define CUDA_KERNELS , &uff_pool_cuda_f32, &uff_pool_cuda_f16, &uff_pool_cuda_i8
#else
#define CUDA_KERNELS
#endif

#endif
