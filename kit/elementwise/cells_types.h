/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of any type as cells, cells as elements, and floats without their fraction, for
 * cells_body.h alone, which includes this once a processor level.
 */
#include "kit/elementwise/cells.h"
#include "kit/math/element.h"
#include <tenon/kit/vector.h>

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * elements as cells */

#define CONVERT(to_type, from_type, value)                                                         \
    {                                                                                              \
        const from_type *x = from;                                                                 \
        to_type *y = to;                                                                           \
        TN_CELLS_INDEPENDENT                                                                       \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (to_type)(value);                                                               \
        return;                                                                                    \
    }

static inline float float_of_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* To nearest even; NaN keeps its upper bits and stays NaN. */
static inline uint16_t bf16_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(value == value ? rounded : (bits >> 16 | 0x40));
}

static void load_half(int64_t count, const uint16_t *from, float *to) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
#endif
    for (; i < count; i++)
        to[i] = (float)tn_element_f64_from_f16(from[i]);
}

static void store_half(int64_t count, const float *from, uint16_t *to) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((void *)(to + i), _mm512_cvtps_ph(_mm512_loadu_ps(from + i), 0));
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((void *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
#endif
    for (; i < count; i++)
        tn_element_store_f64(to, TN_F16, i, (double)from[i]);
}

#define LOAD(cell)                                                                                 \
    switch (type) {                                                                                \
    case TN_I64:                                                                                   \
        CONVERT(cell, int64_t, x[i])                                                               \
    case TN_I32:                                                                                   \
        CONVERT(cell, int32_t, x[i])                                                               \
    case TN_I16:                                                                                   \
        CONVERT(cell, int16_t, x[i])                                                               \
    case TN_I8:                                                                                    \
        CONVERT(cell, int8_t, x[i])                                                                \
    case TN_U64:                                                                                   \
        CONVERT(cell, uint64_t, x[i])                                                              \
    case TN_U32:                                                                                   \
        CONVERT(cell, uint32_t, x[i])                                                              \
    case TN_U16:                                                                                   \
        CONVERT(cell, uint16_t, x[i])                                                              \
    case TN_U8:                                                                                    \
        CONVERT(cell, uint8_t, x[i])                                                               \
    case TN_BOOL:                                                                                  \
        CONVERT(cell, uint8_t, x[i] != 0)                                                          \
    default:                                                                                       \
        return;                                                                                    \
    }

static void load_f32(tn_type type, int64_t count, const void *from, void *to) {
    if (type == TN_F16) {
        load_half(count, from, to);
        return;
    }
    if (type == TN_BF16) CONVERT(float, uint16_t, float_of_bf16(x[i]))
    if (type == TN_F32) CONVERT(float, float, x[i])
    LOAD(float)
}

static void load_f64(tn_type type, int64_t count, const void *from, void *to) {
    if (type == TN_F64) CONVERT(double, double, x[i])
    if (type == TN_F32) CONVERT(double, float, x[i])
    if (type == TN_BF16) CONVERT(double, uint16_t, float_of_bf16(x[i]))
    if (type == TN_F16) CONVERT(double, uint16_t, tn_element_f64_from_f16(x[i]))
    LOAD(double)
}

static void load_i32(tn_type type, int64_t count, const void *from, void *to) {
    LOAD(uint32_t)
}

static void load_i64(tn_type type, int64_t count, const void *from, void *to) {
    LOAD(uint64_t)
}

static void load(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    switch (cell) {
    case TN_CELL_F32:
        load_f32(type, count, from, to);
        return;
    case TN_CELL_F64:
        load_f64(type, count, from, to);
        return;
    case TN_CELL_I32:
    case TN_CELL_U32:
        load_i32(type, count, from, to);
        return;
    case TN_CELL_BOOL: /* of bools alone */
        CONVERT(uint8_t, uint8_t, x[i] != 0)
    default:
        load_i64(type, count, from, to);
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * cells as elements */

static void store_f32(tn_type type, int64_t count, const void *from, void *to) {
    const float *row = from;
    switch (type) {
    case TN_F16:
        store_half(count, from, to);
        return;
    case TN_BF16:
        CONVERT(uint16_t, float, bf16_of_float(x[i]))
    case TN_F32:
        CONVERT(float, float, x[i])
    case TN_F64:
        CONVERT(double, float, x[i])
    case TN_BOOL:
        CONVERT(uint8_t, float, x[i] != 0)
    default:
        for (int64_t i = 0; i < count; i++)
            tn_element_store_f64(to, type, i, trunc((double)row[i]));
        return;
    }
}

static void store_f64(tn_type type, int64_t count, const void *from, void *to) {
    const bool is_whole = !tn_element_is_real(type) && type != TN_BOOL;
    const double *row = from;
    if (type == TN_F64) CONVERT(double, double, x[i])
    if (type == TN_F32) CONVERT(float, double, x[i])
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(to, type, i, is_whole ? trunc(row[i]) : row[i]);
}

#define STORE(cell)                                                                                \
    switch (tn_element_bytes(type)) {                                                              \
    case 1:                                                                                        \
        if (type == TN_BOOL) CONVERT(uint8_t, cell, x[i] != 0)                                     \
        CONVERT(uint8_t, cell, x[i])                                                               \
    case 2:                                                                                        \
        CONVERT(uint16_t, cell, x[i])                                                              \
    case 4:                                                                                        \
        CONVERT(uint32_t, cell, x[i])                                                              \
    default:                                                                                       \
        CONVERT(uint64_t, cell, x[i])                                                              \
    }

static void store_i64(tn_type type, int64_t count, const void *from, void *to) {
    STORE(uint64_t)
}

/* Of types of at most 32 bits. */
static void store_i32(tn_type type, int64_t count, const void *from, void *to) {
    STORE(uint32_t)
}

/* Integers as floats are rounded once. */
static void store_real(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    for (int64_t i = 0; i < count; i++)
        tn_element_store_f64(to, type, i,
                             cell == TN_CELL_U64 ? (double)((const uint64_t *)from)[i]
                                                 : (double)((const int64_t *)from)[i]);
}

static void store(tn_cell cell, tn_type type, int64_t count, const void *from, void *to) {
    switch (cell) {
    case TN_CELL_F32:
        store_f32(type, count, from, to);
        return;
    case TN_CELL_F64:
        store_f64(type, count, from, to);
        return;
    case TN_CELL_I32:
    case TN_CELL_U32:
        store_i32(type, count, from, to);
        return;
    case TN_CELL_BOOL: /* as bools alone */
        memcpy(to, from, (size_t)count);
        return;
    default:
        if (tn_element_is_real(type))
            store_real(cell, type, count, from, to);
        else
            store_i64(type, count, from, to);
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * floats without their fraction */

static inline int64_t whole_of(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline int64_t whole_of_32(double x) {
    return x > -0x1p31 - 1 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}
static inline int64_t whole_of_u64(double x) {
    return x >= 0x1p63 && x < 0x1p64 ? (int64_t)(uint64_t)x : whole_of(x);
}

#define TRUNCATE(from_type)                                                                        \
    if (type == TN_I32) CONVERT(int64_t, from_type, whole_of_32((double)x[i]))                     \
    if (type == TN_U64) CONVERT(int64_t, from_type, whole_of_u64((double)x[i]))                    \
    CONVERT(int64_t, from_type, whole_of((double)x[i]))

/* What the processor's conversion answers for what is out of range is what is wanted. */
static bool truncate_32(int64_t count, const float *from, int32_t *to) {
    int32_t outside = 0;
    int64_t i = 0;
#if defined(__AVX2__)
    __m256i any = _mm256_setzero_si256();
    for (; i + 8 <= count; i += 8) {
        const __m256i whole = _mm256_cvttps_epi32(_mm256_loadu_ps(from + i));
        _mm256_storeu_si256((void *)(to + i), whole);
        any |= _mm256_cmpeq_epi32(whole, _mm256_set1_epi32(INT32_MIN));
    }
    outside = _mm256_movemask_epi8(any);
#elif defined(__SSE2__)
    __m128i any = _mm_setzero_si128();
    for (; i + 4 <= count; i += 4) {
        const __m128i whole = _mm_cvttps_epi32(_mm_loadu_ps(from + i));
        _mm_storeu_si128((void *)(to + i), whole);
        any |= _mm_cmpeq_epi32(whole, _mm_set1_epi32(INT32_MIN));
    }
    outside = _mm_movemask_epi8(any);
#endif
    for (; i < count; i++) {
        to[i] = (int32_t)whole_of_32((double)from[i]);
        outside |= to[i] == INT32_MIN;
    }
    return outside == 0;
}

static void truncate_f32(tn_type type, int64_t count, const void *from, int64_t *to) {
    TRUNCATE(float)
}
static void truncate_f64(tn_type type, int64_t count, const void *from, int64_t *to) {
    TRUNCATE(double)
}
static void truncate_cells(tn_cell cell, tn_type type, int64_t count, const void *from,
                           int64_t *to) {
    if (cell == TN_CELL_F32)
        truncate_f32(type, count, from, to);
    else
        truncate_f64(type, count, from, to);
}
