/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad::Powers, y = x ** exponent for small whole exponents, whose kernel keeps a table of
 * instructions as its state in the plan, reads its own field and answers its own combinations; and
 * the mistakes that are made with these.
 */
#include "mistake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct powers_params {
    uint64_t present;
    int32_t exponent;
} powers_params;

static const tn_field fields[] = {
    TN_FIELD_RANGE(powers_params, exponent, TN_FIELD_I32, TN_OPTIONAL, "2", 1, 16, "the power")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "numbers")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "their powers")};

static tn_status reference(tn_call *call) {
    const powers_params *params = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const double x = (double)((const float *)call->inputs[0]->data)[i];
        double y = x;
        for (int32_t k = 1; k < params->exponent; k++)
            y *= x;
        ((float *)call->outputs[0]->data)[i] = (float)y;
    }
    return TN_OK;
}

/* --- the kernel: its own struct, and a state of one step for each multiplication --- */

typedef struct kernel_params {
    uint64_t present;
    int64_t exponent;
} kernel_params;

static const tn_field kernel_fields[] = {
    TN_FIELD(kernel_params, exponent, TN_FIELD_I64, TN_REQUIRED, NULL, "the power")};

typedef struct steps {
    uint32_t mark, count;
    uint64_t noise;
    uint8_t items[16];
} steps;
enum { MARK = 0x504f57 };

static tn_status keep(tn_call *call, const steps *made) {
    steps *state = call->host->allocate(call->host, sizeof(*state), 16);
    if (!state) return TN_ERROR_MEMORY;
    *state = *made;
    call->state = state;
    return TN_OK;
}

static tn_status prepare(tn_call *call) {
    const kernel_params *params = call->kernel_params;
    steps made = {MARK, (uint32_t)params->exponent, 0, {0}};
    memset(made.items, 1, made.count);
    if (WITH(keeps_a_pointer)) made.noise = (uint64_t)(uintptr_t)call->inputs;
    return keep(call, &made);
}

static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const steps *state = call->state;
    const uint64_t bytes = sizeof(*state);
    if (data) memcpy(data, state, WITH(keeps_half) ? 4 : bytes);
    if (data && WITH(keeps_past_end)) ((char *)data)[bytes] = 1;
    *inout_bytes = bytes;
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    steps made;
    void *volatile kept = WITH(leaks_when_refusing_kept) ? malloc(80) : NULL;
    if (bytes != sizeof(made) && !WITH(trusts_length))
        return call->host->fail(call, TN_ERROR_FORMAT, "a state of %llu bytes",
                                (unsigned long long)bytes);
    memcpy(&made, data, sizeof(made));
    if (made.mark != MARK || (made.count < 1 && !WITH(trusts_length)) ||
        (made.count > sizeof(made.items) && !WITH(trusts_kept_count)))
        return WITH(refuses_kept_silently)
                   ? TN_ERROR_FORMAT
                   : call->host->fail(call, TN_ERROR_FORMAT, "the steps are damaged");
    free(kept);
    if (WITH(loads_another)) made.count = 1;
    return keep(call, &made);
}

static tn_status run(tn_call *call) {
    const steps *state = call->state;
    if (WITH(writes_own_params)) ((kernel_params *)(uintptr_t)call->kernel_params)->exponent = 1;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const float x = ((const float *)call->inputs[0]->data)[i];
        float y = 0;
        for (uint32_t k = 0; k < state->count; k++)
            if (state->items[k]) y = k == 0 ? x : y * x;
        ((float *)call->outputs[0]->data)[i] = y;
    }
    return TN_OK;
}

static tn_status combination(tn_call *call, uint32_t index, char *text, uint32_t bytes) {
    static int asked;
    const char *const texts[] = {"f32 -> f32", WITH(answers_badly) ? "f32 - f32"
                                                                   : "f32:nhwc -> "
                                                                     "f32:nhwc"};
    snprintf(text, bytes, "%s",
             WITH(answers_otherwise) ? texts[asked++ / 2 % 2] : texts[index % 2]);
    return index < 2 || WITH(answers_forever) ? TN_OK : TN_ERROR_RANGE;
}

static const char *const cases[] = {"| x=f32[1,3,2,2]", "exponent=5 | x=f32[2,5,3,1]",
                                    "| x=f32[1,1,1,2]{3,-2} | y=f32[1,1,1,2]{9,4}"};
static const tn_operator powers = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .traits = TN_OPERATOR_ELEMENTWISE,
                                   .domain = "Bad",
                                   .name = "Powers",
                                   TN_FIELDS(powers_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer_same,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const tn_kernel powers_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Powers",
                                     .device = "cpu",
                                     .name = "steps",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .prepare = prepare,
                                     .release = release,
                                     .run = run,
                                     TN_FIELDS(kernel_params, kernel_fields),
                                     .save = save,
                                     .load = load,
                                     .combination = combination};
static const tn_operator *const operators[] = {&powers};
static const tn_kernel *const kernels[] = {&powers_cpu};
TN_LIBRARY("bad_powers", "1", operators, kernels)
