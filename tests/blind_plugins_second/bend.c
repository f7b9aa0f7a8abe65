/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Bend: elementwise operators that describe themselves: expression, row, facet,
 * rewrite. */
#include "second.h"
#include <tenon/plugin/rewrite.h>
#include "../support/steps.h"

typedef struct bend_params {
    uint64_t present;
    float alpha, beta;
} bend_params;
static const tn_field fields[] = {
    OPTION(bend_params, alpha, TN_FIELD_F32, "1", -10, 10, "first number"),
    OPTION(bend_params, beta, TN_FIELD_F32, "2", -10, 10, "second number")};
#define TWO (MISTAKE == 3 || MISTAKE == 50)
#if MISTAKE == 3 || MISTAKE == 50
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                 TN_PORT("z", "f32", 0, "as x, or one number")};
#else
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|f16", 0, "any shape")};
#endif
#if MISTAKE == 3 || MISTAKE == 50
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
#else
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};
#endif

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (TWO) {
        const tn_tensor *z = call->inputs[1];
        bool same = x->rank == z->rank;
        for (uint32_t i = 0; same && i < x->rank; i++)
            same = x->shape[i] == z->shape[i];
        if (!same && (z->rank > x->rank || elements(z) != 1))
            return call->host->fail(call, TN_ERROR_SHAPE, "z is neither as x nor one number");
    }
    same_shape(call, 0, 0);
    return TN_OK;
}
static double value(const bend_params *p, double x, double z) {
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    (void)alpha, (void)beta, (void)z;
    switch (MISTAKE) {
    case 1:
        return x >= 0 ? alpha : beta * x;
    case 2:
        return alpha * tanh(x) + beta;
    case 3:
    case 50:
        return alpha * x + beta * z;
    case 4:
        return alpha * (fmax(x, 0) + log1p(exp(-fabs(x))));
    case 5:
        return x < alpha ? alpha : x > beta ? beta : x;
    case 6:
        x = x < alpha ? alpha : x;
        return x > beta ? beta : x;
    case 7:
        return x / (1 + exp(-(double)p->beta * x));
    case 8:
        return pow(fabs(x), beta);
    default:
        return alpha * tanh(x) + fabs(x) / (beta * beta + 1);
    }
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *z = TWO ? call->inputs[1] : NULL, *y = call->outputs[0];
    const bool is_one = z && elements(z) == 1;
    for (int64_t i = 0, count = elements(x); i < count; i++)
        set(y, i, value(call->params, get(x, i), z ? get(z, is_one ? 0 : i) : 0));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return reference(call);
}
static void row(const void *params, uint64_t count, const float *const *inputs_,
                const uint64_t *strides, float *output) {
    for (uint64_t i = 0; i < count; i++) {
        const float x = inputs_[0][i * strides[0]];
        const float z = TWO ? inputs_[1][IS(3) ? i : i * strides[1]] : 0;
        output[i] = (float)value(params, (double)x, (double)z);
    }
}
static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    const bend_params *p = call->params;
    if (MISTAKE != 5 || input != 0) return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_CLIP;
    out_step->alpha = p->beta;
    out_step->beta = p->alpha;
    return TN_OK;
}
DESCRIBES(facet, epilogue, NULL, NULL)
#if MISTAKE == 3 || MISTAKE == 50
static const char *const cases[] = {
    "| x=f32[3,5] z=f32[3,5]", "alpha=0.5 beta=-1 | x=f32[7] z=f32[7]", "| x=f32[2,9] z=f32[]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
#else
static const char *const cases[] = {"| x=f32[3,5]", "| x=f64[7]", "| x=f16[9]", "| x=f32[0,4]"};
static const char *const combinations[] = {"f32 -> f32", "f64 -> f64", "f16 -> f16"};
#endif
#if MISTAKE == 1
#define EXPRESSION "x > 0 ? alpha : beta * x"
#elif MISTAKE == 2
#define EXPRESSION "alpha * tanh(x) + 2"
#elif MISTAKE == 3 || MISTAKE == 50
#define EXPRESSION "alpha * x + beta * z"
#elif MISTAKE == 4
#define EXPRESSION "alpha * log(1 + exp(x))"
#elif MISTAKE == 5
#define EXPRESSION "x < alpha ? alpha : x > beta ? beta : x"
#elif MISTAKE == 6
#define EXPRESSION "fmin(fmax(x, alpha), beta)"
#elif MISTAKE == 7
#define EXPRESSION "x / (1 + exp(-beta * x))"
#elif MISTAKE == 8
#define EXPRESSION "pow(x, beta)"
#else
#define EXPRESSION "alpha * tanh(x) + fabs(x) / (beta * beta + 1)"
#endif
#if MISTAKE == 7
#define MORE .row = NULL
#elif MISTAKE == 5
#define MORE .facet = facet
#else
#define MORE .row = row
#endif
OPERATOR("SecondBend", "A curve.", TN_FIELDS(bend_params, fields),
         .traits = TN_OPERATOR_ELEMENTWISE, .expression = EXPRESSION, MORE)
KERNEL("SecondBend", .traits = TN_KERNEL_DETERMINISTIC)
#if MISTAKE == 7
static const char *const rewrite_cases[] = {"x=f32[3,5]"};
static const tn_rewrite rewrite = {.size = sizeof(tn_rewrite),
                                   .name = "bend",
                                   .pattern = "y = Mul(x, Sigmoid(x))",
                                   .replacement = "y = " DOMAIN "::SecondBend(x)",
                                   TN_REWRITE_CASES(rewrite_cases)};
static const tn_operator *const operators[] = {&the_operator};
static const tn_kernel *const kernels[] = {&the_kernel};
static const tn_rewrite *const rewrites[] = {&rewrite};
TN_LIBRARY_REWRITES("second_bend", "1.0", operators, kernels, rewrites)
#else
LIBRARY("second_bend")
#endif
