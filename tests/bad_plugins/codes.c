/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Codes, rows in 8 bits with a scale each, and the mistakes that are made there. */
#include "mistake.h"

#include <math.h>

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "a scalar has no rows");
    return infer_same(call);
}

static int8_t code(double value) {
    return (int8_t)(isnan(value) ? 0 : fmax(-127, fmin(127, rint(value))));
}

static void encode(const float *x, int8_t *q, int64_t count, bool is_kernel) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const float scale = (float)((double)largest / 127), factor = 1 / scale;
    for (int64_t i = 0; i < count; i++) {
        q[i] = scale == 0 ? 0 : code((double)x[i] / (double)scale);
        if (is_kernel && WITH(infinite_factor)) q[i] = scale == 0 ? 0 : code(x[i] * factor);
    }
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t columns = x->shape[x->rank - 1];
    const int64_t rows = columns > 0 ? count_of(x) / columns : 0;
    for (int64_t r = 0; r < rows; r++)
        encode((const float *)x->data + r * columns, (int8_t *)call->outputs[0]->data + r * columns,
               columns, is_kernel);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows")};
static const tn_port outputs[] = {TN_PORT("q", "i8", 0, "their codes")};
static const char *const cases[] = {"| x=f32[3,5]",
                                    "| x=f32[1,3]{-254,-3,1} | q=i8[1,3]{-127,-2,0}"};
static const tn_operator codes = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Codes",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i8"};
static const tn_kernel codes_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Codes",
                                    .device = "cpu",
                                    .name = "rows",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
static const tn_operator *const operators[] = {&codes};
static const tn_kernel *const kernels[] = {&codes_cpu};
TN_LIBRARY("bad_codes", "1", operators, kernels)
