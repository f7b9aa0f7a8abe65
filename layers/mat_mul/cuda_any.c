/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of any type, MatMulInteger and QLinearMatMul on CUDA, by kit/cuda/any/byte.cu. */
#include "kit/cuda/any/byte_job.h"
#include "kit/operator/layer.h"
#include "mat_mul/cuda_any.h"
#include "mat_mul/integer.h"

/* One number, one for each index, or those of all matrices. */
static tn_cuda_parameter parameter(const tn_call *call, uint32_t input, int64_t count) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    if (!tensor) return (tn_cuda_parameter){.type = TN_U8};
    const bool is_one = tn_element_count(tensor) == 1;
    return (tn_cuda_parameter){.data = tensor->data,
                               .type = tensor->type,
                               .matrix_step = is_one || tensor->rank == 1 ? 0 : count,
                               .step = is_one ? 0 : 1};
}

static tn_status run(tn_call *call, const tn_mat_mul_sizes *sizes, const tn_tensor *b,
                     tn_cuda_byte_product_job *job) {
    const tn_tensor *a = call->inputs[0], *y = call->outputs[0];
    if (tn_element_count(y) == 0) return TN_OK;
    job->a = a->data;
    job->b = b->data;
    job->y = y->data;
    job->a_type = a->type;
    job->b_type = b->type;
    job->y_type = y->type;
    job->rows = sizes->rows;
    job->columns = sizes->columns;
    job->depth = sizes->depth;
    if (!tn_cuda_box_init(&job->batch, sizes->batch_rank, sizes->batch)) return TN_OK;
    tn_cuda_box_broadcast(&job->batch, 0, sizes->a_batch_rank, a->shape);
    tn_cuda_box_broadcast(&job->batch, 1, sizes->b_batch_rank, b->shape);
    return tn_cuda_any_run(call, tn_cuda_byte_product_launch, job);
}

static tn_status mat_mul_run(tn_call *call) {
    tn_mat_mul_sizes sizes = {0};
    tn_cuda_byte_product_job job = {.rows = 0};
    TN_TRY(tn_mat_mul_read(call, &sizes));
    return run(call, &sizes, call->inputs[1], &job);
}

static tn_status integer_run(tn_call *call) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    tn_mat_mul_sizes sizes = {0};
    TN_TRY(tn_integer_mat_mul_read(call, &sizes));
    tn_cuda_byte_product_job job = {.a_zero = parameter(call, inputs->a_zero, sizes.rows),
                                    .b_zero = parameter(call, inputs->b_zero, sizes.columns)};
    if (inputs->y_scale != TN_NO_INPUT) {
        job.a_scale = parameter(call, inputs->a_scale, sizes.rows);
        job.b_scale = parameter(call, inputs->b_scale, sizes.columns);
        job.y_scale = parameter(call, inputs->y_scale, sizes.rows);
        job.y_zero = parameter(call, inputs->y_zero, sizes.rows);
    }
    return run(call, &sizes, call->inputs[inputs->b], &job);
}

TN_CUDA_ANY_FALLBACK(tn_mat_mul_cuda_any, "MatMul", mat_mul_run);
TN_CUDA_ANY_FALLBACK(tn_mat_mul_integer_cuda_any, "MatMulInteger", integer_run);
TN_CUDA_ANY_FALLBACK(tn_q_linear_mat_mul_cuda_any, "QLinearMatMul", integer_run);
