/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BatchNormalization: y = (x - mean) / sqrt(variance + epsilon) * scale + bias, a channel at a
 * time. With training_mode (opset 14 on) mean and variance are the batch's own, and the running
 * ones are moved towards them. The training outputs of older opsets are refused.
 */
#include "batch_normalization/batch_normalization.h"
#include <tenon/kit/known_steps.h>
#include <tenon/kit/open.h>
#include "kit/operator/layer.h"

#include <math.h>

typedef tn_batch_normalization_params params_type;
typedef tn_batch_normalization_sizes sizes_type;

#define FIELD_EPSILON                                                                              \
    TN_FIELD(params_type, epsilon, TN_FIELD_F32, TN_OPTIONAL, "1e-05",                             \
             "added to the variance before the root")
#define FIELD_MOMENTUM                                                                             \
    TN_FIELD(params_type, momentum, TN_FIELD_F32, TN_OPTIONAL, "0.9",                              \
             "share that the running statistics keep, in training")
#define FIELD_SPATIAL                                                                              \
    TN_FIELD(params_type, spatial, TN_FIELD_BOOL, TN_OPTIONAL, "1",                                \
             "whether statistics are a channel's; else each pixel of an image has its own")

static const tn_field batch_normalization_6_fields[] = {
    FIELD_EPSILON,
    FIELD_MOMENTUM,
    FIELD_SPATIAL,
    TN_FIELD(params_type, is_test, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the network was meant for inference; it is run so in both cases"),
};
static const tn_field batch_normalization_7_fields[] = {FIELD_EPSILON, FIELD_MOMENTUM,
                                                        FIELD_SPATIAL};
static const tn_field batch_normalization_9_fields[] = {FIELD_EPSILON, FIELD_MOMENTUM};
static const tn_field batch_normalization_14_fields[] = {
    FIELD_EPSILON,
    FIELD_MOMENTUM,
    TN_FIELD(params_type, training_mode, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the batch's own statistics are used"),
};

tn_status tn_batch_normalization_read(tn_call *call, sizes_type *out_sizes) {
    const params_type *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_BATCH_NORMALIZATION_X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TN_BATCH_NORMALIZATION_X];
    bool is_spatial = call->op->since_version >= 9 || params->spatial;
    out_sizes->batch = x->shape[0];
    out_sizes->channels = x->rank > 1 ? x->shape[1] : 1;
    out_sizes->elements = tn_infer_product(x->shape, 2, x->rank);
    if (!is_spatial) {
        out_sizes->channels = tn_infer_product(x->shape, 1, x->rank);
        out_sizes->elements = 1;
    }
    for (uint32_t i = TN_BATCH_NORMALIZATION_SCALE; i <= TN_BATCH_NORMALIZATION_VARIANCE; i++) {
        TN_TRY(tn_infer_require_rank(call, i, 1, TN_MAX_RANK));
        if (!tn_open_fits(tn_element_count(call->inputs[i]), out_sizes->channels))
            return call->host->fail(
                call, TN_ERROR_SHAPE, "input '%s' has %lld elements, expected %lld",
                tn_infer_input_name(call, i), (long long)tn_element_count(call->inputs[i]),
                (long long)out_sizes->channels);
    }
    return TN_OK;
}

static tn_status batch_normalization_infer(tn_call *call) {
    const bool is_training = tn_batch_normalization_is_training(call);
    sizes_type sizes;
    TN_TRY(tn_batch_normalization_read(call, &sizes));
    TN_TRY(tn_infer_copy_shape(call, 0, TN_BATCH_NORMALIZATION_X));
    for (uint32_t i = 1; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        if (!is_training)
            return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                    "output '%s' is given in training alone",
                                    tn_infer_output_name(call, i));
        TN_TRY(tn_infer_copy_shape(call, i, TN_BATCH_NORMALIZATION_MEAN + i - 1));
    }
    return TN_OK;
}

static double load(const tn_call *call, uint32_t input, int64_t index) {
    const tn_tensor *tensor = call->inputs[input];
    return tn_element_f64(tensor, index);
}

