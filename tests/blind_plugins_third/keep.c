/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Keep: the rows (along axis 0) at which `mask` is true, in their order, and their
 * positions. How many there are is known when it has run. The kernel counts on all threads, then
 * copies.
 */
#include <stdatomic.h>
#include "third.h"

static const tn_port inputs[] = {TN_PORT("x", "T:any", 0, "N, ..."),
                                 TN_PORT("mask", "bool", 0, "N")};
static const tn_port outputs[] = {TN_PORT("kept", "T", TN_PORT_SIZED_BY_RUN, "at most N, ..."),
#if MISTAKE == 7
                                  /* run writes its shape, but nothing says that it may */
                                  TN_PORT("positions", "i64", 0, "at most N")};
#else
                                  TN_PORT("positions", "i64", TN_PORT_SIZED_BY_RUN, "at most N")};
#endif

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    if (!TN_LAYER_FITS(call, 1, x->shape[0])) return TN_ERROR_SHAPE;
    if (output_of(call, 1)) {
#if MISTAKE == 6
        /* Rounded down to whole pairs, which is too little for an odd number of rows. */
        TN_LAYER_SET_SHAPE(call, 1, x->shape[0] / 2 * 2);
#else
        TN_LAYER_SET_SHAPE(call, 1, x->shape[0]);
#endif
    }
    if (output_of(call, 0)) same_as(call, 0, x);
    return TN_OK;
}
static int64_t row_bytes(const tn_tensor *x) {
    return extents_of(x, 1, x->rank) * width_of(x->type);
}
static void keep_row(const tn_call *call, int64_t from, int64_t to) {
    const tn_tensor *x = call->inputs[0], *y = output_of(call, 0), *positions = output_of(call, 1);
    const int64_t bytes = row_bytes(x);
    if (y)
        memcpy((char *)y->data + to * bytes, (const char *)x->data + from * bytes, (size_t)bytes);
    if (positions) ((int64_t *)positions->data)[to] = from;
}
static void set_counts(const tn_call *call, int64_t count) {
    if (output_of(call, 0)) call->outputs[0]->shape[0] = count;
    if (output_of(call, 1)) call->outputs[1]->shape[0] = count;
}
static tn_status reference(tn_call *call) {
    const uint8_t *mask = call->inputs[1]->data;
    int64_t kept = 0;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        if (mask[i]) keep_row(call, i, kept++);
    set_counts(call, kept);
    return TN_OK;
}

enum { PIECE = 32 };
static tn_status count_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t rows = call->inputs[0]->shape[0];
    const uint8_t *mask = call->inputs[1]->data;
    for (int64_t p = begin; p < end; p++) {
        int64_t count = 0;
        for (int64_t i = p * PIECE; i < rows && i < (p + 1) * PIECE; i++)
            count += mask[i] != 0;
#if MISTAKE == 5
        ((int64_t *)call->workspace)[p] += count; /* as if workspace came as zeros */
#else
        ((int64_t *)call->workspace)[p] = count;
#endif
    }
    return TN_OK;
}
static tn_status copy_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t rows = call->inputs[0]->shape[0];
    const uint8_t *mask = call->inputs[1]->data;
    for (int64_t p = begin; p < end; p++) {
        int64_t to = ((int64_t *)call->workspace)[p];
        for (int64_t i = p * PIECE; i < rows && i < (p + 1) * PIECE; i++)
#if MISTAKE == 4
            /* Writes every row and moves on behind those that stay alone: a row that goes may lie
             * where the next piece, on another thread, has begun already. */
            keep_row(call, i, to), to += mask[i] != 0;
#else
            if (mask[i]) keep_row(call, i, to++);
#endif
    }
    return TN_OK;
}
#if MISTAKE == 3
/* Each thread takes the next free position: the order is that of the threads. */
typedef struct race {
    const tn_call *call;
    _Atomic int64_t next;
} race;
static tn_status race_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    race *r = user;
    const uint8_t *mask = r->call->inputs[1]->data;
    for (int64_t i = begin; i < end; i++)
        if (mask[i]) keep_row(r->call, i, atomic_fetch_add(&r->next, 1));
    return TN_OK;
}
#endif
static int64_t pieces_of(const tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0];
    return rows / PIECE + (rows % PIECE != 0);
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)pieces_of(call) * sizeof(int64_t);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    int64_t kept = 0, *counts = call->workspace;
    const int64_t pieces = pieces_of(call);
#if MISTAKE == 3
    race r = {call, 0};
    const tn_status outcome =
        call->host->parallel_for(call, call->inputs[0]->shape[0], 1, race_body, &r);
    set_counts(call, atomic_load(&r.next));
    return outcome;
#endif
    tn_status status = call->host->parallel_for(call, pieces, 1, count_body, call);
    if (status != TN_OK) return status;
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t count = counts[p];
        counts[p] = kept;
        kept += count;
    }
#if MISTAKE == 1
    if (kept == 0) return TN_OK; /* nothing to copy; the shape still says all rows */
#endif
#if MISTAKE == 2
    if (output_of(call, 0))
        call->outputs[0]->shape[0] = kept; /* that of `positions` is forgotten */
#else
    set_counts(call, kept);
#endif
    status = call->host->parallel_for(call, pieces, 1, copy_body, call);
    return status;
}

static const char *const cases[] = {
    "| x=f32[6,2] mask=bool[6]{1,0,1,1,0,0}", "| x=i8[70,3] mask=bool[70]",
    "| x=u64[5] mask=bool[5]{0,1,0,1,1}",     "| x=f16[4,2,2] mask=bool[4]{1,1,1,1}",
    "| x=bool[3,0] mask=bool[3]{1,0,1}",      "| x=f64[0,2] mask=bool[0]"};
static const tn_operator op = {THIRD_OPERATOR("Keep"), .state_version = 1, TN_NO_FIELDS,
                               .doc = "The rows at which a mask is true."};
static const tn_kernel kernel = {THIRD_KERNEL("Keep", "pieces"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .reshape = reshape, .run = run};
THIRD_LIBRARY("keep", op, &kernel)
