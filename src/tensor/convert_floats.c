/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of 32-bit floats to and from what stands for them in less memory: 16-bit floats, and 8-bit
 * integers with one scale. A line is elements that lie one after the other; convert_types.c and
 * convert_rows.c do all other pairs, convert_channels.c what also moves elements. Each loop is
 * compiled for three levels of processors, which answer the same bits.
 */
#include "tensor/quantization.h"
#include "tensor/convert_private.h"
#include "tensor/type.h"

#include <string.h>

/* Added to and taken from a float of less than 2^22, it leaves the nearest integer, halves to even.
 */
#define ROUNDING 12582912.0f

static bool has_scale(const tn_tensor *tensor) {
    return tensor->quantization && tensor->quantization->scales;
}

static bool is_byte(const tn_tensor *tensor) {
    return (tensor->type == TN_I8 || tensor->type == TN_U8) && has_scale(tensor) &&
           tn_quantization_is_plain(tensor->quantization) &&
           tn_quantization_scale(tensor->quantization, 0) > 0;
}

static bool is_half(const tn_tensor *tensor) {
    return tn_type_is_half(tensor->type) && !has_scale(tensor);
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

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Without branches, so that a loop becomes one of vectors. The small halves are rounded by the sum
 * with a float whose last place is theirs, 2^-24. */
static inline uint16_t f16_of(uint32_t bits) {
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    const uint32_t large = magnitude > 0x7f800000u ? nan : 0x7c00;
    return (uint16_t)(sign | (magnitude >= 0x47800000u ? large : finite));
}

/* Halves with another exponent's offset are floats 2^112 times too small, small ones too. */
static inline uint32_t of_f16(uint32_t half) {
    const uint32_t shifted = (half & 0x7fff) << 13;
    const uint32_t finite = bits_of(float_of(shifted) * 0x1p112f);
    const uint32_t infinite = shifted | 0x7f800000u;
    return (half & 0x8000) << 16 | (shifted >= 0x1fu << 23 ? infinite : finite);
}

#define LOOPS(level, target_level)                                                                 \
    target_level static void quantize_##level(const tn_float_conversion *conversion,               \
                                              const float *from, uint8_t *to, int64_t count) {     \
        const float scale = conversion->scale, low = conversion->low, high = conversion->high;     \
        const int32_t zero = conversion->zero;                                                     \
        for (int64_t i = 0; i < count; i++) {                                                      \
            float value = from[i] / scale;                                                         \
            value = value != value ? 0.0f : value;                                                 \
            value = value > low ? value : low;                                                     \
            value = value < high ? value : high;                                                   \
            value = (value + ROUNDING) - ROUNDING;                                                 \
            to[i] = (uint8_t)((int32_t)value + zero);                                              \
        }                                                                                          \
    }                                                                                              \
    target_level static void dequantize_signed_##level(                                            \
        const tn_float_conversion *conversion, const int8_t *from, float *to, int64_t count) {     \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (float)(from[i] - conversion->zero) * conversion->scale;                       \
    }                                                                                              \
    target_level static void dequantize_##level(const tn_float_conversion *conversion,             \
                                                const uint8_t *from, float *to, int64_t count) {   \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (float)(from[i] - conversion->zero) * conversion->scale;                       \
    }                                                                                              \
    target_level static void to_bf16_##level(const uint32_t *from, uint16_t *to, int64_t count) {  \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = bf16_of(from[i]);                                                              \
    }                                                                                              \
    target_level static void from_bf16_##level(const uint16_t *from, uint32_t *to,                 \
                                               int64_t count) {                                    \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (uint32_t)from[i] << 16;                                                       \
    }                                                                                              \
    target_level static void to_f16_##level(const uint32_t *from, uint16_t *to, int64_t count) {   \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = f16_of(from[i]);                                                               \
    }                                                                                              \
    target_level static void from_f16_##level(const uint16_t *from, uint32_t *to, int64_t count) { \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = of_f16(from[i]);                                                               \
    }

#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2")))
LOOPS(baseline, )
#if defined(__x86_64__)
LOOPS(avx2, AVX2)
LOOPS(avx512, AVX512)
#endif

/* ----------------------------------------------------------------------------------------------
 * lines */

enum { LEVEL_BASELINE, LEVEL_AVX2, LEVEL_AVX512 };

static int highest_level(void) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) return LEVEL_BASELINE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
               ? LEVEL_AVX512
               : LEVEL_AVX2;
#else
    return LEVEL_BASELINE;
#endif
}

bool tn_float_conversion_init(tn_float_conversion *out_conversion, const tn_tensor *from,
                              const tn_tensor *to) {
    const bool is_up = is_float(to);
    const tn_tensor *low = is_up ? from : to;
    if (!is_float(is_up ? to : from) || (!is_byte(low) && !is_half(low))) return false;
    *out_conversion =
        (tn_float_conversion){.type = low->type, .is_up = is_up, .level = highest_level()};
    if (is_half(low)) return true;
    const tn_quantization *quantization = low->quantization;
    const int32_t least = low->type == TN_I8 ? INT8_MIN : 0;
    out_conversion->scale = (float)tn_quantization_scale(quantization, 0);
    out_conversion->zero = (int32_t)tn_quantization_zero(quantization, low->type, 0);
    out_conversion->low = (float)(least - out_conversion->zero);
    out_conversion->high = (float)(least + UINT8_MAX - out_conversion->zero);
    return true;
}

#if defined(__x86_64__)
#define AT_LEVEL(name, ...)                                                                        \
    do {                                                                                           \
        if (conversion->level == LEVEL_AVX512)                                                     \
            name##_avx512(__VA_ARGS__);                                                            \
        else if (conversion->level == LEVEL_AVX2)                                                  \
            name##_avx2(__VA_ARGS__);                                                              \
        else                                                                                       \
            name##_baseline(__VA_ARGS__);                                                          \
    } while (0)
#else
#define AT_LEVEL(name, ...) name##_baseline(__VA_ARGS__)
#endif

static void convert_halves(const tn_float_conversion *conversion, const void *from, void *to,
                           int64_t count) {
    if (conversion->type == TN_BF16 && conversion->is_up)
        AT_LEVEL(from_bf16, from, to, count);
    else if (conversion->type == TN_BF16)
        AT_LEVEL(to_bf16, from, to, count);
    else if (conversion->is_up)
        AT_LEVEL(from_f16, from, to, count);
    else
        AT_LEVEL(to_f16, from, to, count);
}

void tn_float_conversion_line(const tn_float_conversion *conversion, const void *from, void *to,
                              int64_t count) {
    if (tn_type_is_half(conversion->type))
        convert_halves(conversion, from, to, count);
    else if (!conversion->is_up)
        AT_LEVEL(quantize, conversion, from, to, count);
    else if (conversion->type == TN_I8)
        AT_LEVEL(dequantize_signed, conversion, from, to, count);
    else
        AT_LEVEL(dequantize, conversion, from, to, count);
}
