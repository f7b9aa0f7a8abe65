/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MelWeightMatrix: triangles over the bins of a spectrum, whose corners are evenly spaced on the
 * mel scale, mel(f) = 2595 log10(1 + f / 700) (O'Shaughnessy, "Speech Communication", 1987). With
 * M bands there are M + 2 corners from the lower edge on, (upper - lower) / (M + 2) mel apart; a
 * corner of frequency f is at bin floor((dft_length + 1) f / sample_rate).
 */
#include "kit/operator/layer.h"

#include <math.h>

typedef struct mel_params {
    uint64_t present;
    tn_type output_datatype;
} mel_params;

enum { MEL_BANDS = 0, MEL_LENGTH = 1, MEL_RATE = 2, MEL_LOWER = 3, MEL_UPPER = 4 };

static const tn_field mel_fields[] = {TN_FIELD(mel_params, output_datatype, TN_FIELD_TYPE,
                                               TN_OPTIONAL, "f32",
                                               "the output's type; integers are truncated")};

static tn_status read_count(tn_call *call, uint32_t input, int64_t *out_value) {
    uint32_t count = 0;
    TN_TRY(tn_infer_integers(call, input, 1, out_value, &count));
    if (count == 1 && *out_value >= 1 && *out_value < INT64_MAX) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE, "input '%s' is %lld; at least 1 is expected",
                            tn_infer_input_name(call, input), count ? (long long)*out_value : 0);
}

static tn_status mel_infer(tn_call *call) {
    const mel_params *params = call->params;
    int64_t bands = 0, length = 0;
    TN_TRY(read_count(call, MEL_BANDS, &bands));
    TN_TRY(read_count(call, MEL_LENGTH, &length));
    for (uint32_t i = MEL_RATE; i <= MEL_UPPER; i++) {
        TN_TRY(tn_infer_require_rank(call, i, 0, 1));
        if (tn_element_count(call->inputs[i]) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, i));
    }
    if (params->output_datatype < TN_F64 || params->output_datatype > TN_U8)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'output_datatype' is no type of numbers");
    tn_infer_set_type(call, 0, params->output_datatype);
    return tn_infer_set_shape(call, 0, 2, (const int64_t[]){length / 2 + 1, bands});
}

/* The corners' frequencies, as bins. */
typedef struct mel_scale {
    double length, rate; /* of the transform; samples a second */
    double lower, step;  /* mel */
} mel_scale;

static double mel_of(double hertz) {
    return 2595 * log1p(hertz / 700) / log(10);
}

static tn_status read_scale(tn_call *call, mel_scale *out_scale) {
    const double lower = tn_element_f64(call->inputs[MEL_LOWER], 0);
    const double upper = tn_element_f64(call->inputs[MEL_UPPER], 0);
    const double rate = (double)tn_element_i64(call->inputs[MEL_RATE], 0);
    const double bands = (double)call->outputs[0]->shape[1];
    if (rate < 1)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'sample_rate' is %g; at least 1 is expected", rate);
    if (!(lower >= 0 && upper >= lower && isfinite(upper)))
        return call->host->fail(call, TN_ERROR_RANGE,
                                "inputs 'lower_edge_hertz' and 'upper_edge_hertz' are %g and %g; "
                                "no range of frequencies",
                                lower, upper);
    *out_scale = (mel_scale){(double)tn_element_i64(call->inputs[MEL_LENGTH], 0), rate,
                             mel_of(lower), (mel_of(upper) - mel_of(lower)) / (bands + 2)};
    return TN_OK;
}

static double corner_of(const mel_scale *scale, int64_t index) {
    const double hertz = 700 * expm1((scale->lower + (double)index * scale->step) / 2595 * log(10));
    return floor((scale->length + 1) * hertz / scale->rate);
}

