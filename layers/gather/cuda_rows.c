/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather of rows of a matrix with what follows: another matrix added, and the normalisation of
 * rows, in one launch, by the rows of kit/cuda/any/norm.cu. So networks of tokens begin.
 */
#include "kit/cuda/any/norm_job.h"
#include "gather/cuda_rows.h"
#include "kit/index/index.h"
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"
#include <string.h>
#include <tenon/plugin/normalize.h>

enum { DATA = TN_INDEX_DATA, INDICES = TN_INDEX_INDICES };

/* Input `index` of a step; null: it is no operand. */
static const tn_tensor *operand_of(const tn_call *call, const tn_step *step, uint32_t index) {
    if (index >= step->input_count || step->inputs[index] == TN_STEP_ABSENT ||
        !(step->inputs[index] & TN_STEP_OPERAND))
        return NULL;
    return call->operands[step->inputs[index] & ~TN_STEP_OPERAND];
}

static bool is_sum(const tn_step *step) {
    if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0) return true;
    if (strcmp(step->facet, TN_FACET_EXPRESSION) != 0) return false;
    const tn_operator *op = ((const tn_facet_expression *)step->what)->op;
    return strcmp(op->name, "Add") == 0 && op->domain[0] == 0;
}

/* Of a tensor that is broadcast to y along its first axes alone, as whole rows. */
static bool read_sum(const tn_call *call, const tn_step *step, tn_cuda_norm_job *job) {
    const tn_tensor *y = call->outputs[0], *more = operand_of(call, step, 0);
    if (!more) more = operand_of(call, step, 1);
    if (!more || more->format != TN_LINEAR || (more->type != TN_F32 && more->type != job->y_type))
        return false;
    uint32_t first = 0;
    while (first < more->rank && more->shape[first] == 1)
        first++;
    const uint32_t rank = more->rank - first;
    if (rank == 0 || rank > y->rank) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (more->shape[first + i] != y->shape[y->rank - rank + i]) return false;
    job->more = more->data;
    job->more_type = more->type;
    job->more_rows = tn_infer_product(more->shape, first, more->rank - 1);
    return true;
}

static bool read_norm(const tn_call *call, const tn_step *step, tn_cuda_norm_job *job) {
    const tn_facet_normalize *what = step->what;
    const tn_tensor *scale = operand_of(call, step, 1), *shift = operand_of(call, step, 2);
    if (strcmp(step->facet, TN_FACET_NORMALIZE) != 0 || !scale ||
        (what->axis != -1 && what->axis + 1 != (int32_t)step->output->rank) ||
        (step->input_count > 2 && !shift))
        return false;
    job->scale = scale->data;
    job->scale_type = scale->type;
    job->bias = shift ? shift->data : NULL;
    job->bias_type = shift ? shift->type : TN_F32;
    job->epsilon = (double)what->epsilon;
    return true;
}

static bool read_node(tn_call *call, tn_cuda_norm_job *job) {
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const tn_tensor *y = call->outputs[0];
    uint32_t axis = 0;
    if (data->rank != 2 || y->rank == 0 || y->shape[y->rank - 1] != data->shape[1] ||
        data->shape[1] <= 0 || tn_axis_read(call, data->rank, &axis) != TN_OK || axis != 0)
        return false;
    *job = (tn_cuda_norm_job){.x = data->data,
                              .y = y->data,
                              .type = data->type,
                              .y_type = y->type,
                              .has_mean = true,
                              .lanes = tn_element_count(indices),
                              .count = data->shape[1],
                              .lane_period = 1,
                              .plane = 1,
                              .plane_step = 1,
                              .indices = indices->data,
                              .index_type = indices->type,
                              .rows = data->shape[0]};
    if (call->step_count == 0 || call->step_count > 2) return false;
    if (call->step_count == 2 && (!is_sum(call->steps[0]) || !read_sum(call, call->steps[0], job)))
        return false;
    return read_norm(call, call->steps[call->step_count - 1], job) && tn_cuda_norm_is_rows(job);
}

static tn_status rows_accepts(tn_call *call) {
    tn_cuda_norm_job job;
    return read_node(call, &job) ? tn_cuda_any_accepts(call) : TN_ERROR_UNSUPPORTED;
}

static tn_status rows_run(tn_call *call) {
    tn_cuda_norm_job job;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_node(call, &job))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the kernel does not do rows of these shapes");
    job.fault = tn_cuda_fault_of(call);
    return tn_cuda_any_run(call, tn_cuda_norm_launch, &job);
}

static const char *const combinations[] = {"f32, i64|i32 -> f32|f16|bf16", "f16, i64|i32 -> f16",
                                           "bf16, i64|i32 -> bf16"};
const tn_kernel tn_gather_cuda_rows = {
    TN_KERNEL_BEGIN("cuda", "", "Gather", "normalized_rows", 1,
                    "Rows with a matrix added and their normalisation, a warp each."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,
    .absorbs = TN_FACET_RESIDUAL ", " TN_FACET_EXPRESSION ", " TN_FACET_NORMALIZE,
    TN_COMBINATIONS(combinations),
    .accepts = rows_accepts,
    .open = tn_cuda_fault_open,
    .close = tn_cuda_fault_close,
    .verify = tn_cuda_fault_verify,
    .run = rows_run};
