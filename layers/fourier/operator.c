/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT of ONNX: how nodes are read as transforms of rows (fourier.h), and their tables. */
#include "fourier/fourier.h"
#include "kit/operator/layer.h"

tn_status tn_fourier_read(tn_call *call, tn_fourier *out_node) {
    const tn_fourier_reader *read = call->op->user;
    return (*read)(call, out_node);
}

/* The value of an optional scalar input; `fallback` where it is absent. */
static tn_status read_scalar(tn_call *call, uint32_t input, int64_t fallback, int64_t *out_value) {
    uint32_t count = 0;
    *out_value = fallback;
    if (!tn_infer_input(call, input)) return TN_OK;
    TN_TRY(tn_infer_integers(call, input, 1, out_value, &count));
    if (count == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' is empty",
                            tn_infer_input_name(call, input));
}

/* The last axis of input 0: 1, real, or 2, complex elements. */
static tn_status read_parts(tn_call *call, uint32_t *out_parts) {
    const tn_tensor *x = call->inputs[0];
    const int64_t parts = x->shape[x->rank - 1];
    *out_parts = (uint32_t)parts;
    if (parts == 1 || parts == 2) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has %lld elements along its last axis; 1 (real) or 2 "
                            "(complex) are expected",
                            tn_infer_input_name(call, 0), (long long)parts);
}

static tn_status refuse_complex(tn_call *call) {
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "field 'onesided' is 1, and input '%s' is complex: only the spectrum "
                            "of real elements is its own mirror image",
                            tn_infer_input_name(call, 0));
}

/* ----------------------------------------------------------------------------------------------
 * DFT */

typedef struct dft_params {
    uint64_t present;
    bool inverse, onesided;
    int64_t axis; /* version 17 */
} dft_params;

enum { DFT_LENGTH = 1, DFT_AXIS = 2 };

#define DFT_FIELDS                                                                                 \
    TN_FIELD(dft_params, inverse, TN_FIELD_BOOL, TN_OPTIONAL, "0",                                 \
             "whether to go from a spectrum to elements"),                                         \
        TN_FIELD(dft_params, onesided, TN_FIELD_BOOL, TN_OPTIONAL, "0",                            \
                 "whether a spectrum has only the first length / 2 + 1 elements, its rest being "  \
                 "their mirror image")
static const tn_field dft_17_fields[] = {
    DFT_FIELDS, TN_FIELD(dft_params, axis, TN_FIELD_I64, TN_OPTIONAL, "1",
                         "the axis; negative: from the end; not the last one")};
static const tn_field dft_20_fields[] = {DFT_FIELDS};

static tn_status read_axis(tn_call *call, uint32_t *out_axis) {
    const dft_params *params = call->params;
    const uint32_t rank = call->inputs[0]->rank;
    const bool is_field = call->op->since_version < 20;
    int64_t axis = params->axis;
    if (!is_field) TN_TRY(read_scalar(call, DFT_AXIS, -2, &axis));
    const char *what = is_field ? "field 'axis'" : "input 'axis'";
    TN_TRY(tn_infer_axis(call, what, axis, rank, out_axis));
    if (*out_axis + 1 < rank) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE,
                            "%s is %lld, the axis of real and imaginary parts", what,
                            (long long)axis);
}

static tn_status read_length(tn_call *call, int64_t extent, tn_fourier *node) {
    const int64_t fallback = node->to_real && extent > 0 ? 2 * (extent - 1) : extent;
    TN_TRY(read_scalar(call, DFT_LENGTH, fallback, &node->length));
    if (node->length < 1 || node->length > INT64_MAX / 4)
        return call->host->fail(
            call, TN_ERROR_RANGE, "%s is %lld; at least 1 and no more than memory has are expected",
            tn_infer_input(call, DFT_LENGTH) ? "input 'dft_length'" : "the length of the transform",
            (long long)node->length);
    const int64_t used = node->to_real ? node->length / 2 + 1 : node->length;
    node->given = extent < used ? extent : used;
    return TN_OK;
}

