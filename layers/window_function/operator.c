/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HannWindow, HammingWindow and BlackmanWindow: factors for the elements of a signal's frame,
 *     w[n] = a - b cos(2 pi n / N) + c cos(4 pi n / N),
 * with N the size of a periodic window, and one less of a symmetric one (Blackman and Tukey, "The
 * Measurement of Power Spectra", 1958). A window of one element is 1. Hamming's a is 25 / 46, as
 * ONNX has it.
 */
#include "kit/operator/layer.h"

#include <math.h>

typedef struct window_params {
    uint64_t present;
    tn_type output_datatype;
    bool periodic;
} window_params;

/* How windows differ; an operator's `user` points at its own. */
typedef struct window_terms {
    double a, b, c;
} window_terms;

static const tn_field window_fields[] = {
    TN_FIELD(window_params, output_datatype, TN_FIELD_TYPE, TN_OPTIONAL, "f32",
             "the output's type; integers are truncated"),
    TN_FIELD(window_params, periodic, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the element behind the last one would be the first again"),
};

static tn_status window_infer(tn_call *call) {
    const window_params *params = call->params;
    int64_t size[1] = {0};
    uint32_t count = 0;
    TN_TRY(tn_infer_integers(call, 0, 1, size, &count));
    if (count != 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'size' is empty");
    if (size[0] < 0)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'size' is %lld; at least 0 is expected", (long long)size[0]);
    if (params->output_datatype < TN_F64 || params->output_datatype > TN_U8)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'output_datatype' is no type of numbers");
    tn_infer_set_type(call, 0, params->output_datatype);
    return tn_infer_set_shape(call, 0, 1, size);
}

static tn_status window_reference(tn_call *call) {
    const window_params *params = call->params;
    const window_terms *terms = call->op->user;
    const tn_tensor *y = call->outputs[0];
    const int64_t size = y->shape[0];
    const double period = (double)(params->periodic ? size : size - 1);
    for (int64_t n = 0; n < size; n++) {
        const double angle = 6.283185307179586 * ((double)n / period);
        double value = terms->a - terms->b * cos(angle) + terms->c * cos(2 * angle);
        if (size == 1) value = 1;
        tn_element_set_f64(y, n, tn_element_is_real(y->type) ? value : trunc(value));
    }
    return TN_OK;
}

static const tn_port window_inputs[] = {
    TN_PORT("size", "i64|i32", TN_PORT_VALUE_NEEDED, "elements of the window")};
static const tn_port window_outputs[] = {TN_PORT("output", "number", 0, "the window")};

#define WINDOW(prefix, name, a, b, c, words)                                                       \
    static const window_terms prefix##_terms = {a, b, c};                                          \
    static const tn_operator prefix##_17 = {                                                       \
        TN_OPERATOR_BEGIN("", name, 17, words),                                                    \
        TN_FIELDS(window_params, window_fields),                                                   \
        TN_INPUTS(window_inputs),                                                                  \
        TN_OUTPUTS(window_outputs),                                                                \
        .infer = window_infer,                                                                     \
        .reference = window_reference,                                                             \
        .user = (void *)(uintptr_t)&prefix##_terms,                                                \
        TN_CASES(prefix##_cases),                                                                  \
    }

#define FURTHER_CASES                                                                              \
    "| size=i64[]{0}", "| size=i32[1]{7}", "output_datatype=f64 periodic=0 | size=i64[]{10}",      \
        "output_datatype=f16 | size=i64[]{9}", "output_datatype=bf16 | size=i32[]{3}",             \
        "output_datatype=u8 periodic=0 | size=i64[]{5}",                                           \
        "periodic=0 | size=i64[]{1} | "                                                            \
        "output=f32[1]{1}"
static const char *const hann_cases[] = {"| size=i64[]{4} | output=f32[4]{0,0.5,1,0.5}",
                                         "periodic=0 | size=i64[]{3} | output=f32[3]{0,1,0}",
                                         FURTHER_CASES};
static const char *const hamming_cases[] = {
    "| size=i64[]{4} | output=f32[4]{0.08695652,0.54347826,1,0.54347826}", FURTHER_CASES};
static const char *const blackman_cases[] = {"| size=i64[]{4} | output=f32[4]{0,0.34,1,0.34}",
                                             FURTHER_CASES};

WINDOW(hann, "HannWindow", 0.5, 0.5, 0, "Hann's window: a raised cosine.");
WINDOW(hamming, "HammingWindow", 25.0 / 46, 21.0 / 46, 0,
       "Hamming's window: a cosine on a pedestal.");
WINDOW(blackman, "BlackmanWindow", 0.42, 0.5, 0.08, "Blackman's window of three cosine terms.");

TN_LAYER_WITHOUT_KERNELS(window_function, TN_OPERATORS(&hann_17, &hamming_17, &blackman_17));
