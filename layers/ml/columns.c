/* SPDX-License-Identifier: Apache-2.0 */
/* FeatureVectorizer, which puts columns beside each other, and ArrayFeatureExtractor, which picks
 * them by index. */
#include "ml/scores.h"

/* ----------------------------------------------------------------------------------------------
 * FeatureVectorizer */

typedef struct vectorizer_params {
    uint64_t present;
    tn_i64s inputdimensions;
} vectorizer_params;

/* Rows of an input, and how many columns it has: a vector is one column. */
static void read_matrix(const tn_tensor *x, int64_t *out_rows, int64_t *out_columns) {
    *out_rows = x->shape[0];
    *out_columns = x->rank == 2 ? x->shape[1] : 1;
}

/* How many columns of the output an input has. */
static int64_t width_of(const tn_call *call, uint32_t input) {
    const vectorizer_params *params = call->params;
    int64_t rows, columns;
    read_matrix(call->inputs[input], &rows, &columns);
    return params->inputdimensions.count > 0 ? params->inputdimensions.items[input] : columns;
}

static tn_status vectorizer_infer(tn_call *call) {
    const vectorizer_params *params = call->params;
    int64_t shape[2] = {0};
    if (params->inputdimensions.count > 0 && params->inputdimensions.count != call->input_count)
        return call->host->fail(
            call, TN_ERROR_ARGUMENT, "field 'inputdimensions' has %llu values for %u inputs",
            (unsigned long long)params->inputdimensions.count, call->input_count);
    for (uint32_t i = 0; i < call->input_count; i++) {
        int64_t rows, columns;
        TN_TRY(tn_infer_require_rank(call, i, 1, 2));
        read_matrix(call->inputs[i], &rows, &columns);
        if (i > 0 && rows != shape[0])
            return call->host->fail(call, TN_ERROR_SHAPE, "input %u has %lld rows, input 0 %lld", i,
                                    (long long)rows, (long long)shape[0]);
        shape[0] = rows;
        if (width_of(call, i) < 0 || !tn_infer_add(shape[1], width_of(call, i), &shape[1]))
            return call->host->fail(call, TN_ERROR_RANGE, "field 'inputdimensions': %lld",
                                    (long long)width_of(call, i));
    }
    return tn_infer_set_shape(call, 0, 2, shape);
}

/* Columns that an input does not have are zero. */
static tn_status vectorizer_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t stride = y->shape[1];
    float *to = y->data;
    for (uint32_t i = 0; i < call->input_count; to += width_of(call, i++)) {
        const tn_tensor *x = call->inputs[i];
        const int64_t width = width_of(call, i);
        int64_t rows, columns;
        read_matrix(x, &rows, &columns);
        for (int64_t row = 0; row < rows; row++)
            for (int64_t k = 0; k < width; k++)
                to[row * stride + k] =
                    k < columns ? (float)tn_element_f64(x, row * columns + k) : 0;
    }
    return TN_OK;
}

static const tn_field vectorizer_fields[] = {
    TN_FIELD(vectorizer_params, inputdimensions, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "how many columns each input gets; what it has beyond them is left out, what it lacks "
             "is 0; absent: all that it has")};
static const tn_port vectorizer_inputs[] = {{"X", "i32|i64|f32|f64", "[N, C] each, or [N]",
                                             TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 1, 0}};
static const tn_port vectorizer_outputs[] = {TN_PORT("Y", "f32", 0, "[N, sum of columns]")};
static const char *const vectorizer_cases[] = {
    "inputdimensions=[3,2] | X=f32[4,3] X=f32[4,2]",
    "inputdimensions=[2,3,1] | X=f32[2,4] X=i64[2,2] X=i32[2]",
    "| X=f64[3,2] X=f32[3,1]",
    "inputdimensions=[0,1] | X=f32[2,3] X=f32[2,1]",
    "| X=f32[0,3]",
};
TN_OPERATOR(vectorizer, TN_ML, "FeatureVectorizer", 1, "Features of several inputs in one row.",
            TN_FIELDS(vectorizer_params, vectorizer_fields));

/* ----------------------------------------------------------------------------------------------
 * ArrayFeatureExtractor */

static tn_status extractor_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    const int64_t count = tn_element_count(call->inputs[1]);
    int64_t shape[TN_MAX_RANK] = {1, count};
    if (count < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'Y' has no indices");
    if (x->rank == 1) return tn_infer_set_shape(call, 0, 2, shape);
    memcpy(shape, x->shape, (x->rank - 1) * sizeof(*shape));
    shape[x->rank - 1] = count;
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

static tn_status check_indices(tn_call *call, int64_t extent, int64_t count) {
    const int64_t *indices = call->inputs[1]->data;
    for (int64_t i = 0; i < count; i++)
        if (indices[i] < 0 || indices[i] >= extent)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "input 'Y': index %lld is outside 0..%lld",
                                    (long long)indices[i], (long long)extent - 1);
    return TN_OK;
}

static tn_status extractor_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *z = call->outputs[0];
    const int64_t *indices = call->inputs[1]->data;
    const int64_t extent = x->shape[x->rank - 1], count = tn_element_count(call->inputs[1]);
    const size_t bytes = tn_element_bytes(x->type);
    TN_TRY(check_indices(call, extent, count));
    for (int64_t i = 0, end = tn_element_count(z); i < end; i++)
        memcpy((char *)z->data + (size_t)i * bytes,
               (const char *)x->data + (size_t)(i / count * extent + indices[i % count]) * bytes,
               bytes);
    if (x->type != TN_STRING) return TN_OK;
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    return strings->share(call, 0, 0);
}

static const tn_port extractor_inputs[] = {
    TN_PORT("X", "T:f32|f64|i64|i32|string", 0, "any tensor of rank 1 or more"),
    TN_PORT("Y", "i64", 0, "indices along the last axis"),
};
static const tn_port extractor_outputs[] = {
    TN_PORT("Z", "T", 0, "X's shape with the indices' number as the last extent")};
static const char *const extractor_cases[] = {
    "| X=f32[3,4] Y=i64[2]{1,3}",
    "| X=f64[2,3,4] Y=i64[1,3]{0,0,2}",
    "| X=i64[5] Y=i64[2]{4,0}",
    "| X=i32[0,4] Y=i64[1]{2}",
    "| X=string[2,2]{a,b,c,d} Y=i64[]{1} | Z=string[2,1]{b,d}",
};
TN_OPERATOR(extractor, TN_ML, "ArrayFeatureExtractor", 1, "Columns picked by their indices.",
            TN_NO_FIELDS, .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(ml_columns, TN_OPERATORS(&vectorizer_1, &extractor_1));
