/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::EmbeddingBag: sums, means or maxima of a table's rows, in bags of any length. */
#include <math.h>
#include <tenon/layer.h>

enum { TABLE, INDICES, OFFSETS, WEIGHTS, SUM = 0, MEAN = 1, MAX = 2 };
TN_LAYER_PARAMS(bag, uint32_t mode; int64_t padding_idx;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(bag, mode, TN_FIELD_ENUM, TN_OPTIONAL, "sum", "sum|mean|max",
                    "what becomes of a bag's rows"),
#if MISTAKE == 8
    TN_FIELD(bag, padding_idx, TN_FIELD_I64, TN_OPTIONAL, NULL, "this row is left out; -1: none")
#else
    TN_FIELD(bag, padding_idx, TN_FIELD_I64, TN_OPTIONAL, "-1", "this row is left out; -1: none")
#endif
};
static const tn_port inputs[] = {
    TN_PORT("table", "T:f32|f64", 0, "rows, columns"), TN_PORT("indices", "i64", 0, "of rows"),
    TN_PORT("offsets", "i64", 0, "where each bag begins, the first at 0"),
    TN_PORT("weights", "T", TN_PORT_OPTIONAL, "one for each index, in sums alone")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "bags, columns")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, TABLE, -1, -1) || !TN_LAYER_FITS(call, INDICES, -1) ||
        !TN_LAYER_FITS(call, OFFSETS, -1))
        return TN_ERROR_SHAPE;
    if (!TN_LAYER_FITS(call, WEIGHTS, call->inputs[INDICES]->shape[0])) return TN_ERROR_SHAPE;
    if (tn_layer_input(call, WEIGHTS) && ((const bag *)call->params)->mode != SUM)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "weights are for sums alone");
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[OFFSETS]->shape[0],
                              call->inputs[TABLE]->shape[1]);
}

/* Where bag `b` lies. */
static tn_status find_bag(tn_call *call, int64_t b, int64_t *from, int64_t *to) {
    const int64_t *offsets = call->inputs[OFFSETS]->data;
    const int64_t bags = call->inputs[OFFSETS]->shape[0], count = call->inputs[INDICES]->shape[0];
    *from = offsets[b];
    *to = b + 1 < bags ? offsets[b + 1] : count;
    if ((b == 0 && *from != 0) || *from < 0 || *to < *from || *to > count)
        return call->host->fail(call, TN_ERROR_RANGE, "bag %lld lies outside of the indices",
                                (long long)b);
    return TN_OK;
}

static tn_status bad_index(tn_call *call, int64_t i) {
    return call->host->fail(call, TN_ERROR_RANGE, "index %lld is no row", (long long)i);
}

static tn_status reference(tn_call *call) {
    const bag *p = call->params;
    const tn_tensor *table = call->inputs[TABLE], *weights = tn_layer_input(call, WEIGHTS);
    const int64_t rows = table->shape[0], columns = table->shape[1];
    const int64_t *indices = call->inputs[INDICES]->data;
    for (int64_t b = 0; b < call->outputs[0]->shape[0]; b++) {
        int64_t from, to;
        const tn_status status = find_bag(call, b, &from, &to);
        if (status != TN_OK) return status;
        for (int64_t i = from; i < to; i++)
            if (indices[i] < 0 || indices[i] >= rows) return bad_index(call, i);
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0, most = 0;
            int64_t used = 0;
            for (int64_t i = from; i < to; i++) {
                if (indices[i] == p->padding_idx) continue;
                const double value = tn_layer_load(table, indices[i] * columns + c);
                if (used == 0 || value > most || isnan(value))
                    most = isnan(most) && used ? most : value;
                sum += value * (weights ? tn_layer_load(weights, i) : 1);
                used++;
            }
            tn_layer_store(call->outputs[0], b * columns + c,
                           p->mode == MAX                ? most
                           : p->mode == MEAN && used > 0 ? sum / (double)used
                                                         : sum);
        }
    }
    return TN_OK;
}

static void add_row(double *sums, const float *row, int64_t columns, uint32_t mode, bool is_first,
                    double weight) {
    for (int64_t c = 0; c < columns; c++) {
        const double value = (double)row[c];
        if (mode == MAX)
            sums[c] =
                is_first || value > sums[c] || (isnan(value) && !isnan(sums[c])) ? value : sums[c];
        else
            sums[c] += value * weight;
    }
}

