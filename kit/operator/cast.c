/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in another type; see cast.h. */
#include "kit/math/element.h"
#include "kit/operator/cast.h"

#include <string.h>

static int64_t integer_from_real(double value, tn_type type) {
    if (type == TN_U64 && value >= 0x1p63 && value < 0x1p64) return (int64_t)(uint64_t)value;
    bool fits = value >= -0x1p63 && value < 0x1p63;
    if (type == TN_I32) fits = value > -0x1p31 - 1 && value < 0x1p31;
    if (!fits) return type == TN_I32 ? INT32_MIN : INT64_MIN;
    return (int64_t)value;
}

static void cast_from_real(const tn_tensor *x, const tn_tensor *y) {
    const bool is_real = tn_element_is_real(y->type) || y->type == TN_BOOL;
    for (int64_t i = 0, end = tn_element_count(y); i < end; i++) {
        double value = tn_element_f64(x, i);
        if (is_real)
            tn_element_set_f64(y, i, value);
        else
            tn_element_set_i64(y, i, integer_from_real(value, y->type));
    }
}

/* u64 to floats: above the highest int64 they would change their sign. */
static void cast_from_integer(const tn_tensor *x, const tn_tensor *y) {
    const bool is_real = tn_element_is_real(y->type);
    for (int64_t i = 0, end = tn_element_count(y); i < end; i++) {
        int64_t value = tn_element_i64(x, i);
        if (is_real && x->type == TN_U64 && y->type == TN_F32)
            ((float *)y->data)[i] = (float)(uint64_t)value;
        else if (is_real && x->type == TN_U64)
            tn_element_set_f64(y, i, (double)(uint64_t)value);
        else
            tn_element_set_i64(y, i, value);
    }
}

static void cast_small(const tn_tensor *x, const tn_tensor *y, tn_small_mode mode) {
    const bool is_real = tn_element_is_real(y->type) || y->type == TN_BOOL;
    if (y->bytes > 0) memset(y->data, 0, (size_t)y->bytes); /* the bits behind the last one, too */
    for (int64_t i = 0, end = tn_element_count(y); i < end; i++) {
        const double value = tn_small_is(x->type)          ? tn_small_load(x->data, x->type, i)
                             : x->type == TN_U64           ? (double)((const uint64_t *)x->data)[i]
                             : tn_element_is_real(x->type) ? tn_element_f64(x, i)
                                                           : (double)tn_element_i64(x, i);
        if (tn_small_is_float(y->type))
            tn_small_store_float(y->data, y->type, i, value, mode);
        else if (is_real)
            tn_element_set_f64(y, i, value);
        else if (tn_small_is(y->type))
            tn_small_store_integer(y->data, y->type, i, integer_from_real(value, TN_I64));
        else
            tn_element_set_i64(y, i, integer_from_real(value, y->type));
    }
}

void tn_cast_elements(const tn_tensor *x, const tn_tensor *y, tn_small_mode mode) {
    if (x->type == y->type && tn_small_is(x->type))
        memcpy(y->data, x->data, (size_t)y->bytes);
    else if (tn_small_is(x->type) || tn_small_is(y->type))
        cast_small(x, y, mode);
    else if (x->type == y->type)
        tn_element_copy(x, y);
    else if (tn_element_is_real(x->type))
        cast_from_real(x, y);
    else
        cast_from_integer(x, y);
}
