/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all of several tensors lie within low..high, element by element. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, double low, high; bool outside;);
static const tn_field fields[] = {
    TN_FIELD(params, low, TN_FIELD_F64, TN_OPTIONAL, "-1", "the lower end, inside"),
    TN_FIELD(params, high, TN_FIELD_F64, TN_OPTIONAL, "1", "the upper end, inside"),
    TN_LAYER_BOOL(params, outside, "false", "the contrary"),
};
static const tn_port inputs[] = {{"x", "T:f32|i64", "of one shape", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "bool", 0, "as each x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!(p->low <= p->high))
        return call->host->fail(call, TN_ERROR_RANGE, "field 'low' is %g, above 'high', %g", p->low,
                                p->high);
    for (uint32_t i = 1; i < call->input_count; i++)
        if (!tn_layer_fits(call, i, call->inputs[0]->rank, call->inputs[0]->shape))
            return TN_ERROR_SHAPE;
    return infer_same(call);
}

static bool within(const params *p, const tn_tensor *x, int64_t i) {
    if (x->type == TN_F32)
        return (double)((const float *)x->data)[i] >= p->low &&
               (double)((const float *)x->data)[i] <= p->high;
    const int64_t v = ((const int64_t *)x->data)[i];
    return (long double)v >= (long double)p->low && (long double)v <= (long double)p->high;
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        bool all = true;
        for (uint32_t k = 0; k < call->input_count; k++)
            all = all && within(p, call->inputs[k], i);
        y[i] = all != p->outside;
    }
    return TN_OK;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const params *p = call->params;
    uint8_t *y = call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < call->input_count; k++) {
            const tn_tensor *x = call->inputs[k];
            if (WRONG(2) && x->type == TN_F32) {
                const float v = ((const float *)x->data)[i];
                if (!((double)v < p->low || (double)v > p->high)) count++;
            } else if (WRONG(3) && x->type == TN_I64) {
                const int64_t v = ((const int64_t *)x->data)[i];
                if ((int32_t)v >= p->low && (int32_t)v <= p->high) count++;
            } else
                count += within(p, x, i);
        }
        if (WRONG(1))
            y[i] = p->outside ? (uint8_t) ~-(count == call->input_count)
                              : -(count == call->input_count);
        else
            y[i] = (count == call->input_count) != (WRONG(4) ? (p->present >> 2 & 1) : p->outside);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 1024, rows, call);
}

static const char *const cases[] = {"| x=f32[3,5]",
                                    "low=-0.5 outside=true | x=f32[4] x=f32[4] x=f32[4]",
                                    "high=3 | x=i64[2,2] x=i64[2,2]"};
TN_LAYER_LIBRARY("inside", "Fifteenth", "Inside", "Whether elements lie within bounds.", params,
                 "f32|i64... -> bool", .run = run)
