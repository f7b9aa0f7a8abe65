/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of pointwise.h; the launches are pointwise.cu. */
#include "kit/cuda/pointwise/pointwise.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/pointwise/pointwise_job.h"
#include "kit/elementwise/unary.h"
#include "kit/math/byte_table.h"
#include "kit/math/element.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>

#include <string.h>

const char *const tn_cuda_map_combinations[8] = {
    "f32 -> f32",   "f32:nhwc -> f32:nhwc",   "f16 -> f16", "f16:nhwc -> f16:nhwc",
    "bf16 -> bf16", "bf16:nhwc -> bf16:nhwc", "qi8 -> qi8", "qi8:nhwc -> qi8:nhwc"};

/* The bounds are constants, which stay in 32-bit floats where the build lowers the others. */
const char *const tn_cuda_clip_combinations[16] = {"f32 -> f32",
                                                   "f32:nhwc -> f32:nhwc",
                                                   "f16 -> f16",
                                                   "f16:nhwc -> f16:nhwc",
                                                   "f32, f32?, f32? -> f32",
                                                   "f32:nhwc, f32?, f32? -> f32:nhwc",
                                                   "f16, f16?, f16? -> f16",
                                                   "f16, f32?, f32? -> f16",
                                                   "f16:nhwc, f32?, f32? -> f16:nhwc",
                                                   "f16:nhwc, f16?, f16? -> f16:nhwc",
                                                   "bf16, bf16?, bf16? -> bf16",
                                                   "bf16, f32?, f32? -> bf16",
                                                   "bf16:nhwc, f32?, f32? -> bf16:nhwc",
                                                   "bf16:nhwc, bf16?, bf16? -> bf16:nhwc",
                                                   "qi8, f32?, f32? -> qi8",
                                                   "qi8:nhwc, f32?, f32? -> qi8:nhwc"};

/* The output may lie on the first input, which therefore has its format. */
const char *const tn_cuda_combine_combinations[15] = {
    "f32, f32 -> f32",
    "f32:nhwc:strided, f32:nhwc:strided -> f32:nhwc",
    "f32:nhwc, f32 -> f32:nhwc",
    "f16, f16 -> f16",
    "f16:nhwc:strided, f16:nhwc:strided -> f16:nhwc",
    "f16:nhwc, f32 -> f16:nhwc",
    "f16, f32 -> f16",
    "bf16, bf16 -> bf16",
    "bf16:nhwc:strided, bf16:nhwc:strided -> bf16:nhwc",
    "bf16:nhwc, f32 -> bf16:nhwc",
    "bf16, f32 -> bf16",
    "qi8, qi8 -> qi8",
    "qi8:nhwc:strided, qi8:nhwc:strided -> qi8:nhwc",
    "qi8, f32 -> qi8",
    "qi8:nhwc, f32 -> qi8:nhwc"};

const char *const tn_cuda_sum_combinations[8] = {
    "f32... -> f32",   "f32:nhwc... -> f32:nhwc",   "f16... -> f16", "f16:nhwc... -> f16:nhwc",
    "bf16... -> bf16", "bf16:nhwc... -> bf16:nhwc", "qi8... -> qi8", "qi8:nhwc... -> qi8:nhwc"};

/* Numbers that a kernel can read: floats, and bytes with one scale. */
static bool is_readable(const tn_tensor *tensor) {
    return tn_cuda_iteration_knows(tensor) && tn_element_count(tensor) <= TN_CUDA_MOST_ELEMENTS &&
           (tensor->type != TN_I8 || tn_byte_scale(tensor) != 0);
}

/* ----------------------------------------------------------------------------------------------
 * one tensor */

/* The number of the operator's field of this name. */
static float field_f32(const tn_call *call, const char *name) {
    for (uint32_t i = 0; name && i < call->op->field_count; i++) {
        const tn_field *field =
            (const tn_field *)((const char *)call->op->fields + (size_t)i * call->op->field_size);
        float value;
        if (strcmp(field->name, name) != 0 || field->type != TN_FIELD_F32) continue;
        memcpy(&value, (const char *)call->params + field->offset, sizeof(value));
        return value;
    }
    return 0;
}

static bool read_step(tn_call *call, tn_cuda_step *out_step) {
    const tn_cuda_map_user *user = call->user;
    if (user->map != 0) {
        *out_step =
            (tn_cuda_step){user->map, field_f32(call, user->alpha), field_f32(call, user->beta)};
        return true;
    }
    tn_facet_activation activation;
    if (!tn_unary_activation(call, &activation)) return false;
    *out_step = (tn_cuda_step){activation.function, activation.alpha, activation.beta};
    return true;
}

