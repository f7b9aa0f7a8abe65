/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Mirror, rows mirrored by way of scratch memory, and the number of rows that begin above
 * zero, on several threads; and the mistakes of sharing that show only where two threads happen to
 * meet, and of a stack that another machine has less of. */
#include "mistake.h"

#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "..., n")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x"),
                                  TN_PORT("above", "i32", 0, "one element")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    if (WITH(extent_behind_the_rank) && x->shape[1] > 1000000)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has too many columns");
    call->outputs[1]->rank = 1;
    call->outputs[1]->shape[0] = 1;
    return infer_same(call);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const float *from = x->data;
    float *y = call->outputs[0] ? call->outputs[0]->data : NULL;
    int32_t above = 0;
    for (int64_t i = 0, count = count_of(x); i < count; i++) {
        if (y) y[i] = from[i / n * n + n - 1 - i % n];
        above += i % n == 0 && from[i] > 0;
    }
    if (call->outputs[1]) *(int32_t *)call->outputs[1]->data = above;
    return TN_OK;
}

typedef struct job {
    tn_call *call;
    int64_t rows, n, stride; /* floats of workspace a thread */
    float *y;                /* null: nobody asks for it */
    int32_t *above, count;   /* where rows are counted; `count` where nobody asks for it */
} job;

static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const float *x = j->call->inputs[0]->data;
    float *row = (float *)j->call->workspace + j->stride * thread;
    if (WITH(writes_the_next_row_too) && end < j->rows) end++;
    for (int64_t r = begin; r < end; r++) {
        for (int64_t i = 0; i < j->n; i++)
            row[i] = x[r * j->n + j->n - 1 - i];
        if (j->y) memcpy(j->y + r * j->n, row, (size_t)j->n * sizeof(float));
        if (j->n == 0 || !(x[r * j->n] > 0)) continue;
        if (WITH(counts_in_the_caller))
            j->count++;
        else if (WITH(counts_without_atomics))
            (*j->above)++;
        else if (!WITH(writes_the_next_row_too))
            __atomic_fetch_add(j->above, 1, __ATOMIC_RELAXED);
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    job j = {.call = call, .rows = n > 0 ? count_of(x) / n : 0, .n = n};
    j.y = call->outputs[0] ? call->outputs[0]->data : NULL;
    j.above = call->outputs[1] ? call->outputs[1]->data : &j.count;
    if (WITH(stack_of_400_kilobytes)) {
        volatile char buffer[400 << 10];
        for (size_t i = 0; i < sizeof(buffer); i += 4096)
            buffer[i] = 1;
    }
    j.stride = WITH(one_row_for_all_threads) ? 0 : (n + 15) / 16 * 16;
    *j.above = 0;
    const tn_status status = call->host->parallel_for(call, j.rows, 1, do_rows, &j);
    if (WITH(counts_in_the_caller)) *j.above = j.count;
    for (int64_t r = 0; r < j.rows && WITH(writes_the_next_row_too); r++)
        *j.above += ((const float *)x->data)[r * n] > 0;
    return status;
}

static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t row = ((uint64_t)x->shape[x->rank - 1] + 15) / 16 * 64;
    call->workspace_bytes = WITH(one_row_for_all_threads) ? row : row * call->threads;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[6,8]", "| x=f32[5]", "| x=f32[2,3,4]"};
static const tn_operator mirror = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Mirror",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, i32"};
static const tn_kernel mirror_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Mirror",
                                     .device = "cpu",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .reshape = reshape,
                                     .run = run};
static const tn_operator *const operators[] = {&mirror};
static const tn_kernel *const kernels[] = {&mirror_cpu};
TN_LIBRARY("bad_mirror", "1", operators, kernels)