/* Mean and variance (of the whole population) of one channel of the batch. */
static void find_statistics(const tn_call *call, const sizes_type *sizes, int64_t channel,
                            double *out_mean, double *out_variance) {
    double count = (double)(sizes->batch * sizes->elements), sum = 0, squares = 0;
    int64_t step = sizes->channels * sizes->elements, first = channel * sizes->elements;
    for (int64_t image = 0; image < sizes->batch; image++)
        for (int64_t i = 0; i < sizes->elements; i++)
            sum += load(call, TN_BATCH_NORMALIZATION_X, first + image * step + i);
    for (int64_t image = 0; image < sizes->batch; image++) {
        for (int64_t i = 0; i < sizes->elements; i++) {
            double apart =
                load(call, TN_BATCH_NORMALIZATION_X, first + image * step + i) - sum / count;
            squares += apart * apart;
        }
    }
    *out_mean = sum / count;
    *out_variance = squares / count;
}

static void normalize(const tn_call *call, const sizes_type *sizes, int64_t channel, double mean,
                      double variance) {
    const params_type *params = call->params;
    const tn_tensor *y = call->outputs[0];
    double factor = load(call, TN_BATCH_NORMALIZATION_SCALE, channel) /
                    sqrt(variance + (double)params->epsilon);
    double bias = load(call, TN_BATCH_NORMALIZATION_B, channel);
    for (int64_t image = 0; image < sizes->batch; image++) {
        int64_t first = (image * sizes->channels + channel) * sizes->elements;
        for (int64_t i = first; i < first + sizes->elements; i++) {
            double x = load(call, TN_BATCH_NORMALIZATION_X, i);
            tn_element_set_f64(y, i, (x - mean) * factor + bias);
        }
    }
}

/* Training: output `index` is the running statistic of input `input`, moved towards the batch's. */
static void move_statistic(const tn_call *call, uint32_t index, uint32_t input, int64_t channel,
                           double current) {
    const params_type *params = call->params;
    const tn_tensor *output = tn_infer_output(call, index);
    double momentum = (double)params->momentum;
    if (!output) return;
    tn_element_set_f64(output, channel,
                       load(call, input, channel) * momentum + current * (1 - momentum));
}

static tn_status batch_normalization_reference(tn_call *call) {
    const bool is_training = tn_batch_normalization_is_training(call);
    sizes_type sizes;
    TN_TRY(tn_batch_normalization_read(call, &sizes));
    for (int64_t channel = 0; channel < sizes.channels; channel++) {
        double mean, variance;
        if (is_training) {
            find_statistics(call, &sizes, channel, &mean, &variance);
            move_statistic(call, 1, TN_BATCH_NORMALIZATION_MEAN, channel, mean);
            move_statistic(call, 2, TN_BATCH_NORMALIZATION_VARIANCE, channel, variance);
        } else {
            mean = load(call, TN_BATCH_NORMALIZATION_MEAN, channel);
            variance = load(call, TN_BATCH_NORMALIZATION_VARIANCE, channel);
        }
        normalize(call, &sizes, channel, mean, variance);
    }
    return TN_OK;
}

/* In inference, with known statistics. */
static tn_status batch_normalization_facet(tn_call *call, uint32_t input, const char *name,
                                           tn_facet *out_facet) {
    if (!tn_known_is(name, TN_FACET_AFFINE)) return TN_ERROR_UNSUPPORTED;
    tn_affine *out_affine = out_facet->what;
    (void)input;
    const params_type *params = call->params;
    sizes_type sizes;
    TN_TRY(tn_batch_normalization_read(call, &sizes));
    const tn_tensor *x = call->inputs[0];
    if (tn_batch_normalization_is_training(call) || x->rank < 2 || sizes.channels != x->shape[1] ||
        (uint64_t)sizes.channels > out_affine->count)
        return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = TN_BATCH_NORMALIZATION_SCALE; i <= TN_BATCH_NORMALIZATION_VARIANCE; i++)
        if (!call->inputs[i]->data) return TN_ERROR_UNSUPPORTED;
    out_affine->axis = 1;
    out_affine->count = (uint64_t)sizes.channels;
    for (int64_t c = 0; c < sizes.channels; c++) {
        const double factor =
            load(call, TN_BATCH_NORMALIZATION_SCALE, c) /
            sqrt(load(call, TN_BATCH_NORMALIZATION_VARIANCE, c) + (double)params->epsilon);
        out_affine->factors[c] = factor;
        out_affine->shifts[c] = load(call, TN_BATCH_NORMALIZATION_B, c) -
                                load(call, TN_BATCH_NORMALIZATION_MEAN, c) * factor;
    }
    return TN_OK;
}

