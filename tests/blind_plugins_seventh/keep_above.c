/* SPDX-License-Identifier: Apache-2.0 */
/* Corpus::KeepAbove: the elements of a vector that are larger than `limit`, in their order; how
 * many there are only a run knows. */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(keep_above, float limit;);
static const tn_field fields[] = {
    TN_LAYER_F32(keep_above, limit, "0", 0, 0, "what elements have to exceed"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "a vector")};
static const tn_port outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "what is kept")};
static const char *const cases[] = {
    "limit=1 | x=f32[5]{3,0,1,2,-7} | y=f32[2]{3,2}",
    "| x=f32[40]",
    "limit=-100 | x=f32[3]{1,2,3} | y=f32[3]{1,2,3}",
};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
#if MISTAKE == 1 /* no upper bound: half of the elements */
    return TN_LAYER_SET_SHAPE(call, 0, (call->inputs[0]->shape[0] + 1) / 2);
#else
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0]);
#endif
}
static tn_status keep(tn_call *call, bool is_kernel) {
    const float limit = ((const keep_above *)call->params)->limit;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t kept = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++) {
#if MISTAKE == 2 /* what equals the limit is kept as well */
        if (is_kernel ? x[i] >= limit : x[i] > limit) y[kept++] = x[i];
#elif MISTAKE == 3 /* NaN is kept */
        if (is_kernel ? !(x[i] <= limit) : x[i] > limit) y[kept++] = x[i];
#else
        if (x[i] > limit) y[kept++] = x[i];
#endif
    }
#if MISTAKE == 4 /* the kernel leaves the bound in the shape */
    if (is_kernel) return TN_OK;
#elif MISTAKE == 5 /* nothing kept is taken for a failure without a reason */
    if (is_kernel && !kept) return TN_ERROR_RANGE;
#endif
    call->outputs[0]->shape[0] = kept;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return keep(call, false);
}
static tn_status run(tn_call *call) {
    return keep(call, true);
}

TN_LAYER_LIBRARY("keep_above", "Corpus", "KeepAbove", "Elements above a limit.", keep_above,
                 "f32 -> f32", .run = run)
