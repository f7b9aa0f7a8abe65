/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of order.h for one processor level. Included by a file a level, which names the
 * table as TN_ORDER_LEVEL. The loops are written for the compiler to vectorise; order_width.h has
 * those that are compiled for each width of keys.
 */
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

#define WIDTH(name)    name##_32
#define KEY            uint32_t
#define ENTRY          tn_order_entry32
#define ENTRY_OF(k, n) ((uint64_t)(k) << 32 | (uint64_t)(n))
#define KEY_OF(e)      ((uint32_t)((e) >> 32))
#define NUMBER_OF(e)   ((int64_t)((e)&UINT32_MAX))
#define IS_BELOW(a, b) ((a) < (b))
#define HAS_WIDE_TYPES 0
#include "kit/order/order_width.h"
#undef WIDTH
#undef KEY
#undef ENTRY
#undef ENTRY_OF
#undef KEY_OF
#undef NUMBER_OF
#undef IS_BELOW
#undef HAS_WIDE_TYPES

#define WIDTH(name)    name##_64
#define KEY            uint64_t
#define ENTRY          tn_order_entry64
#define ENTRY_OF(k, n) ((tn_order_entry64){(k), (uint64_t)(n)})
#define KEY_OF(e)      ((e).key)
#define NUMBER_OF(e)   ((int64_t)(e).number)
#define IS_BELOW(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).number < (b).number))
#define HAS_WIDE_TYPES 1
#include "kit/order/order_width.h"

const tn_order_level TN_ORDER_LEVEL = {&functions_32, &functions_64};
