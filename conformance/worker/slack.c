/* SPDX-License-Identifier: Apache-2.0 */
/* What may differ; see slack.h. */
#include "slack.h"
#include "base/status.h"
#include "planted.h"
#include "values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOVES = 3 };

void tn_slack_destroy(tn_slack *slack) {
    for (uint32_t i = 0; i < slack->count; i++)
        free(slack->of[i]);
    *slack = (tn_slack){0};
}

/* ----------------------------------------------------------------------------------------------
 * floats */

/* A few units in the last digit; one of the types of 16 bits, which are computed in 32. */
static double step_of(tn_type type) {
    return type == TN_F64 ? 0x1p-50 : type == TN_F16 ? 0x1p-10 : type == TN_BF16 ? 0x1p-7 : 0x1p-21;
}

/* What of the movement is rounding of 32-bit floats. */
static double share_of(tn_type type) {
    return type == TN_F16 || type == TN_BF16 ? 0x1p-6 : 1;
}

/* 1 or -1, by the number alone. */
static double draw_sign(uint64_t seed, double value) {
    uint64_t state = 0;
    memcpy(&state, &value, sizeof(state));
    state ^= seed * UINT64_C(0xD1B54A32D192ED03);
    return tn_random_next(&state) >> 63 ? 1 : -1;
}

/* The case with each float made a little larger or smaller at random, equal ones alike: ties stay.
 * *out_share is the greatest share of its types. */
static bool move_floats(const tn_case *c, uint64_t seed, tn_case *moved, double *out_share) {
    bool is_any = false;
    *out_share = 0;
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        moved->inputs[i] = *input;
        moved->inputs[i].data = NULL;
        if (!tn_type_is_float(input->type) || input->has_values ||
            tn_shape_count(&input->shape, &count) != TN_OK)
            continue;
        void *data = malloc(input->bytes + 1);
        if (!data) continue;
        for (size_t k = 0; k < count; k++) {
            const double value = tn_element_get_f64(input->data, input->type, k);
            const double sign = draw_sign(seed, value);
            tn_element_set_f64(data, input->type, k, value * (1 + sign * step_of(input->type)));
        }
        moved->inputs[i].data = data;
        *out_share = fmax(*out_share, share_of(input->type));
        is_any = true;
    }
    return is_any;
}

/* The inputs that were not moved are the case's own. */
static void share_others(const tn_case *c, tn_case *moved, bool is_before) {
    for (uint32_t i = 0; i < c->input_count; i++) {
        if (is_before && !moved->inputs[i].data) moved->inputs[i].data = c->inputs[i].data;
        if (!is_before && moved->inputs[i].data != c->inputs[i].data) free(moved->inputs[i].data);
    }
}

static void widen(const tn_outcome *expected, const tn_outcome *other, uint32_t output,
                  double share, double *slack) {
    const tn_type type = expected->types[output];
    const size_t count = tn_outcome_elements(expected, output);
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        const double y = fabs(tn_element_get_f64(expected->data[output], type, k));
        if (isfinite(y)) largest = fmax(largest, y);
    }
    for (size_t k = 0; k < count; k++) {
        const double y = tn_element_get_f64(expected->data[output], type, k);
        const double z = tn_element_get_f64(other->data[output], type, k);
        const double distance = share * fabs(y - z);
        const bool is_same = y == z || (isnan(y) && isnan(z));
        const bool is_stable = tn_type_is_float(type) && isfinite(distance) &&
                               distance <= 1e-2 * (fabs(y) + 0.1 * largest);
        if (!is_same) slack[k] = is_stable ? fmax(slack[k], distance) : (double)INFINITY;
    }
}

static bool have_same_shapes(const tn_outcome *a, const tn_outcome *b) {
    for (uint32_t i = 0; i < a->count; i++)
        if (i >= b->count || !tn_shape_equal(&a->shapes[i], &b->shapes[i])) return false;
    return true;
}

