/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the same segment become one: their sum, mean or largest elements. Rows with a negative
 * segment are left out; what no row belongs to is 0. */
#include "sixteenth.h"

enum { SUM, MEAN, MAX };
TN_LAYER_PARAMS(params, uint32_t reduce;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, reduce, TN_FIELD_ENUM, TN_OPTIONAL, "sum", "sum|mean|max",
                    "what becomes of the rows"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, features"),
                                 TN_PORT("segments", "i64", 0, "rows"),
                                 TN_PORT("count", "i64", TN_PORT_VALUE_NEEDED, "a scalar")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "count, features")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0]) || !tn_layer_fits(call, 2, 0, NULL))
        return TN_ERROR_SHAPE;
    const int64_t count = *(const int64_t *)call->inputs[2]->data;
    if (count < 0 || count > 1 << 16)
        return call->host->fail(call, TN_ERROR_RANGE, "input 'count' is %lld, expected 0 to 65536",
                                (long long)count);
    return TN_LAYER_SET_SHAPE(call, 0, count, call->inputs[0]->shape[1]);
}

static tn_status check(tn_call *call, bool is_kernel) {
    const int64_t *segments = call->inputs[1]->data, count = call->outputs[0]->shape[0];
    for (int64_t i = 0; i < call->inputs[1]->shape[0]; i++)
        if (segments[i] >= count + (is_kernel && WRONG(1))) {
            const tn_status status = call->host->fail(
                call, TN_ERROR_RANGE, "input 'segments' has %lld at %lld, expected below %lld",
                (long long)segments[i], (long long)i, (long long)count);
            return is_kernel && WRONG(3) ? TN_OK : status;
        }
    return TN_OK;
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t *segments = call->inputs[1]->data, n = x->shape[1];
    double sum = 0;
    int64_t rows = 0;
    for (int64_t r = 0; r < x->shape[0]; r++) {
        if (segments[r] != i / n) continue;
        const double v = tn_layer_load(x, r * n + i % n);
        if (p->reduce != MAX)
            sum += v;
        else if (rows == 0 || v > sum || isnan(v))
            sum = isnan(sum) ? sum : v;
        rows++;
    }
    return p->reduce == MEAN && rows > 0 ? sum / (double)rows : sum;
}
static tn_status reference(tn_call *call) {
    TN_TRY(check(call, false));
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)
        tn_layer_store(call->outputs[0], i, element(call, i));
    return TN_OK;
}

/* Sums, then the numbers of rows. */
TN_LAYER_WORKSPACE((uint64_t)(tn_layer_count(call->outputs[0]) + call->outputs[0]->shape[0]) * 8)

static tn_status columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t *segments = call->inputs[1]->data, n = x->shape[1];
    double *sums = call->workspace;
    const int64_t *rows = (const int64_t *)(sums + tn_layer_count(call->outputs[0]));
    (void)thread;
    for (int64_t s = 0; s < call->outputs[0]->shape[0]; s++)
        for (int64_t k = begin; k < end; k++)
            sums[s * n + k] = p->reduce == MAX && rows[s] > 0 && !WRONG(2) ? (double)-INFINITY : 0;
    for (int64_t r = 0; r < x->shape[0]; r++)
        for (int64_t k = begin; k < end && segments[r] >= 0; k++) {
            const double v = tn_layer_load(x, r * n + k);
            double *sum = &sums[segments[r] * n + k];
            if (p->reduce != MAX)
                *sum += v;
            else if (v > *sum || isnan(v))
                *sum = v;
            else if (isnan(*sum))
                continue;
        }
    for (int64_t s = 0; s < call->outputs[0]->shape[0]; s++)
        for (int64_t k = begin; k < end; k++)
            ((float *)call->outputs[0]->data)[s * n + k] =
                (float)(p->reduce == MEAN && rows[s] > 0 ? sums[s * n + k] / (double)rows[s]
                                                         : sums[s * n + k]);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t *segments = call->inputs[1]->data;
    TN_TRY(check(call, true));
    int64_t *rows = (int64_t *)call->workspace + tn_layer_count(call->outputs[0]);
    for (int64_t s = 0; s < call->outputs[0]->shape[0]; s++)
        rows[s] = 0;
    for (int64_t r = 0; r < call->inputs[1]->shape[0]; r++)
        if (segments[r] >= 0) rows[segments[r]]++;
    return call->host->parallel_for(call, call->inputs[0]->shape[1], 8, columns, call);
}

static const char *const cases[] = {
    "| x=f32[5,3] segments=i64[5]{0,2,2,-1,0} count=i64[]{3}",
    "reduce=mean | x=f32[4,2] segments=i64[4]{1,1,3,1} count=i64[]{4}",
    "reduce=max | x=f32[4,2]{-1,-2,-3,-4,5,-6,-7,8} segments=i64[4]{0,0,1,1} count=i64[]{2}",
};
static const tn_operator segment_reduce = {OPERATOR,
                                           .name = "SegmentReduce",
                                           TN_FIELDS(params, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "SegmentReduce",
                                 .name = "columns",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("segment_reduce", segment_reduce, kernel)
