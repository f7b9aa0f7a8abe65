/* SPDX-License-Identifier: Apache-2.0 */
/* What rounding may do; see bound.h. */
#include "bound.h"
#include "base/status.h"
#include "plugin/fields/combination.h"

#include <math.h>
#include <string.h>

/* What replaces an input: each of its values times `factor`, or its magnitude times that. */
typedef struct change {
    bool is_magnitude;
    double factor;
    double all; /* not 0: this in place of every number */
} change;

/* 2^-11 or 2^-8. */
static double unit_of(tn_type stored) {
    return stored == TN_F16 ? 0x1p-11 : 0x1p-8;
}

bool tn_bound_is_weight(const tn_bound_case *bound, uint32_t index) {
    const tn_case_input *input = &bound->c->inputs[index];
    const bool is_product = strcmp(bound->op->name, "MatMul") == 0; /* has no bias */
    return input->type == TN_F32 && !(bound->narrow >> index & 1) && !input->has_values &&
           !(bound->op->inputs[input->port].flags & TN_PORT_VALUE_NEEDED) &&
           (input->shape.rank >= 2 || is_product);
}

static size_t count_of(const tn_shape *shape) {
    size_t count = 0;
    return tn_shape_count(shape, &count) == TN_OK ? count : 0;
}

static double largest_of(const float *values, size_t count) {
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(fabsf(values[i]), largest);
    return (double)largest;
}

static tn_status change_input(const tn_bound_case *bound, tn_case_input *input, const change *how) {
    const size_t count = count_of(&input->shape);
    const float *from = input->data;
    float *to = tn_arena_allocate(bound->arena, count + 1, sizeof(*to));
    if (!to) return tn_fail_memory("a case");
    for (size_t k = 0; k < count; k++) {
        const double value = how->is_magnitude ? fabs((double)from[k]) : (double)from[k];
        to[k] = (float)(how->all != 0 ? how->all : value * how->factor);
    }
    input->data = to;
    return TN_OK;
}

/* The reference on the case with its real inputs changed; `weights` says how the factors are that
 * the kernel rounds itself, `first` how input 0 is if it is one of them. Vectors are biases: they
 * become zero. */
static tn_status compute(const tn_bound_case *bound, bool is_magnitude, const change *first,
                         const change *weights, tn_outcome *out_outcome) {
    const tn_case_options reference = {.is_reference = true, .threads = 1};
    tn_case c = *bound->c;
    c.inputs = tn_arena_allocate(bound->arena, c.input_count, sizeof(*c.inputs));
    if (!c.inputs) return tn_fail_memory("a case");
    for (uint32_t i = 0; i < c.input_count; i++) {
        tn_case_input *input = &c.inputs[i];
        change how = {.is_magnitude = is_magnitude, .factor = 1};
        *input = bound->c->inputs[i];
        if (input->type != TN_F32 || input->has_values) continue;
        if (tn_bound_is_weight(bound, i)) {
            how = i == 0 ? *first : *weights;
            if (how.all != 0) how.all *= largest_of(input->data, count_of(&input->shape));
        } else if (!(bound->narrow >> i & 1)) {
            how.factor = 0;
        }
        TN_TRY(change_input(bound, input, &how));
    }
    return tn_case_run(bound->runtime, bound->op, &c, &reference, out_outcome);
}

static bool is_zero(const tn_outcome *outcome) {
    for (uint32_t i = 0; i < outcome->count; i++) {
        if (outcome->types[i] != TN_F32) return false;
        if (largest_of(outcome->data[i], count_of(&outcome->shapes[i])) != 0) return false;
    }
    return true;
}

/* Whether the kernel converts both factors of products into the stored type: input 0 and another
 * one, without which nothing is left. */
static tn_status rounds_both(const tn_bound_case *bound, bool *out_does) {
    const change whole = {.is_magnitude = true, .factor = 1}, none = {.is_magnitude = true};
    const bool is_half = bound->stored == TN_F16 || bound->stored == TN_BF16;
    uint32_t others = 0;
    for (uint32_t i = 1; i < bound->c->input_count; i++)
        others += tn_bound_is_weight(bound, i);
    *out_does = false;
    if (!is_half || others == 0 || !tn_bound_is_weight(bound, 0)) return TN_OK;
    tn_outcome left = {0};
    const tn_status status = compute(bound, true, &whole, &none, &left);
    *out_does = status == TN_OK && is_zero(&left);
    tn_outcome_free(&left);
    return status;
}

tn_status tn_bound_weights(const tn_bound_case *bound, tn_outcome *out_weights) {
    change weights = {.is_magnitude = true, .factor = unit_of(bound->stored)};
    bool are_both = false;
    TN_TRY(rounds_both(bound, &are_both));
    if (are_both) {
        const change first = {.is_magnitude = true, .factor = 1};
        weights.factor *= 2 + weights.factor;
        return compute(bound, true, &first, &weights, out_weights);
    }
    if (bound->stored == TN_STORED_QI8 || bound->stored == TN_STORED_QU8) weights.all = 1.001 / 254;
    return compute(bound, true, &weights, &weights, out_weights);
}

tn_status tn_bound_sums(const tn_bound_case *bound, tn_outcome *out_sums) {
    const change weights = {.factor = 1};
    return compute(bound, false, &weights, &weights, out_sums);
}

tn_status tn_bound_tf32(const tn_bound_case *bound, tn_outcome *out_products) {
    const change weights = {.is_magnitude = true, .factor = 1};
    TN_TRY(compute(bound, true, &weights, &weights, out_products));
    for (uint32_t i = 0; i < out_products->count; i++) {
        if (out_products->types[i] != TN_F32) continue;
        float *products = out_products->data[i];
        for (size_t k = 0, count = count_of(&out_products->shapes[i]); k < count; k++)
            products[k] *= 0x1p-9f;
    }
    return TN_OK;
}

double tn_bound_of(tn_type stored, double y, double weights, double sum, double largest) {
    const bool is_half = stored == TN_F16 || stored == TN_BF16;
    const double unit = is_half ? unit_of(stored) : 0.5e-6;
    return fabs(weights) + 2 * unit * fabs(y) + (is_half ? unit * fabs(sum) : 0) +
           1e-5 * (largest + 1e-6);
}
