/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the conversion share: tensors with guarded memory, and the naive conversion
 * that they compare with. It is written from the words of plugin.h and convert.h, with long
 * doubles, which hold every number of every type.
 */
#ifndef TN_TESTS_CONVERT_TEST_H
#define TN_TESTS_CONVERT_TEST_H

#include "random.h"
#include "test.h"

#include "tensor/convert.h"

#include <math.h>

#define GUARD_BYTES 64
#define GUARD_VALUE 0xa5

static const tn_format all_formats[] = {TN_LINEAR, TN_NHWC, TN_C2,  TN_C4,
                                        TN_C8,     TN_C16,  TN_C32, TN_C64};

typedef struct guarded_tensor {
    tn_tensor_storage storage;
    unsigned char *memory;
} guarded_tensor;

/* Memory of exactly the tensor's size, with a guard on both sides; all of it GUARD_VALUE. */
static inline void guarded_create(guarded_tensor *self, tn_type type, tn_format format,
                                  const tn_shape *shape) {
    assert_int_equal(tn_tensor_init(&self->storage, type, format, shape), TN_OK);
    const size_t bytes = (size_t)self->storage.tensor.bytes + 2 * GUARD_BYTES;
    self->memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(self->memory);
    memset(self->memory, GUARD_VALUE, bytes);
    self->storage.tensor.data = self->memory + GUARD_BYTES;
}

static inline void guarded_destroy(guarded_tensor *self) {
    const size_t bytes = (size_t)self->storage.tensor.bytes;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(self->memory[i], GUARD_VALUE);
        assert_int_equal(self->memory[GUARD_BYTES + bytes + i], GUARD_VALUE);
    }
    free(self->memory);
}

/* Where element `index` lies, as plugin.h says at tn_tensor. */
static inline size_t naive_offset(const tn_tensor *tensor, const int64_t *index) {
    int64_t at = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const bool is_blocked =
            (tensor->format & 0xff) == TN_LAYOUT_BLOCKED && i == (tensor->format >> 8 & 0xff);
        const int64_t block = is_blocked ? (int64_t)(tensor->format >> 16) : 1;
        at += index[i] / block * tensor->strides[i] + (is_blocked ? index[i] % block : 0);
    }
    return (size_t)at;
}

static inline bool naive_next(const tn_tensor *tensor, int64_t *index) {
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (++index[i] < tensor->shape[i]) return true;
        index[i] = 0;
    }
    return false;
}

static inline bool is_empty_tensor(const tn_tensor *tensor) {
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] == 0) return true;
    return false;
}

static inline long double naive_load(const void *data, tn_type type, size_t at) {
    switch (type) {
    case TN_F64:
        return (long double)((const double *)data)[at];
    case TN_F32:
        return (long double)((const float *)data)[at];
    case TN_F16:
        return (long double)tn_f16_to_f32(((const uint16_t *)data)[at]);
    case TN_BF16:
        return (long double)tn_bf16_to_f32(((const uint16_t *)data)[at]);
    case TN_I64:
        return (long double)((const int64_t *)data)[at];
    case TN_I32:
        return (long double)((const int32_t *)data)[at];
    case TN_I16:
        return (long double)((const int16_t *)data)[at];
    case TN_I8:
        return (long double)((const int8_t *)data)[at];
    case TN_U64:
        return (long double)((const uint64_t *)data)[at];
    case TN_U32:
        return (long double)((const uint32_t *)data)[at];
    case TN_U16:
        return (long double)((const uint16_t *)data)[at];
    case TN_U8:
        return (long double)((const uint8_t *)data)[at];
    default:
        return ((const uint8_t *)data)[at] ? 1 : 0;
    }
}

/* To nearest even among floats with `digits` binary digits and exponents from `lowest` (of the
 * unit in the last place of the smallest) up to below 2^highest. */
static inline long double naive_round(long double value, int digits, int lowest, int highest) {
    if (isnan(value) || isinf(value) || value == 0) return value;
    int unit = ilogbl(value) - (digits - 1);
    if (unit < lowest) unit = lowest;
    const long double rounded = ldexpl(nearbyintl(ldexpl(value, -unit)), unit);
    return fabsl(rounded) < ldexpl(1, highest) ? rounded : copysignl(INFINITY, value);
}

