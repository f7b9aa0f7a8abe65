/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two operators whose kernels are made of the kernel kit: kit::MatMul by a whole kernel of it,
 * kit::Softmax by loops of our own over its vectors (softmax_body.h) and its CUDA helpers
 * (softmax_cuda.cu).
 */
#include "kernel_kit.h"

#include <math.h>
#include <tenon/kit/lanes.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/matrix_kernel.h>
#include <tenon/kit/parallel.h>

/* -------------------------------------------------------------------------------------------------
 * kit::MatMul: Y = A * B, B one matrix. A constant B is packed once and shared by contexts; the
 * product runs on all threads and absorbs bias, residual and activation. */

static tn_status mat_mul_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, 1, 2, 2));
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    int64_t shape[TN_MAX_RANK];
    if (a->shape[a->rank - 1] != b->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the last extent of A is %lld, expected %lld, the rows of B",
                                (long long)a->shape[a->rank - 1], (long long)b->shape[0]);
    for (uint32_t i = 0; i < a->rank; i++)
        shape[i] = i + 1 < a->rank ? a->shape[i] : b->shape[1];
    return tn_infer_set_shape(call, 0, a->rank, shape);
}

static double mat_mul_element(const tn_call *call, int64_t i) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const int64_t depth = b->shape[0], columns = b->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum +=
            tn_layer_load(a, i / columns * depth + k) * tn_layer_load(b, k * columns + i % columns);
    return sum;
}

static tn_status mat_mul_reference(tn_call *call) {
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i, mat_mul_element(call, i));
    return TN_OK;
}

/* How a node reads as a product: all that the kernels have to be told. */
static bool read_product(const tn_call *call, tn_matrix_problem *out_problem) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    *out_problem = (tn_matrix_problem){.rows = tn_layer_rows(a),
                                       .depth = b->shape[0],
                                       .columns = b->shape[1],
                                       .b_row_stride = b->shape[1],
                                       .b_column_stride = 1,
                                       .scale = 1.0f};
    return true;
}

static const char *const mat_mul_combinations[] = {"f32, f32 -> f32"};
TN_MATRIX_KERNELS(packed, "kit", "MatMul", read_product, mat_mul_combinations);

static const tn_port mat_mul_inputs[] = {
    TN_PORT("A", "T:f32|f64", 0, "any axes, depth"),
    TN_PORT("B", "T", 0, "depth, columns"),
};
static const tn_port mat_mul_outputs[] = {TN_PORT("Y", "T", 0, "the axes of A, columns")};
static const char *const mat_mul_cases[] = {
    "| A=f32[3,5] B=f32[5,4]",    "| A=f32[2,3,33] B=f32[33,70]", "| A=f32[7] B=f32[7,100]",
    "| A=f64[3,9] B=f64[9,17]",   "| A=f32[0,5] B=f32[5,4]",      "| A=f32[2,0] B=f32[0,3]",
    "| A=f32[50,64] B=f32[64,1]",
};
static const tn_operator mat_mul = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "kit",
    .name = "MatMul",
    .doc = "Matrix product by one matrix.",
    TN_NO_FIELDS,
    TN_INPUTS(mat_mul_inputs),
    TN_OUTPUTS(mat_mul_outputs),
    .infer = mat_mul_infer,
    .reference = mat_mul_reference,
    TN_CASES(mat_mul_cases),
};

/* -------------------------------------------------------------------------------------------------
 * kit::Softmax along an axis. The kernels do the last one; others are left to the reference. */

static tn_status read_lanes(tn_call *call, tn_lanes *out_lanes) {
    const softmax_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_axis(call, "axis", params->axis, call->inputs[0]->rank, &axis));
    *out_lanes = tn_lanes_along(call->inputs[0], axis, axis + 1);
    return TN_OK;
}

