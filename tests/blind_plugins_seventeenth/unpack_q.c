/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of 8 and 4 bits to floats, with a scale and a zero point for each block of a row. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t block;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, block, "4", 1, 1 << 16, "elements of a row that share a scale"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "T:i8|u8|i4|u4", 0, "rank 1 or more"),
    TN_PORT("scales", "f32", 0, "as x, of the last axis blocks; the last one may be shorter"),
    TN_PORT("zeros", "T", TN_PORT_OPTIONAL, "as the scales; or 0")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t block = ((const params *)call->params)->block;
    TN_TRY(require_rank(call, 0, 1));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    memcpy(shape, x->shape, x->rank * sizeof(shape[0]));
    shape[x->rank - 1] = x->shape[x->rank - 1] / block + (x->shape[x->rank - 1] % block != 0);
    if (!tn_layer_fits(call, 1, x->rank, shape) || !tn_layer_fits(call, 2, x->rank, shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static int integer(const tn_tensor *t, int64_t i, bool is_packed) {
    if (t->type == TN_I8) return ((const int8_t *)t->data)[i];
    if (t->type == TN_U8 || !is_packed) return ((const uint8_t *)t->data)[i];
    const int nibble = ((const uint8_t *)t->data)[i / 2] >> (i % 2 ? 4 : 0) & 15;
    return t->type == TN_I4 && nibble > 7 ? nibble - 16 : nibble;
}

static double unpacked(const tn_call *call, int64_t i, bool is_kernel) {
    const int64_t block = ((const params *)call->params)->block;
    const tn_tensor *x = call->inputs[0], *zeros = tn_layer_input(call, 2);
    const int64_t n = x->shape[x->rank - 1];
    const int64_t blocks = is_kernel && WRONG(1) ? n / block : n / block + (n % block != 0);
    const int64_t at = i / n * blocks + i % n / block;
    int value = integer(x, i, true);
    if (is_kernel && WRONG(3) && x->type == TN_I4) value &= 15;
    if (zeros) value -= integer(zeros, at, !(is_kernel && WRONG(2)));
    return value * tn_layer_load(call->inputs[1], at);
}

static double element(const tn_call *call, int64_t i) {
    return unpacked(call, i, false);
}
TN_LAYER_REFERENCE(element)

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        tn_layer_store(call->outputs[0], i, unpacked(call, i, true));
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->inputs[0]), 128)

static const char *const cases[] = {
    "| x=i8[3,8] scales=f32[3,2] zeros=i8[3,2]",
    "block=2 | x=u8[2,4] scales=f32[2,2]",
    "| x=u4[2,12] scales=f32[2,3] zeros=u4[2,3]",
    "block=8 | x=i4[1,16] scales=f32[1,2]",
};
static const tn_operator unpack_q = {OPERATOR,
                                     .name = "UnpackQ",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"i8|u8|i4|u4, f32, i8|u8|i4|u4? -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "UnpackQ",
                                 .device = "cpu",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("unpack_q", unpack_q, kernel)
