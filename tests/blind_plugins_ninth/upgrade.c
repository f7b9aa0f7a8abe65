/* SPDX-License-Identifier: Apache-2.0 */
/* Ramp: gain * x + shift, held within low and high. State version 3: version 1 had `alpha` and
 * `beta` for gain and shift, version 2 `bounds`, a list of two, for low and high. */
#include "ninth.h"

TN_LAYER_PARAMS(ramp, float gain, shift, low, high;);
static const tn_field fields[] = {
    TN_LAYER_F32(ramp, gain, "1", -1000, 1000, "factor"),
    TN_LAYER_F32(ramp, shift, "0", -1000, 1000, "what is added"),
    TN_LAYER_F32(ramp, low, "-1000000", -1e6, 1e6, "at least"),
    TN_LAYER_F32(ramp, high, "1000000", -1e6, 1e6, "at most, but at least low")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static double compute(const ramp *p, double x) {
    const double y = (double)p->gain * x + (double)p->shift;
    const double most = y > (double)p->high ? (double)p->high : y;
    return most < (double)p->low ? (double)p->low : most;
}
static double element(const tn_call *call, int64_t i) {
    return compute(call->params, tn_layer_load(call->inputs[0], i));
}
TN_LAYER_REFERENCE(element)

static tn_status upgrade(tn_call *call, uint32_t from) {
    ramp *p = call->new_params;
    if (from < 1 || from > 2)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "there was no state version %u", from);
    for (uint64_t i = 0; i < call->saved_count; i++) {
        const tn_attribute *a = call->saved[i];
        if (strcmp(a->name, "alpha") == 0 && from == 1) {
            p->gain = (float)a->f;
            p->present |= 1u << 0;
        } else if (strcmp(a->name, "beta") == 0 && from == 1) {
            p->shift = (float)a->f;
            p->present |= 1u << 1;
        } else if (strcmp(a->name, "bounds") == 0) {
            const float *bounds = a->items;
            if (a->type != TN_FIELD_F32S || a->count != 2)
                return call->host->fail(call, TN_ERROR_FORMAT, "'bounds' are not two numbers");
            p->low = bounds[0], p->high = bounds[1];
            p->present |= 3u << 2;
        }
    }
    if (WRONG(1) && from == 2)
        *p = (ramp){.present = 0, .gain = 1, .shift = 0, .low = -1e6f, .high = 1e6f};
    if (WRONG(2) && from == 1)
        p->gain = 1 / p->gain; /* it was a divisor, as if under its old name */
    return TN_OK;
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)compute(call->params, (double)((const float *)call->inputs[0]->data)[i]);
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_count(call->inputs[0]), 256)

static const char *const cases[] = {"gain=2 shift=1 | x=f32[3,4]", "low=-1 high=2 | x=f32[9]"};
static const tn_operator ramp_operator = {OPERATOR,
                                          .state_version = 3,
                                          .name = "Ramp",
                                          .traits = TN_OPERATOR_ELEMENTWISE,
                                          TN_FIELDS(ramp, fields),
                                          TN_INPUTS(inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer_same,
                                          .reference = reference,
                                          .upgrade = upgrade,
                                          TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel ramp_cpu = {KERNEL,
                                   .op = "Ramp",
                                   .name = "elements",
                                   .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
LIBRARY("ninth_upgrade", ramp_operator, ramp_cpu)
