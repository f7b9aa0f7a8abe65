/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of steps that a run may end with, and what they make of the reference's numbers.
 */
#include "cases/stored/stored_private.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first one is none at all. */
static const struct {
    bool has_bias, has_residual;
    uint32_t activation;
    uint32_t window[2]; /* 0: none */
    bool keeps_rest;    /* windows that are cut off have an element */
    bool has_softmax, has_mean;
} chains[TN_STORED_CHAINS] = {
    {.activation = 0},
    {.has_residual = true, .activation = TN_ACTIVATION_RELU},
    {.has_bias = true, .activation = TN_ACTIVATION_CLIP},
    {.has_residual = true, .activation = TN_ACTIVATION_LEAKY_RELU},
    {.has_residual = true, .activation = TN_ACTIVATION_RELU, .window = {2, 2}},
    {.has_bias = true, .activation = TN_ACTIVATION_CLIP, .window = {3, 2}, .keeps_rest = true},
    {.has_bias = true, .activation = TN_ACTIVATION_CLIP, .has_softmax = true},
    {.has_residual = true, .activation = TN_ACTIVATION_RELU, .has_mean = true},
    {.has_bias = true, .activation = TN_ACTIVATION_CLIP, .has_mean = true},
};

static bool is_absorbed(const tn_kernel *kernel, uint32_t chain) {
    const bool wanted[TN_CHAIN_KINDS] = {[TN_CHAIN_BIAS] = chains[chain].has_bias,
                                         [TN_CHAIN_RESIDUAL] = chains[chain].has_residual,
                                         [TN_CHAIN_ACTIVATION] = true,
                                         [TN_CHAIN_WINDOW_MAX] = chains[chain].window[0] > 0,
                                         [TN_CHAIN_SOFTMAX] = chains[chain].has_softmax,
                                         [TN_CHAIN_PLANE_MEAN] = chains[chain].has_mean};
    for (uint32_t kind = 1; kind < TN_CHAIN_KINDS; kind++)
        if (wanted[kind] && !tn_chain_is_listed(kernel->absorbs, kind, chains[chain].activation))
            return false;
    return true;
}

/* Of y's shape, stored as y is or, where a step behind it changes the shape, as input 0. */
static tn_stored_tensor whole_operand(const tn_stored_run *run, uint32_t chain) {
    tn_stored_tensor operand = run->outputs[0];
    if (chains[chain].window[0] == 0 && !chains[chain].has_mean) return operand;
    operand.type = run->inputs[0].type;
    operand.format = run->inputs[0].format;
    operand.scale = run->inputs[0].scale;
    operand.zero_point = run->inputs[0].zero_point;
    return operand;
}

/* A residual, or the bias along `axis`. */
static void add_operand(tn_drawn *d, tn_stored_run *run, uint32_t chain, uint32_t axis,
                        float *operand, tn_shape *channels) {
    const tn_stored_tensor *y = &run->outputs[0];
    const double range = d->largest[0] > 0 ? d->largest[0] : 1;
    *channels = (tn_shape){.rank = 1, .extents = {y->shape->extents[axis]}};
    run->operand_count = 1;
    run->operands[0] = whole_operand(run, chain);
    if (chains[chain].has_bias) {
        run->operands[0] = (tn_stored_tensor){
            .type = TN_F32, .own_type = TN_F32, .shape = channels, .is_constant = true};
    } else if (run->operands[0].scale != 0) {
        run->operands[0].scale *= d->draw == TN_DRAW_EXACT ? 0.5f : 0.7f;
    }
    run->operands[0].is_given = true;
    run->operands[0].data = operand;
    const size_t count = tn_drawn_count(run->operands[0].shape);
    for (size_t i = 0; i < count; i++) {
        const double value = (tn_drawn_number(d) * 2 - 1) * range * 0.6;
        const float scale = run->operands[0].scale;
        operand[i] = scale == 0 ? (float)value : tn_stored_round(&run->operands[0], (float)value);
        if (run->operands[0].type == TN_F16) operand[i] = tn_f16_to_f32(tn_f32_to_f16(operand[i]));
        if (run->operands[0].type == TN_BF16)
            operand[i] = tn_bf16_to_f32(tn_f32_to_bf16(operand[i]));
    }
}

/* The output gets the shape of the windows; false where there are none. */
static bool add_windows(tn_stored_run *run, uint32_t chain) {
    const tn_shape *made = run->outputs[0].shape;
    tn_chain_step *step = &run->steps[run->step_count++];
    *step = (tn_chain_step){.kind = TN_CHAIN_WINDOW_MAX};
    run->windows = *made;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t *extent = &run->windows.extents[made->rank - 2 + i];
        step->window[i] = chains[chain].window[i];
        *extent = (*extent + (chains[chain].keeps_rest ? step->window[i] - 1 : 0)) /
                  (int64_t)step->window[i];
        if (*extent == 0) return false;
    }
    run->outputs[0].shape = &run->windows;
    return true;
}

