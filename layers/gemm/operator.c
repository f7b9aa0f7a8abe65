/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gemm: Y = alpha * A' B' + beta * C, the fully connected layer; A' and B' may be transposed, C is
 * broadcast to Y (before opset 7 only where the field `broadcast` says so).
 */
#include "gemm/gemm.h"
#include "gemm/rewrites.h"
#include "kit/gemm/product.h"
#include <tenon/kit/known_steps.h>
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

static const tn_field gemm_fields[] = {
    TN_FIELD(tn_gemm_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "1", "factor of the product"),
    TN_FIELD(tn_gemm_params, beta, TN_FIELD_F32, TN_OPTIONAL, "1", "factor of C"),
    TN_FIELD(tn_gemm_params, transA, TN_FIELD_BOOL, TN_OPTIONAL, "0", "whether A is transposed"),
    TN_FIELD(tn_gemm_params, transB, TN_FIELD_BOOL, TN_OPTIONAL, "0", "whether B is transposed"),
    TN_FIELD(tn_gemm_params, broadcast, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether C may be broadcast"),
};
enum { GEMM_FIELDS_1 = 5, GEMM_FIELDS_7 = 4 };

static tn_status refuse_c(tn_call *call, const tn_gemm_sizes *sizes) {
    const tn_tensor *c = call->inputs[TN_GEMM_C];
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "C has the shape %s, which does not fit [%lld, %lld]",
                            tn_infer_shape_text(c->rank, c->shape, text, sizeof(text)),
                            (long long)sizes->rows, (long long)sizes->columns);
}

static tn_status read_c(tn_call *call, tn_gemm_sizes *sizes) {
    const tn_gemm_params *params = call->params;
    const tn_tensor *c = tn_infer_input(call, TN_GEMM_C);
    bool may_broadcast = call->op->since_version >= 7 || params->broadcast;
    sizes->c_row_stride = sizes->c_column_stride = 0;
    if (!c) return TN_OK;
    if (c->rank > 2 || (!may_broadcast && c->rank != 2)) return refuse_c(call, sizes);
    int64_t columns = c->rank >= 1 ? c->shape[c->rank - 1] : 1;
    int64_t rows = c->rank == 2 ? c->shape[0] : 1;
    bool fits = (rows == sizes->rows || (rows == 1 && may_broadcast)) &&
                (columns == sizes->columns || (columns == 1 && may_broadcast));
    if (!fits) return refuse_c(call, sizes);
    if (rows != 1) sizes->c_row_stride = columns;
    if (columns != 1) sizes->c_column_stride = 1;
    return TN_OK;
}

tn_status tn_gemm_read(tn_call *call, tn_gemm_sizes *out_sizes) {
    const tn_gemm_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_GEMM_A, 2, 2));
    TN_TRY(tn_infer_require_rank(call, TN_GEMM_B, 2, 2));
    const tn_tensor *a = call->inputs[TN_GEMM_A], *b = call->inputs[TN_GEMM_B];
    out_sizes->rows = a->shape[params->transA ? 1 : 0];
    out_sizes->depth = a->shape[params->transA ? 0 : 1];
    out_sizes->columns = b->shape[params->transB ? 0 : 1];
    int64_t depth = b->shape[params->transB ? 1 : 0];
    if (depth != out_sizes->depth)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the product is over %lld elements of A but %lld of B",
                                (long long)out_sizes->depth, (long long)depth);
    out_sizes->a_row_stride = params->transA ? 1 : a->shape[1];
    out_sizes->a_column_stride = params->transA ? a->shape[1] : 1;
    out_sizes->b_row_stride = params->transB ? 1 : b->shape[1];
    out_sizes->b_column_stride = params->transB ? b->shape[1] : 1;
    return read_c(call, out_sizes);
}

static tn_status gemm_infer(tn_call *call) {
    tn_gemm_sizes sizes;
    TN_TRY(tn_gemm_read(call, &sizes));
    int64_t shape[2] = {sizes.rows, sizes.columns};
    return tn_infer_set_shape(call, 0, 2, shape);
}

