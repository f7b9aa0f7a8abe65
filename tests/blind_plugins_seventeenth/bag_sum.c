/* SPDX-License-Identifier: Apache-2.0 */
/* Bags of rows of a table: their sum, mean or largest elements. Bag b has the rows that indices
 * offsets[b] to the next offset name. An empty bag is 0. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, uint32_t mode;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "sum", "sum|mean|max", "of a bag"),
};
static const tn_port inputs[] = {TN_PORT("table", "f32", 0, "rows, features"),
                                 TN_PORT("indices", "I:i64|i32", 0, "any number of rows"),
                                 TN_PORT("offsets", "I", 0, "bags; ascending from 0")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "bags, features")};
enum { SUM, MEAN, MAX };

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, TN_LAYER_ANY) || !TN_LAYER_FITS(call, 2, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[2]->shape[0], call->inputs[0]->shape[1]);
}

static int64_t integer(const tn_tensor *t, int64_t i) {
    return t->type == TN_I64 ? ((const int64_t *)t->data)[i] : ((const int32_t *)t->data)[i];
}

static void row(const tn_call *call, float *y, int64_t begin, int64_t end, bool is_kernel) {
    const uint32_t mode = ((const params *)call->params)->mode;
    const tn_tensor *table = call->inputs[0];
    const int64_t features = table->shape[1];
    for (int64_t f = 0; f < features; f++) {
        double result =
            mode == MAX && (end > begin || (is_kernel && WRONG(2))) ? (double)-INFINITY : 0;
        for (int64_t i = begin; i < end; i++) {
            const double v = tn_layer_load(table, integer(call->inputs[1], i) * features + f);
            if (mode != MAX)
                result += v;
            else if (v > result || isnan(v))
                result = v;
        }
        y[f] = (float)(mode == MEAN && end > begin ? result / (double)(end - begin) : result);
    }
}

static tn_status bags(tn_call *call, int64_t first, int64_t last, bool is_kernel) {
    const tn_tensor *indices = call->inputs[1], *offsets = call->inputs[2];
    const int64_t rows = call->inputs[0]->shape[0], features = call->inputs[0]->shape[1];
    for (int64_t b = first; b < last; b++) {
        const int64_t begin = integer(offsets, b);
        const bool has_next = b + 1 < offsets->shape[0] || (is_kernel && WRONG(1));
        const int64_t end = has_next ? integer(offsets, b + 1) : indices->shape[0];
        if (begin < 0 || end < begin || end > indices->shape[0] || (b == 0 && begin != 0))
            return call->host->fail(call, TN_ERROR_RANGE, "bag %lld is %lld..%lld of %lld",
                                    (long long)b, (long long)begin, (long long)end,
                                    (long long)indices->shape[0]);
        for (int64_t i = begin; i < end && !(is_kernel && WRONG(3)); i++)
            if (integer(indices, i) < 0 || integer(indices, i) >= rows)
                return call->host->fail(call, TN_ERROR_RANGE, "index %lld is %lld, of %lld rows",
                                        (long long)i, (long long)integer(indices, i),
                                        (long long)rows);
        row(call, (float *)call->outputs[0]->data + b * features, begin, end, is_kernel);
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return bags(call, 0, call->inputs[2]->shape[0], false);
}
static tn_status part(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    return bags(call, begin, end, true);
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, call->inputs[2]->shape[0], 1, part, call);
}

static const char *const cases[] = {
    "| table=f32[6,3] indices=i64[5]{5,0,3,3,1} offsets=i64[3]{0,2,2}",
    "mode=mean | table=f32[4,2] indices=i32[4]{3,3,0,1} offsets=i32[2]{0,3}",
    "mode=max | table=f32[3,4] indices=i64[3]{2,1,0} offsets=i64[2]{0,1}",
};
static const tn_operator bag_sum = {OPERATOR,
                                    .name = "BagSum",
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64|i32, i64|i32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BagSum",
                                 .device = "cpu",
                                 .name = "bags",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("bag_sum", bag_sum, kernel)
