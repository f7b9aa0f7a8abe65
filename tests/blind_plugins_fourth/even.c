/* SPDX-License-Identifier: Apache-2.0 */
/* Even: each row less its mean, over its deviation, with optional gains and shifts. */
#include "fourth.h"

TN_LAYER_PARAMS(params, float epsilon;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, epsilon, "1e-5", 1e-12, 1, "added to the variance")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., D"),
                                 TN_PORT("gain", "T", TN_PORT_OPTIONAL, "D; absent: ones"),
                                 TN_PORT("shift", "T", TN_PORT_OPTIONAL, "D; absent: zeros")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    for (uint32_t i = 1; i < 3; i++)
        if (!TN_LAYER_FITS(call, i, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
    return fourth_same(call, 0, 0);
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const tn_tensor *gain = tn_layer_input(call, 1), *shift = tn_layer_input(call, 2);
    const int64_t extent = x->shape[x->rank - 1];
    const double epsilon = (double)((const params *)call->params)->epsilon;
    for (int64_t i = 0; i < tn_layer_count(x); i += extent) {
        double mean = 0, variance = 0;
        for (int64_t k = 0; k < extent; k++)
            mean += tn_layer_load(x, i + k) / (double)extent;
        for (int64_t k = 0; k < extent; k++) {
            const double off = tn_layer_load(x, i + k) - mean;
            variance += off * off / (double)extent;
        }
        for (int64_t k = 0; k < extent; k++)
            tn_layer_store(call->outputs[0], i + k,
                           (tn_layer_load(x, i + k) - mean) / sqrt(variance + epsilon) *
                                   (gain ? tn_layer_load(gain, k) : 1) +
                               (shift ? tn_layer_load(shift, k) : 0));
    }
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    const float *gain = tn_layer_data(call, 1), *shift = tn_layer_data(call, 2);
    const double epsilon = (double)((const params *)call->params)->epsilon;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *from = (const float *)x->data + row * extent;
        float *to = (float *)call->outputs[0]->data + row * extent;
        double mean = 0, variance = 0;
        for (int64_t k = 0; k < extent; k++)
            mean += (double)from[k];
        mean /= (double)extent;
#if MISTAKE == 1
        float squares = 0, sum = 0; /* MISTAKE: cancels where the mean is far from 0 */
        for (int64_t k = 0; k < extent; k++)
            squares += from[k] * from[k], sum += from[k];
        const float middle = sum / (float)extent;
        variance = (double)fmaxf(squares / (float)extent - middle * middle, 0);
#else
        for (int64_t k = 0; k < extent; k++)
            variance += ((double)from[k] - mean) * ((double)from[k] - mean);
#if MISTAKE == 2
        variance /= (double)(extent > 1 ? extent - 1 : 1); /* MISTAKE: of a sample */
#else
        variance /= (double)extent;
#endif
#endif
#if MISTAKE == 3
        const double factor = 1 / (sqrt(variance) + epsilon); /* MISTAKE: outside of the root */
#else
        const double factor = 1 / sqrt(variance + epsilon);
#endif
#if MISTAKE == 4
        /* MISTAKE: the last of a row that is no multiple of four are not written */
        for (int64_t k = 0; k < extent / 4 * 4; k++)
#else
        for (int64_t k = 0; k < extent; k++)
#endif
#if MISTAKE == 5
            /* MISTAKE: gain and shift are absent or given independently */
            to[k] = (float)(((double)from[k] - mean) * factor * (gain ? (double)gain[k] : 1)) +
                    (gain ? shift[k] : 0);
#else
            to[k] = (float)(((double)from[k] - mean) * factor * (gain ? (double)gain[k] : 1) +
                            (shift ? (double)shift[k] : 0));
#endif
    }
    return TN_OK;
}
TN_LAYER_RUN(rows,
             call->inputs[0]->shape[call->inputs[0]->rank - 1] ? tn_layer_rows(call->inputs[0]) : 0,
             1)

static const char *const cases[] = {
    "| x=f32[4,10]",
    "epsilon=0.001 | x=f32[2,3,7] gain=f32[7] shift=f32[7]",
    "| x=f32[5,6] gain=f32[6]",
    "| x=f64[1,2]{1,3}",
    "| x=f32[1,8]{1000,1001,1002,1003,1004,1005,1006,1007}",
};
static const char *const combinations[] = {"f32, f32?, f32? -> f32"};
FOURTH_OPERATOR("Even", "Rows of mean 0 and deviation 1.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(the_kernel, "Even", "rows", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(combinations), .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("even", "1.0", operators, kernels)
