/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of order.h for one processor level. Included by a file a level, which names the
 * table as TN_ORDER_LEVEL. The loops are written for the compiler to vectorise; order_width.h has
 * those that are compiled for each width of keys.
 */
#include "kit/math/across.h"
#include "kit/order/order.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * keys of elements, as unsigned integers of the element's width */

#define SIGNED_KEY(type, bits) ((type)((bits) ^ (type)((type)1 << (sizeof(type) * 8 - 1))))

/* Of a float's bits: negative ones are inverted, the others lie above them; -0 becomes 0, NaN all
 * ones. `infinity` has the bits of infinity. Without branches, which keep compilers from vectors.
 */
#define FLOAT_KEY(type, name, infinity)                                                            \
    static inline type key_of_##name(type bits) {                                                  \
        const type sign = (type)((type)1 << (sizeof(type) * 8 - 1));                               \
        const type is_negative = (type)(bits >> (sizeof(type) * 8 - 1));                           \
        const type size = (type)(bits & (type)~sign);                                              \
        const type key = (type)(bits ^ (type)((type)(0 - is_negative) | sign));                    \
        const type is_nan = (type)(size > (infinity)), is_minus_zero = (type)(bits == sign);       \
        return (type)((type)(key + is_minus_zero) | (type)(0 - is_nan));                           \
    }
FLOAT_KEY(uint16_t, f16, 0x7C00)
FLOAT_KEY(uint16_t, bf16, 0x7F80)
FLOAT_KEY(uint32_t, f32, UINT32_C(0x7F800000))
FLOAT_KEY(uint64_t, f64, UINT64_C(0x7FF0000000000000))

#define KEY_U8(bits)   (bits)
#define KEY_U16(bits)  (bits)
#define KEY_U32(bits)  (bits)
#define KEY_U64(bits)  (bits)
#define KEY_I8(bits)   SIGNED_KEY(uint8_t, bits)
#define KEY_I16(bits)  SIGNED_KEY(uint16_t, bits)
#define KEY_I32(bits)  SIGNED_KEY(uint32_t, bits)
#define KEY_I64(bits)  SIGNED_KEY(uint64_t, bits)
#define KEY_F16(bits)  key_of_f16(bits)
#define KEY_BF16(bits) key_of_bf16(bits)
#define KEY_F32(bits)  key_of_f32(bits)
#define KEY_F64(bits)  key_of_f64(bits)

/* Elements beside each other have a loop of their own, which is vectorised. */
#define READ(key_type, type, key_of)                                                               \
    {                                                                                              \
        const type *from = data;                                                                   \
        if (step == 1) {                                                                           \
            for (int64_t i = 0; i < count; i++)                                                    \
                to[i] = (key_type)(type)(key_of(from[i]) + more) ^ flip;                           \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (key_type)(type)(key_of(from[i * step]) + more) ^ flip;                        \
        return;                                                                                    \
    }

/* ----------------------------------------------------------------------------------------------
 * rows of few keys of 32 bits, as many at once as a vector has lanes */

enum { SHORT_ROW = 256 /* keys: longer rows gain nothing */ };

TN_INLINE tn_vector_words lower(tn_vector_words a, tn_vector_words b) {
    const tn_vector_words is_lower = (tn_vector_words)(a < b);
    return (a & is_lower) | (b & ~is_lower);
}
TN_WORDS_ACROSS(lower, lower)

/* A vector of keys, all ones behind the last of them. */
TN_INLINE tn_vector_words load_keys(const uint32_t *from, int64_t left) {
    const tn_vector_bits numbers = TN_LANE_NUMBERS;
    const float *at = (const float *)(const void *)from;
    if (left >= TN_LANES) return (tn_vector_words)tn_vector_load(at);
    return (tn_vector_words)tn_vector_load_part(at, left) |
           (tn_vector_words)(numbers >= (int32_t)left);
}

/* Where a row's keys equal `wanted`: a vector with the first number of such a key in some lane,
 * counted from the row's end where the last one is asked for. */
TN_INLINE tn_vector_words find_key(const uint32_t *row, int64_t count, uint32_t wanted,
                                   bool is_last) {
    tn_vector_words numbers = TN_LANE_NUMBERS, found = ~(tn_vector_words){0};
    if (is_last) numbers = (uint32_t)(count - 1) - numbers;
    for (int64_t i = 0; i < count; i += TN_LANES) {
        const tn_vector_words is_it = (tn_vector_words)(load_keys(row + i, count - i) == wanted);
        found = lower(found, numbers | ~is_it);
        numbers += (uint32_t)(is_last ? -TN_LANES : TN_LANES);
    }
    return found;
}

/* Answers how many rows it did. */
static int64_t short_rows(const uint32_t *keys, int64_t rows, int64_t count, bool is_last,
                          int64_t *numbers) {
    int64_t row = 0;
    for (; count <= SHORT_ROW && row + TN_LANES <= rows;
         row += TN_LANES, keys += TN_LANES * count) {
        tn_vector_words parts[TN_LANES];
        uint32_t of_row[TN_LANES];
        for (int64_t k = 0; k < TN_LANES; k++) {
            parts[k] = load_keys(keys + k * count, count);
            for (int64_t i = TN_LANES; i < count; i += TN_LANES)
                parts[k] = lower(parts[k], load_keys(keys + k * count + i, count - i));
        }
        tn_vector_words all = lower_gather(parts);
        memcpy(of_row, &all, sizeof(of_row));
        for (int64_t k = 0; k < TN_LANES; k++)
            parts[k] = find_key(keys + k * count, count, of_row[k], is_last);
        all = lower_gather(parts);
        memcpy(of_row, &all, sizeof(of_row));
        for (int64_t k = 0; k < TN_LANES; k++)
            numbers[row + k] = is_last ? count - 1 - of_row[k] : of_row[k];
    }
    return row;
}

#define SHORT_ROWS(...) short_rows(__VA_ARGS__)
#define WIDTH(name)     name##_32
#define KEY             uint32_t
#define ENTRY           tn_order_entry32
#define ENTRY_OF(k, n)  ((uint64_t)(k) << 32 | (uint64_t)(n))
#define KEY_OF(e)       ((uint32_t)((e) >> 32))
#define NUMBER_OF(e)    ((int64_t)((e)&UINT32_MAX))
#define IS_BELOW(a, b)  ((a) < (b))
#define HAS_WIDE_TYPES  0
#include "kit/order/order_width.h"
#undef WIDTH
#undef KEY
#undef ENTRY
#undef ENTRY_OF
#undef KEY_OF
#undef NUMBER_OF
#undef IS_BELOW
#undef HAS_WIDE_TYPES
#undef SHORT_ROWS

#define SHORT_ROWS(...) 0
#define WIDTH(name)     name##_64
#define KEY             uint64_t
#define ENTRY           tn_order_entry64
#define ENTRY_OF(k, n)  ((tn_order_entry64){(k), (uint64_t)(n)})
#define KEY_OF(e)       ((e).key)
#define NUMBER_OF(e)    ((int64_t)(e).number)
#define IS_BELOW(a, b)  ((a).key < (b).key || ((a).key == (b).key && (a).number < (b).number))
#define HAS_WIDE_TYPES  1
#include "kit/order/order_width.h"

const tn_order_level TN_ORDER_LEVEL = {&functions_32, &functions_64};
