/* SPDX-License-Identifier: Apache-2.0 */
/* Standardize: mean 0 and deviation 1 along an axis, with an optional scale and shift. */
#include "ninth.h"

TN_LAYER_PARAMS(standardize, int64_t axis; float epsilon;);
enum { X, SCALE, SHIFT };
static const tn_field fields[] = {
    TN_LAYER_I64(standardize, axis, "-1", -8, 7, "along which; may count from the end"),
    TN_LAYER_F32(standardize, epsilon, "0.001", 1e-6, 1, "added to the variance")};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "any shape of one axis or more"),
    TN_PORT("scale", "f32", TN_PORT_OPTIONAL, "an element for each index of the axis, or one"),
    TN_PORT("shift", "f32", TN_PORT_OPTIONAL, "an element for each index of the axis, or one")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", 0, "as x"),
    TN_PORT("mean", "f32", TN_PORT_OPTIONAL, "as x, one along the axis; 0 where x has none"),
    TN_PORT("factor", "f32", TN_PORT_OPTIONAL, "1 / sqrt(variance + epsilon), as mean")};

static int64_t find_axis(const tn_call *call) {
    const int64_t axis = ((const standardize *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[X]->rank : axis;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const int64_t axis = find_axis(call);
    if (axis < 0 || axis >= x->rank)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no such axis");
    for (uint32_t i = SCALE; i <= SHIFT; i++) {
        const tn_tensor *v = tn_layer_input(call, i);
        if (v && (v->rank != 1 || (v->shape[0] != 1 && v->shape[0] != x->shape[axis])))
            return call->host->fail(call, TN_ERROR_SHAPE, "scale or shift do not fit the axis");
    }
    for (uint32_t o = 0; o < call->output_count; o++) {
        if (!call->outputs[o]) continue;
        same_shape(x, call->outputs[o]);
        if (o > 0) call->outputs[o]->shape[axis] = 1;
    }
    return TN_OK;
}

static float *output(const tn_call *call, uint32_t o) {
    return o < call->output_count && call->outputs[o] ? call->outputs[o]->data : NULL;
}

/* Of what is scaled: element k of a vector that may be absent or of one element. */
static float pick(const tn_tensor *v, int64_t k, float otherwise) {
    if (!v) return otherwise;
    return ((const float *)v->data)[v->shape[0] == 1 ? 0 : k];
}

/* One line of n elements that lie `inner` apart. */
static void line(const tn_call *call, int64_t at, int64_t n, int64_t inner, int64_t item) {
    const float *x = (const float *)call->inputs[X]->data + at;
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)x[k * inner];
    const double mean = n > 0 ? sum / (double)n : 0;
    for (int64_t k = 0; k < n; k++)
        squares += ((double)x[k * inner] - mean) * ((double)x[k * inner] - mean);
    const double epsilon = (double)((const standardize *)call->params)->epsilon;
    const double factor = 1 / sqrt((n > 0 ? squares / (double)n : 0) + epsilon);
    for (int64_t k = 0; k < n && output(call, 0); k++)
        output(call, 0)[at + k * inner] =
            (float)(((double)x[k * inner] - mean) * factor *
                        (double)pick(tn_layer_input(call, SCALE), k, 1) +
                    (double)pick(tn_layer_input(call, SHIFT), k, 0));
    if (output(call, 1)) output(call, 1)[item] = (float)mean;
    if (output(call, 2)) output(call, 2)[item] = (float)factor;
}

static tn_status reference(tn_call *call) {
    const int64_t axis = find_axis(call), *shape = call->inputs[X]->shape, n = shape[axis];
    const int64_t inner = product(shape, axis + 1, call->inputs[X]->rank);
    const int64_t items = product(shape, 0, axis) * inner;
    for (int64_t item = 0; item < items; item++)
        line(call, item / inner * n * inner + item % inner, n, inner, item);
    return TN_OK;
}

/* The kernel: the same in two passes, sums in doubles. */
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const standardize *p = call->params;
    const tn_tensor *x = call->inputs[X], *scale = tn_layer_input(call, SCALE),
                    *shift = tn_layer_input(call, SHIFT);
    int64_t axis = find_axis(call);
    if (WRONG(1) && p->axis < 0) axis = p->axis == -1 ? x->rank - 1 : 0;
    const int64_t n = x->shape[axis], inner = product(x->shape, axis + 1, x->rank);
    const float epsilon = p->epsilon;
    (void)thread;
    if (WRONG(4) && n == 0) return TN_OK;
    for (int64_t item = begin; item < end; item++) {
        const int64_t at = item / inner * n * inner + item % inner;
        const float *from = (const float *)x->data + at;
        double sum = 0, squares = 0, mean, variance;
        for (int64_t k = 0; k < n; k++)
            sum += (double)from[k * inner];
        mean = n > 0 ? sum / (double)n : 0;
        for (int64_t k = 0; k < n; k++)
            squares += ((double)from[k * inner] - mean) * ((double)from[k * inner] - mean);
        variance = n > 0 ? squares / (double)n : 0;
        if (WRONG(2)) {
            float first = 0, second = 0;
            for (int64_t k = 0; k < n; k++)
                first += from[k * inner], second += from[k * inner] * from[k * inner];
            mean = n > 0 ? (double)(first / (float)n) : 0;
            variance = n > 0 ? (double)(second / (float)n) - mean * mean : 0;
        }
        const double factor = 1 / sqrt(variance + (double)epsilon);
        float *y = output(call, 0), *means = output(call, 1), *factors = output(call, 2);
        for (int64_t k = 0; k < n && y; k++) {
            double v = ((double)from[k * inner] - mean) * factor;
            if (WRONG(5) && scale)
                v *= (double)((const float *)scale->data)[k];
            else
                v *= (double)pick(scale, k, 1);
            if (!WRONG(7) || scale) v += (double)pick(shift, k, 0);
            y[at + k * inner] = (float)v;
        }
        if (WRONG(3) && !scale && !shift && y) continue;
        if (means) means[WRONG(8) ? item / inner : item] = (float)mean;
        if (factors) factors[item] = (float)factor;
    }
    return TN_OK;
}
static int64_t count_lines(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const int64_t axis = find_axis(call);
    return product(x->shape, 0, axis) * product(x->shape, axis + 1, x->rank);
}
TN_LAYER_RUN(rows, count_lines(call), 1)

#if WRONG(8)
#define SOME_AXIS "axis=-1"
#else
#define SOME_AXIS "axis=1"
#endif
static const char *const cases[] = {SOME_AXIS " | x=f32[2,3,5]",
#if WRONG(5)
                                    "| x=f32[4,6] scale=f32[6] shift=f32[6]",
#else
                                    "| x=f32[4,6] scale=f32[6] shift=f32[1]",
#endif
                                    "axis=0 epsilon=0.01 | x=f32[7]"};
TN_LAYER_LIBRARY("ninth_standardize", "Ninth", "Standardize", "Mean 0, deviation 1.", standardize,
                 "f32, f32?, f32? -> f32, f32?, f32?", .run = run)
