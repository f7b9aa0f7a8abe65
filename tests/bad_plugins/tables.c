/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Complement of bytes, whose kernel looks its result up in a table where one follows
 * (tenon/plugin/look_up.h); and the mistakes that are made in such kernels. */
#include "mistake.h"

#include <tenon/plugin/look_up.h>

static const tn_port inputs[] = {TN_PORT("x", "T:u8|i8", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x, all bits the other way round")};

static tn_status complement_reference(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (uint8_t)~x[i];
    return TN_OK;
}

static uint8_t looked_up(const tn_call *call, uint8_t x, uint8_t y) {
    if (call->step_count == 0 || WITH(no_look_up)) return y;
    const uint8_t *table = call->operands[call->steps[0]->inputs[1] & ~TN_STEP_OPERAND]->data;
    if (WITH(looks_input_up)) return table[x];
    return WITH(looks_signed_up) ? table[y ^ 0x80] : table[y];
}

static tn_status complement_run(tn_call *call) {
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = looked_up(call, x[i], (uint8_t)~x[i]);
    return TN_OK;
}

static tn_status complement_accepts(tn_call *call) {
    return call->step_count <= 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const cases[] = {"| x=u8[3,5]", "| x=i8[9]", "| x=u8[2,0]"};
static const char *const combinations[] = {"u8 -> u8", "i8 -> i8"};
static const tn_operator complement = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "Bad",
                                       .name = "Complement",
                                       .doc = "",
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer_same,
                                       TN_NO_FIELDS,
                                       .reference = complement_reference,
                                       TN_CASES(cases)};
static const tn_kernel complement_cpu = {.size = sizeof(tn_kernel),
                                         .revision = 1,
                                         .domain = "Bad",
                                         .op = "Complement",
                                         .device = "cpu",
                                         .name = "plain",
                                         .absorbs = TN_FACET_LOOK_UP,
                                         .traits = TN_KERNEL_DETERMINISTIC,
                                         TN_COMBINATIONS(combinations),
                                         .accepts = complement_accepts,
                                         .run = complement_run};
static const tn_operator *const operators[] = {&complement};
static const tn_kernel *const kernels[] = {&complement_cpu};
TN_LIBRARY("bad_tables", "1", operators, kernels)