static tn_status read_dft(tn_call *call, tn_fourier *out_node) {
    const dft_params *params = call->params;
    tn_fourier node = {.is_inverse = params->inverse};
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 2, TN_MAX_RANK));
    const tn_tensor *x = node.input = call->inputs[0];
    TN_TRY(read_parts(call, &node.in_parts));
    TN_TRY(read_axis(call, &axis));
    node.to_real = params->inverse && params->onesided;
    TN_TRY(read_length(call, x->shape[axis], &node));
    if (params->onesided && !params->inverse && node.in_parts == 2) return refuse_complex(call);
    node.bins = params->onesided && !params->inverse ? node.length / 2 + 1 : node.length;
    const int64_t parts = node.in_parts, out_parts = node.to_real ? 1 : 2;
    node.inner = tn_infer_product(x->shape, axis + 1, x->rank - 1);
    node.rows = tn_infer_product(x->shape, 0, axis);
    if (!tn_infer_multiply(node.rows, node.inner, &node.rows)) node.rows = 0; /* nothing at all */
    node.in = (tn_fourier_strides){x->shape[axis] * node.inner * parts, parts, node.inner * parts};
    node.out = (tn_fourier_strides){0, out_parts, 0};
    if (!tn_infer_multiply(node.inner, out_parts, &node.out.element) ||
        !tn_infer_multiply(node.out.element, node.bins, &node.out.outer))
        return call->host->fail(call, TN_ERROR_SHAPE, "the output would be too large");
    node.output = tn_infer_output(call, 0);
    *out_node = node;
    return TN_OK;
}

static tn_status dft_infer(tn_call *call) {
    tn_fourier node = {0};
    uint32_t axis = 0;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_fourier_read(call, &node));
    TN_TRY(read_axis(call, &axis));
    const tn_tensor *x = call->inputs[0];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    shape[axis] = node.bins;
    shape[x->rank - 1] = node.to_real ? 1 : 2;
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

#define DFT_INPUTS                                                                                 \
    TN_PORT("input", "T1:float", 0, "any axes, then one of 1 (real) or 2 (complex) elements"),     \
        TN_PORT("dft_length", "T2:i64|i32", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,               \
                "the length: what is missing is zero, what is left over is cut; absent: the "      \
                "axis has it")
static const tn_port dft_17_inputs[] = {DFT_INPUTS};
static const tn_port dft_20_inputs[] = {
    DFT_INPUTS, TN_PORT("axis", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
                        "the axis; negative: from the end; not the last one; absent: -2")};
static const tn_port dft_outputs[] = {
    TN_PORT("output", "T1", 0, "the spectrum, or the elements, along the axis")};

/* The first by hand: 1 + 2 + 3 + 4, 1 - 3 + i (4 - 2), 1 - 2 + 3 - 4 and its conjugate. */
static const char *const dft_17_cases[] = {
    "| input=f32[1,4,1]{1,2,3,4} | output=f32[1,4,2]{10,0,-2,2,-2,0,-2,-2}",
    "onesided=1 | input=f32[2,10,3,1]",
    "axis=2 | input=f32[2,3,10,2]",
    "inverse=1 axis=-2 | input=f64[3,7,2]",
    "onesided=1 inverse=1 | input=f32[2,6,2] | output=f32[2,10,1]",
};
static const char *const dft_20_cases[] = {
    "| input=f32[1,4,1]{1,2,3,4} | output=f32[1,4,2]{10,0,-2,2,-2,0,-2,-2}",
    "inverse=1 | input=f32[1,4,2]{10,0,-2,2,-2,0,-2,-2} | output=f32[1,4,2]{1,0,2,0,3,0,4,0}",
    "onesided=1 inverse=1 | input=f32[1,3,2]{10,0,-2,2,-2,0} | output=f32[1,4,1]{1,2,3,4}",
    "onesided=1 | input=f32[2,10,3,1] axis=i64[]{1}",
    "onesided=1 | input=f32[3,15,1]",
    "| input=f32[2,3,20,2] axis=i64[]{-2}",
    "| input=f32[20,3,2] axis=i64[]{0}",
    "| input=f32[3,17,2]",
    "| input=f32[1,60,1] dft_length=i64[]{64}",
    "onesided=1 | input=f32[2,60,1] dft_length=i32[]{29}",
    "onesided=1 inverse=1 | input=f32[2,9,2] dft_length=i64[]{15}",
    "onesided=1 inverse=1 | input=f32[2,9,2] dft_length=i64[]{34}",
    "inverse=1 | input=f64[2,13,1]",
    "inverse=1 | input=f64[9,48,2]",
    "onesided=1 | input=f16[2,8,1]",
    "| input=bf16[2,3,8,2] axis=i64[]{1}",
    "| input=f32[2,1,1]",
    "| input=f32[0,4,1]",
    "onesided=1 | input=f32[19,400,1]",
};

