/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxUnpool: the largest elements of windows back where MaxPool found them, zeros elsewhere. Their
 * indices count over all axes of the tensor that windows, strides and pads lead back to; another
 * shape of the output has that tensor at its beginning.
 */
#include "kit/operator/layer.h"
#include "kit/window/window.h"
#include "max_unpool/max_unpool.h"
#include <tenon/kit/region.h>

typedef struct unpool_params {
    uint64_t present;
    tn_i64s kernel_shape, strides, pads;
} unpool_params;

enum { X = TN_UNPOOL_X, INDICES = TN_UNPOOL_INDICES, SHAPE = 2 };

static const tn_field unpool_fields[] = {
    TN_FIELD(unpool_params, kernel_shape, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "extents of the window"),
    TN_FIELD_STRIDES(unpool_params),
    TN_FIELD_PADS(unpool_params),
};

/* (x - 1) * stride + kernel - pads. */
tn_status tn_unpool_read(tn_call *call, int64_t *out_shape) {
    const unpool_params *params = call->params;
    tn_window window = {0};
    TN_TRY(tn_infer_require_rank(call, X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[X];
    const tn_window_fields fields = {
        .kernel = params->kernel_shape, .strides = params->strides, .pads = params->pads};
    if (params->kernel_shape.count == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'kernel_shape' is empty");
    TN_TRY(tn_window_read(call, &fields, x->rank - 2, &window));
    TN_TRY(tn_window_read_pads(call, &fields, &window));
    for (uint32_t i = 0; i < 2; i++)
        out_shape[i] = x->shape[i];
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        int64_t extent = 0;
        const int64_t before = x->shape[2 + i] == 0 ? 0 : x->shape[2 + i] - 1;
        if (!tn_infer_multiply(before, window.stride[i], &extent) ||
            !tn_infer_add(extent, window.kernel[i], &extent) ||
            !tn_infer_add(extent, -window.pad_begin[i], &extent) ||
            !tn_infer_add(extent, -window.pad_end[i], &extent) || extent < 0)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "window, stride and pads make no extent of axis %u", 2 + i);
        out_shape[2 + i] = extent;
    }
    return TN_OK;
}

static tn_status read_shape(tn_call *call, int64_t *inout_shape) {
    const tn_tensor *x = call->inputs[X];
    int64_t wanted[TN_MAX_RANK];
    uint32_t count = 0;
    if (!tn_infer_input(call, SHAPE)) return TN_OK;
    TN_TRY(tn_infer_integers(call, SHAPE, TN_MAX_RANK, wanted, &count));
    bool fits = count == x->rank && wanted[0] == x->shape[0] && wanted[1] == x->shape[1];
    for (uint32_t i = 2; fits && i < count; i++)
        fits = wanted[i] >= inout_shape[i];
    if (!fits)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'output_shape' must have batch and channels of X, and "
                                "spatial extents of at least those that the window leads to");
    for (uint32_t i = 2; i < count; i++)
        inout_shape[i] = wanted[i];
    return TN_OK;
}

static tn_status unpool_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_unpool_read(call, shape));
    const tn_tensor *x = call->inputs[X], *indices = call->inputs[INDICES];
    TN_TRY(tn_infer_require_rank(call, INDICES, x->rank, x->rank));
    for (uint32_t i = 0; i < x->rank; i++)
        if (indices->shape[i] != x->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE, "axis %u differs between 'X' and 'I'", i);
    TN_TRY(read_shape(call, shape));
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

/* Indices in the order of X: of several that are equal the last one stays. */
static tn_status unpool_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *indices = call->inputs[INDICES], *y = call->outputs[0];
    const size_t bytes = tn_element_bytes(y->type);
    int64_t pooled[TN_MAX_RANK], strides[TN_MAX_RANK];
    TN_TRY(tn_unpool_read(call, pooled));
    tn_region_strides(y->rank, y->shape, strides);
    if (tn_element_count(y) > 0) memset(y->data, 0, (size_t)tn_element_count(y) * bytes);
    const int64_t limit = tn_infer_product(pooled, 0, x->rank);
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        int64_t rest = tn_element_i64(indices, i), to = 0;
        if (rest < 0 || rest >= limit)
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld is outside 0..%lld",
                                    (long long)rest, (long long)limit - 1);
        for (uint32_t k = x->rank; k-- > 0; rest /= pooled[k])
            to += rest % pooled[k] * strides[k];
        memcpy((char *)y->data + (size_t)to * bytes, (const char *)x->data + (size_t)i * bytes,
               bytes);
    }
    return TN_OK;
}

static const tn_port unpool_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("I", "i64", 0, "where each element was, counted over all axes"),
    TN_PORT("output_shape", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "shape of the output; absent: as small as can be"),
};
static const tn_port unpool_outputs[] = {TN_PORT("output", "T", 0, "the elements amid zeros")};
static const char *const unpool_cases[] = {
    "kernel_shape=[2,2] strides=[2,2] | X=f32[1,1,2,2]{1,2,3,4} I=i64[1,1,2,2]{5,7,13,15}"
    " | output=f32[1,1,4,4]{0,0,0,0,0,1,0,2,0,0,0,0,0,3,0,4}",
    "kernel_shape=[2,2] strides=[2,2] | X=f32[1,1,2,2] I=i64[1,1,2,2]{5,7,13,15} "
    "output_shape=i64[4]{1,1,5,5}",
    "kernel_shape=[3] strides=[2] pads=[1,0] | X=f64[2,1,3] I=i64[2,1,3]{0,3,5,6,8,11}",
    "kernel_shape=[2] | X=f16[1,2,2] I=i64[1,2,2]{1,1,4,3}",
    "kernel_shape=[2,2] | X=bf16[0,3,2,2] I=i64[0,3,2,2]",
    "kernel_shape=[1,1,2] strides=[1,1,2] | X=f32[1,1,1,2,2] I=i64[1,1,1,2,2]{0,2,5,7}",
};

TN_OPERATOR(unpool, "", "MaxUnpool", 9, "The largest elements of windows back where they were.",
            TN_FIELDS(unpool_params, unpool_fields));

/* In order, since of several elements for one position the last one stays. */
TN_CPU_KERNEL(unpool_scatter, "", "MaxUnpool", "scatter", "Copies of elements of any type.",
              .run = unpool_reference);

TN_LAYER(max_unpool, TN_OPERATORS(&unpool_9), TN_KERNELS(&unpool_scatter));
