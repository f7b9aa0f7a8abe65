/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for memory that nobody has written; see poison.h. Formats of floats: IEEE 754. */
#include "guard/poison.h"

#include <string.h>

/* Quiet NaNs. */
static const uint64_t nan_f64 = 0x7ff8deadbeefdeadu;
static const uint32_t nan_f32 = 0x7fc5deadu;
static const uint16_t nan_f16 = 0x7eadu, nan_bf16 = 0x7fdeu;

static uint64_t repeat32(uint32_t bits) {
    return (uint64_t)bits << 32 | bits;
}

static uint64_t repeat16(uint16_t bits) {
    return repeat32((uint32_t)bits << 16 | bits);
}

uint64_t tn_poison_word(tn_type type) {
    switch (type) {
    case TN_F64:
        return nan_f64;
    case TN_F16:
        return repeat16(nan_f16);
    case TN_BF16:
        return repeat16(nan_bf16);
    case TN_F32:
    case TN_NONE:
        return repeat32(nan_f32);
    default:
        return 0xa5b6c7d8e9fa8b9cu;
    }
}

/* The word at an offset: the same for floats, another everywhere for integers. */
static uint64_t word_at(tn_type type, size_t index) {
    const uint64_t word = tn_poison_word(type);
    if (type == TN_NONE || tn_type_is_float(type)) return word;
    return word ^ ((uint64_t)index * 0x9e3779b97f4a7c15u & 0x7f7f7f7f7f7f7f7fu);
}

void tn_poison_fill(void *data, size_t bytes, tn_type type) {
    char *at = data;
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = word_at(type, i / 8);
        memcpy(at + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static bool is_byte_left(const unsigned char *data, size_t index, tn_type type) {
    return data[index] == (unsigned char)(word_at(type, index / 8) >> (8 * (index & 7)));
}

/* A run of bytes that still hold the pattern. */
static bool is_run_left(const unsigned char *data, size_t bytes, tn_type type, size_t element,
                        size_t *out_index) {
    const size_t wanted = element >= 4 ? element : bytes < 16 ? bytes : 16;
    size_t run = 0;
    if (wanted < 4) return false;
    for (size_t i = 0; i < bytes; i++) {
        if (element >= 4 && i % element == 0) run = 0;
        run = is_byte_left(data, i, type) ? run + 1 : 0;
        if (run < wanted) continue;
        *out_index = (i + 1 - wanted) / element;
        return true;
    }
    return false;
}

#define FIND(name, bits, condition)                                                                \
    static bool name(const void *data, size_t count, bits value, size_t *out_index) {              \
        const bits *items = data;                                                                  \
        for (size_t i = 0; i < count; i++) {                                                       \
            if (!(condition)) continue;                                                            \
            *out_index = i;                                                                        \
            return true;                                                                           \
        }                                                                                          \
        return false;                                                                              \
    }

FIND(is_equal64, uint64_t, items[i] == value)
FIND(is_equal32, uint32_t, items[i] == value)
FIND(is_equal16, uint16_t, items[i] == value)
/* `value` is the exponent's bits, all set. */
FIND(is_full64, uint64_t, (items[i] & value) == value)
FIND(is_full32, uint32_t, (items[i] & value) == value)
FIND(is_full16, uint16_t, (items[i] & value) == value)

bool tn_poison_is_left(const void *data, size_t bytes, tn_type type, size_t *out_index) {
    switch (type) {
    case TN_F64:
        return is_equal64(data, bytes / 8, nan_f64, out_index);
    case TN_F32:
        return is_equal32(data, bytes / 4, nan_f32, out_index);
    case TN_F16:
        return is_equal16(data, bytes / 2, nan_f16, out_index);
    case TN_BF16:
        return is_equal16(data, bytes / 2, nan_bf16, out_index);
    default:
        return is_run_left(data, bytes, type, tn_type_is_packed(type) ? 1 : tn_type_bytes(type),
                           out_index);
    }
}

bool tn_poison_is_not_finite(const void *data, size_t bytes, tn_type type, size_t *out_index) {
    switch (type) {
    case TN_F64:
        return is_full64(data, bytes / 8, 0x7ff0000000000000u, out_index);
    case TN_F32:
        return is_full32(data, bytes / 4, 0x7f800000u, out_index);
    case TN_F16:
        return is_full16(data, bytes / 2, 0x7c00u, out_index);
    case TN_BF16:
        return is_full16(data, bytes / 2, 0x7f80u, out_index);
    default:
        return false;
    }
}
