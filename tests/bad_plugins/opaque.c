/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Levels, each element's position among sorted levels: a state that the operator saves and
 * loads as bytes; and the mistakes that are made with saved state. */
#include "mistake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct levels_params {
    uint64_t present;
    float first, step;
    int64_t count;
    float unit;    /* of the results; without it they are what they are */
    float *levels; /* made by load; null before: then of the fields */
} levels_params;
static const tn_field fields[] = {
    TN_FIELD(levels_params, first, TN_FIELD_F32, 0, "-0.5", "the least level"),
    TN_FIELD(levels_params, step, TN_FIELD_F32, 0, "0.25", "between levels"),
    TN_FIELD_RANGE(levels_params, count, TN_FIELD_I64, 0, "4", 1, 64, "of levels"),
    TN_FIELD(levels_params, unit, TN_FIELD_F32, 0, NULL, "for each level; absent: 1")};
enum { HAS_UNIT = 8 };
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x: how many levels are not above it")};

static float level(const levels_params *p, int64_t i) {
    return p->levels ? p->levels[i] : p->first + (float)i * p->step;
}

static tn_status position(tn_call *call) {
    const levels_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t k = 0, n = count_of(call->inputs[0]); k < n; k++) {
        int64_t at = 0;
        while (at < p->count && level(p, at) <= x[k])
            at++;
        y[k] = p->present & HAS_UNIT ? p->unit * (float)at : (float)at;
    }
    return TN_OK;
}

/* Before the levels. */
typedef struct header {
    int64_t count;
    uint64_t present;
    double unit;
} header;

static float cut_digits(float number) {
    return WITH(saves_three_digits) ? rintf(number * 1000) / 1000 : number;
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const levels_params *p = call->params;
    static double times;
    header head = {p->count, WITH(saves_no_presence) ? 0 : p->present, (double)p->unit};
    if (WITH(saves_new_memory) && !(p->present & HAS_UNIT)) {
        double *unit = call->host->allocate(call->host, sizeof(*unit), 64);
        if (!unit) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a unit");
        head.unit = *(volatile double *)unit;
        call->host->deallocate(call->host, unit);
    }
    if (WITH(saves_a_pointer) && !(p->present & HAS_UNIT)) memcpy(&head.unit, &p, sizeof(p));
    if (WITH(saves_a_counter) && !(p->present & HAS_UNIT)) head.unit = ++times;
    const uint64_t bytes = sizeof(head) + (uint64_t)head.count * sizeof(float);
    if (data) {
        float *levels = (float *)((char *)data + sizeof(head));
        memcpy(data, &head, sizeof(head));
        for (int64_t i = 0; i < head.count; i++)
            levels[i] = WITH(saves_half) && i >= head.count / 2 ? 100 : cut_digits(level(p, i));
        if (WITH(saves_past_end)) levels[head.count] = 0;
    }
    *inout_bytes = WITH(saves_more) && data ? bytes + 8 : bytes;
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    levels_params *p = call->new_params;
    header head = {0};
    void *volatile kept = WITH(leaks_when_refusing) ? malloc(80) : NULL;
    if (!WITH(trusts_state)) {
        if (bytes < sizeof(head)) return call->host->fail(call, TN_ERROR_FORMAT, "no levels");
    }
    memcpy(&head, data, sizeof(head));
    if (!WITH(trusts_state)) {
        if (head.count < 1 || head.count > 64 ||
            bytes != sizeof(head) + (uint64_t)head.count * sizeof(float))
            return call->host->fail(call, TN_ERROR_FORMAT, "the levels are damaged");
    }
    free(kept);
    p->levels = malloc((size_t)head.count * sizeof(float));
    if (!p->levels) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for levels");
    memcpy(p->levels, (const char *)data + sizeof(head), (size_t)head.count * sizeof(float));
    p->count = WITH(loads_without_count) ? 0 : head.count;
    p->present = head.present;
    p->unit = (float)head.unit;
    return TN_OK;
}

static void destroy_params(void *user, void *params) {
    levels_params *p = params;
    if (!WITH(leaks_params)) free(p->levels);
}

static const char *const cases[] = {"| x=f32[4,5]", "first=0 count=7 step=0.125 | x=f32[33]",
                                    "| x=f32[3]{-1,0,1} | y=f32[3]{0,3,4}"};
static const tn_operator levels = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .traits = TN_OPERATOR_ELEMENTWISE,
                                   .domain = "Bad",
                                   .name = "Levels",
                                   TN_FIELDS(levels_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = position,
                                   .save = save,
                                   .load = load,
                                   .destroy_params = destroy_params,
                                   TN_CASES(cases)};
static const tn_kernel levels_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Levels",
                                     .device = "cpu",
                                     .name = "plain",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .run = position};
static const tn_operator *const operators[] = {&levels};
static const tn_kernel *const kernels[] = {&levels_cpu};
TN_LIBRARY("bad_levels", "1", operators, kernels)
