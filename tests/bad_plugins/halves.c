/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Halves, the sum of both halves of the channels, in blocks of eight only where both halves
 * are whole blocks, which the node says; and the mistake with a combination of a node. */
#include "mistake.h"

#include <stdio.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, 2 C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, C, H, W")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    if (x->rank != 4 || x->shape[1] % 2)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "x has 4 axes and an even number of channels");
    infer_same(call);
    y->shape[1] = x->shape[1] / 2;
    return TN_OK;
}

static tn_status compute(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t item = y->shape[1] * y->shape[2] * y->shape[3];
    for (int64_t n = 0; n < y->shape[0]; n++)
        for (int64_t i = 0; i < item; i++) {
            const float *x = (const float *)call->inputs[0]->data + 2 * n * item + i;
            ((float *)y->data)[n * item + i] = x[0] + x[item];
        }
    return TN_OK;
}

static tn_status combination(tn_call *call, uint32_t index, char *text, uint32_t bytes) {
    const int64_t block = WITH(blocks_of_any_half) ? 1 : 8;
    if (index > 0 || call->outputs[0]->shape[1] % block) return TN_ERROR_NOT_FOUND;
    snprintf(text, bytes, "f32:c8 -> f32:c8");
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[2,6,3,4]", "| x=f32[1,16,2,5]", "| x=f32[2,32,3,3]"};
static const tn_operator halves = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Halves",
                                   TN_NO_FIELDS,
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = compute,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel halves_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Halves",
                                     .device = "cpu",
                                     .name = "plain",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .combination = combination,
                                     .run = compute};
static const tn_operator *const operators[] = {&halves};
static const tn_kernel *const kernels[] = {&halves_cpu};
TN_LIBRARY("halves", "1.0", operators, kernels)