static tn_status widen_by_moves(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                                const tn_outcome *expected, tn_slack *slack) {
    const tn_case_options reference = {
        .is_reference = true, .asks_all = slack->asks_all, .threads = 1};
    tn_status status = TN_OK;
    tn_case moved = *c;
    double share = 0;
    moved.inputs = calloc(c->input_count + 1, sizeof(*moved.inputs));
    if (!moved.inputs) return tn_fail_memory("a case");
    for (int i = 0; i < MOVES && status == TN_OK; i++) {
        tn_outcome other = {0};
        const bool is_any = move_floats(c, 0x5EED + (uint64_t)i, &moved, &share);
        share_others(c, &moved, true);
        if (is_any) status = tn_case_run(runtime, op, &moved, &reference, &other);
        if (status == TN_OK && is_any && !have_same_shapes(expected, &other))
            status = tn_fail(TN_ERROR_UNSUPPORTED, "the outputs' shapes hang on the last digit");
        for (uint32_t k = 0; status == TN_OK && is_any && k < expected->count; k++)
            widen(expected, &other, k, share, slack->of[k]);
        tn_outcome_free(&other);
        share_others(c, &moved, false);
        if (!is_any) break;
    }
    free(moved.inputs);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * what cancels */

/* Of larger ones there are others whose terms do not cancel. */
static const double MOST_TERM = 128;

static double largest_input(const tn_case *c) {
    double largest = 1;
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        if (!tn_type_is_float(input->type) || tn_shape_count(&input->shape, &count) != TN_OK)
            continue;
        for (size_t k = 0; k < count && largest < MOST_TERM; k++) {
            const double value = fabs(tn_element_get_f64(input->data, input->type, k));
            if (isfinite(value)) largest = fmax(largest, value);
        }
    }
    return fmin(largest, MOST_TERM);
}

/* 3 + 3 tanh(x) has a rounding error of the size of 3's, however small it is. */
static void allow_cancelled(const tn_operator *op, const tn_case *c, const tn_outcome *expected,
                            uint32_t output, double *slack) {
    const tn_type type = expected->types[output];
    if (!tn_type_is_float(type)) return;
    const double term = fmax(largest_input(c), tn_planted_largest(op, c));
    const double error = term * step_of(type) * share_of(type);
    for (size_t k = 0; k < tn_outcome_elements(expected, output); k++)
        slack[k] = fmax(slack[k], error);
}

/* ----------------------------------------------------------------------------------------------
 * what is not representable */

static bool has_floats(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++)
        if (tn_type_is_float(c->inputs[i].type)) return true;
    return false;
}

static size_t most_elements(const tn_case *c) {
    size_t most = 0;
    for (uint32_t i = 0; i < c->input_count; i++) {
        size_t count = 0;
        if (tn_shape_count(&c->inputs[i].shape, &count) == TN_OK && count > most) most = count;
    }
    return most;
}

/* The highest number of an integer type, made of floats by a reference that saturates: no cast of
 * one that is too large gives it. */
static bool is_saturated(const tn_case *c, const tn_outcome *expected, uint32_t output,
                         size_t index) {
    const tn_type type = expected->types[output];
    if (!tn_type_is_integer(type) || tn_type_bits(type) < 32 || !has_floats(c)) return false;
    const uint64_t highest = UINT64_MAX >> (64 - tn_type_bits(type) + tn_type_is_signed(type));
    return (uint64_t)tn_element_get_i64(expected->data[output], type, index) == highest;
}

/* Sums of these may have left the type's range in between, or a cast did. An end at which the
 * reference saturates is compared. */
static void drop_overflows(const tn_case *c, const tn_outcome *expected, uint32_t output,
                           double *slack) {
    const tn_type type = expected->types[output];
    const size_t count = tn_outcome_elements(expected, output);
    const double most = tn_type_is_float(type) ? 0x1p100
                        : has_floats(c)        ? fmax((double)most_elements(c), 0x1p22)
                                               : (double)INFINITY;
    for (size_t k = 0; k < count; k++) {
        const double y = fabs(tn_element_get_f64(expected->data[output], type, k));
        const bool is_lowest = tn_type_is_signed(type) && !tn_type_is_float(type) &&
                               tn_type_bits(type) >= 32 && y == exp2(tn_type_bits(type) - 1);
        if (is_saturated(c, expected, output, k)) continue;
        if ((isfinite(y) && y > most) || is_lowest) slack[k] = (double)INFINITY;
    }
}

/* Whether a float (of 64 bits: a double) holds an integer; of 64 bits those next to an end of the
 * type, at which a reference may saturate, count as held. */
static bool is_held(const void *data, tn_type type, size_t index) {
    const uint32_t bits = tn_type_bits(type), sign = tn_type_is_signed(type);
    const int64_t y = tn_element_get_i64(data, type, index);
    const bool is_negative = sign && y < 0;
    const uint64_t size = is_negative ? 0 - (uint64_t)y : (uint64_t)y;
    const int digits = bits == 64 ? 53 : 24;
    const double end = exp2((int)(bits - sign)) - 0x1p12;
    const double held = digits == 24 ? (double)(float)size : (double)size;
    return held <= exp2(digits) || (bits == 64 && held >= end) || (uint64_t)held == size;
}

/* A reference that computes integers in floats gives none that a float does not hold: then the last
 * digits are not compared. */