/* The same of whole planes. */
static void add_mean(tn_stored_run *run) {
    run->steps[run->step_count++] = (tn_chain_step){.kind = TN_CHAIN_PLANE_MEAN};
    run->windows = *run->outputs[0].shape;
    for (uint32_t i = 2; i < run->windows.rank; i++)
        run->windows.extents[i] = 1;
    run->outputs[0].shape = &run->windows;
}

bool tn_stored_add_chain(tn_drawn *d, tn_stored_run *run, uint32_t chain, float *operand,
                         tn_shape *channels) {
    const tn_stored_tensor *y = &run->outputs[0];
    const double range = d->largest[0] > 0 ? d->largest[0] : 1;
    const bool has_bias = chains[chain].has_bias, has_windows = chains[chain].window[0] > 0;
    const bool is_reshaped = has_windows || chains[chain].has_mean;
    if (chain == 0) return true;
    if (!is_absorbed(run->kernel, chain) || y->own_type != TN_F32 ||
        y->shape->rank < (is_reshaped ? 3u : 2u) ||
        (is_reshaped && !has_bias && run->inputs[0].own_type != TN_F32))
        return false;
    const uint32_t axis =
        y->shape->rank > 2 && strcmp(d->op->name, "MatMul") != 0 ? 1 : y->shape->rank - 1;
    add_operand(d, run, chain, axis, operand, channels);
    run->step_count = 2;
    run->steps[0] = (tn_chain_step){.kind = has_bias ? TN_CHAIN_BIAS : TN_CHAIN_RESIDUAL,
                                    .axis = has_bias ? (int32_t)axis : 0};
    run->steps[1] = (tn_chain_step){.kind = TN_CHAIN_ACTIVATION,
                                    .activation = chains[chain].activation,
                                    .alpha = has_bias ? (float)(-0.3 * range) : 0.125f,
                                    .beta = (float)(0.4 * range)};
    if (chains[chain].has_softmax)
        run->steps[run->step_count++] =
            (tn_chain_step){.kind = TN_CHAIN_SOFTMAX, .axis = (int32_t)y->shape->rank - 1};
    if (chains[chain].has_mean) add_mean(run);
    return !has_windows || add_windows(run, chain);
}

/* ----------------------------------------------------------------------------------------------
 * what is wanted */

/* The reference's number at `index` of `shape` after operand and activation. */
static double after_steps(const tn_stored_run *run, const tn_shape *shape, size_t index, double y) {
    const tn_chain_step *first = &run->steps[0], *second = &run->steps[1];
    const float *operand = run->operands[0].data;
    size_t at = index;
    if (first->kind == TN_CHAIN_BIAS) {
        size_t inner = 1;
        for (uint32_t i = (uint32_t)first->axis + 1; i < shape->rank; i++)
            inner *= (size_t)shape->extents[i];
        at = index / inner % (size_t)shape->extents[first->axis];
    }
    y += (double)operand[at];
    if (second->activation == TN_ACTIVATION_CLIP) { /* NaN stays NaN */
        y = y < (double)second->alpha ? (double)second->alpha : y;
        return y > (double)second->beta ? (double)second->beta : y;
    }
    return y < 0 ? (second->activation == TN_ACTIVATION_RELU ? 0 : y * (double)second->alpha) : y;
}

static void keep_part(const tn_outcome *from, uint32_t output, size_t at, size_t i, bool is_first,
                      float *to) {
    const float part = from->count ? fabsf(((const float *)from->data[output])[at]) : 0;
    if (is_first || !(part <= to[i])) to[i] = part;
}

static bool has_step(const tn_stored_run *run, uint32_t kind) {
    return run->step_count > 2 && run->steps[2].kind == kind;
}

/* An error of d in every x changes y by no more than a factor of exp(2 d). */
static void take_softmax(const tn_drawn *d, tn_stored_wanted *wanted, size_t columns) {
    for (size_t row = 0; columns > 0 && row + columns <= wanted->count; row += columns) {
        double largest = -(double)INFINITY, sum = 0, error = 0;
        for (size_t i = row; i < row + columns; i++) {
            largest = fmax(largest, wanted->y[i]);
            error = fmax(error, tn_bound_of(TN_F32, wanted->y[i], (double)wanted->slack[i],
                                            (double)wanted->sums[i], d->largest[0]));
        }
        for (size_t i = row; i < row + columns; i++)
            sum += exp(wanted->y[i] - largest);
        for (size_t i = row; i < row + columns; i++) {
            wanted->y[i] = exp(wanted->y[i] - largest) / sum;
            wanted->slack[i] = (float)(wanted->y[i] * expm1(2 * error) + 1e-6);
            wanted->sums[i] = (float)wanted->y[i];
        }
    }
}

