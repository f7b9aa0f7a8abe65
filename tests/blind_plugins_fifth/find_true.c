/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::FindTrue: the positions of the elements that are not zero, in linear order: y[d][i] is
 * where the i-th of them lies along axis d. What is not a number is not zero. How many there are is
 * known when it has run. The kernel counts in chunks, then each chunk knows where its positions
 * begin.
 */
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(find_true, bool backwards;);
enum { CHUNK = 256 };

static const tn_field fields[] = {
    TN_LAYER_BOOL(find_true, backwards, "false", "true: the last element first")};
static const tn_port inputs[] = {TN_PORT("x", "bool|f32", 0, "any shape")};
static const tn_port outputs[] = {
    TN_PORT("y", "i64", TN_PORT_SIZED_BY_RUN, "axes of x, elements that are not zero")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
#if MISTAKE == 4
    int64_t most = x->rank > 0 ? x->shape[0] : 1;
    if (x->rank > 1) most *= x->shape[1];
#else
    int64_t most = 1;
    bool is_empty = false;
    for (uint32_t i = 0; i < x->rank; i++)
        is_empty |= x->shape[i] == 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (is_empty || __builtin_mul_overflow(most, x->shape[i], &most)) {
            if (is_empty) return TN_LAYER_SET_SHAPE(call, 0, x->rank, 0);
            return call->host->fail(call, TN_ERROR_MEMORY, "too many elements");
        }
#endif
    return TN_LAYER_SET_SHAPE(call, 0, x->rank, most);
}

static bool is_true(const tn_tensor *x, int64_t i) {
    if (x->type == TN_BOOL) return ((const uint8_t *)x->data)[i] != 0;
    return ((const float *)x->data)[i] != 0;
}
/* Of the i-th element in the order of the output, its position in linear order. */
static int64_t order(const tn_call *call, int64_t count, int64_t i) {
    return ((const find_true *)call->params)->backwards ? count - 1 - i : i;
}
/* Writes the axes' positions of linear index `at` to column `to` of `columns`. */
static void write_position(const tn_call *call, int64_t at, int64_t to, int64_t columns) {
    const tn_tensor *x = call->inputs[0];
    int64_t *y = call->outputs[0]->data;
    for (uint32_t d = x->rank; d-- > 0; at /= x->shape[d])
        y[d * columns + to] = at % x->shape[d];
}

static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    int64_t found = 0, at = 0;
    for (int64_t i = 0; i < count; i++)
        found += is_true(call->inputs[0], i);
    for (int64_t i = 0; i < count; i++)
        if (is_true(call->inputs[0], order(call, count, i)))
            write_position(call, order(call, count, i), at++, found);
    call->outputs[0]->shape[1] = found;
    return TN_OK;
}

static bool is_true_here(const tn_tensor *x, int64_t i) {
#if MISTAKE == 3
    if (x->type == TN_F32) {
        const float value = ((const float *)x->data)[i];
        return value > 0 || value < 0;
    }
#endif
    return is_true(x, i);
}

/* Items are chunks: how many each has. */
static tn_status count_chunks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t count = tn_layer_count(call->inputs[0]);
    int64_t *found = call->workspace;
    (void)thread;
    for (int64_t chunk = begin; chunk < end; chunk++) {
#if MISTAKE != 5
        found[chunk] = 0;
#endif
        for (int64_t i = chunk * CHUNK; i < count && i < (chunk + 1) * CHUNK; i++)
            found[chunk] += is_true_here(call->inputs[0], order(call, count, i));
    }
    return TN_OK;
}
/* A call, and how many columns the output has. */
typedef struct job {
    const tn_call *call;
    int64_t columns;
} job;
/* Items are chunks: by now the workspace has where each one's positions begin. */
static tn_status write_chunks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const int64_t count = tn_layer_count(j->call->inputs[0]), *first = j->call->workspace;
    (void)thread;
    for (int64_t chunk = begin; chunk < end; chunk++)
        for (int64_t i = chunk * CHUNK, at = first[chunk]; i < count && i < (chunk + 1) * CHUNK;
             i++)
            if (is_true_here(j->call->inputs[0], order(j->call, count, i)))
                write_position(j->call, order(j->call, count, i), at++, j->columns);
    return TN_OK;
}

static int64_t chunks_of(const tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    return count / CHUNK + (count % CHUNK != 0);
}
TN_LAYER_WORKSPACE(sizeof(int64_t) * (uint64_t)chunks_of(call))
static tn_status run(tn_call *call) {
    int64_t *first = call->workspace, found = 0;
    tn_status status = call->host->parallel_for(call, chunks_of(call), 4, count_chunks, call);
    if (status != TN_OK) return status;
    for (int64_t chunk = 0; chunk < chunks_of(call); chunk++) {
        const int64_t here = first[chunk];
        first[chunk] = found;
        found += here;
    }
#if MISTAKE == 1
    job j = {call, call->outputs[0]->shape[1]};
#else
    job j = {call, found};
#endif
    status = call->host->parallel_for(call, chunks_of(call), 4, write_chunks, &j);
#if MISTAKE != 2
    call->outputs[0]->shape[1] = found;
#endif
    return status;
}

static const char *const cases[] = {"| x=bool[2,3]{1,0,0,1,1,0} | y=i64[2,3]{0,1,1,0,0,1}",
                                    "backwards=true | x=f32[4]{0,-2,0.5,0}", "| x=bool[7,9,5]",
                                    "| x=bool[0,3]"};
TN_LAYER_LIBRARY("find_true", "Fifth", "FindTrue", "Where elements are not zero.", find_true,
                 "bool|f32 -> i64", .reshape = reshape, .run = run)
