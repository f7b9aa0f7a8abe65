/* SPDX-License-Identifier: Apache-2.0 */
/* A factor for each channel, on channels in blocks of eight, which are done whole. */
#include "eighteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, any others"),
                                 TN_PORT("w", "f32", 0, "a factor for each channel")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 2));
    if (!TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t inner = extent(x, 2, x->rank);
    return tn_layer_load(x, i) * tn_layer_load(call->inputs[1], i / inner % x->shape[1]);
}
TN_LAYER_REFERENCE(element)

enum { BLOCK = 8 };
static tn_status blocks(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float *w = call->inputs[1]->data;
    const int64_t channels = x->shape[1], of_image = (channels + BLOCK - 1) / BLOCK,
                  inner = extent(x, 2, x->rank);
    (void)thread;
    for (int64_t b = begin; b < end; b++)
        for (int64_t p = 0; p < inner; p++) {
            const int64_t first = b % of_image * BLOCK, at = position(x, b / of_image, first, p);
            const int64_t left = channels - first < BLOCK ? channels - first : BLOCK;
            for (int64_t c = 0; c < BLOCK; c++) {
                const bool is_there = c < left;
                if (!is_there && WRONG(2)) continue;
                const float factor = is_there || WRONG(1) ? w[first + c] : 0;
                const float v = ((const float *)x->data)[at + c] * factor;
                ((float *)y->data)[position(y, b / of_image, first, p) + c] = is_there   ? v
                                                                              : WRONG(1) ? v * 0
                                                                              : WRONG(3)
                                                                                  ? 1 * w[first]
                                                                                  : 0;
            }
        }
    return TN_OK;
}
static int64_t blocks_of(const tn_call *call) {
    return call->inputs[0]->shape[0] * ((call->inputs[0]->shape[1] + BLOCK - 1) / BLOCK);
}
TN_LAYER_RUN(blocks, blocks_of(call), 1)

static const char *const cases[] = {"| x=f32[2,11,3,4] w=f32[11]", "| x=f32[1,16,5] w=f32[16]"};
static const tn_operator scale = {
    OPERATOR,       .name = "ScaleC8",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:c8, f32 -> f32:c8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ScaleC8",
                                 .name = "blocks",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("scale_c8", scale, kernel)