/* ----------------------------------------------------------------------------------------------
 * STFT */

typedef struct stft_params {
    uint64_t present;
    bool onesided;
} stft_params;

enum { STFT_STEP = 1, STFT_WINDOW = 2, STFT_LENGTH = 3 };

static const tn_field stft_fields[] = {
    TN_FIELD(stft_params, onesided, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether spectra have only the first length / 2 + 1 elements")};

/* The frames' length, from the input of that name, the window or the signal. */
static tn_status read_frame_length(tn_call *call, tn_fourier *node, int64_t signal) {
    const tn_tensor *window = node->window = tn_infer_input(call, STFT_WINDOW);
    if (window) TN_TRY(tn_infer_require_rank(call, STFT_WINDOW, 1, 1));
    TN_TRY(read_scalar(call, STFT_LENGTH, window ? window->shape[0] : signal, &node->length));
    if (window && window->shape[0] != node->length)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'window' has %lld elements, and input 'frame_length' is "
                                "%lld",
                                (long long)window->shape[0], (long long)node->length);
    if (node->length >= 1 && node->length <= INT64_MAX / 4) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE,
                            "frames have %lld elements (input '%s'); at least 1 and no more than "
                            "memory has are expected",
                            (long long)node->length,
                            tn_infer_input(call, STFT_LENGTH) ? "frame_length"
                            : window                          ? "window"
                                                              : "signal");
}

static tn_status read_stft(tn_call *call, tn_fourier *out_node) {
    const stft_params *params = call->params;
    tn_fourier node = {0};
    int64_t step = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 2, 3));
    const tn_tensor *x = node.input = call->inputs[0];
    node.in_parts = 1;
    if (x->rank == 3) TN_TRY(read_parts(call, &node.in_parts));
    TN_TRY(read_frame_length(call, &node, x->shape[1]));
    TN_TRY(read_scalar(call, STFT_STEP, 0, &step));
    if (step < 1)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'frame_step' is %lld; at least 1 is expected",
                                (long long)step);
    if (params->onesided && node.in_parts == 2) return refuse_complex(call);
    const int64_t parts = node.in_parts;
    node.given = node.length;
    node.bins = params->onesided ? node.length / 2 + 1 : node.length;
    node.inner = x->shape[1] < node.length ? 0 : (x->shape[1] - node.length) / step + 1;
    if (!tn_infer_multiply(x->shape[0], node.inner, &node.rows) ||
        !tn_infer_multiply(node.inner, 2 * node.bins, &node.out.outer))
        return call->host->fail(call, TN_ERROR_SHAPE, "the output would be too large");
    /* A step beyond the signal is never taken. */
    node.in = (tn_fourier_strides){x->shape[1] * parts, node.inner > 1 ? step * parts : 0, parts};
    node.out.inner = 2 * node.bins;
    node.out.element = 2;
    node.output = tn_infer_output(call, 0);
    *out_node = node;
    return TN_OK;
}

