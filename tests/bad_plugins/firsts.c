/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Firsts, where the k greatest elements of each row are, of equal ones the first; and the
 * mistakes of counts that are too large for what they are kept in. */
#include "mistake.h"

#include <math.h>

typedef struct params {
    uint64_t present;
    int64_t k;
} params;
static const tn_field fields[] = {
    TN_FIELD_RANGE(params, k, TN_FIELD_I64, TN_OPTIONAL, "2", 1, 1 << 20, "how many")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t k = ((const params *)call->params)->k;
    if (x->rank != 2 || k > x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "rows of at least %lld elements",
                                (long long)k);
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = k;
    return TN_OK;
}

/* Whether a is before b; NaN is the greatest. */
static bool precedes(float a, float b) {
    return isnan(a) ? !isnan(b) : a > b;
}

/* The element that comes next, where `last` was the one before: -1 for the first. */
static int64_t next_of(const float *x, int64_t count, int64_t last) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        const bool is_taken =
            last >= 0 && (precedes(x[i], x[last]) || (!precedes(x[last], x[i]) && i <= last));
        if (!is_taken && (best < 0 || precedes(x[i], x[best]))) best = i;
    }
    return best;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    enum { TABLE = 256, ROWS = 1024 };
    const int64_t rows = call->inputs[0]->shape[0], count = call->inputs[0]->shape[1];
    const int64_t k = ((const params *)call->params)->k;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)call->inputs[0]->data + r * count;
        int64_t *y = (int64_t *)call->outputs[0]->data + r * k, last = -1;
        for (int64_t i = 0; i < k; i++) {
            last = next_of(x, count, last);
            y[i] = last;
            if (is_kernel && WITH(positions_of_16_bits)) y[i] = (uint16_t)last;
            if (is_kernel && WITH(table_of_256) && i >= TABLE) y[i] = y[i - TABLE];
            if (is_kernel && WITH(rows_of_1024) && r >= ROWS) y[i] = i;
        }
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows")};
static const tn_port outputs[] = {TN_PORT("at", "i64", 0, "of each row k positions")};
static const char *const cases[] = {"| x=f32[2,7]", "k=1 | x=f32[1,3]{1,3,3} | at=i64[1,1]{1}"};
static const tn_operator firsts = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Firsts",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64"};
static const tn_kernel firsts_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Firsts",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .run = run};
static const tn_operator *const operators[] = {&firsts};
static const tn_kernel *const kernels[] = {&firsts_cpu};
TN_LIBRARY("bad_firsts", "1", operators, kernels)
