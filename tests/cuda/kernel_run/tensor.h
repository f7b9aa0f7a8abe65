/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of random numbers in any type and format that the kernels store, on the host and on the
 * device.
 */
#ifndef TN_TESTS_CUDA_KERNEL_RUN_TENSOR_H
#define TN_TESTS_CUDA_KERNEL_RUN_TENSOR_H

#include <tenon/plugin.h>

typedef struct run_tensor {
    tn_tensor tensor;
    int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
    int64_t count;
    float *values; /* in linear order: what the stored numbers stand for */
    void *stored;  /* on the host */
    float scale;
    tn_quantization quantization;
} run_tensor;

/* Where all of it runs: set once by main. */
extern const tn_device *run_device;
extern void *run_stream;

/* Ends the program with the device's error, and what was being done, where that failed. */
void run_require(tn_status status, const char *what);
/* Between -1 and 1, the same from run to run. */
float run_random(void);

/* A tensor on the host whose numbers are not set yet. */
void run_tensor_describe(run_tensor *t, tn_type type, tn_format format, uint32_t rank,
                         const int64_t *shape);
void run_tensor_fill(run_tensor *t, float factor);
/* The number that is stored in element `index` of linear order. */
float run_tensor_get(const run_tensor *t, int64_t index);
/* A copy in the device's memory. */
void *run_tensor_to_device(const run_tensor *t);
void run_tensor_clear(run_tensor *t);

#endif
