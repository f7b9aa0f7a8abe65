/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Running: sums along an axis as they grow, with or without the element itself, from either
 * end. Integers wrap round. Kernels: `lines`, a line at a time, which may work in place; `chunks`,
 * for integers, a line in pieces on several threads.
 */
#include "third.h"

TN_LAYER_PARAMS(running, int64_t axis; bool exclusive, reverse;);
static const tn_field fields[] = {
    TN_LAYER_I64(running, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "below 0: from the last"),
    TN_LAYER_BOOL(running, exclusive, "false", "without the element itself"),
    TN_LAYER_BOOL(running, reverse, "false", "from the end")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i32|i64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

typedef struct line {
    int64_t count, step, inner;
} line;
static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const running *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}
static tn_status infer(tn_call *call) {
    const int64_t axis = axis_of(call);
    if (axis < 0 || axis >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "x has no such axis");
    return same_as(call, 0, call->inputs[0]);
}
static int64_t inner_of(const tn_call *call) {
    return extents_of(call->inputs[0], (uint32_t)axis_of(call) + 1, call->inputs[0]->rank);
}
static int64_t begin_of(int64_t l, int64_t inner, int64_t count) {
    return l / inner * inner * count + l % inner;
}

#define SUM_LINE(name, type, sum_type)                                                             \
    static void name(const void *from, void *to, int64_t at, int64_t step, int64_t count,          \
                     bool exclusive) {                                                             \
        const type *x = from;                                                                      \
        type *y = to;                                                                              \
        sum_type sum = 0;                                                                          \
        for (int64_t i = 0; i < count; i++, at += step) {                                          \
            const type value = x[at];                                                              \
            if (exclusive) y[at] = (type)sum;                                                      \
            sum += (sum_type)value;                                                                \
            if (!exclusive) y[at] = (type)sum;                                                     \
        }                                                                                          \
    }
SUM_LINE(sum_f32, float, double)
SUM_LINE(sum_f64, double, double)
SUM_LINE(sum_i32, int32_t, uint32_t)
SUM_LINE(sum_i64, int64_t, uint64_t)
static void sum_of(const tn_call *call, int64_t l) {
    const running *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t inner = inner_of(call), count = x->shape[axis_of(call)];
    int64_t at = begin_of(l, inner, count), step = inner;
    if (p->reverse) at += (count - 1) * inner, step = -inner;
    (x->type == TN_F32   ? sum_f32
     : x->type == TN_F64 ? sum_f64
     : x->type == TN_I32 ? sum_i32
                         : sum_i64)(x->data, y->data, at, step, count, p->exclusive);
}
static int64_t lines_of(const tn_call *call) {
    const int64_t count = call->inputs[0]->shape[axis_of(call)];
    return count ? tn_layer_count(call->inputs[0]) / count : 0;
}
static tn_status reference(tn_call *call) {
    const int64_t lines = lines_of(call);
    for (int64_t l = 0; l < lines; l++)
        sum_of(call, l);
    return TN_OK;
}

#if MISTAKE == 5
/* Without the element itself: from the input one position before, which is gone where y lies on x.
 */
static void shifted(const tn_call *call, int64_t l) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t inner = inner_of(call), count = call->inputs[0]->shape[axis_of(call)];
    const int64_t at = begin_of(l, inner, count);
    double sum = 0;
    if (count) y[at] = 0;
    for (int64_t i = 1; i < count; i++) {
        sum += (double)x[at + (i - 1) * inner];
        y[at + i * inner] = (float)sum;
    }
}
#endif
static tn_status lines_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const running *p = call->params;
    for (int64_t l = begin; l < end; l++) {
#if MISTAKE == 5
        if (call->inputs[0]->type == TN_F32 && p->exclusive && !p->reverse) {
            shifted(call, l);
            continue;
        }
#endif
        sum_of(call, l);
    }
    return TN_OK;
}
static tn_status run_lines(tn_call *call) {
    return call->host->parallel_for(call, lines_of(call), 1, lines_body, call);
}

