/* SPDX-License-Identifier: Apache-2.0 */
/* Elements in another type; see cast.h. */
#include "kit/math/element.h"
#include "kit/operator/cast.h"

static int64_t integer_from_real(double value, tn_type type) {
    if (type == TN_U64 && value >= 0x1p63 && value < 0x1p64) return (int64_t)(uint64_t)value;
    bool fits = value >= -0x1p63 && value < 0x1p63;
    if (type == TN_I32) fits = value > -0x1p31 - 1 && value < 0x1p31;
    if (!fits) return type == TN_I32 ? INT32_MIN : INT64_MIN;
    return (int64_t)value;
}

static void cast_from_real(const tn_tensor *x, const tn_tensor *y) {
    const bool is_real = tn_element_is_real(y->type) || y->type == TN_BOOL;
    for (int64_t i = 0; i < tn_element_count(y); i++) {
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
    for (int64_t i = 0; i < tn_element_count(y); i++) {
        int64_t value = tn_element_i64(x, i);
        if (is_real && x->type == TN_U64 && y->type == TN_F32)
            ((float *)y->data)[i] = (float)(uint64_t)value;
        else if (is_real && x->type == TN_U64)
            tn_element_set_f64(y, i, (double)(uint64_t)value);
        else
            tn_element_set_i64(y, i, value);
    }
}

void tn_cast_elements(const tn_tensor *x, const tn_tensor *y) {
    if (x->type == y->type)
        tn_element_copy(x, y);
    else if (tn_element_is_real(x->type))
        cast_from_real(x, y);
    else
        cast_from_integer(x, y);
}