/* Column `band`: up from one corner to the next, down to the third. */
static void write_band(const tn_tensor *y, int64_t band, const int64_t corners[3]) {
    const bool is_real = tn_element_is_real(y->type);
    const int64_t bands = y->shape[1];
    const double up = (double)(corners[1] - corners[0]), down = (double)(corners[2] - corners[1]);
    for (int64_t bin = corners[0]; bin <= corners[1]; bin++) {
        const double value = up > 0 ? (double)(bin - corners[0]) / up : 1;
        tn_element_set_f64(y, bin * bands + band, is_real ? value : trunc(value));
    }
    for (int64_t bin = corners[1]; bin < corners[2]; bin++) {
        const double value = (double)(corners[2] - bin) / down;
        tn_element_set_f64(y, bin * bands + band, is_real ? value : trunc(value));
    }
}

static tn_status mel_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t bins = y->shape[0], bands = y->shape[1];
    mel_scale scale = {0};
    TN_TRY(read_scale(call, &scale));
    if (corner_of(&scale, bands) >= (double)bins || corner_of(&scale, bands + 1) > (double)bins)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'upper_edge_hertz' is %g: beyond the spectrum's %lld bins",
                                tn_element_f64(call->inputs[MEL_UPPER], 0), (long long)bins);
    memset(y->data, 0, (size_t)y->bytes);
    for (int64_t band = 0; band < bands; band++) {
        int64_t corners[3];
        for (int64_t i = 0; i < 3; i++)
            corners[i] = (int64_t)corner_of(&scale, band + i);
        write_band(y, band, corners);
    }
    return TN_OK;
}

static const tn_port mel_inputs[] = {
    TN_PORT("num_mel_bins", "T1:i64|i32", TN_PORT_VALUE_NEEDED, "bands of the mel spectrum"),
    TN_PORT("dft_length", "T1", TN_PORT_VALUE_NEEDED, "the length of the transform"),
    TN_PORT("sample_rate", "T1", 0, "samples of the signal a second"),
    TN_PORT("lower_edge_hertz", "T2:float", 0, "the lower edge of the lowest band"),
    TN_PORT("upper_edge_hertz", "T2", 0, "the upper edge of the highest band"),
};
static const tn_port mel_outputs[] = {
    TN_PORT("output", "number", 0, "dft_length / 2 + 1, num_mel_bins: the weights")};
/* The second by hand: all corners are in bin 0, where the band is 1. */
static const char *const mel_cases[] = {
    "| num_mel_bins=i64[]{8} dft_length=i64[]{16} sample_rate=i64[]{8192} "
    "lower_edge_hertz=f32[]{0} upper_edge_hertz=f32[]{4096} | output=f32[9,8]",
    "| num_mel_bins=i64[]{1} dft_length=i64[]{2} sample_rate=i64[]{16000} "
    "lower_edge_hertz=f32[]{0} upper_edge_hertz=f32[]{100} | output=f32[2,1]{1,0}",
    "output_datatype=f64 | num_mel_bins=i32[]{20} dft_length=i32[1]{400} sample_rate=i32[]{16000} "
    "lower_edge_hertz=f64[]{20} upper_edge_hertz=f64[1]{7600}",
    "output_datatype=i32 | num_mel_bins=i64[]{3} dft_length=i64[]{32} sample_rate=i64[]{8000} "
    "lower_edge_hertz=f16[]{0} upper_edge_hertz=f16[]{4000}",
    "output_datatype=bf16 | num_mel_bins=i64[]{3} dft_length=i64[]{32} sample_rate=i64[]{8000} "
    "lower_edge_hertz=bf16[]{0} upper_edge_hertz=bf16[]{4000}",
};

TN_OPERATOR(mel, "", "MelWeightMatrix", 17, "Triangular bands on the mel scale, as a matrix.",
            TN_FIELDS(mel_params, mel_fields));

TN_LAYER_WITHOUT_KERNELS(mel_weight_matrix, TN_OPERATORS(&mel_17));
