/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the values of a case, rounds them to what is stored, and lets the reference compute from
 * them. Five variants: EXACT, where scales are powers of two and weights are whole multiples of
 * their channel's step with the largest among them, so that W (stored_compare.c) is zero and ties
 * occur, which must go to even; RANGE, scales from the values' ranges, all different; SATURATE,
 * scales too small for inputs and output, weights as in EXACT; FAR, the output's so small that 16
 * bits do not hold the steps before they saturate; EQUAL, one scale for inputs and outputs, which
 * must keep bits where the operator selects. Unsigned bytes have zero points, too: other ones for
 * inputs than for outputs, but for EQUAL.
 */
#include "base/status.h"
#include "cases/stored/stored_private.h"
#include "tensor/convert.h"

#include <math.h>

double tn_drawn_number(tn_drawn *d) {
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(d->random >> 40) / (double)(1 << 24);
}

size_t tn_drawn_count(const tn_shape *shape) {
    size_t count = 0;
    return tn_shape_count(shape, &count) == TN_OK ? count : 0;
}

static double largest_of(const float *values, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) largest = fmax(largest, fabs((double)values[i]));
    return largest;
}

/* The smallest power of two that is not below. */
static float power_of_two(double value) {
    return (float)exp2(ceil(log2(value > 1e-30 ? value : 1.0)));
}

tn_bound_case tn_drawn_bound(const tn_drawn *d) {
    return (tn_bound_case){d->runtime, d->op, d->arena, &d->c, d->stored, d->narrow};
}

static bool is_weight(const tn_drawn *d, uint32_t index) {
    const tn_bound_case bound = tn_drawn_bound(d);
    return tn_bound_is_weight(&bound, index);
}

bool tn_stored_has_weights(const tn_drawn *d) {
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        if (is_weight(d, i)) return true;
    }
    return false;
}

/* Weights whose largest magnitude, 127 steps, lies at every second element along every axis, so
 * that any slice has one. */
static void draw_weights(tn_drawn *d, tn_case_input *input) {
    float *values = input->data;
    for (size_t i = 0, count = tn_drawn_count(&input->shape); i < count; i++) {
        int64_t parity = 0, rest = (int64_t)i;
        for (uint32_t axis = input->shape.rank; axis-- > 0; rest /= input->shape.extents[axis])
            parity += rest % input->shape.extents[axis];
        const double number = tn_drawn_number(d);
        const double steps = parity % 2 ? floor(number * 255.0) - 127.0 : number < 0.5 ? -127 : 127;
        values[i] = (float)(steps / 128.0);
    }
}

/* Within 8, of which a sum has a bit more than the 16-bit type: many are halves of its last one. */
static float draw_half(tn_drawn *d) {
    const double steps = d->stored == TN_F16 ? 512 : 64;
    return (float)((floor(tn_drawn_number(d) * 16 * steps) - 8 * steps) / steps);
}

static void draw_exact(tn_drawn *d) {
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        tn_case_input *input = &d->c.inputs[i];
        float *values = input->data;
        const size_t count = tn_drawn_count(&input->shape);
        if (input->type != TN_F32 || input->has_values) continue;
        if (is_weight(d, i)) {
            draw_weights(d, input);
        } else if (d->narrow >> i & 1) { /* few bits beside weights, so that sums often tie */
            const double step = tn_stored_has_weights(d) ? 16 : 1;
            const bool ends_in_halves = !tn_stored_is_bytes(d->stored) && !tn_stored_has_weights(d);
            for (size_t k = 0; k < count; k++)
                values[k] =
                    ends_in_halves
                        ? draw_half(d)
                        : (float)((floor(tn_drawn_number(d) * 256 / step) * step - 128) / 64);
        } else if (input->shape.rank <= 1) {
            for (size_t k = 0; k < count; k++)
                values[k] = (float)((floor(tn_drawn_number(d) * 512) - 256) / 256);
        }
    }
}

bool tn_stored_is_bytes(tn_type stored) {
    return stored == TN_STORED_QI8 || stored == TN_STORED_QU8;
}

double tn_stored_lowest(const tn_stored_tensor *tensor) {
    return (tensor->type == TN_I8 ? INT8_MIN : 0) - tensor->zero_point;
}

double tn_stored_highest(const tn_stored_tensor *tensor) {
    return tn_stored_lowest(tensor) + UINT8_MAX;
}

float tn_stored_round(const tn_stored_tensor *tensor, float value) {
    const double steps = (double)rintf(value / tensor->scale);
    const double held = fmax(tn_stored_lowest(tensor), fmin(tn_stored_highest(tensor), steps));
    return (float)held * tensor->scale + 0.0f; /* no negative zero */
}

