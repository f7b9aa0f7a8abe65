/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trilu: the upper or lower triangle of each matrix of the last two axes, zero elsewhere. The
 * diagonal that bounds it is k places to the right of the main one and belongs to it.
 */
#include "kit/operator/layer.h"

typedef struct trilu_params {
    uint64_t present;
    bool upper;
} trilu_params;

enum { TRILU_INPUT = 0, TRILU_K = 1 };

static const tn_field trilu_fields[] = {
    TN_FIELD(trilu_params, upper, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the upper triangle is kept instead of the lower one")};

static tn_status trilu_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, TRILU_INPUT, 2, TN_MAX_RANK));
    const tn_tensor *k = tn_infer_input(call, TRILU_K);
    if (k && tn_element_count(k) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'k' must be one number");
    return tn_infer_copy_shape(call, 0, TRILU_INPUT);
}

/* Within 0..width: the column where row `row` meets the diagonal k, plus `more`. */
static int64_t find_column(int64_t row, int64_t k, int64_t more, int64_t width) {
    if (k < -row - more) return 0;
    if (k > width - row - more) return width;
    return row + k + more;
}

static tn_status trilu_reference(tn_call *call) {
    const trilu_params *params = call->params;
    const tn_tensor *x = call->inputs[TRILU_INPUT], *y = call->outputs[0];
    const tn_tensor *given = tn_infer_input(call, TRILU_K);
    const int64_t k = given ? tn_element_i64(given, 0) : 0;
    const int64_t height = x->shape[x->rank - 2], width = x->shape[x->rank - 1];
    const size_t bytes = tn_element_bytes(x->type), total = (size_t)tn_element_count(x) * bytes;
    if (total == 0) return TN_OK;
    if (y->data != x->data) memcpy(y->data, x->data, total);
    for (int64_t row = 0; row < tn_infer_product(x->shape, 0, x->rank - 1); row++) {
        const int64_t begin = params->upper ? 0 : find_column(row % height, k, 1, width);
        const int64_t end = params->upper ? find_column(row % height, k, 0, width) : width;
        memset((char *)y->data + (size_t)(row * width + begin) * bytes, 0,
               (size_t)(end - begin) * bytes);
    }
    return TN_OK;
}

static const tn_port trilu_inputs[] = {
    TN_PORT("input", "T:any", 0, "any tensor of two axes or more"),
    TN_PORT("k", "i64", TN_PORT_OPTIONAL, "which diagonal bounds the triangle; absent: 0"),
};
static const tn_port trilu_outputs[] = {TN_PORT("output", "T", 0, "the triangles")};
static const char *const trilu_cases[] = {
    "| input=f32[4,5]",
    "upper=0 | input=f32[2,4,5]",
    "| input=i64[3,3] k=i64[]{1}",
    "upper=0 | input=f16[3,3] k=i64[1]{-1}",
    "| input=u8[2,3] k=i64[]{-9}",
    "upper=0 | input=bool[2,3] k=i64[]{9223372036854775807}",
    "| input=f32[2,3] k=i64[]{-9223372036854775808}",
    "| input=f32[0,3]",
};

TN_OPERATOR(trilu, "", "Trilu", 14, "Triangles of matrices.",
            TN_FIELDS(trilu_params, trilu_fields));

TN_LAYER_WITHOUT_KERNELS(trilu, TN_OPERATORS(&trilu_14));