static tn_status gemm_reference(tn_call *call) {
    const tn_gemm_params *params = call->params;
    const tn_tensor *a = call->inputs[TN_GEMM_A], *b = call->inputs[TN_GEMM_B];
    const tn_tensor *c = tn_infer_input(call, TN_GEMM_C);
    tn_gemm_sizes sizes = {0};
    tn_product product = {0};
    TN_TRY(tn_gemm_read(call, &sizes));
    if (sizes.rows == 0 || sizes.columns == 0) return TN_OK;
    tn_product_job job = {
        .rows = sizes.rows,
        .columns = sizes.columns,
        .depth = sizes.depth,
        .alpha = (double)params->alpha,
        .beta = (double)params->beta,
        .a = {a->data, a->type, 0, sizes.a_row_stride, sizes.a_column_stride},
        .b = {b->data, b->type, 0, sizes.b_row_stride, sizes.b_column_stride},
        .y = call->outputs[0],
    };
    if (c)
        job.c = (tn_product_matrix){c->data, c->type, 0, sizes.c_row_stride, sizes.c_column_stride};
    TN_TRY(tn_product_create(call, sizes.depth, &product));
    tn_product_compute(&product, &job);
    tn_product_destroy(call, &product);
    return TN_OK;
}

static const tn_port gemm_inputs[] = {
    TN_PORT("A", "T:float|i32|i64|u32|u64", 0, "rows x depth, or transposed"),
    TN_PORT("B", "T", 0, "depth x columns, or transposed"),
    TN_PORT("C", "T", TN_PORT_OPTIONAL, "added to the product; broadcast to rows x columns"),
};
static const tn_port gemm_outputs[] = {
    TN_PORT("Y", "T", 0, "rows x columns"),
};
static const char *const gemm_1_cases[] = {
    "| A=f32[3,5] B=f32[5,4] C=f32[3,4]",
    "broadcast=1 transB=1 | A=f32[3,5] B=f32[4,5] C=f32[4]",
    "broadcast=1 alpha=0.5 beta=2 | A=f64[3,5] B=f64[5,4] C=f64[1]",
};
static const char *const gemm_cases[] = {
    "| A=f32[1,1] B=f32[1,1] C=f32[]",
    "| A=f32[3,5] B=f32[5,4]",
    "transA=1 alpha=0.25 beta=0.5 | A=f32[5,3] B=f32[5,4] C=f32[3,1]",
    "transB=1 | A=f32[1,800] B=f32[500,800] C=f32[500]",
    "transA=1 transB=1 | A=f64[7,3] B=f64[9,7] C=f64[1,9]",
    "| A=f16[3,17] B=f16[17,5] C=f16[5]",
    "alpha=2 beta=3 | A=i32[3,5] B=i32[5,4] C=i32[4]",
    "| A=f32[0,5] B=f32[5,4] C=f32[4]",
    "| A=f32[2,0] B=f32[0,3] C=f32[2,3]",
    "| A=f32[64,256] B=f32[256,128] C=f32[128]",
    "transA=1 beta=0.5 | A=f32[70,130] B=f32[70,200] C=f32[130,200]",
};

static tn_status gemm_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_LINEAR)) return TN_ERROR_UNSUPPORTED;
    tn_linear *out_linear = out_facet->what;
    (void)input;
    const tn_gemm_params *params = call->params;
    if (params->alpha != 1.0f || params->beta != 1.0f) return TN_ERROR_UNSUPPORTED;
    out_linear->axis = 1;
    out_linear->weights = TN_GEMM_B;
    out_linear->weights_axis = params->transB ? 0 : 1;
    out_linear->bias = TN_GEMM_C;
    return TN_OK;
}

static tn_status gemm_operations(tn_call *call, double *out_operations) {
    const tn_gemm_params *params = call->params;
    const tn_tensor *y = call->outputs[0];
    const int64_t depth = call->inputs[TN_GEMM_A]->shape[params->transA ? 0 : 1];
    *out_operations = 2.0 * (double)y->shape[0] * (double)y->shape[1] * (double)depth;
    return TN_OK;
}

#define GEMM_OPERATOR(version, fields_count, case_table, facet_function)                           \
    TN_OPERATOR_VERSION(gemm, "", "Gemm", version, "General matrix product.",                      \
                        .params_bytes = sizeof(tn_gemm_params), .field_size = sizeof(tn_field),    \
                        .field_count = fields_count, .fields = gemm_fields,                        \
                        TN_INPUTS(gemm_inputs), TN_OUTPUTS(gemm_outputs), TN_CASES(case_table),    \
                        .operations = gemm_operations, .facet = facet_function)
GEMM_OPERATOR(1, GEMM_FIELDS_1, gemm_1_cases, NULL);
GEMM_OPERATOR(7, GEMM_FIELDS_7, gemm_cases, gemm_facet);

static const tn_operator *const gemm_operators[] = {&gemm_1, &gemm_7};
TN_LAYER_WITH_REWRITES(gemm, gemm_operators, tn_gemm_kernels, tn_gemm_rewrites);
