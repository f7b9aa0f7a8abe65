/* SPDX-License-Identifier: Apache-2.0 */
/* A polynomial of a list of factors, then a curve through the points of a tensor in the layer's
 * fields at 0, 1, 2 ..., straight between them and constant outside; without the tensor the
 * polynomial alone. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, tn_f32s factors; const tn_tensor *points;);
static const tn_field fields[] = {
    TN_FIELD(params, factors, TN_FIELD_F32S, TN_OPTIONAL, "[0, 1]", "from the constant one up"),
    TN_FIELD(params, points, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "f32, at least one element")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!WRONG(4) && p->points && p->points->type != TN_F32)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'points' is not of type f32");
    if (p->points && (p->points->rank != 1 || p->points->shape[0] < 1))
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'points' is no vector of points");
    return infer_same(call);
}
static double polynomial(const params *p, double x) {
    const uint64_t n = p->factors.count;
    double y = n > 0 || WRONG(2) ? (double)p->factors.items[n - 1] : 0;
    for (uint64_t i = n; i > 1; i--)
        y = y * x + (double)p->factors.items[i - 2];
    return y;
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double y = polynomial(p, tn_layer_load(call->inputs[0], i));
    if (!p->points || isnan(y)) return y;
    const float *points = p->points->data;
    const int64_t last = p->points->shape[0] - 1;
    if (y <= 0) return (double)points[0];
    if (y >= (double)last) return (double)points[last];
    const double part = y - floor(y);
    const double a = (double)points[(int64_t)y], b = (double)points[(int64_t)y + 1];
    return part == 0 ? a : a * (1 - part) + b * part;
}
TN_LAYER_REFERENCE(element)

static float curve(const float *points, int64_t last, double y) {
    if (WRONG(5)) {
        if (y < 0) y = 0;
        if (y >= (double)last) return points[last];
    } else if (isnan(y))
        return (float)y;
    else if (y <= 0)
        return points[0];
    else if (WRONG(3) ? y > (double)last : y >= (double)last)
        return points[last];
    const int32_t at = (int32_t)y;
    const double part = y - (double)at;
    if (part == 0 && !WRONG(3)) return points[at];
    return (float)((double)points[at] * (1 - part) + (double)points[at + 1] * part);
}
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const float *x = call->inputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const double y = polynomial(p, (double)x[i]);
        ((float *)call->outputs[0]->data)[i] =
            p->points || WRONG(1) ? curve(p->points->data, p->points->shape[0] - 1, y) : (float)y;
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 32)

static const char *const cases[] = {
#if MISTAKE != 1
    "| x=f32[3,5]", "factors=[0.5,-1,0.25,2] | x=f32[40]",
#endif
    "points=f32[4]{1,-1,2,0.5} | x=f32[6]{0,1,2,3,0.5,9}",
    "factors=[1,2] points=f32[7]{0,1,4,9,16,25,36} | x=f32[33]"};
static const tn_operator curved = {OPERATOR,
                                   .name = "Curve",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Curve",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("curve", curved, kernel)
