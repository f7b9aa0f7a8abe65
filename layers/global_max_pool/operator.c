/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalMaxPool: the largest of each channel's spatial elements. */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

#include <math.h>

static tn_status global_max_pool_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1], 1, 1, 1, 1, 1, 1};
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

static tn_status global_max_pool_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t planes = tn_element_count(y);
    int64_t count = planes ? tn_element_count(x) / planes : 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        double largest = -(double)INFINITY; /* of no elements */
        for (int64_t i = 0; i < count; i++) {
            const double value = tn_element_load_f64(x->data, x->type, plane * count + i);
            if (value > largest || isnan(value)) largest = value;
        }
        tn_element_store_f64(y->data, y->type, plane, largest);
    }
    return TN_OK;
}

static const tn_port global_max_pool_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes")};
static const tn_port global_max_pool_outputs[] = {TN_PORT("Y", "T", 0, "batch, channels, ones")};
static const char *const global_max_pool_cases[] = {
    "| X=f32[1,1,1,1]",  "| X=f32[2,3,5,7]",  "| X=f32[1,3,17]",  "| X=f64[1,2,3,4,5]",
    "| X=f16[2,9,33,3]", "| X=bf16[1,4,7,7]", "| X=f32[0,3,8,8]", "| X=f32[1,2048,7,7]",
};

TN_OPERATOR(global_max_pool, "", "GlobalMaxPool", 1, "The largest element of each channel.",
            TN_NO_FIELDS, .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(global_max_pool, TN_OPERATORS(&global_max_pool_1));
