/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::PixelShuffle: channels as blocks of positions, in either order of channels. */
#include <string.h>
#include <tenon/layer.h>

enum { DCR = 0, CRD = 1 };
TN_LAYER_PARAMS(shuffle, int64_t block; uint32_t mode;);
static const tn_field fields[] = {
#if MISTAKE == 8
    TN_FIELD(shuffle, block, TN_FIELD_I64, TN_REQUIRED, NULL, "extent of a block"),
#else
    TN_FIELD_RANGE(shuffle, block, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 1024, "extent of a block"),
#endif
    TN_FIELD_CHOICE(shuffle, mode, TN_FIELD_ENUM, TN_OPTIONAL, "DCR", "DCR|CRD",
                    "whether depth or position is the outer part of a channel")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|u8", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "N, C / block^2, H * block, W * block")};

static tn_status infer(tn_call *call) {
    const int64_t block = ((const shuffle *)call->params)->block, *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1)) return TN_ERROR_SHAPE;
#if MISTAKE != 3
    if (in[1] % (block * block) != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld channels are no blocks of %lld",
                                (long long)in[1], (long long)block);
#endif
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1] / (block * block), in[2] * block,
                              in[3] * block);
}

static int64_t element_bytes(tn_type type) {
#if MISTAKE == 5
    return type == TN_F32 ? 4 : 2;
#else
    return type == TN_F32 ? 4 : type == TN_F16 ? 2 : 1;
#endif
}
/* The channel of x from which channel `c` of y has what lies at (i, k) in its blocks. */
static int64_t source(int64_t c, int64_t i, int64_t k, int64_t block, int64_t depth, bool is_crd) {
    return is_crd ? (c * block + i) * block + k : (i * block + k) * depth + c;
}

static tn_status reference(tn_call *call) {
    const shuffle *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t size = x->type == TN_F32 ? 4 : x->type == TN_F16 ? 2 : 1, b = p->block;
    for (int64_t n = 0, at = 0; n < y->shape[0]; n++)
        for (int64_t c = 0; c < y->shape[1]; c++)
            for (int64_t h = 0; h < y->shape[2]; h++)
                for (int64_t w = 0; w < y->shape[3]; w++, at++) {
                    const int64_t from = source(c, h % b, w % b, b, y->shape[1], p->mode == CRD);
                    memcpy((char *)y->data + at * size,
                           (const char *)x->data +
                               (((n * x->shape[1] + from) * x->shape[2] + h / b) * x->shape[3] +
                                w / b) *
                                   size,
                           (size_t)size);
                }
    return TN_OK;
}

/* Rows of y, linear: item = (n * depth + c) * height + h. */
static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const shuffle *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t size = element_bytes(x->type), b = p->block, *in = x->shape, *out = y->shape;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t h = item % out[2], c = item / out[2] % out[1], n = item / out[2] / out[1];
        char *to = (char *)y->data + item * out[3] * size;
        for (int64_t k = 0; k < b; k++) {
            const int64_t channel = source(c, h % b, k, b, out[1], p->mode == CRD);
#if MISTAKE == 2
            const int64_t image = n * in[1] * in[2] * in[3];
#else
            const int64_t image = n * x->strides[0];
#endif
            const char *from =
                (const char *)x->data + (image + (channel * in[2] + h / b) * in[3]) * size;
#if MISTAKE == 50
            if (size == 4) {
                const float *values = (const float *)(const void *)from;
                float *positions = (float *)(void *)to + k;
                for (int64_t w = 0; w < in[3]; w++, positions += b)
                    *positions = *values++;
                continue;
            }
#endif
#if MISTAKE == 4
            for (int64_t w = 0; w + 1 < in[3]; w += 2) {
                memcpy(to + (w * b + k) * size, from + w * size, (size_t)size);
                memcpy(to + ((w + 1) * b + k) * size, from + (w + 1) * size, (size_t)size);
            }
#else
            for (int64_t w = 0; w < in[3]; w++)
                memcpy(to + (w * b + k) * size, from + w * size, (size_t)size);
#endif
        }
    }
    return TN_OK;
}
/* Channels last: item = n * height + h, rows of pixels of y. */
static tn_status pixels(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const shuffle *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t size = element_bytes(x->type), b = p->block, *in = x->shape, *out = y->shape;
#if MISTAKE == 1
    const bool is_crd = false;
#else
    const bool is_crd = p->mode == CRD;
#endif
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t h = item % out[2], n = item / out[2];
        for (int64_t w = 0; w < out[3]; w++) {
            const char *from =
                (const char *)x->data + ((n * in[2] + h / b) * in[3] + w / b) * in[1] * size;
            char *to = (char *)y->data + (item * out[3] + w) * out[1] * size;
            for (int64_t c = 0; c < out[1]; c++)
                memcpy(to + c * size, from + source(c, h % b, w % b, b, out[1], is_crd) * size,
                       (size_t)size);
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t *out = call->outputs[0]->shape;
#if MISTAKE == 6
    const int64_t grain = 1 + 16384 / out[3];
#else
    const int64_t grain = 1 + 16384 / (out[3] + 1);
#endif
    if (call->inputs[0]->format == TN_NHWC)
        return call->host->parallel_for(call, out[0] * out[2], 4, pixels, call);
    return call->host->parallel_for(call, out[0] * out[1] * out[2], grain, rows, call);
}

static const char *const cases[] = {"block=2 | x=f32[2,8,3,5]",
                                    "block=2 mode=CRD | x=f32[1,8,3,4]",
                                    "block=3 mode=CRD | x=f16[2,18,2,3]",
                                    "block=2 | x=u8[1,12,5,3]",
                                    "block=2 | x=f32[1,4,2,1]{1,2,3,4,5,6,7,8} | "
                                    "y=f32[1,1,4,2]{1,3,5,7,2,4,6,8}",
                                    "block=1 | x=u8[2,3,4,7]",
                                    "block=4 | x=f32[2,64,17,16]",
                                    "block=2 | x=f32[0,4,3,3]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .traits = TN_OPERATOR_SELECTS,
                               .domain = "Blind8",
                               .name = "PixelShuffle",
                               .doc = "Channels as blocks of positions.",
                               TN_FIELDS(shuffle, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32|f16|u8:strided -> f32|f16|u8",
                                           "f32|f16|u8:nhwc -> f32|f16|u8:nhwc"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "PixelShuffle",
                                 .device = "cpu",
                                 .name = "rows",
#if MISTAKE == 7
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
#else
                                 .traits = TN_KERNEL_DETERMINISTIC,
#endif
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_depth", "1.0", operators, kernels)