static void allow_floats(const tn_case *c, const tn_outcome *expected, uint32_t output,
                         double *slack) {
    const tn_type type = expected->types[output];
    const size_t count = tn_outcome_elements(expected, output);
    if (!tn_type_is_integer(type) || tn_type_bits(type) < 32) return;
    const int digits = tn_type_bits(type) == 64 ? 53 : 24;
    for (size_t k = 0; k < count; k++)
        if (!is_held(expected->data[output], type, k)) return;
    for (size_t k = 0; k < count; k++) {
        const double y = fabs(tn_element_get_f64(expected->data[output], type, k));
        if (is_saturated(c, expected, output, k)) continue;
        if (y > exp2(digits)) slack[k] = fmax(slack[k], y * exp2(3 - digits));
        if (y > 0x1p62) slack[k] = (double)INFINITY;
    }
}

/* At the ends of a type nothing can be added: only what is selected, compared or counted is
 * defined. */
bool tn_slack_is_selected(const tn_case *c, const tn_outcome *expected, uint32_t output) {
    const tn_type type = expected->types[output];
    if (type == TN_BOOL) return true;
    for (size_t k = 0; k < tn_outcome_elements(expected, output); k++) {
        bool is_there = false;
        for (uint32_t i = 0; i < c->input_count && !is_there; i++)
            is_there = c->inputs[i].type == type &&
                       tn_case_has_element(&c->inputs[i], expected->data[output], k);
        if (!is_there) return false;
    }
    return true;
}

static bool is_of_integers(const tn_case *c) {
    return c->input_count > 0 && tn_type_is_integer(c->inputs[0].type);
}

/* Averages, selections and bounds stay between the inputs; sums, which leave the type's range, need
 * not. */
static bool is_between(const tn_case *c, const tn_outcome *expected, uint32_t output) {
    const tn_type type = expected->types[output];
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (uint32_t i = 0; i < c->input_count; i++)
        for (size_t k = 0; c->inputs[i].type == type && k < tn_case_input_elements(&c->inputs[i]);
             k++) {
            const double value = tn_element_get_f64(c->inputs[i].data, type, k);
            low = fmin(low, value);
            high = fmax(high, value);
        }
    for (size_t k = 0; k < tn_outcome_elements(expected, output); k++) {
        const double y = tn_element_get_f64(expected->data[output], type, k);
        if (!(y >= low && y <= high)) return false;
    }
    return true;
}

static bool are_finite(const tn_case *c) {
    for (uint32_t i = 0; i < c->input_count; i++) {
        const tn_case_input *input = &c->inputs[i];
        size_t count = 0;
        if (!tn_type_is_float(input->type) || tn_shape_count(&input->shape, &count) != TN_OK)
            continue;
        for (size_t k = 0; k < count; k++)
            if (!isfinite(tn_element_get_f64(input->data, input->type, k))) return false;
    }
    return true;
}

/* The least result that squares of huge values may have been needed for. */
static const double LEAST_HUGE = 0x1p30;

/* Subnormal numbers: what is rounded to a unit of theirs is off by a share of the largest, and
 * their squares are zero in 32 bits. Codes of 8 bits and less stand for ratios, which are as exact
 * as others; indices may hang on distances, whose squares these are. */
static void allow_tiny(const tn_outcome *expected, uint32_t output, double *slack) {
    static const double SHARE = 1e-3;
    const tn_type type = expected->types[output];
    const size_t count = tn_outcome_elements(expected, output);
    const bool is_code = tn_type_is_integer(type) && tn_type_bits(type) <= 8;
    double largest = 0;
    for (size_t k = 0; tn_type_is_float(type) && k < count; k++) {
        const double y = fabs(tn_element_get_f64(expected->data[output], type, k));
        if (isfinite(y)) largest = fmax(largest, y);
    }
    for (size_t k = 0; k < count; k++)
        slack[k] = fmax(slack[k], is_code                  ? 1
                                  : tn_type_is_float(type) ? SHARE * largest
                                                           : (double)INFINITY);
}

static bool is_underflow(const tn_slack *slack, double found) {
    return slack->values == TN_VALUES_TINY && (found == 0 || !isfinite(found));
}

/* Counts, positions and what is equal: floats of equal numbers are differences that cancel. */
static void drop_floats(const tn_outcome *expected, uint32_t output, double *slack) {
    const size_t count = tn_outcome_elements(expected, output);
    for (size_t k = 0; k < count && tn_type_is_float(expected->types[output]); k++)
        slack[k] = (double)INFINITY;
}

