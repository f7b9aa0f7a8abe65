/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values at the ends of the 16-bit floats, as a draw of their own each: TINY, which are subnormal
 * ones of binary16; HIGH, whose sums binary16 does not hold; NO_NUMBER, with NaN and infinities
 * among others in one input. Whoever converts by hand meets them here. Operators that multiply by
 * weights are left out: their bounds are of numbers.
 */
#include "cases/stored/stored_private.h"

#include <math.h>
#include <string.h>

bool tn_stored_is_special(const tn_drawn *d) {
    return d->draw >= TN_DRAW_COUNT;
}

/* Codes say nothing of what is no number, and bfloat16 has the ends of 32-bit floats. */
bool tn_stored_has_special(const tn_drawn *d) {
    bool has_floats = false, has_codes = false;
    if (tn_stored_has_weights(d)) return false;
    for (uint32_t i = 0; i < d->c.input_count; i++)
        has_floats = has_floats || (d->c.inputs[i].type == TN_F32 && !d->c.inputs[i].has_values);
    for (uint32_t i = 0; i < d->expected.count; i++)
        has_codes = has_codes || d->expected.types[i] != TN_F32;
    return has_floats && (d->draw == TN_DRAW_NO_NUMBER ? !has_codes : d->stored == TN_F16);
}

/* A NaN of which all bits are set that may be: what adds to them carries into the sign. */
static float full_nan(void) {
    const uint32_t bits = 0x7FFFFFFF;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float draw_value(tn_drawn *d, size_t index, float own) {
    const double number = tn_drawn_number(d), sign = number < 0.5 ? -1 : 1;
    if (d->draw == TN_DRAW_TINY) return (float)(sign * floor(1 + number * 1022) * 0x1p-24);
    if (d->draw == TN_DRAW_HIGH) return (float)(sign * (8192 + floor(number * 57312)));
    return index % 5 == 1 ? full_nan() : index % 5 == 3 ? (float)sign * INFINITY : own;
}

void tn_stored_draw_special(tn_drawn *d) {
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        tn_case_input *input = &d->c.inputs[i];
        float *values = input->data;
        const bool is_narrow = d->narrow == 0 || d->narrow >> i & 1;
        if (input->type != TN_F32 || input->has_values || !is_narrow) continue;
        for (size_t k = 0, count = tn_drawn_count(&input->shape); k < count; k++)
            values[k] = draw_value(d, k, values[k]);
        if (d->draw == TN_DRAW_NO_NUMBER) break; /* one input */
    }
}

bool tn_stored_is_special_near(double wanted, double found) {
    if (isnan(wanted) || isnan(found)) return isnan(found);
    return isinf(wanted) && isinf(found) && (wanted > 0) == (found > 0);
}