static inline long double naive_to_float(long double value, tn_type type) {
    switch (type) {
    case TN_F64:
        return naive_round(value, 53, -1074, 1024);
    case TN_F32:
        return naive_round(value, 24, -149, 128);
    case TN_F16:
        return naive_round(value, 11, -24, 16);
    default:
        return naive_round(value, 8, -133, 128);
    }
}

/* Within the type's range for floats; modulo its size for integers. */
static inline long double naive_to_integer(long double value, tn_type type, bool is_wrapped) {
    const int bits = (int)tn_type_bits(type);
    const bool is_signed = tn_type_is_signed(type);
    const long double size = ldexpl(1, bits), low = is_signed ? -size / 2 : 0;
    const long double high = (is_signed ? size / 2 : size) - 1;
    if (isnan(value)) return 0;
    value = truncl(value) + 0.0L; /* no integer is -0 */
    if (!is_wrapped) return value < low ? low : value > high ? high : value;
    while (value < low)
        value += size * fmaxl(1, truncl((low - value) / size));
    while (value > high)
        value -= size * fmaxl(1, truncl((value - high) / size));
    return value;
}

static inline long double naive_convert(long double value, tn_type from, tn_type to) {
    if (to == TN_BOOL) return value != 0;
    if (tn_type_is_float(to)) return naive_to_float(value, to);
    return naive_to_integer(value, to, !tn_type_is_float(from));
}

static inline bool is_same_value(long double a, long double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* Each element of `to` is that of `from` converted, and every other byte of `to` is zero. */
static inline void assert_converted(const tn_tensor *from, const tn_tensor *to) {
    int64_t index[TN_MAX_RANK] = {0};
    const size_t bytes = tn_type_bytes(to->type), stored = (size_t)to->bytes / bytes;
    bool *is_element = calloc(stored + 1, 1);
    assert_non_null(is_element);
    for (bool is_there = !is_empty_tensor(from); is_there; is_there = naive_next(from, index)) {
        const size_t source = naive_offset(from, index), target = naive_offset(to, index);
        const long double wanted =
            naive_convert(naive_load(from->data, from->type, source), from->type, to->type);
        const long double found = naive_load(to->data, to->type, target);
        if (!is_same_value(wanted, found))
            fail_msg("%s %s to %s %s: element at %zu is %.20Lg: expected %.20Lg of %.20Lg",
                     tn_type_name(from->type), tn_format_name(from->format), tn_type_name(to->type),
                     tn_format_name(to->format), target, found, wanted,
                     naive_load(from->data, from->type, source));
        is_element[target] = true;
    }
    for (size_t i = 0; i < stored * bytes; i++) {
        if (!is_element[i / bytes] && ((const unsigned char *)to->data)[i] != 0)
            fail_msg("%s to %s: padding at byte %zu is not zero", tn_format_name(from->format),
                     tn_format_name(to->format), i);
    }
    free(is_element);
}

/* Any bits, but zero in the lanes past the end; bools are 0 and 1. */
static inline void fill_bits(const tn_tensor *tensor, test_random *random) {
    int64_t index[TN_MAX_RANK] = {0};
    const size_t bytes = tn_type_bytes(tensor->type);
    memset(tensor->data, 0, (size_t)tensor->bytes);
    for (bool is_there = !is_empty_tensor(tensor); is_there; is_there = naive_next(tensor, index)) {
        uint64_t bits = random_u64(random);
        if (tensor->type == TN_BOOL) bits &= 1;
        memcpy((char *)tensor->data + naive_offset(tensor, index) * bytes, &bits, bytes);
    }
}

static inline void convert_whole(const tn_tensor *from, const tn_tensor *to) {
    const int64_t items = tn_convert_items(from, to);
    assert_int_equal(items == 0, is_empty_tensor(from));
    assert_int_equal(tn_convert(from, to, 0, items), TN_OK);
}

#endif
