/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing values; see values.h. */
#include "values.h"
#include "cases/strings/strings.h"

#include <math.h>

uint64_t tn_random_next(uint64_t *inout_state) {
    uint64_t z = (*inout_state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t tn_random_below(uint64_t *inout_state, uint64_t count) {
    return (tn_random_next(inout_state) >> 11) % count;
}

/* From -1 to 1. */
static double draw_fraction(uint64_t *state) {
    return (double)(tn_random_next(state) >> 11) * 0x1p-52 - 1;
}

const char *tn_values_name(uint32_t values) {
    static const char *const names[] = {
        "the case's", "small", "wide",    "large", "extreme", "equal", "zeros", "negative",
        "positive",   "huge",  "special", "tied",  "sorted",  "high",  "tiny",  "one of all"};
    return values < TN_VALUES_ALL_COUNT ? names[values] : "";
}

/* The texts of a kind of values. */
static uint32_t text_kind(uint32_t values) {
    static const uint32_t kinds[TN_VALUES_ALL_COUNT] = {
        [TN_VALUES_SMALL] = TN_CASE_ANY_TEXTS,   [TN_VALUES_WIDE] = TN_CASE_ANY_TEXTS,
        [TN_VALUES_EQUAL] = TN_CASE_ANY_TEXTS,   [TN_VALUES_SAME] = TN_CASE_ANY_TEXTS,
        [TN_VALUES_TIES] = TN_CASE_PREFIXES,     [TN_VALUES_BELOW] = TN_CASE_BLANKS,
        [TN_VALUES_ABOVE] = TN_CASE_NUMBERS,     [TN_VALUES_LARGE] = TN_CASE_LENGTHS,
        [TN_VALUES_ENDS] = TN_CASE_BROKEN_TEXTS,
    };
    return values < TN_VALUES_ALL_COUNT ? kinds[values] : TN_CASE_NO_TEXTS;
}

bool tn_values_apply(tn_type type, uint32_t values) {
    if (type == TN_NONE) return values <= TN_VALUES_SMALL;
    if (type == TN_BOOL)
        return values <= TN_VALUES_SMALL || values == TN_VALUES_BELOW || values == TN_VALUES_ABOVE;
    if (type == TN_STRING) return text_kind(values) != TN_CASE_NO_TEXTS || values == TN_VALUES_CASE;
    if (values == TN_VALUES_SORTED || values == TN_VALUES_SAME) return true;
    if (values == TN_VALUES_TINY) return tn_type_is_float(type) && tn_type_bits(type) >= 16;
    if (values == TN_VALUES_HIGH) return tn_type_is_integer(type) && tn_type_bits(type) >= 32;
    if (values == TN_VALUES_BELOW && tn_type_is_integer(type)) return tn_type_is_signed(type);
    if (values > TN_VALUES_EQUAL)
        return tn_type_is_float(type) && (values != TN_VALUES_HUGE || type != TN_F16);
    if (values == TN_VALUES_ENDS) return tn_type_is_integer(type) || tn_type_is_float(type);
    /* all values of 8 bits are wide already */
    return values != TN_VALUES_LARGE || tn_type_bits(type) > 8;
}

/* ----------------------------------------------------------------------------------------------
 * floats */

/* Every other one. */
static double draw_special(uint64_t *state, double fraction) {
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    enum { SPECIALS = sizeof(specials) / sizeof(specials[0]) };
    const uint64_t drawn = tn_random_below(state, 2 * SPECIALS);
    return drawn < SPECIALS ? specials[drawn] : 2 * fraction;
}

/* A million units of the least number at most, so that their ratios are as exact as those of
 * others. */
static double draw_tiny(tn_type type, double fraction) {
    const double unit = type == TN_F16    ? 0x1p-24
                        : type == TN_BF16 ? 0x1p-133
                        : type == TN_F64  ? 0x1p-1074
                                          : 0x1p-149;
    const double most = type == TN_F16 ? 1023 : type == TN_BF16 ? 127 : 1 << 20;
    return rint(fraction * most) * unit;
}

static double draw_float(tn_type type, uint32_t values, uint64_t *state) {
    const double fraction = draw_fraction(state);
    if (values == TN_VALUES_TINY) return draw_tiny(type, fraction);
    if (values == TN_VALUES_SAME) return 1;
    if (values == TN_VALUES_EQUAL) return rint(4 * fraction) / 2;
    if (values == TN_VALUES_ZEROS)
        return tn_random_below(state, 2) ? -0.0 : fraction + copysign(1, fraction);
    if (values == TN_VALUES_TIES) return copysign((double)tn_random_below(state, 2), fraction);
    if (values == TN_VALUES_BELOW) return 13 * fraction - 17;
    if (values == TN_VALUES_ABOVE) return 13 * fraction + 17;
    if (values == TN_VALUES_HUGE)
        return copysign(exp2(60 + 39 * fabs(draw_fraction(state))), fraction);
    if (values == TN_VALUES_SPECIAL) return draw_special(state, fraction);
    if (values == TN_VALUES_SMALL) return 2 * fraction;
    if (values == TN_VALUES_WIDE) return 120 * fraction;
    if (values == TN_VALUES_ENDS) return fraction * (type == TN_F16 ? 0x1p-10 : 0x1p-13);
    if (type == TN_F16) return fraction * 65504;
    return copysign(exp2(63 * fabs(draw_fraction(state)) - 30), fraction);
}

/* ----------------------------------------------------------------------------------------------
 * integers */

/* Half of them close together, so that what compares them meets neighbours and equals. */
static int64_t draw_wide(tn_type type, uint64_t *state) {
    const bool is_signed = tn_type_is_signed(type), is_close = tn_random_below(state, 2);
    const uint32_t bits = tn_type_bits(type);
    const uint64_t word = tn_random_next(state);
    if (bits <= 16) return (int64_t)(word >> 7); /* cut to the type's bits when it is stored */
    if (is_close) {
        static const int64_t bases[2][2] = {{(1 << 24) + 1, (1 << 16) + 1},
                                            {(INT64_C(1) << 53) + 1, (INT64_C(1) << 32) + 5}};
        const int64_t near = bases[bits == 64][word & 1] + (int64_t)(word >> 1 & 3);
        return is_signed && (word >> 3 & 1) ? -near : near;
    }
    /* unsigned ones have the highest bit in half of the cases */
    if (!is_signed) return (int64_t)(bits == 64 ? word : word & UINT32_MAX);
    const int64_t most = INT64_C(1) << (bits == 64 ? 55 : 24);
    return (int64_t)(word % (uint64_t)(2 * most)) - most;
}

static int64_t draw_product(tn_type type, uint64_t *state) {
    const bool is_signed = tn_type_is_signed(type);
    const int64_t most = INT64_C(1) << (tn_type_bits(type) / 2 - 3);
    const int64_t value = (int64_t)tn_random_below(state, (uint64_t)most);
    return is_signed && tn_random_below(state, 2) ? -value : value;
}

/* -1 is left out: the lowest number divided by it ends the process. */
static int64_t draw_end(tn_type type, uint64_t *state) {
    const uint32_t bits = tn_type_bits(type);
    const bool is_signed = tn_type_is_signed(type);
    const int64_t highest = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    const int64_t lowest = is_signed ? -highest - 1 : 0;
    const int64_t ends[] = {lowest, lowest + 1, highest, highest - 1, 0, 1, 2, 3};
    return ends[tn_random_below(state, sizeof(ends) / sizeof(ends[0]))];
}

/* The last quarter of the numbers above 0. */
static int64_t draw_high(tn_type type, uint64_t *state) {
    const uint32_t bits = tn_type_bits(type) - tn_type_is_signed(type);
    const uint64_t quarter = UINT64_C(1) << (bits - 2);
    return (int64_t)(3 * quarter + tn_random_next(state) % (quarter - 1));
}

static int64_t draw_integer(tn_type type, uint32_t values, uint64_t *state) {
    if (values == TN_VALUES_WIDE) return draw_wide(type, state);
    if (values == TN_VALUES_LARGE) return draw_product(type, state);
    if (values == TN_VALUES_ENDS) return draw_end(type, state);
    if (values == TN_VALUES_HIGH) return draw_high(type, state);
    if (values == TN_VALUES_EQUAL) return (int64_t)tn_random_below(state, 3);
    if (values == TN_VALUES_SAME) return 1;
    if (values == TN_VALUES_BELOW) return -1 - (int64_t)tn_random_below(state, 8);
    return (int64_t)tn_random_below(state, 8);
}

/* All false, all true, or any. */
static int64_t draw_truth(uint32_t values, uint64_t *state) {
    if (values == TN_VALUES_BELOW) return 0;
    if (values == TN_VALUES_ABOVE || values == TN_VALUES_SAME) return 1;
    return (int64_t)tn_random_below(state, 2);
}

/* The low bits of it, as the type has them. */
static void store(void *data, tn_type type, size_t index, int64_t value) {
    const uint32_t unused = 64 - tn_type_bits(type);
    if (type == TN_U64) {
        ((uint64_t *)data)[index] = (uint64_t)value;
    } else if (tn_type_is_signed(type)) {
        /* the shift to the right inserts copies of the sign, in every compiler that is used */
        tn_element_set_i64(data, type, index, (int64_t)((uint64_t)value << unused) >> unused);
    } else {
        tn_element_set_i64(data, type, index, (int64_t)((uint64_t)value << unused >> unused));
    }
}

/* The last ones of very many are the greatest and the least: their positions take more than 16
 * bits.
 */
static void put_peaks(void *data, tn_type type, size_t count) {
    enum { PEAKS = 16, MANY = 1 << 16, ABOVE = 8 };
    for (size_t i = count - PEAKS; count > MANY && i < count; i++) {
        const int64_t rest = (int64_t)(count - i), peak = i % 2 ? ABOVE + rest : -ABOVE - rest;
        if (tn_type_is_float(type))
            tn_element_set_f64(data, type, i, (double)peak);
        else if (tn_type_is_integer(type) && (peak > 0 || tn_type_is_signed(type)))
            tn_element_set_i64(data, type, i, peak);
    }
}

/* Those of 8 bits repeat themselves. */
static void draw_sorted(void *data, tn_type type, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double share = (double)i / (double)count;
        if (tn_type_is_float(type))
            tn_element_set_f64(data, type, i, 120 * share - 60);
        else
            tn_element_set_i64(data, type, i,
                               tn_type_bits(type) > 16 ? (int64_t)i : (int64_t)(127 * share));
    }
}

/* Runs of subnormal numbers alone, so that sums of them are, too. */
static double factor(uint32_t values, size_t index) {
    enum { RUN = 8 };
    return values == TN_VALUES_ENDS && index / RUN % 2 ? 0x1p-6 : 1;
}

/* Every third text has bytes that are zero. */
static uint64_t draw_text(size_t index, uint64_t *state) {
    const uint64_t drawn = tn_random_next(state);
    return index % 3 ? drawn : TN_CASE_ZERO_STRING + TN_CASE_STRING_KINDS * (drawn % 16);
}

/* Three short texts, of each both elements. */
static uint64_t draw_equal(uint64_t *state) {
    return tn_random_below(state, 3) + tn_random_below(state, 2) * TN_CASE_SECOND_STRING;
}

static tn_string draw_string(uint32_t values, size_t index, uint64_t *state) {
    const uint32_t kind = text_kind(values);
    const uint64_t number = values == TN_VALUES_EQUAL  ? draw_equal(state)
                            : values == TN_VALUES_SAME ? 1
                            : values == TN_VALUES_WIDE ? draw_text(index, state)
                                                       : tn_random_next(state);
    return kind > TN_CASE_ANY_TEXTS ? tn_case_draw_text(kind, number) : tn_case_draw_string(number);
}

void tn_values_draw(void *data, tn_type type, size_t count, uint32_t values,
                    uint64_t *inout_state) {
    if (type == TN_STRING) {
        for (size_t i = 0; i < count; i++)
            ((tn_string *)data)[i] = draw_string(values, i, inout_state);
        return;
    }
    if (values == TN_VALUES_SORTED && type != TN_BOOL) {
        draw_sorted(data, type, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (tn_type_is_float(type))
            tn_element_set_f64(data, type, i,
                               draw_float(type, values, inout_state) * factor(values, i));
        else if (type == TN_BOOL)
            tn_element_set_i64(data, type, i, draw_truth(values, inout_state));
        else
            store(data, type, i, draw_integer(type, values, inout_state));
    }
    if (values == TN_VALUES_EQUAL) put_peaks(data, type, count);
}
