/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Pick, rows of a matrix by their numbers, times a ramp along the columns that a context keeps
 * and a gain that all nodes have from one table; and the mistakes that show after a run that
 * failed, a shape without elements, or another node's or context's end. */
#include "mistake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { GAINS = 4 };
typedef struct pick_params {
    uint64_t present;
    int64_t gain;
} pick_params;
static const tn_field fields[] = {
    TN_FIELD_RANGE(pick_params, gain, TN_FIELD_I64, 0, "1", 0, GAINS - 1, "which of four gains")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                 TN_PORT("numbers", "i32", 0, "of rows")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "a row for each number")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *numbers = call->inputs[1];
    if (x->rank != 2 || numbers->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "x is rows, columns, numbers are a vector");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = numbers->shape[0];
    call->outputs[0]->shape[1] = x->shape[1];
    return TN_OK;
}

static float ramp(int64_t column) {
    return 1 + (float)(column % 8) / 8;
}
static float gain_of(int64_t gain) {
    return 0.5f + (float)gain;
}
static tn_status verify(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *numbers = call->inputs[1];
    for (int64_t i = 0; i < numbers->shape[0]; i++) {
        const int32_t number = ((const int32_t *)numbers->data)[i];
        if (number < 0 || number >= x->shape[0])
            return call->host->fail(call, TN_ERROR_RANGE, "there is no row %d", number);
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const pick_params *p = call->params;
    const int64_t columns = call->inputs[0]->shape[1];
    const int32_t *numbers = call->inputs[1]->data;
    const tn_status status = verify(call);
    if (status != TN_OK) return status;
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]->data)[numbers[i / columns] * columns + i % columns] *
            ramp(i % columns) * gain_of(p->gain);
    return TN_OK;
}

/* --- the gains that all nodes share --- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float *gains;
static int users;

static tn_status prepare(tn_call *call) {
    tn_status status = TN_OK;
    pthread_mutex_lock(&lock);
    if (!gains) {
        gains = malloc(GAINS * sizeof(float));
        for (int i = 0; gains && i < GAINS; i++)
            gains[i] = gain_of(i);
    }
    if (gains)
        users++;
    else
        status = call->host->fail(call, TN_ERROR_MEMORY, "no memory for gains");
    pthread_mutex_unlock(&lock);
    return status;
}
static void release(tn_call *call) {
    (void)call;
    pthread_mutex_lock(&lock);
    users--;
    if (WITH(first_release_clears) && gains)
        for (int i = 0; i < GAINS; i++)
            gains[i] = 0;
    if (users == 0) {
        free(gains);
        gains = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* --- what a context keeps --- */
typedef struct kept {
    int64_t columns;
    float *ramps;
    bool is_busy, has_failed;
} kept;
static float last_ramp = 1; /* of the mistake: 1 while a context is open */
static tn_status open_context(tn_call *call) {
    kept *k = call->host->allocate(call->host, sizeof(*k), 64);
    if (!k) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    *k = (kept){.columns = -1};
    if (WITH(close_is_for_all)) last_ramp = 1;
    call->context = k;
    return TN_OK;
}
static void close_context(tn_call *call) {
    kept *k = call->context;
    if (WITH(close_is_for_all)) last_ramp = 0;
    call->host->deallocate(call->host, k->ramps);
    call->host->deallocate(call->host, k);
}
static tn_status reshape(tn_call *call) {
    kept *k = call->context;
    const int64_t columns = call->inputs[0]->shape[1];
    if (columns == k->columns) return TN_OK;
    call->host->deallocate(call->host, k->ramps);
    k->ramps = NULL;
    if (columns == 0) {
        if (!WITH(nothing_keeps_columns)) k->columns = 0;
        return TN_OK;
    }
    k->columns = -1;
    k->ramps = call->host->allocate(call->host, (uint64_t)columns * sizeof(float), 64);
    if (!k->ramps) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a ramp");
    for (int64_t c = 0; c < columns; c++)
        k->ramps[c] = ramp(c);
    k->columns = columns;
    return TN_OK;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const pick_params *p = call->params;
    const kept *k = call->context;
    const int64_t columns = call->inputs[0]->shape[1];
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const int64_t from = ((const int32_t *)call->inputs[1]->data)[r] * columns;
        for (int64_t c = 0; c < columns; c++)
            ((float *)call->outputs[0]->data)[r * columns + c] =
                ((const float *)call->inputs[0]->data)[from + c] * k->ramps[c] * gains[p->gain] *
                (WITH(close_is_for_all) ? last_ramp : 1);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    kept *k = call->context;
    if (k->is_busy) return call->host->fail(call, TN_ERROR_STATE, "the context is busy");
    const tn_status is_sound = verify(call);
    if (WITH(refused_for_good) && is_sound != TN_OK) k->has_failed = true;
    if (is_sound != TN_OK) return is_sound;
    if (k->has_failed) return call->host->fail(call, TN_ERROR_STATE, "an earlier run has failed");
    k->is_busy = true;
    const tn_status status =
        call->host->parallel_for(call, call->inputs[1]->shape[0], 1, rows, call);
    if (status == TN_OK || !WITH(stays_busy)) k->is_busy = false;
    return status;
}

static tn_status operations(tn_call *call, double *out_operations) {
    const int64_t count = count_of(call->outputs[0]);
    *out_operations = WITH(operations_below_zero) ? 2 * (double)count - 1000 : 2 * (double)count;
    return TN_OK;
}
static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    static int asked;
    if (WITH(key_counts_itself)) asked++;
    return snprintf(text, bytes, "rows by number, %d", asked) < (int)bytes ? TN_OK : TN_ERROR_RANGE;
}

static const char *const cases[] = {"| x=f32[3,4] numbers=i32[2]{2,0}",
                                    "gain=2 | x=f32[2,9] numbers=i32[3]{1,1,0}"};
static const tn_operator pick = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Pick",
                                 TN_FIELDS(pick_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 .operations = operations,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32, i32 -> f32"};
static const tn_kernel pick_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Pick",
                                   .device = "cpu",
                                   .name = "rows",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .prepare = prepare,
                                   .release = release,
                                   .open = open_context,
                                   .close = close_context,
                                   .reshape = reshape,
                                   .timing_key = timing_key,
                                   .run = run};
static const tn_operator *const operators[] = {&pick};
static const tn_kernel *const kernels[] = {&pick_cpu};
TN_LIBRARY("bad_afterwards", "1", operators, kernels)
