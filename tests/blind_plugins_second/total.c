/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Total: the sum of all elements, on all threads. */
#include "second.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "one number")};

static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = 0;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    double sum = 0;
    int64_t whole = 0;
    for (int64_t i = 0, count = elements(x); i < count; i++) {
        if (x->type == TN_F32)
            sum += get(x, i);
        else
            whole += get_integer(x, i);
    }
    if (x->type == TN_F32)
        set(call->outputs[0], 0, sum);
    else
        set_integer(call->outputs[0], 0, whole);
    return TN_OK;
}

enum { CHUNK = 512, PARTS = 16 };
typedef struct total_work {
    const tn_tensor *x;
    double *parts;
    int64_t *wholes;
    int64_t count;
} total_work;
static tn_status part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    total_work *t = user;
#if MISTAKE == 2
    for (int64_t i = begin; i < end; i++) { /* all threads add to the same number */
        if (t->x->type == TN_F32)
            *(volatile double *)&t->parts[0] += get(t->x, i);
        else
            *(volatile int64_t *)&t->wholes[0] += get_integer(t->x, i);
    }
#elif MISTAKE == 1
    float sum = 0; /* of this thread's range */
    for (int64_t i = begin; i < end; i++) {
        if (t->x->type == TN_F32)
            sum += (float)get(t->x, i);
        else
            t->wholes[thread % PARTS] += get_integer(t->x, i);
    }
    t->parts[thread % PARTS] += (double)sum;
#else
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = c * CHUNK; i < (c + 1) * CHUNK && i < t->count; i++) {
            if (t->x->type == TN_F32)
                t->parts[c] += get(t->x, i);
            else
                t->wholes[c] += get_integer(t->x, i);
        }
#endif
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    const int64_t chunks = (elements(call->inputs[0]) + CHUNK - 1) / CHUNK;
    call->workspace_bytes = (uint64_t)(chunks < PARTS ? PARTS : chunks) * 16;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t count = elements(x);
    int64_t chunks = (count + CHUNK - 1) / CHUNK;
    if (chunks < PARTS) chunks = PARTS;
    total_work t = {x, call->workspace, (int64_t *)call->workspace + chunks, count};
    memset(call->workspace, 0, (size_t)chunks * 16);
#if MISTAKE == 1 || MISTAKE == 2
    const tn_status status = call->host->parallel_for(call, count, 64, part, &t);
#elif MISTAKE == 3
    const tn_status status =
        count ? call->host->parallel_for(call, count / CHUNK + (count % CHUNK > 1), 1, part, &t)
              : TN_OK;
#else
    const tn_status status =
        call->host->parallel_for(call, (count + CHUNK - 1) / CHUNK, 1, part, &t);
#endif
    if (status) return status;
    double sum = 0;
    int64_t whole = 0;
#if MISTAKE == 4
    if (count == 0) return TN_OK; /* nothing to do */
#endif
    for (int64_t c = 0; c < chunks; c++)
        sum += t.parts[c], whole += t.wholes[c];
    if (x->type == TN_F32)
        set(call->outputs[0], 0, sum);
    else
        set_integer(call->outputs[0], 0, whole);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[20,1000]", "| x=i32[3,5]",
#if MISTAKE == 0
                                    "| x=f32[]", "| x=i32[0,2]",
#endif
                                    "| x=f32[4096]"};
static const char *const combinations[] = {"f32|i32 -> f32|i32"};
OPERATOR("Total", "The sum of all.", TN_NO_FIELDS)
KERNEL("Total", .traits = TN_KERNEL_DETERMINISTIC, .reshape = reshape)
LIBRARY("second_total")
