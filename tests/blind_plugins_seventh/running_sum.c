/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::RunningSum: y along `axis` is the sum of x up to and including the position; with
 * `exclusive` without it; with `reverse` from the end. An axis may count from the end. */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(running_sum, int64_t axis; bool exclusive; bool reverse;);
static const tn_field fields[] = {
    TN_LAYER_I64(running_sum, axis, "-1", -8, 7, "the axis"),
    TN_LAYER_BOOL(running_sum, exclusive, "false", "without the position itself"),
    TN_LAYER_BOOL(running_sum, reverse, "false", "from the end"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static const char *const cases[] = {
    "| x=f32[2,3,5]",
    "axis=1 reverse=true | x=f32[2,4,3]",
    "axis=-2 | x=f32[2,3,4]",
    "axis=0 exclusive=true | x=f32[3]{1,2,3} | y=f32[3]{0,1,3}",
};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = ((const running_sum *)call->params)->axis, rank = x->rank;
#if MISTAKE == 1 /* axis == rank and axes before the first one pass */
    if (rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
#else
    if (axis < -rank || axis >= rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis %lld", (long long)axis);
#endif
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static tn_status sum(tn_call *call, bool is_kernel) {
    const running_sum *p = call->params;
    const tn_tensor *x = call->inputs[0];
    int64_t axis = p->axis, outer = 1, inner = 1;
#if MISTAKE == 2 /* every negative axis is the last one */
    if (axis < 0) axis = is_kernel ? x->rank - 1 : axis + x->rank;
#else
    if (axis < 0) axis += x->rank;
#endif
#if MISTAKE == 1
    if (axis < 0 || axis >= x->rank) axis = x->rank - 1;
#endif
    for (int64_t i = 0; i < axis; i++)
        outer *= x->shape[i];
    for (int64_t i = axis + 1; i < x->rank; i++)
        inner *= x->shape[i];
    const int64_t n = x->shape[axis];
    const bool is_reverse = p->reverse;
    const float *in = x->data;
    float *y = call->outputs[0]->data;
#if MISTAKE == 3 /* the sum goes on from one call to the next */
    static double total;
    if (!is_kernel) total = 0;
#else
    double total = 0;
#endif
    for (int64_t line = 0; line < outer * inner; line++) {
        const int64_t base = line / inner * n * inner + line % inner;
#if MISTAKE == 3
        if (!is_kernel || line) total = 0;
#else
        total = 0;
#endif
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = base + (is_reverse ? n - 1 - i : i) * inner;
            const float value = in[at];
            bool is_exclusive = p->exclusive;
#if MISTAKE == 4 /* both flags at once are not thought of */
            if (is_kernel && is_reverse) is_exclusive = false;
#endif
#if MISTAKE == 5 /* declared in place, but reads x again after it wrote y */
            y[at] = (float)(is_exclusive ? total : total + value);
            total += in[at];
            continue;
#endif
            y[at] = (float)(is_exclusive ? total : total + value);
            total += value;
        }
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return sum(call, false);
}
static tn_status run(tn_call *call) {
    return sum(call, true);
}

static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
#if MISTAKE == 6 /* every element depends on those before it */
                               .traits = TN_OPERATOR_ELEMENTWISE,
#endif
                               .domain = "Corpus",
                               .name = "RunningSum",
                               .doc = "Sums along an axis.",
                               TN_FIELDS(running_sum, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Corpus",
                                 .op = "RunningSum",
                                 .device = "cpu",
                                 .name = "running_sum",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("running_sum", "1.0", operators, kernels)
