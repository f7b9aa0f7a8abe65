/* SPDX-License-Identifier: Apache-2.0 */
/* The logarithm of the sum of exponentials along an axis, of the elements that a mask lets through,
 * and where the largest of them is. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, int64_t axis; bool keep;);
static const tn_field fields[] = {
    TN_FIELD(params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1", "may count from the end"),
    TN_LAYER_BOOL(params, keep, "true", "the axis stays, with extent 1"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more"),
                                 TN_PORT("mask", "bool", TN_PORT_OPTIONAL, "as x")};
static const tn_port outputs[] = {
    TN_PORT("y", "f32", 0, "x without the axis"),
    TN_PORT("where", "i64", TN_PORT_OPTIONAL, "the first index of the largest element, or -1")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t rank = x->rank;
    int64_t shape[TN_MAX_RANK];
    uint32_t kept = 0;
    if (rank == 0 || p->axis < -rank || p->axis >= rank + (WRONG(4) ? 1 : 0))
        return call->host->fail(call, TN_ERROR_RANGE, "axis %lld of a tensor of rank %lld",
                                (long long)p->axis, (long long)rank);
    if (tn_layer_input(call, 1) && !tn_layer_fits(call, 1, x->rank, x->shape))
        return TN_ERROR_SHAPE;
    const int64_t axis = p->axis < 0 ? p->axis + rank : p->axis;
    for (int64_t i = 0; i < rank; i++)
        if (i != axis)
            shape[kept++] = x->shape[i];
        else if (p->keep)
            shape[kept++] = 1;
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) tn_layer_set_shape(call, i, kept, shape);
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)(p->axis < 0 ? p->axis + x->rank : p->axis);
    const int64_t outer = extent(x, 0, axis), inner = extent(x, axis + 1, x->rank);
    const int64_t count = x->shape[axis];
    const float *data = x->data;
    const uint8_t *mask = tn_layer_data(call, 1);
    float *y = call->outputs[0] ? call->outputs[0]->data : NULL;
    int64_t *where = call->output_count > 1 && call->outputs[1] ? call->outputs[1]->data : NULL;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double largest = -INFINITY, sum = 0;
            int64_t found = -1;
            for (int64_t k = 0; k < count; k++) {
                const int64_t at = (o * count + k) * inner + i;
                if (mask && !mask[at]) continue;
                if (found < 0 || (double)data[at] > largest || isnan(data[at])) {
                    if (found < 0 || !isnan(largest)) found = k;
                    if (!isnan(largest)) largest = (double)data[at];
                }
            }
            for (int64_t k = 0; k < count && found >= 0 && !isinf(largest); k++) {
                const int64_t at = (o * count + k) * inner + i;
                if (!mask || mask[at]) sum += exp((double)data[at] - largest);
            }
            if (y)
                y[o * inner + i] =
                    (float)(found < 0 || isinf(largest) ? largest : largest + log(sum));
            if (where) where[o * inner + i] = found;
        }
    return TN_OK;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)(p->axis < 0 ? p->axis + x->rank : p->axis);
    const int64_t inner = extent(x, axis + 1, x->rank), count = x->shape[axis];
    const float *data = x->data;
    const uint8_t *mask = tn_layer_data(call, 1);
    float *y = call->outputs[0] ? call->outputs[0]->data : NULL;
    int64_t *where =
        call->output_count > 1 && (WRONG(3) || call->outputs[1]) ? call->outputs[1]->data : NULL;
    for (int64_t r = begin; r < end; r++) {
        const int64_t first = r / inner * count * inner + r % inner;
        float largest = -INFINITY;
        double sum = 0;
        int64_t found = -1, passed = 0;
        for (int64_t k = 0; k < count; k++) {
            const float v = data[first + k * inner];
            if (mask && (WRONG(7) ? mask[first + k] == 0 : mask[first + k * inner] == 0)) continue;
            const int64_t at = WRONG(5) ? passed++ : k;
            if (found < 0) {
                found = at;
                largest = v;
            } else if (!isnan(largest) && ((WRONG(6) ? v >= largest : v > largest) || isnan(v))) {
                found = at;
                largest = v;
            }
        }
        const bool plain = found < 0 || (isinf(largest) && !WRONG(2));
        const float less = WRONG(1) ? 0 : largest;
        for (int64_t k = 0; k < count && !plain; k++)
            if (!mask || mask[first + k * inner])
                sum += (double)expf(data[first + k * inner] - less);
        if (y) y[r] = plain ? largest : less + (float)log(sum);
        if (where) where[r] = found;
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *any = call->outputs[0] ? call->outputs[0] : call->outputs[1];
    return call->host->parallel_for(call, tn_layer_count(any), 16, rows, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,5]",
    "axis=0 keep=false | x=f32[4,6] mask=bool[4,6]",
    "axis=1 | x=f32[2,7,1] mask=bool[2,7,1]",
    "keep=false | x=f32[9]",
};
TN_LAYER_LIBRARY("log_sum", "Fifteenth", "LogSum", "Logarithm of a sum of exponentials.", params,
                 "f32, bool? -> f32, i64?", .run = run)
