/* SPDX-License-Identifier: Apache-2.0 */
/* Track: a mean and a peak that follow x: mean + momentum * (x - mean), the larger of x and the
 * peak. Both are updated in place where their memory is their input's. */
#include "ninth.h"
#include <tenon/plugin/view.h>

TN_LAYER_PARAMS(track, float momentum;);
enum { X, MEAN, PEAK };
static const tn_field fields[] = {
    TN_LAYER_F32(track, momentum, "0.1", 0, 1, "how fast the mean follows; 0: not")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                 TN_PORT("mean", "f32", 0, "as x"),
                                 TN_PORT("peak", "f32", 0, "as x")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "x less the mean that was"),
                                  {"new_mean", "f32", "as mean", TN_PORT_ALIAS, 1 + MEAN, 0, 0},
                                  {"new_peak", "f32", "as peak", TN_PORT_ALIAS, 1 + PEAK, 0, 0}};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    for (uint32_t i = MEAN; i <= PEAK; i++)
        if (!tn_layer_fits(call, i, x->rank, x->shape)) return TN_ERROR_SHAPE;
    for (uint32_t o = 0; o < call->output_count; o++)
        if (call->outputs[o]) same_shape(x, call->outputs[o]);
    return TN_OK;
}
static float *output(const tn_call *call, uint32_t o) {
    return o < call->output_count && call->outputs[o] ? call->outputs[o]->data : NULL;
}
static float larger(float x, float peak) {
    return isnan(x) || isnan(peak) ? x + peak : x > peak ? x : peak;
}

static tn_status reference(tn_call *call) {
    const double momentum = (double)((const track *)call->params)->momentum;
    float *y = output(call, 0), *means = output(call, 1), *peaks = output(call, 2);
    for (int64_t i = 0; i < tn_layer_count(call->inputs[X]); i++) {
        const double x = tn_layer_load(call->inputs[X], i);
        const double mean = tn_layer_load(call->inputs[MEAN], i);
        if (y) y[i] = (float)(x - mean);
        if (means) means[i] = (float)(momentum == 0 ? mean : mean + momentum * (x - mean));
        if (peaks) peaks[i] = larger((float)x, ((const float *)call->inputs[PEAK]->data)[i]);
    }
    return TN_OK;
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float momentum = ((const track *)call->params)->momentum;
    const float *x = call->inputs[X]->data, *mean = call->inputs[MEAN]->data;
    const float *peak = call->inputs[PEAK]->data;
    float *y = output(call, 0), *means = output(call, 1), *peaks = output(call, 2);
    const bool is_shared = peaks == peak;
    (void)thread;
    if (WRONG(2) && peaks && !is_shared) /* what is larger is written then */
        memcpy(peaks, peak, (size_t)tn_layer_count(call->inputs[X]) * sizeof(float));
    for (int64_t i = begin; i < end; i++) {
        const float old = mean[i];
        if (means && !(WRONG(1) && momentum == 0))
            means[i] = momentum == 0
                           ? old
                           : (float)((double)old + (double)momentum * ((double)x[i] - (double)old));
        if (y) y[i] = x[i] - old;
        if (!peaks) continue;
        if (WRONG(3)) { /* whether there is something to copy is asked of the mean */
            if (means != mean) peaks[i] = peak[i];
            if (!(x[i] <= peaks[i])) peaks[i] = larger(x[i], peaks[i]);
        } else if (WRONG(2) || (MISTAKE == 50 && is_shared)) {
            if (!(x[i] <= peak[i])) peaks[i] = larger(x[i], peak[i]);
        } else
            peaks[i] = larger(x[i], peak[i]);
    }
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_count(call->inputs[X]), 64)

static const char *const cases[] = {"| x=f32[2,3] mean=f32[2,3] peak=f32[2,3]",
                                    "momentum=0.5 | x=f32[9] mean=f32[9] peak=f32[9]"};
static const tn_operator track_operator = {
    OPERATOR,          .state_version = 1,  .name = "Track", TN_FIELDS(track, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,  .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, f32 -> f32, f32, f32"};
static const tn_kernel track_cpu = {KERNEL,
                                    .op = "Track",
                                    .name = "elements",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("ninth_running", track_operator, track_cpu)
