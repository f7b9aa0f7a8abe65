/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul: the matrix product of NumPy's matmul: vectors gain an axis that is taken away again, axes
 * before the last two are broadcast.
 */
#include "mat_mul/integer.h"
#include "mat_mul/rewrites.h"
#include "kit/gemm/product.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/known_steps.h>
#include <tenon/kit/open.h>
#include <tenon/plugin/before.h>
#include "kit/operator/layer.h"

static tn_status refuse_shapes(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    char left[TN_INFER_SHAPE_TEXT_BYTES], right[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE, "A of shape %s cannot be multiplied with B of %s",
                            tn_infer_shape_text(a->rank, a->shape, left, sizeof(left)),
                            tn_infer_shape_text(b->rank, b->shape, right, sizeof(right)));
}

tn_status tn_mat_mul_read(tn_call *call, tn_mat_mul_sizes *out_sizes) {
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, 1, 1, TN_MAX_RANK));
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    out_sizes->a_is_vector = a->rank == 1;
    out_sizes->b_is_vector = b->rank == 1;
    out_sizes->rows = a->rank == 1 ? 1 : a->shape[a->rank - 2];
    const int64_t a_depth = a->shape[a->rank - 1];
    out_sizes->depth = b->shape[b->rank == 1 ? 0 : b->rank - 2];
    out_sizes->columns = b->rank == 1 ? 1 : b->shape[b->rank - 1];
    if (!tn_open_fits(a_depth, out_sizes->depth)) return refuse_shapes(call);
    if (out_sizes->depth < 0) out_sizes->depth = a_depth;
    uint32_t a_rank = a->rank > 2 ? a->rank - 2 : 0, b_rank = b->rank > 2 ? b->rank - 2 : 0;
    uint32_t rank = a_rank > b_rank ? a_rank : b_rank;
    out_sizes->batch_rank = rank;
    out_sizes->a_batch_rank = a_rank;
    out_sizes->b_batch_rank = b_rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t left = i < rank - a_rank ? 1 : a->shape[i - (rank - a_rank)];
        int64_t right = i < rank - b_rank ? 1 : b->shape[i - (rank - b_rank)];
        if (!tn_open_fits(left, right) && left != 1 && right != 1) return refuse_shapes(call);
        out_sizes->batch[i] = left == 1 ? right : left;
    }
    return TN_OK;
}

static tn_status mat_mul_infer(tn_call *call) {
    tn_mat_mul_sizes sizes;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_mat_mul_read(call, &sizes));
    uint32_t rank = sizes.batch_rank;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = sizes.batch[i];
    if (!sizes.a_is_vector) shape[rank++] = sizes.rows;
    if (!sizes.b_is_vector) shape[rank++] = sizes.columns;
    return tn_infer_set_shape(call, 0, rank, shape);
}

/* All products of the batch, each matrix counted as one element of its tensor's leading axes. */
static void compute_batch(const tn_call *call, const tn_mat_mul_sizes *sizes,
                          const tn_product *product, tn_product_job *job) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, sizes->batch_rank, sizes->batch);
    tn_broadcast_add(&rows, sizes->a_batch_rank, a->shape);
    tn_broadcast_add(&rows, sizes->b_batch_rank, b->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows)) {
        for (int64_t i = 0; i < rows.count; i++) {
            job->a.offset = (rows.offset[0] + i * rows.stride[0]) * sizes->rows * sizes->depth;
            job->b.offset = (rows.offset[1] + i * rows.stride[1]) * sizes->depth * sizes->columns;
            job->y_offset = (rows.output_offset + i) * sizes->rows * sizes->columns;
            tn_product_compute(product, job);
        }
    }
}

