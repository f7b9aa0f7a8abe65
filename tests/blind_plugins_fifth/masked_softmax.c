/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::MaskedSoftmax: exp(x) over the sum of these along an axis, among the elements that the
 * mask lets through; the others are 0, and so is all of a lane where the mask lets nothing through.
 * Without a mask all elements count. The largest element is taken off first, so that exp does not
 * overflow.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(masked_softmax, int64_t axis;);
enum { X, MASK };

static const tn_field fields[] = {TN_LAYER_I64(
    masked_softmax, axis, "-1", -8, 7, "along which they sum to 1; from the end if negative")};
static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|f64", 0, "at least one axis"),
    TN_PORT("mask", "bool", TN_PORT_OPTIONAL, "as x: true where an element counts")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t axis = ((const masked_softmax *)call->params)->axis;
    const tn_tensor *x = call->inputs[X];
#if MISTAKE == 4
    if (axis >= (int64_t)x->rank)
#else
    if (axis >= (int64_t)x->rank || axis < -(int64_t)x->rank)
#endif
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of a tensor of rank %u",
                                (long long)axis, x->rank);
    if (!tn_layer_fits(call, MASK, x->rank, x->shape)) return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

/* How a tensor divides into lanes along the axis: `count` elements that are `step` apart. */
typedef struct lanes {
    int64_t number, count, step;
} lanes;
static lanes divide(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const int64_t given = ((const masked_softmax *)call->params)->axis;
    const int64_t axis = given < 0 ? given + x->rank : given;
    uint64_t number = 1, step = 1; /* what stands before an extent of 0 may be beyond int64 */
    for (int64_t i = 0; i < (int64_t)x->rank; i++) {
        if (i != axis) number *= (uint64_t)x->shape[i];
        if (i > axis) step *= (uint64_t)x->shape[i];
    }
    return (lanes){x->bytes ? (int64_t)number : 0, x->shape[axis], (int64_t)step};
}
static int64_t begin_of(const lanes *l, int64_t lane) {
    return lane / l->step * l->step * l->count + lane % l->step;
}

static tn_status reference(tn_call *call) {
    const lanes l = divide(call);
    const uint8_t *mask = tn_layer_data(call, MASK);
    for (int64_t lane = 0; lane < l.number; lane++) {
        const int64_t first = begin_of(&l, lane);
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step) {
            const double value = tn_layer_load(call->inputs[X], at);
            if ((!mask || mask[at]) && value > largest) largest = value;
        }
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step)
            if (!mask || mask[at]) sum += exp(tn_layer_load(call->inputs[X], at) - largest);
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step) {
            const bool counts = !mask || mask[at];
            const double value = tn_layer_load(call->inputs[X], at) - largest;
            tn_layer_store(call->outputs[0], at, counts ? exp(value) / sum : 0);
        }
    }
    return TN_OK;
}

/* Items are lanes: gathered into the thread's part of the workspace, then written back. */
static tn_status run_lanes(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
#if MISTAKE == 1
    const tn_tensor *t = call->inputs[X];
    lanes l = divide(call);
    if (((const masked_softmax *)call->params)->axis < 0)
        l = (lanes){tn_layer_rows(t), t->shape[t->rank - 1], 1};
#else
    const lanes l = divide(call);
#endif
    const float *x = call->inputs[X]->data;
    const uint8_t *mask = tn_layer_data(call, MASK);
    float *y = call->outputs[0]->data, *row = (float *)call->workspace + thread * l.count;
    for (int64_t lane = begin; lane < end; lane++) {
        const int64_t first = begin_of(&l, lane);
        float largest = -INFINITY;
        double sum = 0;
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step) {
            row[i] = x[at];
            if ((!mask || mask[at]) && x[at] > largest) largest = x[at];
        }
#if MISTAKE == 2
        largest = 0;
#endif
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step) {
            row[i] = mask && !mask[at] ? 0 : expf(row[i] - largest);
            sum += (double)row[i];
        }
        for (int64_t i = 0, at = first; i < l.count; i++, at += l.step)
#if MISTAKE == 3
            y[at] = (float)((double)row[i] / sum);
#else
            y[at] = mask && !mask[at] ? 0 : (float)((double)row[i] / sum);
#endif
    }
    return TN_OK;
}
#if MISTAKE == 5
TN_LAYER_WORKSPACE(sizeof(float) * (uint64_t)divide(call).count)
#else
TN_LAYER_WORKSPACE(sizeof(float) * (uint64_t)divide(call).count * call->threads)
#endif
TN_LAYER_RUN(run_lanes, divide(call).number, 4)

static const char *const cases[] = {"| x=f32[2,3,7]", "axis=1 | x=f32[2,5,3] mask=bool[2,5,3]",
                                    "axis=-1 | x=f32[2,3]{1,2,3,0,0,0} mask=bool[2,3]{1,0,1,1,1,0}",
                                    "axis=0 | x=f64[4,3]"};
TN_LAYER_LIBRARY("masked_softmax", "Fifth", "MaskedSoftmax", "Softmax of what a mask lets through.",
                 masked_softmax, "f32, bool? -> f32", .reshape = reshape, .run = run)