tn_status tn_cuda_map_accepts(tn_call *call) {
    tn_cuda_step step;
    tn_cuda_chain chain;
    return is_readable(call->inputs[0]) && is_readable(call->outputs[0]) &&
                   tn_cuda_chain_read(call, &chain) && chain.count < TN_CUDA_MOST_STEPS &&
                   read_step(call, &step)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* What the operator says of itself may hang on constants that are only seen here. */
tn_status tn_cuda_map_prepare(tn_call *call) {
    tn_cuda_step *step = call->host->allocate(call->host, sizeof(*step), 64);
    if (!step) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for an activation");
    if (!read_step(call, step)) {
        call->host->deallocate(call->host, step);
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the node is no activation here");
    }
    call->state = step;
    return TN_OK;
}

void tn_cuda_map_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

tn_status tn_cuda_map_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_cuda_map_job job = {.x = x->data,
                           .y = y->data,
                           .x_scale = tn_byte_scale(x),
                           .y_inverse = tn_cuda_inverse_scale(y),
                           .count = tn_element_count(y)};
    tn_cuda_chain after;
    if (job.count == 0) return TN_OK;
    if (!tn_cuda_chain_read(call, &after))
        return call->host->fail(call, TN_ERROR_INTERNAL, "an epilogue is no activation");
    job.chain.steps[0] = *(const tn_cuda_step *)call->state;
    memcpy(job.chain.steps + 1, after.steps, after.count * sizeof(after.steps[0]));
    job.chain.count = after.count + 1;
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_map_launch(x->type, &job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching an elementwise kernel");
}

/* ----------------------------------------------------------------------------------------------
 * two tensors */

static const tn_tensor *second_of(const tn_call *call) {
    return call->inputs[call->input_count > 1 ? 1 : 0];
}

tn_status tn_cuda_combine_accepts(tn_call *call) {
    tn_cuda_chain chain;
    if (call->input_count != 2 || !tn_cuda_chain_read(call, &chain) ||
        !is_readable(call->outputs[0]))
        return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < 2; i++) {
        const tn_tensor *x = call->inputs[i];
        if (!is_readable(x)) return TN_ERROR_UNSUPPORTED;
        if (x->format != TN_LINEAR && x->rank != call->outputs[0]->rank)
            return TN_ERROR_UNSUPPORTED;
    }
    return TN_OK;
}

tn_status tn_cuda_combine_reshape(tn_call *call) {
    if (tn_element_count(call->outputs[0]) > TN_CUDA_MOST_ELEMENTS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "an output of more than 2^31 - 1 elements");
    return TN_OK;
}

static tn_status init_iteration(tn_call *call, tn_cuda_iteration *iteration) {
    const tn_tensor *a = call->inputs[0], *b = second_of(call), *y = call->outputs[0];
    uint32_t rank = b->rank;
    int64_t shape[TN_MAX_RANK];
    memcpy(shape, b->shape, b->rank * sizeof(*shape));
    if (call->op->params_bytes != 0 && call->op->since_version < 7)
        TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    tn_cuda_iteration_init(iteration, y);
    tn_cuda_iteration_add(iteration, y, a, a->rank, a->shape);
    tn_cuda_iteration_add(iteration, y, b, rank, shape);
    return TN_OK;
}

tn_status tn_cuda_combine_run(tn_call *call) {
    const tn_cuda_combine_user *user = call->user;
    const tn_tensor *const tensors[] = {call->inputs[0], second_of(call)}, *y = call->outputs[0];
    tn_cuda_combine_job job = {.combine = user->combine};
    tn_cuda_iteration iteration;
    TN_TRY(init_iteration(call, &iteration));
    if (!tn_cuda_iteration_finish(&iteration)) return TN_OK;
    if (!tn_cuda_iteration_is_small(&iteration))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "a tensor that an input is a part of has too many elements");
    if (!tn_cuda_chain_read(call, &job.chain))
        return call->host->fail(call, TN_ERROR_INTERNAL, "an epilogue is no activation");
    const int before = tn_cuda_enter(call);
    tn_cuda_elements_fill(&iteration, tensors, y, &job.elements);
    const bool is_wide =
        tn_cuda_elements_are_wide(&iteration, 16 / (int64_t)tn_element_bytes(y->type));
    const cudaError_t error =
        tn_cuda_combine_launch(y->type, tensors[1]->type, is_wide, &job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching an elementwise kernel");
}
