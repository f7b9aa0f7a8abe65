/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Dilated: each channel of N, C, L with a filter of its own, with gaps. */
#include "second.h"

typedef struct dilated_params {
    uint64_t present;
    int64_t stride, dilation, pad;
} dilated_params;
static const tn_field fields[] = {
    OPTION(dilated_params, stride, TN_FIELD_I64, "1", 1, 64, "between outputs"),
    OPTION(dilated_params, dilation, TN_FIELD_I64, "1", 1, 64, "between taps"),
    OPTION(dilated_params, pad, TN_FIELD_I64, "0", 0, 64, "zeros on each side")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, L"),
                                 TN_PORT("w", "T", 0, "C, taps"),
                                 TN_PORT("b", "T", TN_PORT_OPTIONAL, "C")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, positions")};

static tn_status infer(tn_call *call) {
    const dilated_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const tn_tensor *b = call->input_count > 2 ? call->inputs[2] : NULL;
    if (x->rank != 3 || w->rank != 2 || w->shape[0] != x->shape[1] || w->shape[1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x is not N, C, L or w not C, taps");
    if (b && (b->rank != 1 || b->shape[0] != x->shape[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "b has not one number a channel");
    const int64_t range = x->shape[2] + 2 * p->pad - ((w->shape[1] - 1) * p->dilation + 1);
    if (range < 0 && !IS(3))
        return call->host->fail(call, TN_ERROR_SHAPE, "the filter is longer than x");
    same_shape(call, 0, 0);
    call->outputs[0]->shape[2] = range / p->stride + 1;
    return TN_OK;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const dilated_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const tn_tensor *b = call->input_count > 2 ? call->inputs[2] : NULL;
    const tn_tensor *y = call->outputs[0];
    const int64_t channels = x->shape[1], length = x->shape[2], taps = w->shape[1];
    for (int64_t i = 0, count = elements(y); i < count; i++) {
        const int64_t o = i % y->shape[2], row = i / y->shape[2], c = row % channels;
        const int64_t first =
            is_kernel && IS(2) ? (o * p->stride * p->dilation) - p->pad : o * p->stride - p->pad;
        double sum = 0;
        if (is_kernel && IS(4))
            sum = get(b, c);
        else if (b)
            sum = get(b, is_kernel && IS(5) ? row : c);
        if (is_kernel && IS(1) && p->stride == 1 && first >= 0 && first + taps - 1 < length) {
            for (int64_t k = 0; k < taps; k++) /* inside: no need to look */
                sum += get(x, row * length + first + k * p->dilation) * get(w, c * taps + k);
        } else {
            for (int64_t k = 0; k < taps; k++) {
                const int64_t at = first + k * p->dilation;
                if (at >= 0 && at < length) sum += get(x, row * length + at) * get(w, c * taps + k);
            }
        }
        set(y, i, sum);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {"| x=f32[1,2,9] w=f32[2,3] b=f32[2]",
                                    "stride=2 pad=1 | x=f32[1,3,8] w=f32[3,3] b=f32[3]",
#if MISTAKE != 4
                                    "stride=2 pad=1 | x=f64[1,3,8] w=f64[3,3]",
#endif
#if MISTAKE == 0
                                    "stride=3 dilation=2 pad=1 | x=f32[2,2,9] w=f32[2,2] b=f32[2]",
                                    "dilation=3 pad=2 | x=f32[2,1,12] w=f32[1,4]",
#endif
                                    "dilation=2 | x=f32[1,1,11] w=f32[1,5] b=f32[1]"};
static const char *const combinations[] = {"f32, f32, f32? -> f32"};
OPERATOR("Dilated", "Filters with gaps, a channel each.", TN_FIELDS(dilated_params, fields))
KERNEL("Dilated", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_dilated")
