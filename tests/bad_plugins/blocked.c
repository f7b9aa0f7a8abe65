/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Shift, y = x + shift on images in blocks of eight channels: what the last block has beyond
 * the channels is zero, which x + shift is not; and the mistakes with it. */
#include "mistake.h"

typedef struct shift_params {
    uint64_t present;
    float shift;
} shift_params;

static const tn_field fields[] = {TN_FIELD(shift_params, shift, TN_FIELD_F32, 0, "1", "is added")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W, perhaps D")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank != 4 && call->inputs[0]->rank != 5)
        return call->host->fail(call, TN_ERROR_SHAPE, "x must be of rank 4 or 5");
    return infer_same(call);
}

static tn_status reference(tn_call *call) {
    const shift_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)((double)x[i] + (double)p->shift);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    enum { BLOCK = 8 };
    const shift_params *p = call->params;
    const tn_tensor *in = call->inputs[0];
    const float *x = in->data;
    float *y = call->outputs[0]->data;
    const int64_t *shape = in->shape, blocks = (shape[1] + BLOCK - 1) / BLOCK,
                  depth = in->rank > 4 && !WITH(two_axes_of_pixels) ? shape[4] : 1,
                  pixels = shape[2] * shape[3] * depth;
    for (int64_t i = 0; i < shape[0] * blocks * pixels; i++) {
        const int64_t first = i / pixels % blocks * BLOCK;
        for (int64_t k = 0; k < BLOCK; k++) {
            const int is_padding = first + k >= shape[1];
            if (is_padding && WITH(padding_unwritten)) continue;
            if (is_padding && WITH(padding_of_first_pixel) && i % pixels > 0) continue;
            y[i * BLOCK + k] =
                is_padding && !WITH(padding_shifted) ? 0 : x[i * BLOCK + k] + p->shift;
        }
    }
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[2,5,3,2]", "shift=-0.5 | x=f32[1,8,2,2]"};
static const tn_operator shift = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Bad",
                                  .name = "Shift",
                                  TN_FIELDS(shift_params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32:c8 -> f32:c8"};
static const tn_kernel shift_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Shift",
                                    .device = "cpu",
                                    .name = "blocks",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
static const tn_operator *const operators[] = {&shift};
static const tn_kernel *const kernels[] = {&shift_cpu};
TN_LIBRARY("bad_shift", "1", operators, kernels)
