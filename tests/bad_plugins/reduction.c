/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::RowSums, the sums of rows along the last axis: partial sums in the workspace, a table made
 * in open, state made in prepare; and the mistakes that are made with memory and lives. */
#include "mistake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <xmmintrin.h>

static void *volatile forgotten;
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "of rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x without its last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x must have an axis");
    if (WITH(forgets_what_infer_took)) forgotten = malloc(48);
    call->outputs[0]->rank = x->rank - 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static int64_t row_count(const tn_call *call) {
    return count_of(call->outputs[0]);
}
static int64_t row_length(const tn_call *call) {
    return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t length = row_length(call);
    for (int64_t r = 0, rows = row_count(call); r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < length; i++)
            sum += (double)x[r * length + i];
        y[r] = (float)sum;
    }
    return TN_OK;
}

/* An engine's: ones to multiply with, as a packed weight would be. A context's: two small tables.
 */
typedef struct engine_state {
    float ones[8];
    float shared_sums[64];
    uint64_t workspace_bytes;
} engine_state;
typedef struct context_state {
    float *first, *second, *by_shape;
    int64_t length;
    float *kept_workspace;
    bool is_filled;
    int file;
} context_state;

static void *take(tn_call *call, uint64_t bytes) {
    return call->host->allocate(call->host, bytes, 64);
}
static void give(tn_call *call, void *memory) {
    call->host->deallocate(call->host, memory);
}
static tn_status no_memory(tn_call *call) {
    return call->host->fail(call, TN_ERROR_MEMORY, "no memory for tables");
}

static uint64_t wanted_workspace(const tn_call *call) {
    const uint64_t bytes = (uint64_t)(row_count(call) + call->threads) * sizeof(float);
    return WITH(workspace_one_short) ? bytes - call->threads * sizeof(float) : bytes;
}

static tn_status prepare(tn_call *call) {
    engine_state *state = take(call, sizeof(*state));
    if (!state) return no_memory(call);
    for (int i = 0; i < 8; i++)
        state->ones[i] = 1;
    state->workspace_bytes = wanted_workspace(call);
    call->state = state;
    return TN_OK;
}
static void release(tn_call *call) {
    if (!WITH(leaks_state)) give(call, call->state);
}

static void *sleep_shortly(void *user) {
    usleep(300000);
    return user;
}

static tn_status open_tables(tn_call *call) {
    context_state *context = take(call, sizeof(*context));
    if (!context) return no_memory(call);
    if (WITH(starts_thread)) {
        pthread_t thread;
        (void)pthread_create(&thread, NULL, sleep_shortly, NULL);
    }
    *context = (context_state){.file = WITH(leaks_file) ? open("/dev/null", O_RDONLY) : -1};
    if (WITH(leaks_heap)) forgotten = malloc(100);
    context->first = take(call, 64);
    if (!context->first && !WITH(believes_in_memory)) {
        give(call, context);
        return no_memory(call);
    }
    context->first[0] = 1;
    context->second = take(call, 64);
    if (!context->second) {
        if (!WITH(leaks_on_failure)) give(call, context->first);
        if (WITH(frees_twice)) give(call, context->first);
        give(call, context);
        return WITH(hides_no_memory) ? TN_OK : no_memory(call);
    }
    context->second[0] = 1;
    call->context = context;
    return TN_OK;
}

static void close_tables(tn_call *call) {
    context_state *context = call->context;
    give(call, context->first);
    give(call, context->second);
    if (WITH(closes_what_is_not_open)) context->by_shape[0] = 0;
    give(call, context->by_shape);
    give(call, context);
    if (WITH(frees_state_in_close)) give(call, call->state);
}

static tn_status reshape(tn_call *call) {
    context_state *context = call->context;
    const engine_state *state = call->state;
    const int64_t length = row_length(call);
    if (!context->by_shape || !WITH(first_shape_for_ever)) {
        give(call, context->by_shape);
        if (WITH(second_reshape) && context->by_shape) context->first[0] = context->by_shape[0];
        context->by_shape = WITH(second_reshape) && context->by_shape
                                ? (float *)-64
                                : take(call, (uint64_t)(length + 1) * sizeof(float));
        if (!context->by_shape) return no_memory(call);
        for (int64_t i = 0; i < length; i++)
            context->by_shape[i] = state->ones[i % 8];
        context->length = length;
    }
    context->is_filled = false;
    call->workspace_bytes = WITH(workspace_of_optimum) ? state->workspace_bytes
                            : WITH(no_workspace)       ? 0
                                                       : wanted_workspace(call);
    return TN_OK;
}