static tn_status softmax_infer(tn_call *call) {
    tn_lanes lanes;
    TN_TRY(read_lanes(call, &lanes));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status softmax_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_lanes lanes;
    TN_TRY(read_lanes(call, &lanes));
    if (y->bytes == 0) return TN_OK;
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++) {
        const int64_t first = tn_lanes_first(&lanes, lane);
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < lanes.count; k++)
            largest = fmax(largest, tn_layer_load(x, first + k * lanes.inner));
        for (int64_t k = 0; k < lanes.count; k++)
            sum += exp(tn_layer_load(x, first + k * lanes.inner) - largest);
        for (int64_t k = 0; k < lanes.count; k++)
            tn_layer_store(y, first + k * lanes.inner,
                           exp(tn_layer_load(x, first + k * lanes.inner) - largest) / sum);
    }
    return TN_OK;
}

static tn_status softmax_accepts(tn_call *call) {
    tn_lanes lanes;
    TN_TRY(read_lanes(call, &lanes));
    return lanes.inner == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct softmax_job {
    softmax_lane function;
    int64_t count;
    const float *x;
    float *y;
} softmax_job;

static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const softmax_job *job = user;
    (void)thread;
    for (int64_t i = begin * job->count; i < end * job->count; i += job->count)
        job->function(job->count, job->x + i, job->y + i);
    return TN_OK;
}

static tn_status softmax_run(tn_call *call) {
    tn_lanes lanes;
    TN_TRY(read_lanes(call, &lanes));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    softmax_job job = {*(const softmax_lane *)call->user, lanes.count, call->inputs[0]->data,
                       call->outputs[0]->data};
    return call->host->parallel_for(call, lanes.outer, tn_parallel_grain(8192, lanes.count),
                                    do_lanes, &job);
}

static const char *const softmax_combinations[] = {"f32 -> f32"};
#define SOFTMAX_KERNEL(level)                                                                      \
    static const softmax_lane lane_##level = softmax_##level;                                      \
    static const tn_kernel lanes_##level = {                                                       \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "kit",                                                                           \
        .op = "Softmax",                                                                           \
        .device = "cpu",                                                                           \
        .name = "lanes_" #level,                                                                   \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                                    \
        TN_COMBINATIONS(softmax_combinations),                                                     \
        .accepts = softmax_accepts,                                                                \
        .run = softmax_run,                                                                        \
        .user = (void *)(uintptr_t)&lane_##level,                                                  \
    }
SOFTMAX_KERNEL(baseline);
SOFTMAX_KERNEL(avx2);
SOFTMAX_KERNEL(avx512);

static const tn_field softmax_fields[] = {
    TN_LAYER_I64(softmax_params, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1,
                 "the axis along which elements sum to one"),
};
static const tn_port softmax_inputs[] = {TN_PORT("input", "T:f32|f64", 0, "any tensor")};
static const tn_port softmax_outputs[] = {TN_PORT("output", "T", 0, "elements of 0..1")};
static const char *const softmax_cases[] = {
    "| input=f32[1]",         "| input=f32[3,10]",     "axis=1 | input=f32[2,3,5]",
    "axis=0 | input=f64[17]", "| input=f32[0,5]",      "| input=f32[64,1000]",
    "| input=f32[5,257]",     "| input=f32[2,3,4,33]",
};
static const tn_operator softmax = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "kit",
    .name = "Softmax",
    .doc = "Exponentials that sum to one along an axis.",
    TN_FIELDS(softmax_params, softmax_fields),
    TN_INPUTS(softmax_inputs),
    TN_OUTPUTS(softmax_outputs),
    .infer = softmax_infer,
    .reference = softmax_reference,
    TN_CASES(softmax_cases),
};

/* ---------------------------------------------------------------------------------------------- */

static const tn_operator *const operators[] = {&mat_mul, &softmax};
static const tn_kernel *const kernels[] = {
    &packed_avx512, &packed_avx2, &packed_baseline, &lanes_avx512, &lanes_avx2, &lanes_baseline,
#ifdef KERNEL_KIT_CUDA
    &softmax_cuda,
#endif
};
TN_LIBRARY("kernel_kit", "1.0", operators, kernels)
