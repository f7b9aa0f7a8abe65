/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Deposit: a copy of `base` to whose rows those of `updates` were added, each where its
 * index says; the same index may come several times. An index outside 0..N-1 is refused. The kernel
 * deals columns out to threads, so that no two write the same element. 101: rows are dealt out
 * instead, under a lock for each; the order of sums is any, and no trait says otherwise.
 */
#include <pthread.h>
#include "third.h"

static const tn_port inputs[] = {TN_PORT("base", "f32", 0, "N, ..."),
                                 TN_PORT("indices", "i64", 0, "M"),
                                 TN_PORT("updates", "f32", 0, "M, ...")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as base")};

static tn_status infer(tn_call *call) {
    const tn_tensor *base = call->inputs[0], *updates = call->inputs[2];
    if (base->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "base is a scalar");
    if (!TN_LAYER_FITS(call, 1, -1)) return TN_ERROR_SHAPE;
    int64_t shape[TN_MAX_RANK] = {call->inputs[1]->shape[0]};
    for (uint32_t i = 1; i < base->rank; i++)
        shape[i] = base->shape[i];
    if (!tn_layer_fits(call, 2, base->rank, shape)) return TN_ERROR_SHAPE;
    return same_as(call, 0, base);
}
static tn_status check(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], count = call->inputs[1]->shape[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = ((const int64_t *)call->inputs[1]->data)[i];
#if MISTAKE == 3
        if (at < 0 || at > rows) /* the row behind the last one goes through */
#elif MISTAKE == 4
        if (at < 0 || at >= rows) return TN_ERROR_RANGE; /* without a reason */
        if (false)
#else
        if (at < 0 || at >= rows)
#endif
            return call->host->fail(call, TN_ERROR_RANGE, "index %lld is %lld, there are %lld rows",
                                    (long long)i, (long long)at, (long long)rows);
    }
    return TN_OK;
}
static int64_t inner_of(const tn_call *call) {
    return extents_of(call->inputs[0], 1, call->inputs[0]->rank);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *base = call->inputs[0], *indices = call->inputs[1], *updates = call->inputs[2];
    const int64_t inner = inner_of(call), count = tn_layer_count(base), m = indices->shape[0];
    const tn_status status = check(call);
    if (status != TN_OK) return status;
    for (int64_t i = 0; i < count; i++) {
        double sum = tn_layer_load(base, i);
        for (int64_t k = 0; k < m; k++)
            if (((const int64_t *)indices->data)[k] == i / inner)
                sum += tn_layer_load(updates, k * inner + i % inner);
        tn_layer_store(call->outputs[0], i, sum);
    }
    return TN_OK;
}

static tn_status columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t *indices = call->inputs[1]->data;
    const float *base = call->inputs[0]->data, *updates = call->inputs[2]->data;
    const int64_t inner = inner_of(call), rows = call->inputs[0]->shape[0];
    const int64_t m = call->inputs[1]->shape[0];
    float *y = call->outputs[0]->data;
    double *sums = (double *)call->workspace + (size_t)thread * (size_t)rows;
    for (int64_t c = begin; c < end; c++) {
        for (int64_t r = 0; r < rows; r++)
            sums[r] = (double)base[r * inner + c];
        for (int64_t k = 0; k < m; k++)
            sums[indices[k]] += (double)updates[k * inner + c];
        for (int64_t r = 0; r < rows; r++)
            y[r * inner + c] = (float)sums[r];
    }
    return TN_OK;
}
#if MISTAKE == 1 || MISTAKE == 101
static pthread_mutex_t locks[16] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER};
/* Updates begin..end-1, into sums in double precision. */
static tn_status updates_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t inner = inner_of(call);
    for (int64_t k = begin; k < end; k++) {
        const int64_t at = ((const int64_t *)call->inputs[1]->data)[k];
        double *sums = (double *)call->workspace + at * inner;
#if MISTAKE == 101
        pthread_mutex_lock(&locks[at % 16]);
#endif
        /* MISTAKE 1: no lock, though another thread may add to the same row. */
        for (int64_t c = 0; c < inner; c++)
            sums[c] += (double)((const float *)call->inputs[2]->data)[k * inner + c];
#if MISTAKE == 101
        pthread_mutex_unlock(&locks[at % 16]);
#endif
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)tn_layer_count(call->inputs[0]) * sizeof(double);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    double *sums = call->workspace;
    tn_status status = check(call);
    if (status != TN_OK || count == 0) return status;
    for (int64_t i = 0; i < count; i++)
        sums[i] = (double)((const float *)call->inputs[0]->data)[i];
    status = call->host->parallel_for(call, call->inputs[1]->shape[0], 1, updates_body, call);
    for (int64_t i = 0; status == TN_OK && i < count; i++)
        ((float *)call->outputs[0]->data)[i] = (float)sums[i];
    return status;
}
#else
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)call->inputs[0]->shape[0] * sizeof(double) * call->threads;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_status status = check(call);
    if (status != TN_OK || tn_layer_count(call->inputs[0]) == 0) return status;
    return call->host->parallel_for(call, inner_of(call), 1, columns, call);
}
#endif

static const char *const cases[] = {
    "| base=f32[4,3] indices=i64[5]{0,3,0,2,0} updates=f32[5,3]",
    "| base=f32[6] indices=i64[3]{5,5,1} updates=f32[3]",
    "| base=f32[3,40] indices=i64[8]{0,1,2,1,1,1,0,2} updates=f32[8,40]",
    "| base=f32[2,2,2] indices=i64[0] updates=f32[0,2,2]",
    "| base=f32[3,0] indices=i64[1]{1} updates=f32[1,0]"};
static const tn_operator op = {THIRD_OPERATOR("Deposit"), .state_version = 1, TN_NO_FIELDS,
                               .doc = "Rows added where indices say."};
static const tn_kernel kernel = {THIRD_KERNEL("Deposit", "columns"),
#if MISTAKE != 101
                                 .traits = TN_KERNEL_DETERMINISTIC,
#endif
                                 .reshape = reshape, .run = run};
THIRD_LIBRARY("deposit", op, &kernel)