static tn_status mat_mul_reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    tn_mat_mul_sizes sizes = {0};
    tn_product product = {0};
    TN_TRY(tn_mat_mul_read(call, &sizes));
    if (sizes.rows == 0 || sizes.columns == 0) return TN_OK;
    tn_product_job job = {
        .rows = sizes.rows,
        .columns = sizes.columns,
        .depth = sizes.depth,
        .alpha = 1,
        .a = {a->data, a->type, 0, sizes.depth, 1},
        .b = {b->data, b->type, 0, sizes.columns, 1},
        .y = call->outputs[0],
    };
    TN_TRY(tn_product_create(call, sizes.depth, &product));
    compute_batch(call, &sizes, &product, &job);
    tn_product_destroy(call, &product);
    return TN_OK;
}

static const tn_port mat_mul_inputs[] = {
    TN_PORT("A", "T:float|i32|i64|u32|u64", 0, "batch axes, rows, depth; or a vector"),
    TN_PORT("B", "T", 0, "batch axes, depth, columns; or a vector"),
};
static const tn_port mat_mul_outputs[] = {
    TN_PORT("Y", "T", 0, "batch axes, rows, columns"),
};
static const char *const mat_mul_cases[] = {
    "| A=f32[1] B=f32[1]",
    "| A=f32[3,5] B=f32[5,4]",
    "| A=f32[3,19,104] B=f32[104,44]",
    "| A=f32[37,1200] B=f32[1200,384]",
    "| A=f32[5] B=f32[2,5,4]",
    "| A=f32[2,3,5] B=f32[5]",
    "| A=f32[2,1,3,5] B=f32[4,5,2]",
    "| A=f64[3,33] B=f64[33,17]",
    "| A=bf16[2,9] B=bf16[9,3]",
    "| A=f16[3,7,65] B=f16[65,70]",
    "| A=bf16[2,3,17,33] B=bf16[3,33,20]",
    "| A=i64[2,3] B=i64[3,2]",
    "| A=f32[0,3,5] B=f32[5,4]",
    "| A=f32[2,0] B=f32[0,3]",
    "| A=f32[12,64,64] B=f32[12,64,64]",
    "| A=i32[2,19,7] B=i32[7,37]",
    "| A=u64[5] B=u64[2,5,3]",
    "| A=u32[3,1] B=u32[1]",
    "| A=f64[2,0] B=f64[0,3]",
    "| A=i64[6,40] B=i64[40,33]",
    "| A=f64[65,70] B=f64[70,50]",
    "| A=i32[1,2]{2147483647,2} B=i32[2,1]{3,-2147483648}",
};

/* Rows by a constant matrix. */
static tn_status mat_mul_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    if (input != 0 || !tn_known_is(name, TN_FACET_MATRIX_PRODUCT) || call->inputs[0]->rank < 2 ||
        call->inputs[1]->rank != 2)
        return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    out_facet->flags = TN_FACET_RESHAPES;
    out_facet->operand_count = 1;
    out_facet->operands[0] = (tn_facet_operand){.input = 1, .form = TN_OPERAND_CONSTANT};
    return TN_OK;
}

static tn_status mat_mul_operations(tn_call *call, double *out_operations) {
    const tn_tensor *a = call->inputs[0], *y = call->outputs[0];
    double operations = 2.0 * (double)a->shape[a->rank - 1];
    for (uint32_t axis = 0; axis < y->rank; axis++)
        operations *= (double)y->shape[axis];
    *out_operations = operations;
    return TN_OK;
}

TN_OPERATOR(mat_mul, "", "MatMul", 1, "Matrix product, batches broadcast.", TN_NO_FIELDS,
            .facet = mat_mul_facet, .operations = mat_mul_operations);

static const tn_operator *const mat_mul_operators[] = {
    &mat_mul_1, &tn_mat_mul_integer_10, &tn_q_linear_mat_mul_10, &tn_q_linear_mat_mul_21,
    &tn_mat_mul_to_float_1};
TN_LAYER_WITH_REWRITES(mat_mul, mat_mul_operators, tn_mat_mul_kernels, tn_mat_mul_rewrites);