static tn_status stft_infer(tn_call *call) {
    tn_fourier node = {0};
    TN_TRY(tn_fourier_read(call, &node));
    const int64_t shape[] = {call->inputs[0]->shape[0], node.inner, node.bins, 2};
    return tn_infer_set_shape(call, 0, 4, shape);
}

static const tn_port stft_inputs[] = {
    TN_PORT(
        "signal", "T1:float", 0,
        "batch, elements, then 1 (real) or 2 (complex), or no such axis, as exporters write real "
        "ones; shorter than a frame: no frames"),
    TN_PORT("frame_step", "T2:i64|i32", TN_PORT_VALUE_NEEDED, "elements between two frames"),
    TN_PORT("window", "T1", TN_PORT_OPTIONAL, "a factor for each element of a frame; absent: 1"),
    TN_PORT("frame_length", "T2", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "elements of a frame; absent: as the window, or the signal, has"),
};
static const tn_port stft_outputs[] = {
    TN_PORT("output", "T1", 0, "batch, frames, elements of the spectrum, 2")};
/* The first by hand: the frames 1 2, 3 4, 5 6 and their sums and differences. */
static const char *const stft_17_cases[] = {
    ("| signal=f32[1,6,1]{1,2,3,4,5,6} frame_step=i64[]{2} frame_length=i64[]{2} | "
     "output=f32[1,3,2,2]{3,0,-1,0,7,0,-1,0,11,0,-1,0}"),
    "| signal=f32[2,128,1] frame_step=i64[]{8} window=f32[16]",
    "onesided=0 | signal=f32[2,64,2] frame_step=i32[]{7} window=f32[15] frame_length=i32[]{15}",
    "onesided=0 | signal=f64[1,40,1] frame_step=i64[]{40} frame_length=i64[]{17}",
    "| signal=f64[3,40,1] frame_step=i64[]{3}",
    /* without an axis for the parts: real */
    ("| signal=f32[1,6]{1,2,3,4,5,6} frame_step=i64[]{2} frame_length=i64[]{2} | "
     "output=f32[1,3,2,2]{3,0,-1,0,7,0,-1,0,11,0,-1,0}"),
    "| signal=f32[2,500] frame_step=i64[]{160} window=f32[400]",
    "| signal=f16[1,40,1] frame_step=i64[]{4} window=f16[8]",
    "| signal=bf16[1,40,1] frame_step=i64[]{4} frame_length=i64[]{10}",
    "| signal=f32[0,40,1] frame_step=i64[]{4} frame_length=i64[]{10}",
    "| signal=f32[2,9,1] frame_step=i64[]{4} frame_length=i64[]{10} | output=f32[2,0,6,2]",
    "| signal=f32[1,4000,1] frame_step=i64[]{160} window=f32[400]",
};

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_fourier_reader dft_reader = read_dft, stft_reader = read_stft;

#define FOURIER(prefix, name, version, fields_table, inputs_table, reader, words, params_type)     \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        TN_FIELDS(params_type, fields_table),                                                      \
        TN_INPUTS(inputs_table),                                                                   \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = prefix##_infer,                                                                   \
        .reference = tn_fourier_reference,                                                         \
        .user = (void *)(uintptr_t)&reader,                                                        \
        TN_CASES(prefix##_##version##_cases),                                                      \
    }
FOURIER(dft, "DFT", 17, dft_17_fields, dft_17_inputs, dft_reader,
        "Discrete Fourier transform along an axis.", dft_params);
FOURIER(dft, "DFT", 20, dft_20_fields, dft_20_inputs, dft_reader,
        "Discrete Fourier transform along an axis.", dft_params);
FOURIER(stft, "STFT", 17, stft_fields, stft_inputs, stft_reader,
        "Discrete Fourier transforms of a signal's frames.", stft_params);

TN_LAYER(fourier, TN_OPERATORS(&dft_17, &dft_20, &stft_17), tn_fourier_kernels);
