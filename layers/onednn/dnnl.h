/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels by oneDNN share: one engine, descriptors from tensors, errors with the
 * primitive's name, and a primitive at work: its memories, its scratch memory, its execution on the
 * call's threads. oneDNN 2.x.
 */
#ifndef TN_LAYERS_ONEDNN_DNNL_H
#define TN_LAYERS_ONEDNN_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <tenon/plugin.h>

/* The CPU engine, made once and kept; null after a failure. [thread: any] */
dnnl_engine_t tn_dnnl_engine(void);

/* TN_OK, or host->fail with what failed. */
tn_status tn_dnnl_check(tn_call *call, dnnl_status_t status, const char *what);

/* A tensor of rank 4 in one of the formats linear, nhwc, c8, c16; false for others. */
bool tn_dnnl_describe(const tn_tensor *tensor, dnnl_memory_desc_t *out_desc);

/* Sets OpenMP's number of threads for this thread and answers the one before, to be set back. */
int tn_dnnl_set_threads(uint32_t threads);

/* Arguments of a primitive in the order of `ids`; the handles are set before each run. */
#define TN_DNNL_ARGUMENTS 6
typedef struct tn_dnnl_primitive {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    uint32_t count;
    int ids[TN_DNNL_ARGUMENTS];
    dnnl_memory_t memories[TN_DNNL_ARGUMENTS];
    uint64_t scratch_bytes;
} tn_dnnl_primitive;

/* Makes a primitive of a descriptor, which it does not take over. What was made before in
 * *primitive is destroyed. */
tn_status tn_dnnl_primitive_make(tn_call *call, const_dnnl_primitive_desc_t desc,
                                 tn_dnnl_primitive *primitive);
/* Adds an argument with the layout that the primitive's descriptor has for it. */
tn_status tn_dnnl_primitive_add(tn_call *call, tn_dnnl_primitive *primitive, int id,
                                const dnnl_memory_desc_t *desc);
void tn_dnnl_primitive_destroy(tn_dnnl_primitive *primitive); /* a zeroed one is fine */
/* `data` has an address for each argument. Scratch memory is call->workspace. */
tn_status tn_dnnl_primitive_run(tn_call *call, const tn_dnnl_primitive *primitive,
                                void *const *data);

/* Whether the implementation is one of oneDNN's plain ones, which our own kernels beat. */
bool tn_dnnl_is_plain(const_dnnl_primitive_desc_t desc);

extern const tn_kernel tn_dnnl_conv_kernel, tn_dnnl_max_pool_kernel, tn_dnnl_average_pool_kernel,
    tn_dnnl_global_average_pool_kernel;

#endif
