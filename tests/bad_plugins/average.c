/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Average, half of the sum of two tensors of integers or of bf16; Bad::Any, whether a row has
 * an element that is not 0, as NaN is not; Bad::Nearest, the nearest integer, of two the even one:
 * and the mistakes of sums, tests and rounding in a hurry. */
#include "mistake.h"

#include <math.h>
#include <string.h>

static const tn_port pair_ports[] = {TN_PORT("a", "T:i32|u32|bf16", 0, "any shape"),
                                     TN_PORT("b", "T", 0, "as a")};
static const tn_port average_outputs[] = {TN_PORT("y", "T", 0, "as a; rounded down")};

static tn_status infer_average(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool is_alike = a->rank == b->rank;
    for (uint32_t i = 0; is_alike && i < a->rank; i++)
        is_alike = a->shape[i] == b->shape[i];
    if (!is_alike) return call->host->fail(call, TN_ERROR_SHAPE, "a and b must be alike");
    return infer_same(call);
}

static float read_brain(uint16_t brain) {
    const uint32_t bits = (uint32_t)brain << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
static uint16_t write_brain(float value, bool is_cut) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (value != value) return 0x7FC0;
    return (uint16_t)((is_cut ? bits : bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static tn_status average(tn_call *call, bool is_kernel) {
    const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    void *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        if (call->inputs[0]->type == TN_BF16) {
            const float first = read_brain(((const uint16_t *)a)[i]) / 2;
            ((uint16_t *)y)[i] = write_brain(first + read_brain(((const uint16_t *)b)[i]) / 2,
                                             WITH(brain_cut_off) && is_kernel);
        } else if (call->inputs[0]->type == TN_U32) {
            ((uint32_t *)y)[i] =
                (uint32_t)(((uint64_t)((const uint32_t *)a)[i] + ((const uint32_t *)b)[i]) >> 1);
        } else {
            const int64_t sum = (int64_t)((const int32_t *)a)[i] + ((const int32_t *)b)[i];
            const int32_t short_sum = (int32_t)(uint32_t)(uint64_t)sum;
            ((int32_t *)y)[i] =
                WITH(sum_of_32_bits) && is_kernel ? short_sum >> 1 : (int32_t)(sum >> 1);
        }
    }
    return TN_OK;
}
static tn_status average_reference(tn_call *call) {
    return average(call, false);
}
static tn_status average_run(tn_call *call) {
    return average(call, true);
}
static const char *const average_cases[] = {"| a=i32[3,5] b=i32[3,5]", "| a=u32[7] b=u32[7]",
                                            "| a=bf16[2,9] b=bf16[2,9]"};

static const tn_port any_ports[] = {TN_PORT("x", "f32", 0, "..., n")};
static const tn_port any_outputs[] = {TN_PORT("y", "bool", 0, "...")};

static tn_status infer_any(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no last axis");
    infer_same(call);
    call->outputs[0]->rank = x->rank - 1;
    return TN_OK;
}
static tn_status any(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t columns = x->shape[x->rank - 1];
    for (int64_t row = 0, rows = count_of(call->outputs[0]); row < rows; row++) {
        bool is_any = false;
        for (int64_t i = row * columns; i < (row + 1) * columns; i++) {
            const float value = ((const float *)x->data)[i];
            is_any |= WITH(nan_is_zero) && is_kernel ? value > 0 || value < 0 : value != 0;
        }
        ((uint8_t *)call->outputs[0]->data)[row] = is_any;
    }
    return TN_OK;
}
static tn_status any_reference(tn_call *call) {
    return any(call, false);
}
static tn_status any_run(tn_call *call) {
    return any(call, true);
}
static const char *const any_cases[] = {"| x=f32[4,5]", "| x=f32[3,2]{0,0,0,1,0,0}"};

static const tn_port nearest_ports[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port nearest_outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static tn_status nearest(tn_call *call, bool is_kernel) {
    const float *x = call->inputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        ((float *)call->outputs[0]->data)[i] =
            WITH(halves_away_from_zero) && is_kernel ? roundf(x[i]) : rintf(x[i]);
    return TN_OK;
}
static tn_status nearest_reference(tn_call *call) {
    return nearest(call, false);
}
static tn_status nearest_run(tn_call *call) {
    return nearest(call, true);
}
static const char *const nearest_cases[] = {"| x=f32[4,5]"};

static const tn_operator nearest_operator = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 1,
                                             .domain = "Bad",
                                             .name = "Nearest",
                                             TN_NO_FIELDS,
                                             TN_INPUTS(nearest_ports),
                                             TN_OUTPUTS(nearest_outputs),
                                             .infer = infer_same,
                                             .reference = nearest_reference,
                                             TN_CASES(nearest_cases)};
static const tn_operator average_operator = {.size = sizeof(tn_operator),
                                             .since_version = 1,
                                             .state_version = 1,
                                             .domain = "Bad",
                                             .name = "Average",
                                             TN_NO_FIELDS,
                                             TN_INPUTS(pair_ports),
                                             TN_OUTPUTS(average_outputs),
                                             .infer = infer_average,
                                             .reference = average_reference,
                                             TN_CASES(average_cases)};
static const tn_operator any_operator = {.size = sizeof(tn_operator),
                                         .since_version = 1,
                                         .state_version = 1,
                                         .domain = "Bad",
                                         .name = "Any",
                                         TN_NO_FIELDS,
                                         TN_INPUTS(any_ports),
                                         TN_OUTPUTS(any_outputs),
                                         .infer = infer_any,
                                         .reference = any_reference,
                                         TN_CASES(any_cases)};
#define CPU_KERNEL(of, function)                                                                   \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "Bad", .op = of, .device = "cpu",      \
        .name = "plain", .traits = TN_KERNEL_DETERMINISTIC, .run = function                        \
    }
static const tn_kernel average_cpu = CPU_KERNEL("Average", average_run);
static const tn_kernel any_cpu = CPU_KERNEL("Any", any_run);
static const tn_kernel nearest_cpu = CPU_KERNEL("Nearest", nearest_run);
static const tn_operator *const operators[] = {&average_operator, &any_operator, &nearest_operator};
static const tn_kernel *const kernels[] = {&average_cpu, &any_cpu, &nearest_cpu};
TN_LIBRARY("bad_average", "1", operators, kernels)
