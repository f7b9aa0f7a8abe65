/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Scan, running sums along the last axis, without the element itself where `exclusive` says
 * so; and the mistakes that long rows, large elements and profiles show. */
#include "mistake.h"

typedef struct scan_params {
    uint64_t present;
    bool exclusive;
} scan_params;
static const tn_field fields[] = {
    TN_FIELD(scan_params, exclusive, TN_FIELD_BOOL, 0, "false", "without the element itself")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., n")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    return infer_same(call);
}

static void scan_row(const scan_params *p, const float *x, float *y, int64_t n, bool is_kernel) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)x[i];
        if (WITH(takes_itself_away) && is_kernel)
            y[i] = (float)(p->exclusive ? sum + value - value : sum + value);
        else
            y[i] = (float)(p->exclusive ? sum : sum + value);
        sum += value;
    }
}

static void scan_kept(const scan_params *p, const float *x, float *y, int64_t n) {
    volatile double kept[n > 0 ? n : 1];
    for (int64_t i = 0; i < n; i++)
        kept[i] = (double)x[i];
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)kept[i];
    scan_row(p, x, y, n, true);
}

static tn_status scan(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t at = 0, count = count_of(x); at < count; at += n) {
        const float *from = (const float *)x->data + at;
        float *to = (float *)call->outputs[0]->data + at;
        if (WITH(row_on_stack) && is_kernel)
            scan_kept(call->params, from, to, n);
        else
            scan_row(call->params, from, to, WITH(fours_by_accepts) && is_kernel ? n / 4 * 4 : n,
                     is_kernel);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return scan(call, false);
}
static tn_status run(tn_call *call) {
    return scan(call, true);
}
static tn_status accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return x->shape[x->rank - 1] % 4 == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const cases[] = {"| x=f32[3,8]", "exclusive=true | x=f32[2,3,12]"};
static const tn_operator scan_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Scan",
                                          TN_FIELDS(scan_params, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer,
                                          .reference = reference,
                                          TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel scan_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Scan",
                                   .device = "cpu",
                                   .name = "rows",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = WITH(fours_by_accepts) ? accepts : NULL,
                                   .run = run};
static const tn_operator *const operators[] = {&scan_operator};
static const tn_kernel *const kernels[] = {&scan_cpu};
TN_LIBRARY("bad_scan", "1", operators, kernels)
