/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::GatedLinear: y = a * sigmoid(b), where a and b are the halves of x along an axis; stored
 * in 16 or 32 bits, computed in 32. */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(gate, int64_t axis;);
static const tn_field fields[] = {
    TN_LAYER_I64(gate, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "that is halved")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|bf16", 0, "an even extent along axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "half of it")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const gate *)call->params)->axis, rank = call->inputs[0]->rank;
#if MISTAKE == 5
    return axis == -1 ? rank - 1 : axis;
#else
    return axis < 0 ? axis + rank : axis;
#endif
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_of(call);
#if MISTAKE != 7
#if MISTAKE == 5
    if (axis >= x->rank)
#else
    if (axis < 0 || axis >= x->rank)
#endif
        return call->host->fail(call, TN_ERROR_RANGE, "x has no axis %lld",
                                (long long)((const gate *)call->params)->axis);
#endif
#if MISTAKE != 6
    if (x->shape[axis] % 2 != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "axis %lld has no halves", (long long)axis);
#endif
    tn_layer_set_shape(call, 0, x->rank, x->shape);
    call->outputs[0]->shape[axis] /= 2;
    return TN_OK;
}

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
static uint32_t to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
static float half_load(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, rest = h & 1023u;
    if (exponent == 31) return from_bits(sign | 0x7F800000u | rest << 13);
    if (exponent == 0) {
        const float small = (float)rest * 0x1p-24f;
        return sign ? -small : small;
    }
    return from_bits(sign | (exponent + 112) << 23 | rest << 13);
}
static uint16_t half_store(float value) {
    const uint32_t bits = to_bits(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
    if (size > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
    if (size >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* from 65520 on */
    if (size < 0x38800000u)                                     /* below 2^-14 */
        return (uint16_t)(sign | (uint32_t)nearbyintf(from_bits(size) * 0x1p24f));
    return (uint16_t)(sign | (size - 0x38000000u + 0xFFFu + (size >> 13 & 1u)) >> 13);
}
static float brain_load(uint16_t h) {
    return from_bits((uint32_t)h << 16);
}
static uint16_t brain_store(float value) {
    const uint32_t bits = to_bits(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static double load(const tn_tensor *x, int64_t i) {
    if (x->type == TN_F32) return (double)((const float *)x->data)[i];
    const uint16_t bits = ((const uint16_t *)x->data)[i];
    return (double)(x->type == TN_F16 ? half_load(bits) : brain_load(bits));
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t axis = axis_of(call);
    int64_t inner = y->shape[axis];
    for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++)
        inner *= x->shape[i];
    for (int64_t i = 0; i < tn_layer_count(y); i++) {
        const int64_t from = i / inner * 2 * inner + i % inner;
        const float value = (float)(load(x, from) / (1 + exp(-load(x, from + inner))));
        if (y->type == TN_F32)
            ((float *)y->data)[i] = value;
        else
            ((uint16_t *)y->data)[i] = y->type == TN_F16 ? half_store(value) : brain_store(value);
    }
    return TN_OK;
}

/* The kernel's own conversions. */
#if MISTAKE == 3
static float fast_half_load(uint16_t h) {
    if ((h & 0x7C00u) == 0) return from_bits((uint32_t)(h & 0x8000u) << 16);
    return half_load(h);
}
#else
#define fast_half_load half_load
#endif
#if MISTAKE == 2
static uint16_t fast_half_store(float value) {
    const uint32_t bits = to_bits(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
    if (size < 0x38800000u)
        return (uint16_t)(sign | (uint32_t)nearbyintf(from_bits(size) * 0x1p24f));
    return (uint16_t)(sign | ((size - 0x38000000u + 0xFFFu + (size >> 13 & 1u)) >> 13 & 0x7FFFu));
}
#else
#define fast_half_store half_store
#endif
#if MISTAKE == 1
static uint16_t fast_brain_store(float value) {
    return (uint16_t)(to_bits(value) >> 16);
}
#elif MISTAKE == 4
static uint16_t fast_brain_store(float value) {
    const uint32_t bits = to_bits(value);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
#else
#define fast_brain_store brain_store
#endif

static float gated(float a, float b) {
#if MISTAKE == 9
    const float e = expf(b);
    return a * (e / (1.0f + e));
#elif MISTAKE == 50
    const float e = expf(-fabsf(b)), s = 1.0f / (1.0f + e); /* no exponential overflows */
    return b < 0 ? a * (e * s) : a * s;
#else
    return a / (1.0f + expf(-b));
#endif
}

#if MISTAKE == 8
typedef float lanes __attribute__((vector_size(32)));
#endif
static void row_f32(const float *a, const float *b, float *y, int64_t count) {
    int64_t i = 0;
#if MISTAKE == 8
    for (; i + 8 <= count; i += 8) {
        const lanes x = *(const lanes *)(const void *)(a + i);
        lanes s = *(const lanes *)(const void *)(b + i);
        for (int k = 0; k < 8; k++)
            s[k] = 1.0f / (1.0f + expf(-s[k]));
        *(lanes *)(void *)(y + i) = x * s;
    }
#endif
    for (; i < count; i++)
        y[i] = gated(a[i], b[i]);
}

/* Items are what lies before the axis. */
static tn_status outers(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t axis = axis_of(call);
    int64_t inner = y->shape[axis];
    (void)thread;
    for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++)
        inner *= x->shape[i];
#if MISTAKE == 6
    const int64_t step = inner * x->shape[axis] / (y->shape[axis] ? y->shape[axis] : 1);
#else
    const int64_t step = 2 * inner;
#endif
    for (int64_t o = begin; o < end; o++) {
        if (x->type == TN_F32) {
            const float *a = (const float *)x->data + o * step;
            row_f32(a, a + inner, (float *)y->data + o * inner, inner);
            continue;
        }
        const uint16_t *a = (const uint16_t *)x->data + o * step;
        uint16_t *to = (uint16_t *)y->data + o * inner;
        if (x->type == TN_F16)
            for (int64_t i = 0; i < inner; i++)
                to[i] = fast_half_store(gated(fast_half_load(a[i]), fast_half_load(a[i + inner])));
        else
            for (int64_t i = 0; i < inner; i++)
                to[i] = fast_brain_store(gated(brain_load(a[i]), brain_load(a[i + inner])));
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t axis = axis_of(call);
    int64_t items = 1;
    for (int64_t i = 0; i < axis; i++)
        items *= call->inputs[0]->shape[i];
    return call->host->parallel_for(call, items, 1, outers, call);
}

static const char *const cases[] = {"| x=f32[3,4,10]",
                                    "axis=1 | x=f16[2,6,5]",
                                    "axis=1 | x=bf16[3,8,7]",
                                    "axis=0 | x=f32[4,3,2]",
                                    "| x=bf16[5,64]",
                                    "axis=-2 | x=f32[2,4,3]",
                                    "| x=f32[2]{3,0} | y=f32[1]{1.5}",
                                    "| x=f32[65,96]",
                                    "| x=f16[0,4]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "GatedLinear",
                               .doc = "Half of x, gated by the other half.",
                               TN_FIELDS(gate, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
#if MISTAKE == 5
                               .case_count = 5,
                               .cases = cases
#else
                               TN_CASES(cases)
#endif
};
static const char *const combinations[] = {"f32 -> f32", "f16 -> f16", "bf16 -> bf16"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "GatedLinear",
                                 .device = "cpu",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_gate", "1.0", operators, kernels)