static const tn_port batch_normalization_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T1:float", 0, "a factor a channel"),
    TN_PORT("B", "T1", 0, "a bias a channel"),
    TN_PORT("input_mean", "T2:float", 0, "a mean a channel"),
    TN_PORT("input_var", "T2", 0, "a variance a channel, zero or more"),
};
static const tn_port batch_normalization_6_outputs[] = {
    TN_PORT("Y", "T", 0, "X normalised"),
    TN_PORT("mean", "T2", TN_PORT_OPTIONAL, "training's; refused"),
    TN_PORT("var", "T2", TN_PORT_OPTIONAL, "training's; refused"),
    TN_PORT("saved_mean", "T2", TN_PORT_OPTIONAL, "training's; refused"),
    TN_PORT("saved_var", "T2", TN_PORT_OPTIONAL, "training's; refused"),
};
static const tn_port batch_normalization_14_outputs[] = {
    TN_PORT("Y", "T", 0, "X normalised"),
    TN_PORT("running_mean", "T2", TN_PORT_OPTIONAL, "the mean moved towards the batch's"),
    TN_PORT("running_var", "T2", TN_PORT_OPTIONAL, "the variance moved towards the batch's"),
};

/* Variances are drawn like all inputs and may be negative: a large epsilon keeps the root real. */
#define CHANNELS(type, count)                                                                      \
    " scale=" type "[" count "] B=" type "[" count "] input_mean=" type "[" count                  \
    "] input_var=" type "[" count "]"
#define COMMON_CASES                                                                               \
    "epsilon=8 | X=f32[1,1,1,1]" CHANNELS("f32", "1"),                                             \
        "epsilon=8 | X=f32[2,3,5,7]" CHANNELS("f32", "3"),                                         \
        "epsilon=9 | X=f64[2,3,5]" CHANNELS("f64", "3"),                                           \
        "epsilon=8 | X=f32[4,6]" CHANNELS("f32", "6"),                                             \
        "epsilon=8 | X=f16[2,3,5,7]" CHANNELS("f16", "3"),                                         \
        "epsilon=8 | X=f32[0,3,4]" CHANNELS("f32", "3"),                                           \
        "epsilon=8 | X=f32[1,64,56,56]" CHANNELS("f32", "64")
static const char *const batch_normalization_cases[] = {COMMON_CASES};
static const char *const batch_normalization_6_cases[] = {
    COMMON_CASES,
    "spatial=0 epsilon=8 | X=f32[2,3,5]" CHANNELS("f32", "15"),
};
static const char *const batch_normalization_14_cases[] = {
    COMMON_CASES,
    "training_mode=1 momentum=0.75 | X=f32[3,2,5,4]" CHANNELS("f32", "2"),
};

#define BATCH_NORMALIZATION(version, output_table, case_table)                                     \
    TN_OPERATOR_VERSION(batch_normalization, "", "BatchNormalization", version,                    \
                        "Normalises each channel by its mean and variance.",                       \
                        TN_FIELDS(params_type, batch_normalization_##version##_fields),            \
                        TN_INPUTS(batch_normalization_inputs), TN_OUTPUTS(output_table),           \
                        TN_CASES(case_table), .facet = batch_normalization_facet)
BATCH_NORMALIZATION(6, batch_normalization_6_outputs, batch_normalization_6_cases);
BATCH_NORMALIZATION(7, batch_normalization_6_outputs, batch_normalization_6_cases);
BATCH_NORMALIZATION(9, batch_normalization_6_outputs, batch_normalization_cases);
BATCH_NORMALIZATION(14, batch_normalization_14_outputs, batch_normalization_14_cases);

TN_LAYER(batch_normalization,
         TN_OPERATORS(&batch_normalization_6, &batch_normalization_7, &batch_normalization_9,
                      &batch_normalization_14),
         tn_batch_normalization_kernels);
