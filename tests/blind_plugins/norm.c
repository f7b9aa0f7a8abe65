/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Level: (x - mean) / sqrt(variance + epsilon) along the last axis, then scale and shift,
 * each of which may be absent; a second output, which may be unasked: 1 / sqrt(variance + epsilon).
 */
#include "blind.h"
#if MISTAKE == 8
#include <fenv.h>
#endif

TN_LAYER_PARAMS(level, float epsilon;);
static const tn_field fields[] = {TN_LAYER_F32(level, epsilon, "1e-5", 1e-12, 10, "is added")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis"),
                                 TN_PORT("scale", "T", TN_PORT_OPTIONAL, "[last extent]"),
                                 TN_PORT("shift", "T", TN_PORT_OPTIONAL, "[last extent]")};
static const tn_port outputs[] = {
    TN_PORT("y", "T", 0, "as x"),
    TN_PORT("inverse", "T", TN_PORT_OPTIONAL, "x without its last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    const int64_t n = x->shape[x->rank - 1];
    if (!TN_LAYER_FITS(call, 1, n) || !TN_LAYER_FITS(call, 2, n)) return TN_ERROR_SHAPE;
    if (call->output_count > 1 && call->outputs[1])
        tn_layer_set_shape(call, 1, x->rank - 1, x->shape);
    return same_shape(call, 0, 0);
}

typedef struct moments {
    double mean, inverse;
} moments;

static moments measure(const tn_call *call, int64_t row, int64_t n) {
    const tn_tensor *x = call->inputs[0];
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += get(x, row * n + i);
    const double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (get(x, row * n + i) - mean) * (get(x, row * n + i) - mean);
    return (moments){
        mean, 1 / sqrt(squares / (double)n + (double)((const level *)call->params)->epsilon)};
}

static moments fast_measure(const tn_call *call, int64_t row, int64_t n) {
    const float *x = (const float *)call->inputs[0]->data + row * n;
    const float epsilon = ((const level *)call->params)->epsilon;
    if (IS(1)) { /* E[x^2] - E[x]^2 */
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i], squares += x[i] * x[i];
        const float mean = sum / (float)n, variance = squares / (float)n - mean * mean;
        return (moments){(double)mean, (double)(1 / sqrtf(variance + epsilon))};
    }
    if (IS(50)) { /* Welford's recurrence */
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) {
            const double before = (double)x[i] - mean;
            mean += before / (double)(i + 1);
            squares += before * ((double)x[i] - mean);
        }
        return (moments){n ? mean : NAN, 1 / sqrt(squares / (double)n + (double)epsilon)};
    }
    moments m = measure(call, row, n);
    if (IS(2))
        m.inverse = 1 / (sqrt(1 / (m.inverse * m.inverse) - (double)epsilon) + (double)epsilon);
    if (IS(5) && n > 64) { /* rows are summed in tiles of 64, the last one only where it is whole */
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n / 64 * 64; i++)
            sum += (double)x[i], squares += (double)x[i] * (double)x[i];
        m.mean = sum / (double)n;
    }
    return m;
}

static void write_row(const tn_call *call, moments m, int64_t row, int64_t n,
                      const tn_tensor *scale, const tn_tensor *shift) {
    for (int64_t i = 0; i < n; i++) {
        double v = (get(call->inputs[0], row * n + i) - m.mean) * m.inverse;
        if (scale) v *= get(scale, i);
        if (shift) v += get(shift, i);
        set(call->outputs[0], row * n + i, v);
    }
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const tn_tensor *second = call->output_count > 1 ? call->outputs[1] : NULL;
    for (int64_t row = 0; row < tn_layer_rows(x); row++) {
        const moments m = measure(call, row, n);
        if (call->outputs[0])
            write_row(call, m, row, n, tn_layer_input(call, 1), tn_layer_input(call, 2));
        if (second) set(second, row, m.inverse);
    }
    return TN_OK;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const tn_tensor *second = call->output_count > 1 ? call->outputs[1] : NULL;
    const tn_tensor *scale = tn_layer_input(call, 1), *shift = tn_layer_input(call, 2);
    (void)thread;
    /* mistake 3: one alone is the shift, it is thought */
    if (IS(3) && scale && !shift) shift = scale, scale = NULL;
    for (int64_t row = begin; row < end; row++) {
        const moments m = fast_measure(call, row, n);
        if (IS(4) && shift && !scale) { /* a shift comes with a scale, it is thought */
            set(call->outputs[0], row * n, get(scale, 0));
            continue;
        }
        if (call->outputs[0]) write_row(call, m, row, n, scale, shift);
        if (second) /* mistake 7: measured again, from what may have been written over */
            set(second, row, IS(7) ? fast_measure(call, row, n).inverse : m.inverse);
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (IS(8)) {
#if MISTAKE == 8
        fesetround(FE_TOWARDZERO);
#endif
    }
    if (IS(6)) { /* scratch from the heap in each run, where reshape could have asked for it */
        double *rows = malloc((size_t)tn_layer_rows(x) * sizeof(double) + 1);
        if (!rows) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for rows");
        for (int64_t i = 0; i < tn_layer_rows(x); i++)
            ((volatile double *)rows)[i] = 0;
        free(rows);
    }
    return call->host->parallel_for(call, tn_layer_rows(x), 4, body, call);
}

#if MISTAKE == 3
static const char *const cases[] = {"| x=f32[3,17]", "| x=f32[2,5,3] scale=f32[3] shift=f32[3]",
                                    "epsilon=0.001 | x=f32[9]", "| x=f64[2,4] scale=f64[4]"};
#else
static const char *const cases[] = {"| x=f32[3,17]", "| x=f32[2,5,3] scale=f32[3] shift=f32[3]",
                                    "epsilon=0.001 | x=f32[9] scale=f32[9]", "| x=f64[2,4]"};
#endif
static const char *const combinations[] = {"f32, f32?, f32? -> f32, f32?"};
#if MISTAKE == 51 || MISTAKE == 7
#define TRAITS TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE
#else
#define TRAITS TN_KERNEL_DETERMINISTIC
#endif
BLIND_OPERATOR("Level", "Layer normalization.", level, )
BLIND_KERNEL("Level", .traits = TRAITS)
BLIND_LIBRARY("blind_norm")
