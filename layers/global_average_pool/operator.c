/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalAveragePool: the mean of each channel's spatial elements. */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "kit/window/byte_pool.h"

#include <math.h>

static tn_status global_average_pool_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1], 1, 1, 1, 1, 1, 1};
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

static tn_status global_average_pool_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t planes = tn_element_count(y);
    int64_t count = planes ? tn_element_count(x) / planes : 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        double sum = 0;
        for (int64_t i = 0; i < count; i++)
            sum += tn_element_load_f64(x->data, x->type, plane * count + i);
        tn_element_store_f64(y->data, y->type, plane, count ? sum / (double)count : (double)NAN);
    }
    return TN_OK;
}

static const tn_port global_average_pool_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes")};
static const tn_port global_average_pool_outputs[] = {
    TN_PORT("Y", "T", 0, "batch, channels, ones")};
static const char *const global_average_pool_cases[] = {
    "| X=f32[1,1,1,1]",  "| X=f32[2,3,5,7]",  "| X=f32[1,3,17]",  "| X=f64[1,2,3,4,5]",
    "| X=f16[2,9,33,3]", "| X=bf16[1,4,7,7]", "| X=f32[0,3,8,8]", "| X=f32[1,2048,7,7]",
};

TN_OPERATOR(global_average_pool, "", "GlobalAveragePool", 1, "The mean of each channel.",
            TN_NO_FIELDS);

/* One window over the whole plane; its axes beyond the first are joined. */
static bool read_bytes(const tn_call *call, tn_byte_pool *out_pool) {
    const tn_tensor *x = call->inputs[0];
    const int64_t width = tn_infer_product(x->shape, 3, x->rank), height = x->shape[2];
    if (height < 1 || width < 1) return false;
    *out_pool = (tn_byte_pool){.batch = x->shape[0],
                               .channels = x->shape[1],
                               .in_height = height,
                               .in_width = width,
                               .out_height = 1,
                               .out_width = 1,
                               .kernel_height = height,
                               .kernel_width = width,
                               .stride_height = 1,
                               .stride_width = 1,
                               .dilation_height = 1,
                               .dilation_width = 1,
                               .is_mean = true};
    return true;
}

TN_BYTE_POOL_KERNELS("GlobalAveragePool", read_bytes);
TN_LAYER(global_average_pool, TN_OPERATORS(&global_average_pool_1),
         TN_KERNELS(&bytes_avx512vnni, &bytes_avx2, &bytes_baseline));