static float sum_row(const float *x, const float *factors, int64_t length) {
    float sum = 0;
    int64_t i = 0;
    if (WITH(aligned_rows)) {
        __m128 sums = _mm_setzero_ps();
        for (; i + 4 <= length; i += 4)
            sums = _mm_add_ps(sums, _mm_load_ps(x + i));
        sum = sums[0] + sums[1] + sums[2] + sums[3];
    }
    for (; i < length; i++)
        sum += x[i] * factors[i];
    return sum;
}

static tn_status sum_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const context_state *context = call->context;
    engine_state *state = call->state;
    const float *x = call->inputs[0]->data;
    const int64_t length = WITH(first_shape_for_ever) ? context->length : row_length(call);
    float *sums = WITH(keeps_workspace) ? context->kept_workspace : call->workspace;
    if (WITH(sums_in_state)) sums = state->shared_sums;
    for (int64_t r = begin; r < end; r++) {
        const int64_t at = WITH(sums_in_state) ? r % 64 : r;
        if (WITH(dirty_workspace))
            sums[at] += sum_row(x + r * length, context->by_shape, length);
        else
            sums[at] = sum_row(x + r * length, context->by_shape, length);
    }
    return TN_OK;
}

/* The shares of one row: for the mistakes that split it among threads. */
typedef struct shares {
    const tn_call *call;
    float *sums, total;
    int64_t row;
} shares;

static tn_status sum_share(void *user, int64_t begin, int64_t end, uint32_t thread) {
    shares *s = user;
    const float *x = (const float *)s->call->inputs[0]->data + s->row * row_length(s->call);
    const bool is_shared = WITH(shared_total);
    if (!is_shared) s->sums[thread] = 0;
    for (int64_t i = begin; i < end; i++)
        if (is_shared)
            *(volatile float *)&s->total += x[i];
        else
            s->sums[thread] += x[i];
    return TN_OK;
}

static float sum_on_threads(tn_call *call, int64_t row, float *sums) {
    shares s = {call, sums, 0, row};
    for (uint32_t i = 0; i < call->threads; i++)
        sums[i] = 0;
    (void)call->host->parallel_for(call, row_length(call), 1, sum_share, &s);
    float total = 0;
    for (uint32_t i = 0; i < call->threads; i++)
        total += sums[i];
    return WITH(shared_total) ? s.total : total;
}

static tn_status run(tn_call *call) {
    context_state *context = call->context;
    const int64_t rows = row_count(call);
    float *y = call->outputs[0]->data, *sums = call->workspace;
    if (WITH(leaks_in_run)) forgotten = malloc(24);
    if (WITH(aligns_workspace)) sums = (float *)(((uintptr_t)sums + 255) / 256 * 256 + 192);
    if (WITH(aligns_workspace)) call->workspace = sums;
    if (WITH(keeps_workspace) && !context->kept_workspace) context->kept_workspace = sums;
    if (WITH(split_by_threads) || WITH(shared_total)) {
        for (int64_t r = 0; r < rows; r++)
            y[r] = sum_on_threads(call, r, sums + rows);
        return TN_OK;
    }
    if (WITH(workspace_lasts) && context->is_filled) {
        for (int64_t r = 0; r < rows; r++)
            y[r] = sums[r];
        return TN_OK;
    }
    context->is_filled = true;
    const tn_status status = call->host->parallel_for(call, rows, 1, sum_rows, call);
    if (WITH(keeps_workspace)) sums = context->kept_workspace;
    if (WITH(sums_in_state)) sums = ((engine_state *)call->state)->shared_sums;
    for (int64_t r = 0; r < rows; r++)
        y[r] = sums[WITH(sums_in_state) ? r % 64 : r];
    for (uint32_t i = 0; i < call->threads && !WITH(sums_in_state) && !WITH(keeps_workspace); i++)
        sums[rows + i] = 0;
    return status;
}

static const char *const cases[] = {"| x=f32[5,7] | y=f32[5]", "| x=f32[2,3,16]",
                                    "| x=f32[2,3]{1,2,3,4,5,6} | y=f32[2]{6,15}"};
static const tn_operator row_sums = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Bad",
                                     .name = "RowSums",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel row_sums_cpu = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "Bad",
                                       .op = "RowSums",
                                       .device = "cpu",
                                       .name = "rows",
                                       .traits = TN_KERNEL_DETERMINISTIC,
                                       TN_COMBINATIONS(combinations),
                                       .prepare = prepare,
                                       .release = release,
                                       .open = open_tables,
                                       .close = close_tables,
                                       .reshape = reshape,
                                       .run = run};
static const tn_operator *const operators[] = {&row_sums};
static const tn_kernel *const kernels[] = {&row_sums_cpu};
TN_LIBRARY("bad_row_sums", "1", operators, kernels)
