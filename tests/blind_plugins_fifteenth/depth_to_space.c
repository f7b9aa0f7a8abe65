/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of channels become blocks of pixels, channels first or blocks first. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, int64_t block; uint32_t order;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, block, "2", 1, 64, "pixels along each axis"),
    TN_FIELD_CHOICE(params, order, TN_FIELD_ENUM, TN_OPTIONAL, "blocks", "blocks|channels",
                    "what varies slowest in the channels of x"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|u8|i64", 0, "N, C * block * block, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C, H * block, W * block")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    if (x->shape[1] % (p->block * p->block) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld channels are no multiple of %lld",
                                (long long)x->shape[1], (long long)(p->block * p->block));
    return TN_LAYER_SET_SHAPE(call, 0, x->shape[0], x->shape[1] / (p->block * p->block),
                              x->shape[2] * p->block, x->shape[3] * p->block);
}

static void copy(const tn_call *call, const int64_t *from, const int64_t *to, size_t bytes,
                 bool blocks_first) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t b = p->block, channels = y->shape[1];
    for (int64_t n = 0; n < y->shape[0]; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t h = 0; h < y->shape[2]; h++)
                for (int64_t w = 0; w < y->shape[3]; w++) {
                    const int64_t inner = h % b * b + w % b;
                    const int64_t k = blocks_first ? inner * channels + c : c * b * b + inner;
                    memcpy((char *)y->data +
                               (size_t)(n * to[0] + c * to[1] + h * to[2] + w * to[3]) * bytes,
                           (const char *)x->data + (size_t)(n * from[0] + k * from[1] +
                                                            h / b * from[2] + w / b * from[3]) *
                                                       bytes,
                           bytes);
                }
}

static size_t type_bytes(tn_type type) {
    return type == TN_F32 ? 4 : type == TN_I64 ? 8 : 1;
}

static void packed_strides(const tn_tensor *t, int64_t *strides) {
    strides[3] = 1;
    for (int i = 2; i >= 0; i--)
        strides[i] = strides[i + 1] * t->shape[i + 1];
}

static tn_status reference(tn_call *call) {
    int64_t from[4], to[4];
    packed_strides(call->inputs[0], from);
    packed_strides(call->outputs[0], to);
    copy(call, from, to, type_bytes(call->inputs[0]->type),
         ((const params *)call->params)->order == 0);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t from[4], to[4];
    bool blocks_first = p->order == 0;
    for (int i = 0; i < 4; i++) {
        from[i] = x->strides[i];
        to[i] = y->strides[i];
    }
    if (WRONG(1) && x->format == TN_NHWC) from[2] = x->shape[1] * x->shape[2];
    if (WRONG(2) && x->format == TN_NHWC) blocks_first = true;
    copy(call, from, to, WRONG(4) && x->type != TN_I64 ? 4 : type_bytes(x->type), blocks_first);
    return TN_OK;
}

static tn_status is_identity(tn_call *call) {
    return ((const params *)call->params)->block == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const cases[] = {
    "| x=f32[1,4,3,3]",         "order=channels | x=f32[2,12,2,2]",
    "block=3 | x=u8[1,18,2,2]", "order=channels | x=i64[1,8,1,2]",
    "block=1 | x=f32[1,2,2,2]",
};
static const tn_operator depth_to_space = {
    OPERATOR,
    .name = "DepthToSpace",
    .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
    TN_FIELDS(params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .is_identity = WRONG(5) ? NULL : is_identity,
    TN_CASES(cases),
};
static const char *const combinations[] = {
    "f32|u8|i64 -> f32|u8|i64",
    "f32:nhwc -> f32:nhwc",
#if MISTAKE == 50
    "f32:strided -> f32",
#endif
};
static const tn_kernel kernel = {
    KERNEL,
    .op = "DepthToSpace",
    .name = "pixels",
    .traits = TN_KERNEL_DETERMINISTIC | (WRONG(3) ? TN_KERNEL_IN_PLACE : 0),
    TN_COMBINATIONS(combinations),
    .run = run,
};
LIBRARY("depth_to_space", depth_to_space, kernel)
