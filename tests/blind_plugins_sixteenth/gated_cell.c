/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a gated recurrent unit. Gates lie in the order update, reset, new. The state may be
 * updated in place. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, bool reset_after;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, reset_after, "false", "the reset gate is applied behind the product"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "rows, features"), TN_PORT("h", "f32", 0, "rows, units"),
    TN_PORT("w", "f32", 0, "3 * units, features"), TN_PORT("r", "f32", 0, "3 * units, units"),
    TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "3 * units")};
static const tn_port outputs[] = {{"next", "f32", "as h", TN_PORT_ALIAS, 2, 0, 0}};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    const int64_t units = call->inputs[1]->shape[1];
    if (units > 1 << 24)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'h' has %lld units, expected <= 2^24",
                                (long long)units);
    if (!TN_LAYER_FITS(call, 2, 3 * units, call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 3, 3 * units, units) || !TN_LAYER_FITS(call, 4, 3 * units))
        return TN_ERROR_SHAPE;
    return set_shape(call, 0, 2, call->inputs[1]->shape);
}

static double product(const float *a, const float *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The product of a row of w with x, and the gate's bias. */
static double from_x(const tn_call *call, int64_t row, int64_t gate) {
    const int64_t features = call->inputs[0]->shape[1];
    const float *bias = tn_layer_data(call, 4);
    const double sum = product((const float *)call->inputs[2]->data + gate * features,
                               (const float *)call->inputs[0]->data + row * features, features);
    return bias ? sum + (double)bias[gate] : sum;
}

static double sigmoid(double v) {
    return 1 / (1 + exp(-v));
}

/* One row; `reset` and `fresh` have scratch for the units. */
static void step(const tn_call *call, int64_t row, double *reset, double *fresh, bool is_kernel) {
    const int64_t units = call->inputs[1]->shape[1];
    const float *h = (const float *)call->inputs[1]->data + row * units;
    const float *r = call->inputs[3]->data;
    float *next = (float *)call->outputs[0]->data + row * units;
    const bool reset_after =
        ((const params *)call->params)->reset_after && !(is_kernel && WRONG(1));
    for (int64_t j = 0; j < units; j++)
        reset[j] =
            sigmoid(from_x(call, row, units + j) + product(r + (units + j) * units, h, units));
    for (int64_t j = 0; j < units; j++) {
        const float *of_new = r + (2 * units + j) * units;
        double sum = 0;
        if (reset_after)
            sum = reset[j] * product(of_new, h, units);
        else
            for (int64_t k = 0; k < units; k++)
                sum += (double)of_new[k] * reset[k] * (double)h[k];
        fresh[j] = tanh(from_x(call, row, 2 * units + j) + sum);
    }
    for (int64_t j = 0; j < units; j++) {
        const double update = sigmoid(from_x(call, row, j) + product(r + j * units, h, units));
        const double value = (1 - update) * fresh[j] + update * (double)h[j];
        if (is_kernel && WRONG(2))
            next[j] = (float)value; /* read again by the gates that follow, where it is h */
        else
            fresh[j] = value;
    }
    for (int64_t j = 0; j < units && !(is_kernel && WRONG(2)); j++)
        next[j] = (float)fresh[j];
}

static tn_status reference(tn_call *call) {
    const int64_t units = call->inputs[1]->shape[1];
    double *scratch =
        call->host->allocate(call->host, (uint64_t)(2 * units + 1) * sizeof(double), 64);
    if (!scratch) return TN_ERROR_MEMORY;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        step(call, i, scratch, scratch + units, false);
    call->host->deallocate(call->host, scratch);
    return TN_OK;
}

TN_LAYER_WORKSPACE((uint64_t)call->inputs[1]->shape[1] * (WRONG(3) ? 1 : 2) * sizeof(double) *
                   call->threads)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t units = call->inputs[1]->shape[1];
    double *scratch = (double *)call->workspace + (int64_t)thread * 2 * units;
    for (int64_t i = begin; i < end; i++)
        step(call, i, scratch, scratch + units, true);
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {
    "| x=f32[2,3] h=f32[2,4] w=f32[12,3] r=f32[12,4] bias=f32[12]",
    "reset_after=true | x=f32[3,2] h=f32[3,5] w=f32[15,2] r=f32[15,5]",
};
TN_LAYER_LIBRARY("gated_cell", "Sixteenth", "GatedCell", "A step of a gated unit.", params,
                 "f32, f32, f32, f32, f32? -> f32", .reshape = reshape, .run = run)