static bool is_overflow(const tn_slack *slack, double expected, double found) {
    return slack->are_huge && !isfinite(found) && (expected == 0 || fabs(expected) >= LEAST_HUGE);
}

bool tn_slack_is_cut(tn_type type, double expected, double found) {
    const double most = type == TN_F16 ? 65504 : type == TN_BF16 ? 0x1.FEp127 : 0;
    return most > 0 && isinf(expected) && found == copysign(most, expected);
}

void tn_slack_allow_values(tn_slack *slack, const tn_outcome *expected, const tn_outcome *found) {
    for (uint32_t i = 0; slack->are_finite && i < slack->count && i < found->count; i++) {
        const tn_type type = expected->types[i];
        if (!tn_type_is_float(type) || found->types[i] != type ||
            found->bytes[i] != expected->bytes[i])
            continue;
        for (size_t k = 0; k < tn_outcome_elements(found, i); k++) {
            const double y = tn_element_get_f64(expected->data[i], type, k);
            const double z = tn_element_get_f64(found->data[i], type, k);
            const bool is_number = isfinite(z) && !tn_slack_is_cut(type, y, z) &&
                                   (isnan(y) || (isinf(y) && !signbit(y) == !signbit(z)));
            if (is_number || is_overflow(slack, y, z) || is_underflow(slack, z))
                slack->of[i][k] = (double)INFINITY;
        }
    }
}

/* A function that rounds: integers stay, and all results are some. What it does with halves is no
 * matter of the last digits. */
static bool is_rounding(const tn_case *c, const tn_outcome *expected, uint32_t output) {
    const tn_case_input *x = &c->inputs[0];
    const tn_type type = expected->types[output];
    size_t count = 0, halves = 0;
    if (c->input_count != 1 || !tn_type_is_float(x->type) || type == TN_BOOL ||
        !tn_shape_equal(&x->shape, &expected->shapes[output]) ||
        tn_shape_count(&x->shape, &count) != TN_OK)
        return false;
    for (size_t k = 0; k < count; k++) {
        const double from = tn_element_get_f64(x->data, x->type, k);
        const double to = tn_element_get_f64(expected->data[output], type, k);
        if (to != rint(to) || (from == rint(from) && from != to) || !(fabs(to - from) < 1))
            return false;
        halves += from != rint(from);
    }
    return halves > 0;
}

/* What rounds is compared exactly where many numbers are halves. */
static void drop_where_rounded(const tn_case *c, const tn_outcome *expected, tn_slack *slack) {
    for (uint32_t i = 0; i < expected->count; i++)
        if (slack->values == TN_VALUES_EQUAL && is_rounding(c, expected, i))
            memset(slack->of[i], 0, tn_outcome_elements(expected, i) * sizeof(double));
}

tn_status tn_slack_move(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                        const tn_outcome *expected, tn_slack *slack) {
    slack->is_moved = true;
    TN_TRY(widen_by_moves(runtime, op, c, expected, slack));
    drop_where_rounded(c, expected, slack);
    return TN_OK;
}

tn_status tn_slack_create(const tn_operator *op, const tn_case *c, uint32_t values, bool asks_all,
                          const tn_outcome *expected, tn_slack *out_slack) {
    *out_slack = (tn_slack){.count = expected->count,
                            .asks_all = asks_all,
                            .are_finite = are_finite(c),
                            .are_huge = values == TN_VALUES_HUGE,
                            .values = values};
    for (uint32_t i = 0; i < expected->count; i++) {
        if (values == TN_VALUES_ENDS && is_of_integers(c) && !tn_slack_is_selected(c, expected, i))
            return tn_fail(TN_ERROR_UNSUPPORTED, "sums at the end of a type");
        if (values == TN_VALUES_HIGH && expected->types[i] != TN_BOOL &&
            !is_between(c, expected, i))
            return tn_fail(TN_ERROR_UNSUPPORTED, "sums of high integers");
        const size_t count = tn_outcome_elements(expected, i);
        out_slack->of[i] = calloc(count + 1, sizeof(double));
        if (!out_slack->of[i]) return tn_fail_memory("what may differ");
        if (values == TN_VALUES_ENDS && is_of_integers(c)) continue;
        drop_overflows(c, expected, i, out_slack->of[i]);
        allow_floats(c, expected, i, out_slack->of[i]);
        if (values != TN_VALUES_ENDS) allow_cancelled(op, c, expected, i, out_slack->of[i]);
        if (values == TN_VALUES_TINY) allow_tiny(expected, i, out_slack->of[i]);
        if (values == TN_VALUES_SAME) drop_floats(expected, i, out_slack->of[i]);
    }
    drop_where_rounded(c, expected, out_slack);
    return TN_OK;
}
