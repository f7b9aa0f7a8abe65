/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Scan, running sums along the last axis, from the end or without the element itself where the
 * fields say so, and beginning with `start`; and the mistakes that long rows, large elements,
 * profiles, two fields at a time and inputs of no case show. */
#include "mistake.h"

typedef struct scan_params {
    uint64_t present;
    bool exclusive, backwards;
} scan_params;
static const tn_field fields[] = {
    TN_FIELD(scan_params, exclusive, TN_FIELD_BOOL, 0, "false", "without the element itself"),
    TN_FIELD(scan_params, backwards, TN_FIELD_BOOL, 0, "false", "from the end")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., n"),
                                 TN_PORT("start", "f32", TN_PORT_OPTIONAL, "one element")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    if (call->input_count > 1 && call->inputs[1] && count_of(call->inputs[1]) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "start is not one element");
    return infer_same(call);
}

static void scan_row(const scan_params *p, const float *x, float *y, int64_t n, double sum,
                     bool is_kernel) {
    const bool exclusive =
        p->exclusive && !(WITH(one_field_at_a_time) && is_kernel && p->backwards);
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = p->backwards ? n - 1 - k : k;
        const double value = (double)x[i];
        if (WITH(takes_itself_away) && is_kernel)
            y[i] = (float)(exclusive ? sum + value - value : sum + value);
        else
            y[i] = (float)(exclusive ? sum : sum + value);
        sum += value;
    }
}

static void scan_kept(const scan_params *p, const float *x, float *y, int64_t n, double start) {
    volatile double kept[n > 0 ? n : 1];
    for (int64_t i = 0; i < n; i++)
        kept[i] = (double)x[i];
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)kept[i];
    scan_row(p, x, y, n, start, true);
}

static tn_status scan(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const tn_tensor *given = call->input_count > 1 ? call->inputs[1] : NULL;
    const bool is_started = given && !(WITH(forgets_optional) && is_kernel);
    const double start = is_started ? (double)*(const float *)given->data : 0;
    for (int64_t at = 0, count = count_of(x); at < count; at += n) {
        const float *from = (const float *)x->data + at;
        float *to = (float *)call->outputs[0]->data + at;
        if (WITH(row_on_stack) && is_kernel)
            scan_kept(call->params, from, to, n, start);
        else
            scan_row(call->params, from, to, WITH(fours_by_accepts) && is_kernel ? n / 4 * 4 : n,
                     start, is_kernel);
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

static const char *const cases[] = {"| x=f32[16]", "| x=f32[3,8]", "exclusive=true | x=f32[2,3,12]",
                                    "backwards=true | x=f32[4,4]"};
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
static const char *const combinations[] = {"f32, f32? -> f32"};
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
