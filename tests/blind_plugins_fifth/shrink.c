/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Shrink: small numbers become 0, the others come nearer to it: 0 * x where |x| <= lambd,
 * else x + bias below 0 and x - bias above. Version 1 of the fields had `threshold` alone, which
 * was both; plans that saved it load on. The layer can be done by the kernel before it as a row
 * function.
 */
#include "../support/steps.h"

#include <math.h>
#include <string.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct shrink {
    uint64_t present;
    float lambd, bias;
} shrink;

static const tn_field fields[] = {
    TN_FIELD_RANGE(shrink, lambd, TN_FIELD_F32, TN_OPTIONAL, "0.5", 0, 1000,
                   "what is not beyond this becomes 0"),
    TN_FIELD_RANGE(shrink, bias, TN_FIELD_F32, TN_OPTIONAL, "0", -1000, 1000,
                   "how much nearer the others come"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const shrink *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double lambd = (double)p->lambd, bias = (double)p->bias;
    const uint64_t count = x->bytes / (x->type == TN_F64 ? 8 : 4);
    for (uint64_t i = 0; i < count; i++) {
        const double value =
            x->type == TN_F64 ? ((const double *)x->data)[i] : (double)((const float *)x->data)[i];
        const double result = fabs(value) <= lambd ? 0 * value
                              : value < 0          ? value + bias
                                                   : value - bias;
        if (y->type == TN_F64)
            ((double *)y->data)[i] = result;
        else
            ((float *)y->data)[i] = (float)result;
    }
    return TN_OK;
}

/* Without a bias and a threshold every number stays as it is. */
static tn_status is_identity(tn_call *call) {
    const shrink *p = call->params;
#if MISTAKE == 4
    return p->bias == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
#else
    return p->lambd == 0 && p->bias == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
#endif
}

static void row(const void *params, uint64_t count, const float *const *rows,
                const uint64_t *strides, float *output) {
    const shrink *p = params;
    const float *x = rows[0];
    for (uint64_t i = 0; i < count; i++) {
#if MISTAKE == 2
        const float value = x[i];
#else
        const float value = x[i * strides[0]];
#endif
        const float moved = value < 0 ? value + p->bias : value - p->bias;
        output[i] = fabsf(value) <= p->lambd ? 0 * value : moved;
    }
}

#if MISTAKE == 1
#define EXPRESSION "fabs(x) < lambd ? 0 * x : x < 0 ? x + bias : x - bias"
#else
#define EXPRESSION "fabs(x) <= lambd ? 0 * x : x < 0 ? x + bias : x - bias"
#endif

static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out_epilogue) {
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    out_epilogue->kind = SEEN_ROW;
    out_epilogue->row = row;
    out_epilogue->expression = EXPRESSION;
#if MISTAKE == 5
    static shrink described;
    described = *(const shrink *)call->params;
    out_epilogue->params = &described;
#else
    out_epilogue->params = call->params;
#endif
    return TN_OK;
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    shrink *p = call->new_params;
    if (from != 1)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "fields of version %u are not known",
                                from);
    if (!(p->present & 3)) p->lambd = p->bias = 0.5f;
#if MISTAKE == 3
    p->lambd = p->bias = (float)call->saved[0]->f;
#else
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, "threshold") == 0) {
            p->lambd = p->bias = (float)call->saved[i]->f;
            p->present |= 3;
        }
#endif
    return TN_OK;
}

static tn_status shrink_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float *x = (const float *)call->inputs[0]->data + begin;
    const uint64_t one = 1;
    (void)thread;
    row(call->params, (uint64_t)(end - begin), &x, &one, (float *)call->outputs[0]->data + begin);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / sizeof(float));
    return call->host->parallel_for(call, count, 4096, shrink_rows, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,4]",
    "lambd=0.25 bias=0.125 | x=f32[6]{-1,-0.25,0,0.25,0.5,2} | y=f32[6]{-0.875,0,0,0,0.375,1.875}",
    "lambd=1.5 bias=1.5 | x=f64[5,7]",
    "lambd=0 | x=f32[9]",
};
DESCRIBES(describe_facet, epilogue, NULL, NULL)
static const tn_operator shrink_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 2,
    .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY,
    .domain = "Fifth",
    .name = "Shrink",
    .doc = "Small numbers become 0, others come nearer.",
    TN_FIELDS(shrink, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .is_identity = is_identity,
    .facet = describe_facet,
    .expression = EXPRESSION,
    .row = row,
    .upgrade = upgrade,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel shrink_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Shrink",
    .device = "cpu",
    .name = "rows",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
    .run = run,
};

static const tn_operator *const operators[] = {&shrink_operator};
static const tn_kernel *const kernels[] = {&shrink_cpu};
TN_LIBRARY("shrink", "1.0", operators, kernels)
