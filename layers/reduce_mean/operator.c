/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMean: the mean along axes; before opset 18 the axes are a field. */
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "kit/reduce/reduce.h"
#include "kit/reduce/reduce_kernel.h"

static double mean_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
    return sum / (double)lane->count; /* NaN for no elements */
}

/* Rounded towards zero; zero for no elements. */
static int64_t mean_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += (uint64_t)tn_element_load_i64(lane->x->data, lane->x->type, lane->at);
    if (lane->count == 0) return 0;
    if (lane->x->type == TN_U64) return (int64_t)(sum / (uint64_t)lane->count);
    return (int64_t)sum / lane->count;
}

static tn_status reduce_mean_reference(tn_call *call) {
    static const tn_reduce_function function = {mean_real, mean_whole};
    return tn_reduce_compute(call, &function);
}

static const tn_port reduce_mean_inputs[] = {
    TN_PORT("data", "T:number", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "axes to reduce"),
};
static const tn_port reduce_mean_outputs[] = {
    TN_PORT("reduced", "T", 0, "the means; of integers, rounded towards zero"),
};
static const char *const reduce_mean_1_cases[] = {
    "axes=[1,2] | data=f32[3,5,7,37]",
    "axes=[1] keepdims=0 | data=f32[2,3,149]",
    "axes=[-2,-1] | data=f32[2,8,14,14]",
    "| data=f32[2,3,4]",
    "axes=[1] | data=f32[2,3,4]",
    "axes=[0,-1] keepdims=0 | data=f32[2,3,4]",
    "| data=f32[]",
    "axes=[2] keepdims=0 | data=i32[3,5,7]",
    "axes=[-1] | data=f16[3,33]",
    "axes=[2,3] | data=f32[1,1280,7,7]",
};
static const char *const reduce_mean_18_cases[] = {
    "| data=f32[2,3,4]",
    "noop_with_empty_axes=1 | data=f32[2,3,4]",
    "| data=f32[2,3,4] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3,4] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[3,5,7] axes=i64[1]{2}",
    "| data=f16[33,3] axes=i64[1]{0}",
    "| data=f32[]",
    "| data=f32[64,512] axes=i64[1]{-1}",
};

static const tn_operator reduce_mean_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "ReduceMean",
    .doc = "Means along axes.",
    TN_FIELDS(tn_reduce_params, tn_reduce_fields_axes),
    .port_size = sizeof(tn_port),
    .input_count = 1,
    .inputs = reduce_mean_inputs,
    TN_OUTPUTS(reduce_mean_outputs),
    .infer = tn_reduce_infer,
    .reference = reduce_mean_reference,
    TN_CASES(reduce_mean_1_cases),
};
static const tn_operator reduce_mean_18 = {
    .size = sizeof(tn_operator),
    .since_version = 18,
    .state_version = 1,
    .domain = "",
    .name = "ReduceMean",
    .doc = "Means along axes.",
    TN_FIELDS(tn_reduce_params, tn_reduce_fields_input),
    TN_INPUTS(reduce_mean_inputs),
    TN_OUTPUTS(reduce_mean_outputs),
    .infer = tn_reduce_infer,
    .reference = reduce_mean_reference,
    TN_CASES(reduce_mean_18_cases),
};

TN_REDUCE_KERNELS(reduce_mean, "ReduceMean", TN_REDUCE_SUM, TN_REDUCE_BY_COUNT);

TN_LAYER(reduce_mean, TN_OPERATORS(&reduce_mean_1, &reduce_mean_18), reduce_mean_kernels);
