/* SPDX-License-Identifier: Apache-2.0 */
/* Extreme: the largest element of a tensor and where it is (the first of equal ones; NaN is larger
 * than all numbers), -infinity and -1 of none. Each thread has a part, the parts are joined. */
#include "ninth.h"
#include <fenv.h>
#include <pthread.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("largest", "f32", 0, "a scalar"),
                                  TN_PORT("position", "i64", TN_PORT_OPTIONAL, "a scalar")};

static tn_status infer(tn_call *call) {
    for (uint32_t o = 0; o < call->output_count; o++)
        if (call->outputs[o]) call->outputs[o]->rank = 0;
    return TN_OK;
}

typedef struct best {
    float value;
    int64_t position;
    char apart[48];
} best;
static bool is_better(float a, int64_t at, best b) {
    if (b.position < 0) return true;
    if (isnan(b.value)) return isnan(a) && at < b.position;
    return isnan(a) || a > b.value || (a == b.value && at < b.position);
}
static void answer(const tn_call *call, best b) {
    if (call->outputs[0]) *(float *)call->outputs[0]->data = b.value;
    if (call->output_count > 1 && call->outputs[1]) *(int64_t *)call->outputs[1]->data = b.position;
}

static tn_status reference(tn_call *call) {
    best b = {.value = -INFINITY, .position = -1};
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        const float x = ((const float *)call->inputs[0]->data)[i];
        if (is_better(x, i, b)) b.value = x, b.position = i;
    }
    answer(call, b);
    return TN_OK;
}

static tn_status reshape(tn_call *call) {
    call->workspace_bytes = sizeof(best) * call->threads;
    return TN_OK;
}

#if WRONG(6)
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void free_counter(void *counter) {
    free(counter);
}
static void make_key(void) {
    pthread_key_create(&key, free_counter);
}
/* How many elements a thread has seen, for statistics. */
static void count_elements(int64_t count) {
    pthread_once(&once, make_key);
    int64_t *counter = pthread_getspecific(key);
    if (!counter) {
        counter = calloc(1, sizeof(*counter));
        if (!counter || pthread_setspecific(key, counter) != 0) {
            free(counter);
            return;
        }
    }
    *counter += count;
}
#else
static void count_elements(int64_t count) {
    (void)count;
}
#endif

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    best *parts = call->workspace;
    const float *x = call->inputs[0]->data;
    best b = WRONG(5) ? (best){.value = -INFINITY, .position = -1} : parts[thread];
    if (WRONG(1) && thread != 0) fesetround(FE_DOWNWARD);
    for (int64_t i = begin; i < end; i++) {
        if (is_better(x[i], i, b)) b.value = x[i], b.position = WRONG(4) ? (int16_t)i : i;
    }
    count_elements(end - begin);
    if (WRONG(3)) { /* joins what it found by itself */
        if (is_better(b.value, b.position, parts[0])) parts[0] = b;
        return TN_OK;
    }
    parts[thread] = b;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    best *parts = call->workspace;
    const int64_t count = tn_layer_count(call->inputs[0]);
    if (!WRONG(5))
        for (uint32_t t = 0; t < call->threads; t++)
            parts[t] = (best){.value = -INFINITY, .position = -1};
    const tn_status status = call->host->parallel_for(call, count, 256, body, call);
    if (status != TN_OK) return status;
    best b = {.value = -INFINITY, .position = -1};
    for (uint32_t t = 0; t < call->threads; t++)
        if (parts[t].position >= 0 &&
            is_better(parts[t].value, WRONG(2) ? INT64_MAX : parts[t].position, b))
            b = parts[t];
    if (WRONG(7) && count == 0) return TN_OK;
    answer(call, b);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,4]", "| x=f32[700]"};
static const tn_operator extreme = {OPERATOR,       .state_version = 1,     .name = "Extreme",
                                    TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
                                    .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_kernel extreme_cpu = {KERNEL,
                                      .op = "Extreme",
                                      .name = "parts",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      .reshape = reshape,
                                      .run = run};
LIBRARY("ninth_parallel", extreme, extreme_cpu)
