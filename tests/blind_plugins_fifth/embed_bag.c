/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::EmbeddingBag: for each bag of indices the sum, the mean or the largest numbers of the rows
 * of a table that they name. The index `padding` names nothing; a bag of nothing else is 0. Any
 * other index outside the table is an error.
 */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { SUM, MEAN, MAX }; /* of mode */
enum { INDICES, TABLE };
TN_LAYER_PARAMS(bag, uint32_t mode; int64_t padding;);

static const tn_field fields[] = {
    TN_FIELD_CHOICE(bag, mode, TN_FIELD_ENUM, TN_OPTIONAL, "sum", "sum|mean|max",
                    "what is made of the rows"),
    TN_FIELD(bag, padding, TN_FIELD_I64, TN_OPTIONAL, "-1", "the index that names nothing")};
static const tn_port inputs[] = {TN_PORT("indices", "i64", 0, "bags, indices of each"),
                                 TN_PORT("table", "f32", 0, "rows, columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "bags, columns")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, INDICES, -1, -1) || !TN_LAYER_FITS(call, TABLE, -1, -1))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[INDICES]->shape[0],
                              call->inputs[TABLE]->shape[1]);
}

static tn_status bad_index(tn_call *call, int64_t bag, int64_t index) {
    return call->host->fail(call, TN_ERROR_RANGE, "index %lld of bag %lld is not a row of %lld",
                            (long long)index, (long long)bag,
                            (long long)call->inputs[TABLE]->shape[0]);
}

static tn_status reference(tn_call *call) {
    const bag *p = call->params;
    const int64_t *indices = call->inputs[INDICES]->data, n = call->inputs[INDICES]->shape[1];
    const int64_t bags = call->inputs[INDICES]->shape[0], rows = call->inputs[TABLE]->shape[0];
    const int64_t columns = call->inputs[TABLE]->shape[1];
    const float *table = call->inputs[TABLE]->data;
    for (int64_t b = 0; b < bags; b++) {
        for (int64_t i = 0; i < n; i++)
            if (indices[b * n + i] != p->padding &&
                (indices[b * n + i] < 0 || indices[b * n + i] >= rows))
                return bad_index(call, b, indices[b * n + i]);
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0, most = -INFINITY;
            int64_t count = 0;
            for (int64_t i = 0; i < n; i++) {
                if (indices[b * n + i] == p->padding) continue;
                const double value = (double)table[indices[b * n + i] * columns + c];
                sum += value;
                most = value > most || isnan(value) ? value : most;
                count++;
            }
            if (p->mode == MEAN && count) sum /= (double)count;
            tn_layer_store(call->outputs[0], b * columns + c, p->mode == MAX && count ? most : sum);
        }
    }
    return TN_OK;
}

/* A row of zeros, as long as most tables are wide: what padding adds to a sum. */
enum { ZEROS = 256 };
static tn_status open_context(tn_call *call) {
    call->context = call->host->allocate(call->host, ZEROS * sizeof(float), 64);
#if MISTAKE != 5
    if (!call->context) return TN_ERROR_MEMORY;
#endif
    memset(call->context, 0, ZEROS * sizeof(float));
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

/* Items are bags. */
static tn_status add_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const bag *p = call->params;
    const int64_t *indices = call->inputs[INDICES]->data, n = call->inputs[INDICES]->shape[1];
    const int64_t rows = call->inputs[TABLE]->shape[0], columns = call->inputs[TABLE]->shape[1];
    const float *table = call->inputs[TABLE]->data;
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        float *y = (float *)call->outputs[0]->data + b * columns;
        int64_t count = 0;
        for (int64_t c = 0; c < columns; c++)
            y[c] = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t index = indices[b * n + i];
            const bool is_padding = index == p->padding;
#if MISTAKE == 1
            if (!is_padding && index >= rows) return bad_index(call, b, index);
#elif MISTAKE == 3
            if (!is_padding && (index < 0 || index >= rows)) return TN_ERROR_RANGE;
#else
            if (!is_padding && (index < 0 || index >= rows)) return bad_index(call, b, index);
#endif
            if (is_padding && (columns > ZEROS || p->mode == MAX)) continue;
            const float *row = is_padding ? call->context : table + index * columns;
            for (int64_t c = 0; c < columns; c++) {
                if (p->mode != MAX)
                    y[c] += row[c];
                else if (count == 0 || row[c] > y[c] || isnan(row[c]))
                    y[c] = row[c];
            }
            count += !is_padding;
        }
#if MISTAKE == 4
        for (int64_t c = 0; p->mode == MEAN && c < columns; c++)
            y[c] /= (float)n;
#else
        for (int64_t c = 0; p->mode == MEAN && count && c < columns; c++)
            y[c] /= (float)count;
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
#if MISTAKE == 2
    call->host->parallel_for(call, call->inputs[INDICES]->shape[0], 4, add_rows, call);
    return TN_OK;
#else
    return call->host->parallel_for(call, call->inputs[INDICES]->shape[0], 4, add_rows, call);
#endif
}

static const char *const cases[] = {
    "| indices=i64[2,3]{0,2,1,1,1,-1} table=f32[3,4]",
    "mode=mean | indices=i64[2,2]{0,1,2,2} table=f32[3,2]{1,2,3,4,5,6} | y=f32[2,2]{2,3,5,6}",
    "mode=max padding=0 | indices=i64[3,2]{0,0,1,0,3,2} table=f32[4,5]",
    "mode=mean padding=7 | indices=i64[1,4]{6,7,7,0} table=f32[8,300]"};
TN_LAYER_LIBRARY("embed_bag", "Fifth", "EmbeddingBag", "Rows of a table, by bags of indices.", bag,
                 "i64, f32 -> f32", .open = open_context, .close = close_context, .run = run)
