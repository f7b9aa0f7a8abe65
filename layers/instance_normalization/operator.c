/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InstanceNormalization: y = (x - mean) / sqrt(variance + epsilon) * scale + B, with mean and
 * variance of each channel of each image (Ulyanov, Vedaldi and Lempitsky, "Instance Normalization:
 * The Missing Ingredient for Fast Stylization", 2016).
 */
#include "kit/math/element.h"
#include <tenon/kit/parallel.h>
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

#include <math.h>

typedef struct instance_normalization_params {
    uint64_t present;
    float epsilon;
} instance_normalization_params;

enum { INSTANCE_X = 0, INSTANCE_SCALE = 1, INSTANCE_B = 2 };

static const tn_field instance_normalization_fields[] = {
    TN_FIELD(instance_normalization_params, epsilon, TN_FIELD_F32, TN_OPTIONAL, "1e-05",
             "added to the variance before the root")};

static tn_status instance_normalization_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, INSTANCE_X, 2, TN_MAX_RANK));
    const int64_t channels = call->inputs[INSTANCE_X]->shape[1];
    for (uint32_t i = INSTANCE_SCALE; i <= INSTANCE_B; i++) {
        TN_TRY(tn_infer_require_rank(call, i, 1, 1));
        if (call->inputs[i]->shape[0] != channels)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "input '%s' has %lld elements for %lld "
                                    "channels",
                                    tn_infer_input_name(call, i),
                                    (long long)call->inputs[i]->shape[0], (long long)channels);
    }
    return tn_infer_copy_shape(call, 0, INSTANCE_X);
}

static double load(const tn_tensor *tensor, int64_t index) {
    return tn_element_load_f64(tensor->data, tensor->type, index);
}

/* An item is a channel of an image. */
static tn_status do_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const instance_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[INSTANCE_X], *y = call->outputs[0];
    const int64_t count = tn_infer_product(x->shape, 2, x->rank);
    (void)thread;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t channel = plane % x->shape[1], first = plane * count;
        double sum = 0, squares = 0;
        for (int64_t i = first; i < first + count; i++)
            sum += load(x, i);
        const double mean = sum / (double)count;
        for (int64_t i = first; i < first + count; i++)
            squares += (load(x, i) - mean) * (load(x, i) - mean);
        const double factor = load(call->inputs[INSTANCE_SCALE], channel) /
                              sqrt(squares / (double)count + (double)params->epsilon);
        const double bias = load(call->inputs[INSTANCE_B], channel);
        for (int64_t i = first; i < first + count; i++)
            tn_element_store_f64(y->data, y->type, i, (load(x, i) - mean) * factor + bias);
    }
    return TN_OK;
}

static tn_status instance_normalization_reference(tn_call *call) {
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return do_planes(call, 0, tn_infer_product(call->inputs[INSTANCE_X]->shape, 0, 2), 0);
}

static tn_status instance_normalization_run(tn_call *call) {
    enum { GRAIN = 4096 };
    const tn_tensor *x = call->inputs[INSTANCE_X];
    if (tn_element_count(x) == 0) return TN_OK;
    return call->host->parallel_for(
        call, tn_infer_product(x->shape, 0, 2),
        tn_parallel_grain(GRAIN, tn_infer_product(x->shape, 2, x->rank)), do_planes, call);
}

static const tn_port instance_normalization_inputs[] = {
    TN_PORT("input", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T", 0, "a factor a channel"),
    TN_PORT("B", "T", 0, "a bias a channel"),
};
static const tn_port instance_normalization_outputs[] = {
    TN_PORT("output", "T", 0, "the input normalised")};
static const char *const instance_normalization_cases[] = {
    "| input=f32[2,3,5,7] scale=f32[3] B=f32[3]",
    "epsilon=0.01 | input=f32[1,2,33] scale=f32[2] B=f32[2]",
    "epsilon=0.5 | input=f32[3,4] scale=f32[4] B=f32[4]",
    "| input=f64[2,3,17] scale=f64[3] B=f64[3]",
    "| input=f16[1,3,5,7] scale=f16[3] B=f16[3]",
    "| input=bf16[1,2,9] scale=bf16[2] B=bf16[2]",
    "| input=f32[0,3,5] scale=f32[3] B=f32[3]",
    "| input=f32[1,64,56,56] scale=f32[64] B=f32[64]",
};

TN_OPERATOR(instance_normalization, "", "InstanceNormalization", 6,
            "Normalises each channel of each image.",
            TN_FIELDS(instance_normalization_params, instance_normalization_fields));

static const tn_kernel instance_normalization_planes = {
    TN_KERNEL_BEGIN("cpu", "", "InstanceNormalization", "planes", 1,
                    "Planes on all threads, in double precision."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    .run = instance_normalization_run,
};

TN_LAYER(instance_normalization, TN_OPERATORS(&instance_normalization_6),
         TN_KERNELS(&instance_normalization_planes));
