/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors on the host and the device: tensor.h. */
#include "tensor.h"

#include <tenon/plugin/device.h>

#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tn_device *run_device;
void *run_stream;

void run_require(tn_status status, const char *what) {
    if (status == TN_OK) return;
    printf("%s failed (%d): %s\n", what, status, run_device->last_error(run_device));
    exit(1);
}

static uint64_t random_state = 88172645463325252u;
float run_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float)((double)(random_state >> 11) / 9007199254740992.0 * 2 - 1);
}

static size_t bytes_of(tn_type type) {
    return type == TN_F32 ? 4 : type == TN_I8 ? 1 : 2;
}

/* Hosts of such GPUs convert halves themselves. */
__attribute__((target("f16c"))) static uint16_t to_half(float value) {
    return (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), 0), 0);
}
__attribute__((target("f16c"))) static float from_half(uint16_t half) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

static void store(run_tensor *t, int64_t at, float value) {
    uint32_t bits;
    float steps = rintf(value / t->scale);
    switch (t->tensor.type) {
    case TN_F32:
        ((float *)t->stored)[at] = value;
        break;
    case TN_F16:
        ((uint16_t *)t->stored)[at] = to_half(value);
        break;
    case TN_BF16:
        memcpy(&bits, &value, 4);
        ((uint16_t *)t->stored)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    default:
        ((int8_t *)t->stored)[at] = (int8_t)(steps > 127 ? 127 : steps < -128 ? -128 : steps);
    }
}
static float load(const run_tensor *t, int64_t at) {
    uint32_t bits;
    float value;
    switch (t->tensor.type) {
    case TN_F32:
        return ((const float *)t->stored)[at];
    case TN_F16:
        return from_half(((const uint16_t *)t->stored)[at]);
    case TN_BF16:
        bits = (uint32_t)((const uint16_t *)t->stored)[at] << 16;
        memcpy(&value, &bits, 4);
        return value;
    default:
        return (float)((const int8_t *)t->stored)[at] * t->scale;
    }
}

/* Where element `index` of linear order is stored. */
static int64_t offset_of(const run_tensor *t, int64_t index) {
    int64_t at = 0;
    for (uint32_t i = t->tensor.rank; i-- > 0;) {
        at += index % t->shape[i] * t->strides[i];
        index /= t->shape[i];
    }
    return at;
}

void run_tensor_describe(run_tensor *t, tn_type type, tn_format format, uint32_t rank,
                         const int64_t *shape) {
    int64_t stride = 1;
    memset(t, 0, sizeof(*t));
    t->count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        t->count *= shape[i];
    }
    if (format == TN_NHWC) {
        t->strides[1] = 1;
        stride = shape[1];
    }
    for (uint32_t i = rank; i-- > 0;) {
        if (format == TN_NHWC && i == 1) continue;
        t->strides[i] = stride;
        stride *= shape[i];
    }
    t->scale = 1.0f / 127.0f;
    t->tensor = (tn_tensor){.size = sizeof(tn_tensor),
                            .type = type,
                            .format = format,
                            .rank = rank,
                            .bytes = (uint64_t)t->count * bytes_of(type),
                            .shape = t->shape,
                            .strides = t->strides,
                            .name = ""};
    t->values = malloc((size_t)t->count * sizeof(float));
    t->stored = malloc((size_t)t->count * bytes_of(type) + 64);
    if (type == TN_I8) {
        t->quantization = (tn_quantization){
            .size = sizeof(tn_quantization), .scale_type = TN_F32, .count = 1, .scales = &t->scale};
        t->tensor.quantization = &t->quantization;
    }
}

void run_tensor_fill(run_tensor *t, float factor) {
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t at = offset_of(t, i);
        store(t, at, run_random() * factor);
        t->values[i] = load(t, at);
    }
}

void *run_tensor_to_device(const run_tensor *t) {
    void *memory = NULL;
    run_require(run_device->allocate(run_device, t->tensor.bytes, run_stream, &memory), "allocate");
    run_require(run_device->copy(run_device, memory, t->stored, t->tensor.bytes, TN_COPY_TO_DEVICE,
                                 run_stream),
                "copy");
    run_require(run_device->stream_wait(run_device, run_stream), "wait");
    return memory;
}

float run_tensor_get(const run_tensor *t, int64_t index) {
    return load(t, offset_of(t, index));
}

void run_tensor_clear(run_tensor *t) {
    free(t->values);
    free(t->stored);
}
