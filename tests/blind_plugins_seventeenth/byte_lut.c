/* SPDX-License-Identifier: Apache-2.0 */
/* A table of 256 numbers for bytes, times a gain. A constant table is packed with the gain; signed
 * bytes begin at -128. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, float gain;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, gain, "1", -1000, 1000, "of all numbers"),
};
static const tn_port inputs[] = {TN_PORT("x", "i8|u8", 0, "any shape"),
                                 TN_PORT("table", "f32", 0, "256 numbers")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 1, 256)) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static int index_at(const tn_tensor *x, int64_t i, bool is_kernel) {
    if (x->type == TN_U8) return ((const uint8_t *)x->data)[i];
    return ((const int8_t *)x->data)[i] + (is_kernel && WRONG(3) ? 0 : 128);
}

static double element(const tn_call *call, int64_t i) {
    return (double)((const params *)call->params)->gain *
           tn_layer_load(call->inputs[1], index_at(call->inputs[0], i, false));
}
TN_LAYER_REFERENCE(element)

static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const double gain = (double)((const params *)call->params)->gain;
    for (uint64_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)data)[i] = (float)(gain * tn_layer_load(call->inputs[1], (int64_t)i));
    return TN_OK;
}

/* The state is the packed table, or null where the table is not constant. */
static tn_status prepare(tn_call *call) {
    char key[64];
    snprintf(key, sizeof(key), "lut of gain %a",
             WRONG(1) ? 1 : (double)((const params *)call->params)->gain);
    if (!call->inputs[1]->data && !WRONG(2)) return TN_OK;
    const void *packed;
    TN_TRY(call->host->packed(call, 1, key, 256 * sizeof(float), fill, call, &packed));
    call->state = (void *)(uintptr_t)packed;
    return TN_OK;
}

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float *packed = call->state;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int at = index_at(call->inputs[0], i, true);
        ((float *)call->outputs[0]->data)[i] =
            packed ? packed[at]
                   : (float)((double)((const params *)call->params)->gain *
                             tn_layer_load(call->inputs[1], at));
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->inputs[0]), 1024)

static const char *const cases[] = {
    "| x=u8[3,5] table=f32[256]",
    "gain=-0.5 | x=i8[7] table=f32[256]",
    "gain=3 | x=u8[1] table=f32[256]",
};
static const tn_operator byte_lut = {OPERATOR,
                                     .name = "ByteLut",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"u8, f32 -> f32", "i8, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ByteLut",
                                 .device = "cpu",
                                 .name = "packed",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .run = run};
LIBRARY("byte_lut", byte_lut, kernel)
