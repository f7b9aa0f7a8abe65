/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::FindPeaks: the elements that are above `threshold` and above both neighbours in their row
 * (the last axis; an end has one neighbour): their row and column, and their values, in linear
 * order. How many there are is known when it has run; of n elements in a row at most (n + 1) / 2
 * are peaks. What is not a number is no peak, and nothing beside it is one. The kernel counts the
 * peaks of each row, then writes each row to its position.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(peaks, float threshold;);

static const tn_field fields[] = {
    TN_LAYER_F32(peaks, threshold, "0", -1e30, 1e30, "peaks are above it")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows along the last axis")};
static const tn_port outputs[] = {
    TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN, "peaks, 2: row and column"),
    TN_PORT("values", "f32", TN_PORT_SIZED_BY_RUN, "the value of each")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "'x' is a scalar");
#if MISTAKE == 2
    const int64_t most = tn_layer_rows(x) * (x->shape[x->rank - 1] / 2);
#else
    const int64_t most = tn_layer_rows(x) * ((x->shape[x->rank - 1] + 1) / 2);
#endif
    if (call->outputs[0]) TN_LAYER_SET_SHAPE(call, 0, most, 2);
    if (call->output_count > 1 && call->outputs[1]) TN_LAYER_SET_SHAPE(call, 1, most);
    return TN_OK;
}

static bool is_peak(const float *row, int64_t n, int64_t i, float threshold) {
    if (!(row[i] > threshold)) return false;
    return (i == 0 || row[i] > row[i - 1]) && (i + 1 == n || row[i] > row[i + 1]);
}

/* The data of output `port`, null where it is not requested. */
static void *wanted(const tn_call *call, uint32_t port) {
#if MISTAKE == 1
    return call->outputs[port]->data;
#else
    return port < call->output_count && call->outputs[port] ? call->outputs[port]->data : NULL;
#endif
}
static void set_count(const tn_call *call, int64_t count) {
    if (wanted(call, 0)) call->outputs[0]->shape[0] = count;
    if (wanted(call, 1)) call->outputs[1]->shape[0] = count;
}
static void put(const tn_call *call, int64_t at, int64_t row, int64_t i, float value) {
    int64_t *positions = wanted(call, 0);
    float *values = wanted(call, 1);
    if (positions) positions[2 * at] = row, positions[2 * at + 1] = i;
    if (values) values[at] = value;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], rows = n > 0 ? tn_layer_rows(x) : 0;
    const float threshold = ((const peaks *)call->params)->threshold;
    int64_t found = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *row = (const float *)x->data + r * n;
        for (int64_t i = 0; i < n; i++)
            if (row[i] > threshold && (i == 0 || row[i] > row[i - 1]) &&
                (i + 1 == n || row[i] > row[i + 1])) {
                if (call->outputs[0]) {
                    ((int64_t *)call->outputs[0]->data)[2 * found] = r;
                    ((int64_t *)call->outputs[0]->data)[2 * found + 1] = i;
                }
                if (call->output_count > 1 && call->outputs[1])
                    ((float *)call->outputs[1]->data)[found] = row[i];
                found++;
            }
    }
    if (call->outputs[0]) call->outputs[0]->shape[0] = found;
    if (call->output_count > 1 && call->outputs[1]) call->outputs[1]->shape[0] = found;
    return TN_OK;
}

/* The workspace: for each row the number of its peaks, then where it begins. */
static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->workspace_bytes = x->shape[x->rank - 1] > 0 ? (uint64_t)tn_layer_rows(x) * 8 : 0;
    return TN_OK;
}
static tn_status count_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const float threshold = ((const peaks *)call->params)->threshold;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        int64_t *count = (int64_t *)call->workspace + r;
#if MISTAKE != 6
        *count = 0;
#endif
        for (int64_t i = 0; i < n; i++)
            *count += is_peak((const float *)call->inputs[0]->data + r * n, n, i, threshold);
    }
    return TN_OK;
}
#if MISTAKE == 4
static int64_t next; /* the next free position */
#endif
static tn_status write_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const float threshold = ((const peaks *)call->params)->threshold;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *row = (const float *)call->inputs[0]->data + r * n;
        int64_t at = ((const int64_t *)call->workspace)[r];
        for (int64_t i = 0; i < n; i++)
            if (is_peak(row, n, i, threshold))
#if MISTAKE == 4
                put(call, __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED), r, i, row[i]);
#else
                put(call, at++, r, i, row[i]);
#endif
    }
    return TN_OK;
}
#if MISTAKE == 50
/* One pass on one thread, without a workspace. */
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], rows = n > 0 ? tn_layer_rows(x) : 0;
    int64_t found = 0;
    for (int64_t i = 0; i < rows * n; i++) {
        const float *row = (const float *)x->data + i / n * n;
        if (is_peak(row, n, i % n, ((const peaks *)call->params)->threshold))
            put(call, found++, i / n, i % n, row[i % n]);
    }
    set_count(call, found);
    return TN_OK;
}
#else
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t rows = x->shape[x->rank - 1] > 0 ? tn_layer_rows(x) : 0;
    int64_t *begins = call->workspace, found = 0;
    tn_status status = call->host->parallel_for(call, rows, 16, count_rows, call);
    for (int64_t r = 0; r < rows && status == TN_OK; r++) {
        const int64_t count = begins[r];
        begins[r] = found;
        found += count;
    }
#if MISTAKE == 4
    next = 0;
#endif
    if (status == TN_OK) status = call->host->parallel_for(call, rows, 16, write_rows, call);
#if MISTAKE == 3
    if (wanted(call, 0)) call->outputs[0]->shape[0] = found;
#else
    set_count(call, found);
#endif
#if MISTAKE == 5
    return TN_OK;
#else
    return status;
#endif
}
#endif

static const char *const cases[] = {
    "| x=f32[2,5]{1,3,2,2,4,-1,-2,-3,nan,7} | positions=i64[2,2]{0,1,0,4} values=f32[2]{3,4}",
    "threshold=0.5 | x=f32[4,3,17]", "threshold=-10 | x=f32[40,9]", "| x=f32[3,0]"};
#if MISTAKE == 50
#define RESHAPE NULL
#else
#define RESHAPE reshape
#endif
TN_LAYER_LIBRARY("peaks", "Lab", "FindPeaks", "Elements above their neighbours.", peaks,
                 "f32 -> i64, f32", .reshape = RESHAPE, .run = run)
