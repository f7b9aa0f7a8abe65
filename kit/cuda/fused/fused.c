/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of every elementwise operator that states its value as an expression, a third party's
 * too, with the chain of such operators after it: compiled when a node is prepared
 * (fused_program.h), from what the operators declare (fused_source.h). Operators with a kernel of
 * their own are measured against it.
 */
#include "kit/cuda/fused/fused_program.h"
#include <tenon/kit/cuda/launch.h>
#include "kit/cuda/pointwise/elements.h"
#include "kit/operator/layer.h"
#include <tenon/kit/epilogue.h>

#include <string.h>

enum { MOST_BLOCKS = 132 * 64 };

/* Whether the iteration can go through all tensors: their formats, and numbers of elements. */
static bool is_walkable(const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS], *y = call->outputs[0];
    uint32_t count = 0;
    if (!y || !tn_cuda_fused_tensors(call, tensors, &count) || !tn_cuda_iteration_knows(y) ||
        tn_element_count(y) > TN_CUDA_MOST_ELEMENTS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!tn_cuda_iteration_knows(tensors[i]) || tensors[i]->rank > y->rank ||
            (tensors[i]->format != TN_LINEAR && tensors[i]->rank != y->rank))
            return false;
    return true;
}

static tn_status fused_accepts(tn_call *call) {
    tn_status status = TN_OK;
    if (!is_walkable(call) || !tn_cuda_fused_program_is_possible(call->host))
        return TN_ERROR_UNSUPPORTED;
    char *source = tn_cuda_fused_source(call, &status, NULL, 0);
    call->host->deallocate(call->host, source);
    return source ? TN_OK : status;
}

static tn_status fused_prepare(tn_call *call) {
    tn_status status = TN_OK;
    char why[300] = "";
    tn_cuda_fused_program *program = NULL;
    char *source = tn_cuda_fused_source(call, &status, why, sizeof(why));
    if (!source) return call->host->fail(call, status, "%s", why);
    const int before = tn_cuda_enter(call);
    status = tn_cuda_fused_program_retain(call, source, &program);
    tn_cuda_leave(call, before);
    call->host->deallocate(call->host, source);
    if (status == TN_OK) call->state = program;
    return status;
}

static void fused_release(tn_call *call) {
    const int before = tn_cuda_enter(call);
    tn_cuda_fused_program_release(call->host, call->state);
    tn_cuda_leave(call, before);
}

static tn_status fused_reshape(tn_call *call) {
    return is_walkable(call) ? TN_OK
                             : call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                                "an output of more than 2^31 - 1 elements, or "
                                                "inputs of more axes than it");
}

/* ----------------------------------------------------------------------------------------------
 * running */

/* The shape of tensor `index` as it is broadcast to the output's: the vector of a bias or a scale
 * lies along an axis. */
static void find_shape(const tn_call *call, const tn_tensor *tensor, uint32_t operand,
                       uint32_t *out_rank, int64_t *out_shape) {
    const uint32_t rank = call->outputs[0]->rank;
    uint32_t axis = 0;
    *out_rank = tensor->rank;
    memcpy(out_shape, tensor->shape, tensor->rank * sizeof(*out_shape));
    if (!tn_epilogue_vector_axis(call, operand, &axis)) return;
    *out_rank = axis < rank ? rank - axis : 1;
    out_shape[0] = tn_element_count(tensor);
    for (uint32_t k = 1; k < *out_rank; k++)
        out_shape[k] = 1;
}

static void make_iteration(const tn_call *call, const tn_tensor *const *tensors, uint32_t count,
                           tn_cuda_iteration *iteration) {
    const tn_tensor *y = call->outputs[0];
    const uint32_t inputs = count - call->operand_count;
    tn_cuda_iteration_init(iteration, y);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = tensors[i]->rank;
        int64_t shape[TN_MAX_RANK];
        if (i >= inputs)
            find_shape(call, tensors[i], i - inputs, &rank, shape);
        else
            memcpy(shape, tensors[i]->shape, rank * sizeof(*shape));
        tn_cuda_iteration_add(iteration, y, tensors[i], rank, shape);
    }
}

static tn_status fused_run(tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0;
    tn_cuda_iteration iteration;
    tn_cuda_elements_job job;
    if (!tn_cuda_fused_tensors(call, tensors, &count))
        return call->host->fail(call, TN_ERROR_INTERNAL, "too many tensors");
    make_iteration(call, tensors, count, &iteration);
    if (!tn_cuda_iteration_finish(&iteration)) return TN_OK;
    if (!tn_cuda_iteration_is_small(&iteration))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "a tensor that an input is a part of has too many elements");
    tn_cuda_elements_fill(&iteration, tensors, call->outputs[0], &job);
    const uint32_t each = tn_cuda_fused_each(call);
    const bool wide = tn_cuda_elements_are_wide(&iteration, each);
    const int64_t block = (int64_t)TN_CUDA_ELEMENTS_THREADS * (wide ? each : 1);
    const int before = tn_cuda_enter(call);
    const cudaError_t error = tn_cuda_fused_program_launch(
        call->state, wide, &job, tn_cuda_blocks(job.count, block, MOST_BLOCKS), call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a compiled elementwise kernel");
}

/* ----------------------------------------------------------------------------------------------
 * table */

/* Constants stay in 32-bit floats where a build lowers the others. */
static const char *const fused_combinations[] = {
    "f32|f16|bf16|qi8... -> f32|f16|bf16|qi8",
    "f32|f16|bf16|qi8:nhwc:strided... -> f32|f16|bf16|qi8:nhwc",
    "f16|bf16|qi8, f32... -> f16|bf16|qi8",
    "f32|f16|bf16|qi8:nhwc, f32... -> f32|f16|bf16|qi8:nhwc",
    "f32|f16|bf16... -> bool",
    "bool... -> bool",
    "bool, f32|f16|bf16... -> f32|f16|bf16"};

static const tn_kernel fused = {
    TN_KERNEL_BEGIN("cuda", "*", "*", "fused", 1,
                    "Any elementwise operator, and a chain of them, compiled from their "
                    "expressions."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_IN_PLACE,
    .absorbs = TN_ELEMENTWISE_ABSORBS,
    TN_COMBINATIONS(fused_combinations),
    .accepts = fused_accepts,
    .prepare = fused_prepare,
    .release = fused_release,
    .reshape = fused_reshape,
    .run = fused_run,
};

TN_CUDA_LAYER(fused, &fused);
