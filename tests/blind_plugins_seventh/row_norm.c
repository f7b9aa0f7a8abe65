/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::RowNorm: each row along the last axis is normalised to mean 0 and variance 1, then scaled
 * by an optional weight: y = (x - mean) / sqrt(variance + epsilon) * weight. */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(row_norm, float epsilon;);
static const tn_field fields[] = {
#if MISTAKE == 1 /* the fallback lies outside of the range */
    TN_LAYER_F32(row_norm, epsilon, "0", 1e-9, 1, "added to the variance"),
#else
    TN_LAYER_F32(row_norm, epsilon, "1e-5", 1e-9, 1, "added to the variance"),
#endif
};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "rows"),
    TN_PORT("weight", "f32", TN_PORT_OPTIONAL, "a factor for each index of the last axis"),
};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static const char *const cases[] = {
    "| x=f32[2,3,8] weight=f32[8]",
    "epsilon=0.01 | x=f32[4,13]",
    "| x=f32[1,4]{1,1,3,3} | y=f32[1,4]{-0.999995,-0.999995,0.999995,0.999995}",
};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static void row(const row_norm *p, const float *x, const float *w, int64_t n, float *y) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i];
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    double factor = 1 / sqrt(square / (double)n + p->epsilon);
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)((x[i] - mean) * factor * (w ? w[i] : 1));
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], rows = tn_layer_rows(x);
    for (int64_t r = 0; r < rows; r++)
        row(call->params, (const float *)x->data + r * n, tn_layer_data(call, 1), n,
            (float *)call->outputs[0]->data + r * n);
    return TN_OK;
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const row_norm *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const float *w = tn_layer_data(call, 1);
#if MISTAKE == 2 /* the optional input is taken for granted */
    w = call->inputs[1]->data;
#endif
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *in = (const float *)x->data + r * n;
        float *out = (float *)call->outputs[0]->data + r * n;
        double mean = 0, square = 0;
        int64_t whole = n;
#if MISTAKE == 3 /* a loop by four without its tail */
        whole = n & ~(int64_t)3;
#endif
        for (int64_t i = 0; i < whole; i++)
            mean += in[i];
        mean /= (double)n;
        for (int64_t i = 0; i < n; i++)
            square += (in[i] - mean) * (in[i] - mean);
#if MISTAKE == 4 /* the unbiased variance */
        square /= (double)(n - 1);
#else
        square /= (double)n;
#endif
#if MISTAKE == 5 /* epsilon outside of the root */
        const double factor = 1 / (sqrt(square) + p->epsilon);
#else
        const double factor = 1 / sqrt(square + p->epsilon);
#endif
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)((in[i] - mean) * factor * (w ? w[i] : 1));
    }
    return TN_OK;
}
#if MISTAKE == 6 /* the last row belongs to nobody */
TN_LAYER_RUN(body, tn_layer_rows(call->inputs[0]) - 1, 4)
#else
TN_LAYER_RUN(body, tn_layer_rows(call->inputs[0]), 4)
#endif

TN_LAYER_LIBRARY("row_norm", "Corpus", "RowNorm", "Rows of mean 0 and variance 1.", row_norm,
                 "f32, f32? -> f32", .run = run)
