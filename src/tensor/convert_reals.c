/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of 32-bit floats to and from what stands for them in less memory: 16-bit floats, and 8-bit
 * integers with one scale. A line is elements that lie one after the other; convert_types.c and
 * convert_rows.c do all other pairs, convert_channels.c what also changes places. Each loop is
 * compiled for three levels of processors, which answer the same bits.
 */
#include "tensor/convert_private.h"

#include <immintrin.h>
#include <string.h>

/* Added to and taken from a float of less than 2^22, it leaves the nearest integer, halves to even.
 */
#define ROUNDING 12582912.0f

static bool has_scale(const tn_tensor *tensor) {
    return tensor->quantization && tensor->quantization->scale;
}

static bool is_byte(const tn_tensor *tensor) {
    return (tensor->type == TN_I8 || tensor->type == TN_U8) && has_scale(tensor) &&
           tensor->quantization->count == 1 && tensor->quantization->scale[0] > 0;
}

static bool is_half(const tn_tensor *tensor) {
    return (tensor->type == TN_F16 || tensor->type == TN_BF16) && !has_scale(tensor);
}

static bool is_float(const tn_tensor *tensor) {
    return tensor->type == TN_F32 && !has_scale(tensor);
}

/* ----------------------------------------------------------------------------------------------
 * loops */

static inline uint16_t bf16_of(uint32_t bits) {
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40 : rounded >> 16);
}

#define LOOPS(level, target_level)                                                                 \
    target_level static void quantize_##level(const tn_reals *reals, const float *from,            \
                                              uint8_t *to, int64_t count) {                        \
        const float scale = reals->scale, low = reals->low, high = reals->high;                    \
        const int32_t zero = reals->zero;                                                          \
        for (int64_t i = 0; i < count; i++) {                                                      \
            float value = from[i] / scale;                                                         \
            value = value != value ? 0.0f : value;                                                 \
            value = value > low ? value : low;                                                     \
            value = value < high ? value : high;                                                   \
            value = (value + ROUNDING) - ROUNDING;                                                 \
            to[i] = (uint8_t)((int32_t)value + zero);                                              \
        }                                                                                          \
    }                                                                                              \
    target_level static void dequantize_signed_##level(const tn_reals *reals, const int8_t *from,  \
                                                       float *to, int64_t count) {                 \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (float)(from[i] - reals->zero) * reals->scale;                                 \
    }                                                                                              \
    target_level static void dequantize_##level(const tn_reals *reals, const uint8_t *from,        \
                                                float *to, int64_t count) {                        \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (float)(from[i] - reals->zero) * reals->scale;                                 \
    }                                                                                              \
    target_level static void to_bf16_##level(const uint32_t *from, uint16_t *to, int64_t count) {  \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = bf16_of(from[i]);                                                              \
    }                                                                                              \
    target_level static void from_bf16_##level(const uint16_t *from, uint32_t *to,                 \
                                               int64_t count) {                                    \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (uint32_t)from[i] << 16;                                                       \
    }

#define AVX2   __attribute__((target("avx2,f16c")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c")))
LOOPS(baseline, )
LOOPS(avx2, AVX2)
LOOPS(avx512, AVX512)

static void to_f16_baseline(const float *from, uint16_t *to, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_f32_to_f16(from[i]);
}
static void from_f16_baseline(const uint16_t *from, float *to, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_f16_to_f32(from[i]);
}

AVX2 static void to_f16_avx2(const float *from, uint16_t *to, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i_u *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    to_f16_baseline(from + i, to + i, count - i);
}
/* The processor makes signalling NaNs quiet, which are not told apart elsewhere either. */
AVX2 static void from_f16_avx2(const uint16_t *from, float *to, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)(from + i))));
    from_f16_baseline(from + i, to + i, count - i);
}

/* ----------------------------------------------------------------------------------------------
 * lines */

enum { LEVEL_BASELINE, LEVEL_AVX2, LEVEL_AVX512 };

static int highest_level(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) return LEVEL_BASELINE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
               ? LEVEL_AVX512
               : LEVEL_AVX2;
}

bool tn_reals_init(tn_reals *out_reals, const tn_tensor *from, const tn_tensor *to) {
    const bool is_up = is_float(to);
    const tn_tensor *low = is_up ? from : to;
    if (!is_float(is_up ? to : from) || (!is_byte(low) && !is_half(low))) return false;
    *out_reals = (tn_reals){.type = low->type, .is_up = is_up, .level = highest_level()};
    if (is_half(low)) return true;
    const tn_quantization *quantization = low->quantization;
    const int32_t least = low->type == TN_I8 ? INT8_MIN : 0;
    out_reals->scale = quantization->scale[0];
    out_reals->zero = quantization->zero_point ? quantization->zero_point[0] : 0;
    if (out_reals->zero < least || out_reals->zero > least + UINT8_MAX) return false;
    out_reals->low = (float)(least - out_reals->zero);
    out_reals->high = (float)(least + UINT8_MAX - out_reals->zero);
    return true;
}

#define AT_LEVEL(name, ...)                                                                        \
    do {                                                                                           \
        if (reals->level == LEVEL_AVX512)                                                          \
            name##_avx512(__VA_ARGS__);                                                            \
        else if (reals->level == LEVEL_AVX2)                                                       \
            name##_avx2(__VA_ARGS__);                                                              \
        else                                                                                       \
            name##_baseline(__VA_ARGS__);                                                          \
    } while (0)

static void convert_halves(const tn_reals *reals, const void *from, void *to, int64_t count) {
    if (reals->type == TN_BF16 && reals->is_up)
        AT_LEVEL(from_bf16, from, to, count);
    else if (reals->type == TN_BF16)
        AT_LEVEL(to_bf16, from, to, count);
    else if (reals->level == LEVEL_BASELINE && reals->is_up)
        from_f16_baseline(from, to, count);
    else if (reals->level == LEVEL_BASELINE)
        to_f16_baseline(from, to, count);
    else if (reals->is_up)
        from_f16_avx2(from, to, count);
    else
        to_f16_avx2(from, to, count);
}

void tn_reals_line(const tn_reals *reals, const void *from, void *to, int64_t count) {
    if (reals->type == TN_F16 || reals->type == TN_BF16)
        convert_halves(reals, from, to, count);
    else if (!reals->is_up)
        AT_LEVEL(quantize, reals, from, to, count);
    else if (reals->type == TN_I8)
        AT_LEVEL(dequantize_signed, reals, from, to, count);
    else
        AT_LEVEL(dequantize, reals, from, to, count);
}
