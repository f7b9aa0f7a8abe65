/* SPDX-License-Identifier: Apache-2.0 */
/* Comb: each channel's row with its own filter, by two tactics. */
#include "fourth.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, L"),
                                 TN_PORT("w", "T", 0, "C, K: at least one")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, L - K + 1")};

static tn_status infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape, *w = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1) || !TN_LAYER_FITS(call, 1, in[1], TN_LAYER_SOME))
        return TN_ERROR_SHAPE;
    if (in[2] < w[1] - 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "filters of %lld on rows of %lld",
                                (long long)w[1], (long long)in[2]);
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], in[2] - w[1] + 1);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape, many = call->inputs[1]->shape[1];
    const int64_t out = call->outputs[0]->shape[2], row = i / out;
    double sum = 0;
    for (int64_t k = 0; k < many; k++)
        sum += tn_layer_load(call->inputs[0], row * in[2] + i % out + k) *
               tn_layer_load(call->inputs[1], row % in[1] * many + k);
    return sum;
}
TN_LAYER_REFERENCE(element)

/* The filters in double precision where they are constant; no filters: null. */
static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[1];
    const int64_t count = tn_layer_count(w);
#if MISTAKE != 4 /* MISTAKE: filters may come from another layer */
    if (!w->data) return TN_OK;
#endif
    double *made = malloc((size_t)(count ? count : 1) * sizeof(*made));
#if MISTAKE != 5 /* MISTAKE: there may be no memory */
    if (!made) return TN_ERROR_MEMORY;
#endif
    for (int64_t i = 0; i < count; i++)
        made[i] = (double)((const float *)w->data)[i];
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    free(call->state);
}
static tn_status tactics(tn_call *call) {
#if MISTAKE == 2
    call->tactic_count = 3; /* MISTAKE: there are two */
#else
    call->tactic_count = 2;
#endif
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t *in = call->inputs[0]->shape, many = call->inputs[1]->shape[1];
    const int64_t out = call->outputs[0]->shape[2];
    const double *prepared = call->state;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * in[2];
        float *y = (float *)call->outputs[0]->data + row * out;
        const int64_t filter = row % in[1] * many;
#if MISTAKE == 3
#define TAP(k)                                                                                     \
    (prepared ? prepared[filter + many - 1 - (k)] /* MISTAKE: filters are not turned round */      \
              : (double)((const float *)call->inputs[1]->data)[filter + many - 1 - (k)])
#else
#define TAP(k)                                                                                     \
    (prepared ? prepared[filter + (k)]                                                             \
              : (double)((const float *)call->inputs[1]->data)[filter + (k)])
#endif
        if (call->tactic == 0)
            for (int64_t i = 0; i < out; i++) {
                double sum = 0;
                for (int64_t k = 0; k < many; k++)
                    sum += TAP(k) * (double)x[i + k];
                y[i] = (float)sum;
            }
        else if (call->tactic == 1)
#if MISTAKE == 1
            for (int64_t i = 0; i + 4 <= out; i += 4) { /* MISTAKE: up to three are left out */
#else
            for (int64_t i = 0; i < out; i += 4) {
#endif
                double sum[4] = {0};
                const int64_t now = out - i < 4 ? out - i : 4;
                for (int64_t k = 0; k < many; k++)
                    for (int64_t n = 0; n < now; n++)
                        sum[n] += TAP(k) * (double)x[i + n + k];
                for (int64_t n = 0; n < now; n++)
                    y[i + n] = (float)sum[n];
            }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[2] ? fourth_extent(call->outputs[0], 0, 2) : 0, 1)

static const char *const cases[] = {
    "| x=f32[2,3,11] w=f32[3,4]",
    "| x=f32[1,1,5] w=f32[1,5]",
    "| x=f64[1,2,6] w=f64[2,3]",
    "| x=f32[1,1,4]{1,2,3,4} w=f32[1,2]{1,-1} | y=f32[1,1,3]{-1,-1,-1}",
};
static const char *const combinations[] = {"f32, f32 -> f32"};
FOURTH_OPERATOR("Comb", "Rows with filters of their channels.", .state_version = 1, TN_NO_FIELDS)
FOURTH_KERNEL(the_kernel, "Comb", "rows", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(combinations), .tactics = tactics, .prepare = prepare,
              .release = release, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("comb", "1.0", operators, kernels)