/* Items are bags. */
static tn_status bags(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const bag *p = call->params;
    const int64_t rows = call->inputs[TABLE]->shape[0], columns = call->inputs[TABLE]->shape[1];
    const int64_t *indices = call->inputs[INDICES]->data;
    const float *table = call->inputs[TABLE]->data, *weights = tn_layer_data(call, WEIGHTS);
#if MISTAKE == 50
    double sums[64]; /* columns in parts of 64 */
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        int64_t from, to;
        const tn_status status = find_bag(call, b, &from, &to);
        if (status != TN_OK) return status;
        for (int64_t i = from; i < to; i++)
            if ((uint64_t)indices[i] >= (uint64_t)rows) return bad_index(call, i);
        for (int64_t part = 0; part < columns; part += 64) {
            const int64_t width = columns - part < 64 ? columns - part : 64;
            float *y = (float *)call->outputs[0]->data + b * columns + part;
            int64_t used = 0;
            for (int64_t c = 0; c < width; c++)
                sums[c] = 0;
            for (int64_t i = from; i < to; i++)
                if (indices[i] != p->padding_idx)
                    add_row(sums, table + indices[i] * columns + part, width, p->mode, used++ == 0,
                            weights ? (double)weights[i] : 1);
            for (int64_t c = 0; c < width; c++)
                y[c] = (float)(p->mode == MEAN && used ? sums[c] / (double)used : sums[c]);
        }
    }
#else
#if MISTAKE == 1
    double *sums = call->workspace;
    (void)thread;
#else
    double *sums = (double *)call->workspace + (int64_t)thread * columns;
#endif
    for (int64_t b = begin; b < end; b++) {
        int64_t from, to, used = 0;
#if MISTAKE == 2
        const int64_t *offsets = call->inputs[OFFSETS]->data;
        from = offsets[b], to = offsets[b + 1];
#else
        const tn_status status = find_bag(call, b, &from, &to);
        if (status != TN_OK) return status;
#endif
        for (int64_t c = 0; c < columns; c++)
            sums[c] = 0;
        for (int64_t i = from; i < to; i++) {
#if MISTAKE == 4
            const int64_t index = indices[i];
            if (index >= rows) return bad_index(call, i);
#elif MISTAKE == 7
            const int32_t index = (int32_t)indices[i];
            if (index < 0 || index >= rows) return bad_index(call, i);
#else
            const int64_t index = indices[i];
            if (index < 0 || index >= rows) return bad_index(call, i);
#endif
            if (index == p->padding_idx) continue;
#if MISTAKE == 5
            add_row(sums, table + index * columns, columns, p->mode, false,
                    weights ? (double)weights[i] : 1);
            used++;
#else
            add_row(sums, table + index * columns, columns, p->mode, used++ == 0,
                    weights ? (double)weights[i] : 1);
#endif
        }
#if MISTAKE == 3
        used = to - from;
#endif
#if MISTAKE == 6
        const double divisor = p->mode == MEAN ? (double)used : 1;
#else
        const double divisor = p->mode == MEAN && used > 0 ? (double)used : 1;
#endif
        float *y = (float *)call->outputs[0]->data + b * columns;
        for (int64_t c = 0; c < columns; c++)
            y[c] = (float)(sums[c] / divisor);
    }
#endif
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, call->outputs[0]->shape[0], 8, bags, call);
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)call->outputs[0]->shape[1] * sizeof(double);
#if MISTAKE == 50
    call->workspace_bytes = 0;
#elif MISTAKE != 1
    call->workspace_bytes *= call->threads;
#endif
    return TN_OK;
}

static const char *const cases[] = {
    "| table=f32[3,2]{1,2,3,4,5,6} indices=i64[3]{0,2,1} offsets=i64[2]{0,2} | "
    "y=f32[2,2]{6,8,3,4}",
    "mode=mean padding_idx=1 | table=f32[4,5] indices=i64[6]{0,1,3,2,1,1} offsets=i64[4]{0,3,3,4}",
    "mode=max | table=f32[4,3] indices=i64[5]{3,3,1,0,2} offsets=i64[3]{0,2,5}",
    "| table=f64[3,4] indices=i64[4]{2,1,0,0} offsets=i64[2]{0,1} weights=f64[4]",
    "| table=f32[5,70] indices=i64[4]{4,1,0,3} offsets=i64[3]{0,1,2} weights=f32[4]",
    "mode=mean | table=f32[6,9] "
    "indices=i64[24]{0,1,2,3,4,5,5,4,3,2,1,0,0,1,2,3,4,5,5,4,3,2,1,0} "
    "offsets=i64[20]{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,22}",
    "mode=max | table=f32[2,3] indices=i64[0] offsets=i64[1]{0}"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "EmbeddingBag",
                               .doc = "Rows of a table, joined in bags.",
                               TN_FIELDS(bag, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64, i64, f32? -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "EmbeddingBag",
                                 .device = "cpu",
                                 .name = "bags",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_bag", "1.0", operators, kernels)
