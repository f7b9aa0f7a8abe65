/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in double precision, as the header of plugins has them; see epilogue_step.h. */
#include "epilogue_step.h"

#include <math.h>
#include <stdlib.h>

/* What the header says of an activation. */
static double activate(const tn_chain_step *step, double x) {
    const double a = (double)step->alpha, b = (double)step->beta;
    switch (step->activation) {
    case TN_ACTIVATION_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case TN_ACTIVATION_CLIP:
        return isnan(x) ? x : fmin(fmax(x, a), b);
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_HARD_SIGMOID:
        return fmin(fmax(a * x + b, 0), 1);
    case TN_ACTIVATION_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case TN_ACTIVATION_GELU_ERF:
        return x * 0.5 * (1 + erf(x * M_SQRT1_2));
    case TN_ACTIVATION_GELU_TANH:
        return x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case TN_ACTIVATION_SWISH:
        return x / (1 + exp(-a * x));
    case TN_ACTIVATION_ELU:
        return x < 0 ? a * expm1(x) : x;
    default:
        return NAN;
    }
}

/* The axis of a step, which may count from the end. */
static uint32_t axis_of(const tn_chain_step *step, const tn_shape *shape) {
    return (uint32_t)(step->axis < 0 ? step->axis + (int32_t)shape->rank : step->axis);
}

double tn_epilogue_step(const tn_chain_step *step, double x, const float *operand,
                        const tn_shape *shape, size_t index) {
    size_t inner = 1;
    if (step->kind == TN_CHAIN_ACTIVATION) return activate(step, x);
    const uint32_t axis = axis_of(step, shape);
    for (uint32_t i = axis + 1; i < shape->rank; i++)
        inner *= (size_t)shape->extents[i];
    const size_t along = index / inner % (size_t)shape->extents[axis];
    const double number = (double)operand[step->kind == TN_CHAIN_RESIDUAL ? index : along];
    return step->kind == TN_CHAIN_SCALE ? x * number : x + number;
}

/* Of the output's shape, or one for each element along the step's axis. */
bool tn_epilogue_operand(tn_subject *subject, uint32_t index, const tn_chain_step *step,
                         double factor) {
    tn_probe *probe = &subject->probe;
    const tn_probe_port *y = &probe->outputs[0];
    const bool is_add = step->kind == TN_CHAIN_RESIDUAL;
    const tn_shape shape =
        is_add ? y->shape
               : (tn_shape){.rank = 1, .extents = {y->shape.extents[axis_of(step, &y->shape)]}};
    size_t count = 0;
    if (tn_shape_count(&shape, &count) != TN_OK) return false;
    float *operand = tn_arena_allocate(subject->arena, count + 1, sizeof(*operand));
    for (size_t i = 0; operand && i < count; i++)
        operand[i] = (float)(factor * ((double)((i + 5 * index) * 37 % 101) / 25.0 - 2.0));
    probe->operands[index] = (tn_probe_port){.is_given = operand != NULL,
                                             .is_constant = !is_add,
                                             .type = y->type,
                                             .own_type = y->type,
                                             .format = is_add ? y->format : TN_LINEAR,
                                             .shape = shape,
                                             .own = operand};
    return operand != NULL;
}

static size_t extent(const tn_shape *shape, uint32_t back) {
    return shape->rank >= back ? (size_t)shape->extents[shape->rank - back] : 1;
}

static double keep_larger(double largest, double x) {
    return !(x <= largest) && !isnan(largest) ? x : largest;
}

void tn_epilogue_windows(const tn_chain_step *step, const float *x, const tn_shape *shape,
                         const tn_shape *windows, float *y) {
    const size_t height = extent(shape, 2), width = extent(shape, 1);
    const size_t down = extent(windows, 2), across = extent(windows, 1);
    size_t planes = 1;
    for (uint32_t i = 0; i + 2 < windows->rank; i++)
        planes *= (size_t)windows->extents[i];
    for (size_t i = 0; i < planes * down * across; i++) {
        const size_t left = i % across * step->window[1], top = i / across % down * step->window[0];
        double largest = -(double)INFINITY;
        for (size_t r = top; r < top + step->window[0] && r < height; r++)
            for (size_t c = left; c < left + step->window[1] && c < width; c++)
                largest =
                    keep_larger(largest, (double)x[(i / across / down * height + r) * width + c]);
        y[i] = (float)largest;
    }
}

void tn_epilogue_plane_mean(const float *x, const tn_shape *shape, float *y) {
    const size_t planes = (size_t)(shape->extents[0] * shape->extents[1]);
    size_t pixels = 1;
    for (uint32_t i = 2; i < shape->rank; i++)
        pixels *= (size_t)shape->extents[i];
    for (size_t plane = 0; plane < planes; plane++) {
        double sum = 0;
        for (size_t i = 0; i < pixels; i++)
            sum += (double)x[plane * pixels + i];
        y[plane] = (float)(sum / (double)pixels);
    }
}

void tn_epilogue_softmax(const float *x, const tn_shape *shape, float *y) {
    const size_t columns = extent(shape, 1);
    size_t count = columns > 0;
    for (uint32_t i = 0; i < shape->rank; i++)
        count *= (size_t)shape->extents[i];
    for (size_t row = 0; row < count; row += columns) {
        double largest = -(double)INFINITY, sum = 0;
        for (size_t i = row; i < row + columns; i++)
            largest = keep_larger(largest, (double)x[i]);
        for (size_t i = row; i < row + columns; i++)
            sum += exp((double)x[i] - largest);
        for (size_t i = row; i < row + columns; i++)
            y[i] = (float)(exp((double)x[i] - largest) / sum);
    }
}
