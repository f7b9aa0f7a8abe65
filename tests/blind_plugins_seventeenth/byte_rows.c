/* SPDX-License-Identifier: Apache-2.0 */
/* Means of rows. A conversion before it is done while reading bytes, a ReLU behind it while
 * storing. */
#include "seventeenth.h"
#include <tenon/plugin/before.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x without its last axis")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 1));
    if (call->inputs[0]->shape[call->inputs[0]->rank - 1] == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "rows of input 'x' are empty");
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank - 1, call->inputs[0]->shape);
}

static double value(const tn_tensor *x, int64_t i, bool is_kernel) {
    if (is_kernel && WRONG(1) && x->type == TN_I8) return (double)((const uint8_t *)x->data)[i];
    return tn_layer_load(x, i);
}

static double mean(const tn_call *call, int64_t row, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += value(x, row * n + i, is_kernel);
    return sum / (double)n;
}
static double element(const tn_call *call, int64_t i) {
    return mean(call, i, false);
}
TN_LAYER_REFERENCE(element)

/* Bytes come with one conversion, to 32-bit floats. */
static tn_status accepts(tn_call *call) {
    uint32_t conversions = 0;
    for (uint32_t s = 0; s < call->step_count; s++)
        if (call->steps[s]->port != 0) {
            conversions++;
            if (call->steps[s]->output->type != TN_F32) return TN_ERROR_UNSUPPORTED;
        }
    return conversions == (call->inputs[0]->type != TN_F32) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        double v = mean(call, r, true);
        /* The chain behind the kernel; a conversion is no step of it. */
        const uint32_t first = call->inputs[0]->type != TN_F32;
        for (uint32_t s = WRONG(2) ? 2 * first : first; s < call->step_count; s++)
            v = v < 0 ? 0 : v;
        tn_layer_store(call->outputs[0], r, v);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->inputs[0]), 4)

static const char *const cases[] = {"| x=f32[3,5]", "| x=f32[2,3,40]", "| x=f32[1]"};
static const tn_operator byte_rows = {
    OPERATOR,       .name = "RowMeans",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "u8 -> f32", "i8 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RowMeans",
                                 .device = "cpu",
                                 .name = "rows",
                                 .absorbs = "@1 tn.convert/1, tn.activation/1(relu)",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
                                 .run = run};
LIBRARY("byte_rows", byte_rows, kernel)
