/* SPDX-License-Identifier: Apache-2.0 */
/* Bags of embeddings: the mean of the rows of a table that each bag names; numbers below 0 count
 * from the table's end, an empty bag is 0. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("table", "f32", 0, "V, D"),
                                 TN_PORT("ids", "i32|i64", 0, "bags, length: -V to V - 1")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "bags, D")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, -1)) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[1]->shape[0], call->inputs[0]->shape[1]);
}
static int64_t id_at(const tn_tensor *ids, int64_t i, bool is_wide) {
    return is_wide ? ((const int64_t *)ids->data)[i] : ((const int32_t *)ids->data)[i];
}
static tn_status bad_id(tn_call *call, int64_t id) {
    return call->host->fail(call, TN_ERROR_RANGE, "'ids' has %lld, the table has %lld rows",
                            (long long)id, (long long)call->inputs[0]->shape[0]);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *table = call->inputs[0], *ids = call->inputs[1];
    const int64_t rows = table->shape[0], d = table->shape[1], n = ids->shape[1];
    for (int64_t i = 0; i < tn_layer_count(ids); i++) {
        const int64_t id = id_at(ids, i, ids->type == TN_I64);
        if (id < -rows || id >= rows) return bad_id(call, id);
    }
    for (int64_t i = 0; i < ids->shape[0] * d; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) {
            const int64_t id = id_at(ids, i / d * n + k, ids->type == TN_I64);
            sum += tn_layer_load(table, (id < 0 ? id + rows : id) * d + i % d);
        }
        tn_layer_store(call->outputs[0], i, n > 0 ? sum / (double)n : 0);
    }
    return TN_OK;
}

static tn_status bags(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *ids = call->inputs[1];
    const int64_t rows = call->inputs[0]->shape[0], d = call->inputs[0]->shape[1];
    const int64_t n = ids->shape[1];
    const float *table = call->inputs[0]->data;
    (void)thread;
    for (int64_t bag = begin; bag < end; bag++) {
        float *y = (float *)call->outputs[0]->data + bag * d;
        for (int64_t c = 0; c < d; c++)
            y[c] = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t id = id_at(ids, bag * n + k, WRONG(2) || ids->type == TN_I64);
            if (!WRONG(1) && !WRONG(3) && !WRONG(5) && (id < -rows || id >= rows))
                return bad_id(call, id);
            if (WRONG(3) && (id < -rows || id >= rows)) return TN_ERROR_RANGE;
            if (WRONG(5) && (id < -rows || id >= rows)) continue;
            if (id < 0) id += rows;
            for (int64_t c = 0; c < d; c++)
                y[c] += table[id * d + c];
        }
        const float by = WRONG(4) || n > 0 ? 1.0F / (float)n : 0;
        for (int64_t c = 0; c < d; c++)
            y[c] *= by;
    }
    return TN_OK;
}
TN_LAYER_RUN(bags, call->inputs[1]->shape[0], 8)

static const char *const cases[] = {"| table=f32[7,5] ids=i64[3,4]{0,1,2,3,6,5,-1,-7,0,0,1,1}",
#if MISTAKE != 2
                                    "| table=f32[4,3] ids=i32[2,2]{0,3,-4,1}",
#endif
                                    "| table=f32[9,16] ids=i64[1,1]{8}"};
static const tn_operator embed = {
    OPERATOR,       .name = "EmbedBag",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64|i32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "EmbedBag",
                                 .name = "bags",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("embed_bag", embed, kernel)