/* Pieces of a line of integers: their sums, then each from the sum of those before it. */
enum { PIECE = 256 };
typedef struct job {
    const tn_call *call;
    int64_t line, pieces;
    bool is_first;
} job;
static uint64_t read_integer(const tn_tensor *x, int64_t at) {
    return x->type == TN_I32 ? (uint64_t)((const int32_t *)x->data)[at]
                             : (uint64_t)((const int64_t *)x->data)[at];
}
static tn_status piece_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const running *p = j->call->params;
    const tn_tensor *x = j->call->inputs[0], *y = j->call->outputs[0];
    const int64_t inner = inner_of(j->call), count = x->shape[axis_of(j->call)];
    const int64_t base = begin_of(j->line, inner, count);
    uint64_t *sums = j->call->workspace;
    for (int64_t piece = begin; piece < end; piece++) {
        const int64_t last = (piece + 1) * PIECE < count ? (piece + 1) * PIECE : count;
#if MISTAKE == 2
        double sum = j->is_first ? 0 : (double)(int64_t)sums[piece]; /* exact up to 2^53 only */
#else
        uint64_t sum = j->is_first ? 0 : sums[piece];
#endif
        for (int64_t i = piece * PIECE; i < last; i++) {
            const int64_t at = base + (p->reverse ? count - 1 - i : i) * inner;
#if MISTAKE == 2
            const double value = (double)(int64_t)read_integer(x, at);
            const double before = sum;
#else
            const uint64_t value = read_integer(x, at), before = sum;
#endif
            sum += value;
            if (j->is_first) continue;
            const int64_t result = (int64_t)(p->exclusive ? before : sum);
            if (y->type == TN_I32)
                ((int32_t *)y->data)[at] = (int32_t)result;
            else
                ((int64_t *)y->data)[at] = result;
        }
#if MISTAKE == 1
        /* By the thread, as if each did one range and the ranges went by its number. */
        if (j->is_first) sums[thread] = (piece == begin ? 0 : sums[thread]) + (uint64_t)sum;
#else
        if (j->is_first) sums[piece] = (uint64_t)(int64_t)sum;
#endif
    }
    return TN_OK;
}
#if MISTAKE == 1
/* The second pass: a range begins with what the threads below this one have summed. */
static tn_status thread_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const running *p = j->call->params;
    const tn_tensor *x = j->call->inputs[0], *y = j->call->outputs[0];
    const int64_t inner = inner_of(j->call), count = x->shape[axis_of(j->call)];
    const int64_t base = begin_of(j->line, inner, count);
    const uint64_t *sums = j->call->workspace;
    uint64_t sum = 0;
    for (uint32_t t = 0; t < thread; t++)
        sum += sums[t];
    for (int64_t i = begin * PIECE; i < end * PIECE && i < count; i++) {
        const int64_t at = base + (p->reverse ? count - 1 - i : i) * inner;
        const uint64_t before = sum;
        sum += read_integer(x, at);
        const int64_t result = (int64_t)(p->exclusive ? before : sum);
        if (y->type == TN_I32)
            ((int32_t *)y->data)[at] = (int32_t)result;
        else
            ((int64_t *)y->data)[at] = result;
    }
    return TN_OK;
}
#endif
static int64_t pieces_of(const tn_call *call) {
    const int64_t count = call->inputs[0]->shape[axis_of(call)];
    return count / PIECE + (count % PIECE != 0);
}
static tn_status reshape_chunks(tn_call *call) {
    call->workspace_bytes = ((uint64_t)pieces_of(call) + call->threads) * 8;
#if MISTAKE == 6
    call->workspace_bytes = 64 * 8; /* enough for a line of 16,384 */
#endif
    return TN_OK;
}
static tn_status run_chunks(tn_call *call) {
    const int64_t lines = lines_of(call), pieces = pieces_of(call);
    uint64_t *sums = call->workspace;
    for (int64_t l = 0; l < lines; l++) {
        job j = {call, l, pieces, true};
#if MISTAKE == 1
        memset(sums, 0, 8 * call->threads);
        tn_status bad = call->host->parallel_for(call, pieces, 1, piece_body, &j);
        if (bad == TN_OK) bad = call->host->parallel_for(call, pieces, 1, thread_body, &j);
        if (bad != TN_OK) return bad;
        continue;
#endif
        tn_status status = call->host->parallel_for(call, pieces, 1, piece_body, &j);
        if (status != TN_OK) return status;
        uint64_t before = 0;
        for (int64_t i = 0; i < pieces; i++) {
            const uint64_t sum = sums[i];
            sums[i] = before;
            before += sum;
        }
        j.is_first = false;
        status = call->host->parallel_for(call, pieces, 1, piece_body, &j);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

#if MISTAKE == 4
/* In 32-bit floats, one piece a thread: the sums round differently with the number of threads. */
static tn_status share_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *x = call->inputs[0]->data;
    const int64_t n = call->inputs[0]->shape[0], shares = (int64_t)call->threads;
    float *sums = call->workspace;
    for (int64_t s = begin; s < end; s++) {
        float sum = 0;
        for (int64_t i = n * s / shares; i < n * (s + 1) / shares; i++)
            sum += x[i];
        sums[s] = sum;
    }
    return TN_OK;
}
static tn_status reshape_lines(tn_call *call) {
    call->workspace_bytes = 4 * (uint64_t)call->threads;
    return TN_OK;
}
static tn_status run_shares(tn_call *call) {
    const running *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->type != TN_F32 || x->rank != 1 || p->exclusive || p->reverse) return run_lines(call);
    const float *from = x->data, *sums = call->workspace;
    float *to = call->outputs[0]->data;
    const int64_t n = x->shape[0], shares = (int64_t)call->threads;
    const tn_status status = call->host->parallel_for(call, shares, 1, share_body, call);
    float before = 0;
    for (int64_t s = 0; status == TN_OK && s < shares; s++) {
        float sum = before;
        for (int64_t i = n * s / shares; i < n * (s + 1) / shares; i++)
            to[i] = sum += from[i];
        before += sums[s];
    }
    return status;
}
#endif

static const char *const cases[] = {"| x=f32[3,7]",
                                    "| x=f32[1500]",
                                    "axis=0 exclusive=true | x=f32[5,4]",
                                    "axis=1 reverse=true | x=i32[2,300,3]",
                                    "exclusive=true reverse=true | x=f32[4,6]",
                                    "axis=0 exclusive=true reverse=true | x=i64[600,2]",
                                    "| x=i64[2,513]",
                                    "| x=f64[2,0]",
                                    "axis=0 | x=i32[1,9]"};
static const tn_operator op = {THIRD_OPERATOR("Running"), .state_version = 1,
                               TN_FIELDS(running, fields), .doc = "Sums as they grow."};
static const char *const integers[] = {"i32 -> i32", "i64 -> i64"};
static const tn_kernel lines = {THIRD_KERNEL("Running", "lines"),
                                .traits = TN_KERNEL_DETERMINISTIC
#if MISTAKE != 4
                                          | TN_KERNEL_IN_PLACE,
                                .run = run_lines
#else
                                ,
                                .reshape = reshape_lines, .run = run_shares
#endif
};
static const tn_kernel chunks = {THIRD_KERNEL("Running", "chunks"),
                                 .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(integers),
                                 .reshape = reshape_chunks, .run = run_chunks};
THIRD_LIBRARY("running", op, &lines, &chunks)
