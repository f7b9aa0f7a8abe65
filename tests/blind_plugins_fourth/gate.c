/* SPDX-License-Identifier: Apache-2.0 */
/* Gate: x times a sigmoid of g, with an expression and a row function. */
#include "fourth.h"

TN_LAYER_PARAMS(params, float slope, floor;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, slope, "1", -16, 16, "factor of g"),
    TN_LAYER_F32(params, floor, "0", 0, 1, "what a closed gate lets through")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape"),
                                 TN_PORT("g", "T", 0, "as x")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x * (floor + (1 - floor) * sigmoid)")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return fourth_same(call, 0, 0);
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const double g = tn_layer_load(call->inputs[1], i);
    return tn_layer_load(call->inputs[0], i) *
           ((double)p->floor + (1 - (double)p->floor) / (1 + exp(-(double)p->slope * g)));
}
TN_LAYER_REFERENCE(element)

static void row(const void *parameters, uint64_t count, const float *const *in,
                const uint64_t *strides, float *out) {
    const params *p = parameters;
    for (uint64_t i = 0; i < count; i++) {
#if MISTAKE == 2
        const float x = in[0][i], g = in[1][i]; /* MISTAKE: a stride may be 0 */
#else
        const float x = in[0][i * strides[0]], g = in[1][i * strides[1]];
#endif
#if MISTAKE == 3
        out[i] = x / (1 + expf(-g)); /* MISTAKE: the fields are forgotten */
#else
        out[i] = x * (p->floor + (1 - p->floor) / (1 + expf(-p->slope * g)));
#endif
    }
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const float *x = call->inputs[0]->data, *g = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
#if MISTAKE == 4
    for (int64_t i = begin; i < end; i++) /* MISTAKE: y may lie on x */
        y[i] = p->floor + (1 - p->floor) / (1 + expf(-p->slope * g[i]));
    for (int64_t i = begin; i < end; i++)
        y[i] *= x[i];
#elif MISTAKE == 5
    for (int64_t i = begin; i < end; i++) {
        const float e = expf(p->slope * g[i]); /* MISTAKE: infinity over infinity */
        y[i] = x[i] * (p->floor + (1 - p->floor) * (e / (1 + e)));
    }
#else
    for (int64_t i = begin; i < end; i++)
        y[i] = x[i] * (p->floor + (1 - p->floor) / (1 + expf(-p->slope * g[i])));
#endif
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 1024, body, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,4] g=f32[2,3,4]",
    "slope=2 floor=0.25 | x=f32[100] g=f32[100]",
    "slope=-1 | x=f64[3] g=f64[3]",
    "| x=f32[2]{2,4} g=f32[2]{0,0} | y=f32[2]{1,2}",
};
static const char *const combinations[] = {"f32, f32 -> f32"};
FOURTH_OPERATOR("Gate", "x times a sigmoid of g.", .state_version = 1,
                .traits = TN_OPERATOR_ELEMENTWISE, TN_FIELDS(params, fields), .row = row,
#if MISTAKE == 1
                /* MISTAKE: the floor is added after the sigmoid */
                .expression = "x * (floor + 1 / (1 + exp(-slope * g)))"
#elif MISTAKE == 6
                /* MISTAKE: overflows for large g */
                .expression = "x * (floor + (1 - floor) * exp(slope * g) / (1 + exp(slope * g)))"
#else
                .expression = "x * (floor + (1 - floor) / (1 + exp(-slope * g)))"
#endif
)
FOURTH_KERNEL(the_kernel, "Gate", "rows", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
              TN_COMBINATIONS(combinations), .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("gate", "1.0", operators, kernels)
