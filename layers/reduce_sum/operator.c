/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSum: the sum along axes; before opset 13 the axes are a field. */
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "kit/reduce/reduce.h"
#include "kit/reduce/reduce_kernel.h"

static double sum_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += tn_element_load_f64(lane->x->data, lane->x->type, lane->at);
    return sum;
}

static int64_t sum_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += (uint64_t)tn_element_load_i64(lane->x->data, lane->x->type, lane->at);
    return (int64_t)sum;
}

static tn_status reduce_sum_reference(tn_call *call) {
    static const tn_reduce_function function = {sum_real, sum_whole};
    return tn_reduce_compute(call, &function);
}

static const tn_port reduce_sum_inputs[] = {
    TN_PORT("data", "T:number", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "axes to reduce"),
};
static const tn_port reduce_sum_outputs[] = {
    TN_PORT("reduced", "T", 0, "the sums; integers wrap"),
};
static const char *const reduce_sum_1_cases[] = {
    "axes=[1,2] | data=f32[3,5,7,37]",
    "axes=[1] keepdims=0 | data=f32[2,3,149]",
    "axes=[-2,-1] | data=f32[2,8,14,14]",
    "| data=f32[2,3,4]",
    "axes=[1] | data=f32[2,3,4]",
    "axes=[0,-1] keepdims=0 | data=f32[2,3,4]",
    "axes=[1] | data=f32[2,0,4]",
    "| data=f32[]",
    "axes=[2] keepdims=0 | data=i32[3,5,7]",
    "axes=[0] | data=f16[33,3]",
    "axes=[1] | data=f32[4,4096]",
};
static const char *const reduce_sum_13_cases[] = {
    "| data=f32[2,3,4]",
    "noop_with_empty_axes=1 | data=f32[2,3,4]",
    "| data=f32[2,3,4] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3,4] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[3,5,7] axes=i64[1]{2}",
    "| data=f16[33,3] axes=i64[1]{0}",
    "| data=f32[]",
    "| data=f32[64,512] axes=i64[1]{-1}",
};

static const tn_operator reduce_sum_1 = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "",
    .name = "ReduceSum",
    .doc = "Sums along axes.",
    TN_FIELDS(tn_reduce_params, tn_reduce_fields_axes),
    .port_size = sizeof(tn_port),
    .input_count = 1,
    .inputs = reduce_sum_inputs,
    TN_OUTPUTS(reduce_sum_outputs),
    .infer = tn_reduce_infer,
    .reference = reduce_sum_reference,
    TN_CASES(reduce_sum_1_cases),
};
static const tn_operator reduce_sum_13 = {
    .size = sizeof(tn_operator),
    .since_version = 13,
    .state_version = 1,
    .domain = "",
    .name = "ReduceSum",
    .doc = "Sums along axes.",
    TN_FIELDS(tn_reduce_params, tn_reduce_fields_input),
    TN_INPUTS(reduce_sum_inputs),
    TN_OUTPUTS(reduce_sum_outputs),
    .infer = tn_reduce_infer,
    .reference = reduce_sum_reference,
    TN_CASES(reduce_sum_13_cases),
};

TN_REDUCE_KERNELS(reduce_sum, "ReduceSum", TN_REDUCE_SUM, TN_REDUCE_AS_IT_IS);

TN_LAYER(reduce_sum, TN_OPERATORS(&reduce_sum_1, &reduce_sum_13), reduce_sum_kernels);