/* Rounds the narrow inputs to what is stored; a scale each. */
static tn_status round_inputs(tn_drawn *d) {
    float all = 0;
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        const tn_case_input *input = &d->c.inputs[i];
        const size_t count = tn_drawn_count(&input->shape);
        if (!(d->narrow >> i & 1)) continue;
        float *values = input->data;
        const double range = largest_of(values, count) > 0 ? largest_of(values, count) : 1;
        static const double factors[] = {1, 1.37, 0.81, 1.11};
        float scale = (float)(range / 127 * factors[i % 4]);
        if (d->draw == TN_DRAW_EXACT) scale = 0x1p-6f;
        if (d->draw == TN_DRAW_SATURATE) scale *= 0.5f;
        if (d->draw == TN_DRAW_EQUAL && all != 0) scale = all;
        all = scale;
        const tn_stored_tensor bytes = {.type = d->stored == TN_STORED_QU8 ? TN_U8 : TN_I8,
                                        .scale = scale,
                                        .zero_point = d->zero_points[i]};
        d->scales[i] = tn_stored_is_bytes(d->stored) ? scale : 0;
        for (size_t k = 0; k < count; k++) {
            if (d->stored == TN_F16) values[k] = tn_f16_to_f32(tn_f32_to_f16(values[k]));
            if (d->stored == TN_BF16) values[k] = tn_bf16_to_f32(tn_f32_to_bf16(values[k]));
            if (tn_stored_is_bytes(d->stored)) values[k] = tn_stored_round(&bytes, values[k]);
        }
    }
    return TN_OK;
}

/* Their rounding then does nothing. */
static bool has_exact_weights(const tn_drawn *d) {
    if (d->stored == TN_NONE) return false;
    return d->draw == TN_DRAW_EXACT || d->draw == TN_DRAW_SATURATE || d->draw == TN_DRAW_FAR;
}

tn_status tn_drawn_make(tn_drawn *d) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    static const int32_t zero_points[TN_DRAW_COUNT][2] = {
        {127, 131}, {119, 10}, {200, 3}, {130, 130}, {200, 3}};
    d->expected.count = d->slack.count = d->sums.count = 0;
    for (uint32_t i = 0; i < TN_COUNT(d->zero_points); i++) /* an input's own, as its scale is */
        d->zero_points[i] = d->stored != TN_STORED_QU8 ? 0
                            : d->draw == TN_DRAW_EQUAL
                                ? zero_points[d->draw][0]
                                : zero_points[d->draw][0] + (int32_t)(i % 4) * 9;
    d->output_zero_point = d->draw < TN_DRAW_COUNT ? zero_points[d->draw][1] : 0;
    TN_TRY(tn_case_read(d->arena, d->op, d->text, &d->c));
    if (has_exact_weights(d)) draw_exact(d);
    if (tn_stored_is_special(d)) tn_stored_draw_special(d);
    TN_TRY(round_inputs(d));
    TN_TRY(tn_case_run(d->runtime, d->op, &d->c, &reference, &d->expected));
    if (d->stored != TN_NONE && tn_stored_has_weights(d)) {
        const tn_bound_case bound = tn_drawn_bound(d);
        if (!has_exact_weights(d)) TN_TRY(tn_bound_weights(&bound, &d->slack));
        if (!tn_stored_is_bytes(d->stored)) TN_TRY(tn_bound_sums(&bound, &d->sums));
    }
    for (uint32_t i = 0; i < d->expected.count; i++) {
        if (d->expected.types[i] != TN_F32) continue;
        d->largest[i] = largest_of(d->expected.data[i], tn_drawn_count(&d->expected.shapes[i]));
        const double range = d->largest[i] > 0 ? d->largest[i] : 1;
        d->output_scales[i] = d->draw == TN_DRAW_EXACT
                                  ? power_of_two(range / (tn_stored_has_weights(d) ? 31 : 127))
                              : d->draw == TN_DRAW_SATURATE ? (float)(range / 127 * 0.4)
                              : d->draw == TN_DRAW_FAR      ? (float)(range / 127 * 0x1p-10)
                                                            : (float)(range / 127);
        for (uint32_t k = 0; d->draw == TN_DRAW_EQUAL && k < d->c.input_count; k++) {
            if (d->scales[k] != 0) d->output_scales[i] = d->scales[k];
        }
    }
    return TN_OK;
}

void tn_drawn_free(tn_drawn *d) {
    tn_outcome_free(&d->expected);
    tn_outcome_free(&d->slack);
    tn_outcome_free(&d->sums);
}
