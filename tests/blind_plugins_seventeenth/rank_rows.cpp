/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of each row are in ascending order, in C++. Equal ones stay in their order,
 * NaN comes last. */
#include "seventeenth.h"
#include <algorithm>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("order", "i64", 0, "as x")};

static tn_status infer(tn_call *call) noexcept {
    TN_TRY(require_rank(call, 0, 1));
    return infer_same(call);
}

static int64_t length_of(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}

/* Whether a comes before b. */
static bool is_less(float a, float b) {
    return a < b || (std::isnan(b) && !std::isnan(a));
}

static tn_status reference(tn_call *call) noexcept {
    const int64_t n = length_of(call);
    for (int64_t r = 0; n > 0 && r < tn_layer_rows(call->inputs[0]); r++) {
        const float *x = static_cast<const float *>(call->inputs[0]->data) + r * n;
        int64_t *order = static_cast<int64_t *>(call->outputs[0]->data) + r * n;
        for (int64_t i = 0; i < n; i++)
            order[i] = i;
        std::stable_sort(order, order + n,
                         [x](int64_t a, int64_t b) { return is_less(x[a], x[b]); });
    }
    return TN_OK;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) noexcept {
    const tn_call *call = static_cast<const tn_call *>(user);
    const int64_t n = length_of(call);
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *x = static_cast<const float *>(call->inputs[0]->data) + r * n;
        int64_t *order = static_cast<int64_t *>(call->outputs[0]->data) + r * n;
        for (int64_t i = 0; i < n; i++)
            order[i] = i;
        std::sort(order, order + n, [x](int64_t a, int64_t b) {
#if MISTAKE == 1
            return is_less(x[a], x[b]);
#elif MISTAKE == 2
            return x[a] < x[b] || (!(x[b] < x[a]) && a < b);
#else
            return is_less(x[a], x[b]) || (!is_less(x[b], x[a]) && a < b);
#endif
        });
    }
    return TN_OK;
}
static tn_status run(tn_call *call) noexcept {
    return call->host->parallel_for(call, length_of(call) > 0 ? tn_layer_rows(call->inputs[0]) : 0,
                                    1, rows, call);
}

static const char *const cases[] = {"| x=f32[3,7]", "| x=f32[2,2,5]", "| x=f32[6]{2,1,2,-1,1,0}"};
static const tn_operator rank_rows = {
    OPERATOR,       .name = "RankRows",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RankRows",
                                 .device = "cpu",
                                 .name = "sort",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("rank_rows", rank_rows, kernel)