/* The window of element i; without windows, the element itself. */
static void keep_largest(const tn_drawn *d, const tn_stored_run *run, uint32_t output, size_t i,
                         tn_stored_wanted *wanted) {
    static const uint32_t one[2] = {1, 1};
    const bool has_steps = output == 0 && run->step_count > 0;
    const bool has_windows = has_steps && has_step(run, TN_CHAIN_WINDOW_MAX);
    const uint32_t *window = has_windows ? run->steps[2].window : one;
    const tn_shape *shape = &d->expected.shapes[output];
    const float *values = d->expected.data[output];
    const uint32_t rank = shape->rank;
    size_t height = 1, width = rank > 0 ? (size_t)shape->extents[rank - 1] : 1, across = width;
    if (has_windows) {
        height = (size_t)shape->extents[rank - 2];
        across = (size_t)run->windows.extents[rank - 1];
    }
    const size_t down = has_windows ? (size_t)run->windows.extents[rank - 2] : 1;
    const size_t column = i % across, row = i / across % down, plane = i / across / down;
    bool is_first = true;
    for (size_t r = row * window[0]; r < (row + 1) * window[0] && r < height; r++)
        for (size_t c = column * window[1]; c < (column + 1) * window[1] && c < width; c++) {
            const size_t at = (plane * height + r) * width + c;
            const double y =
                has_steps ? after_steps(run, shape, at, (double)values[at]) : (double)values[at];
            if (is_first || (!(y <= wanted->y[i]) && !isnan(wanted->y[i]))) wanted->y[i] = y;
            keep_part(&d->slack, output, at, i, is_first, wanted->slack);
            keep_part(d->sums.count ? &d->sums : &d->expected, output, at, i, is_first,
                      wanted->sums);
            is_first = false;
        }
}

/* Element i of the means of planes, which is off by no more than an element of its plane is. */
static void take_mean(const tn_drawn *d, const tn_stored_run *run, size_t i,
                      tn_stored_wanted *wanted) {
    const tn_shape *shape = &d->expected.shapes[0];
    const float *values = d->expected.data[0];
    size_t pixels = 1;
    double sum = 0;
    for (uint32_t k = 2; k < shape->rank; k++)
        pixels *= (size_t)shape->extents[k];
    for (size_t at = i * pixels; at < (i + 1) * pixels; at++) {
        const bool is_first = at == i * pixels;
        sum += after_steps(run, shape, at, (double)values[at]);
        keep_part(&d->slack, 0, at, i, is_first, wanted->slack);
        keep_part(d->sums.count ? &d->sums : &d->expected, 0, at, i, is_first, wanted->sums);
    }
    wanted->y[i] = sum / (double)pixels;
}

bool tn_stored_wanted_make(const tn_drawn *d, const tn_stored_run *run, uint32_t output,
                           tn_stored_wanted *out_wanted) {
    const size_t count = tn_drawn_count(run->outputs[output].shape);
    *out_wanted = (tn_stored_wanted){.count = count,
                                     .y = malloc((count + 1) * sizeof(double)),
                                     .slack = malloc((count + 1) * sizeof(float)),
                                     .sums = malloc((count + 1) * sizeof(float))};
    if (!out_wanted->y || !out_wanted->slack || !out_wanted->sums) return false;
    const bool has_mean = output == 0 && has_step(run, TN_CHAIN_PLANE_MEAN);
    for (size_t i = 0; i < count; i++)
        if (has_mean)
            take_mean(d, run, i, out_wanted);
        else
            keep_largest(d, run, output, i, out_wanted);
    if (output == 0 && has_step(run, TN_CHAIN_SOFTMAX)) {
        const tn_shape *shape = run->outputs[0].shape;
        take_softmax(d, out_wanted, (size_t)shape->extents[shape->rank - 1]);
    }
    return true;
}

void tn_stored_wanted_free(tn_stored_wanted *wanted) {
    free(wanted->y);
    free(wanted->slack);
    free(wanted->sums);
}

size_t tn_stored_operand_count(const tn_drawn *d) {
    size_t elements = 1;
    if (d->expected.count == 0) return elements;
    const tn_shape *shape = &d->expected.shapes[0];
    elements += tn_drawn_count(shape);
    for (uint32_t i = 0; i < shape->rank; i++)
        elements += (size_t)shape->extents[i];
    return elements;
}
