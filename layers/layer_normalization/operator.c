/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormalization: the axes from `axis` on are normalised to mean zero and variance one
 * together, then scaled and shifted. Scale and B broadcast to X. RMSNormalization divides by the
 * root of the mean square alone, and has no B (Zhang and Sennrich, "Root Mean Square Layer
 * Normalization", 2019).
 */
#include <tenon/kit/broadcast.h>
#include "layer_normalization/layer_normalization.h"
#include "kit/operator/layer.h"
#include "kit/widened/widened.h"
#include <tenon/kit/known_steps.h>
#include <tenon/kit/parallel.h>
#include "layer_normalization/lanes.h"
#include "layer_normalization/rewrites.h"
#include <tenon/plugin/normalize.h>

#include <math.h>

enum { X = 0, SCALE = 1, B = 2 };

static bool has_mean(const tn_call *call) {
    return call->op->input_count > B;
}

/* A tensor that must broadcast to X without changing X's shape. */
static tn_status check_operand(tn_call *call, uint32_t input) {
    const tn_tensor *x = call->inputs[0], *operand = tn_infer_input(call, input);
    if (!operand) return TN_OK;
    bool fits = operand->rank <= x->rank;
    for (uint32_t i = 0; fits && i < operand->rank; i++)
        fits = operand->shape[i] == 1 ||
               tn_open_fits(operand->shape[i], x->shape[x->rank - operand->rank + i]);
    if (fits) return TN_OK;
    char text[TN_INFER_SHAPE_TEXT_BYTES], wanted[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' of shape %s does not broadcast to X of %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(operand->rank, operand->shape, text, sizeof(text)),
                            tn_infer_shape_text(x->rank, x->shape, wanted, sizeof(wanted)));
}

/* Checks the shapes of a LayerNormalization node; the first of the axes that are normalised
 * together. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
static tn_status layer_normalization_read(tn_call *call, uint32_t *out_axis) {
    const tn_layer_normalization_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, X, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, SCALE, 0, TN_MAX_RANK));
    TN_TRY(check_operand(call, SCALE));
    TN_TRY(check_operand(call, B));
    return tn_infer_axis(call, "field 'axis'", params->axis, call->inputs[0]->rank, out_axis);
}

static tn_type stash_type(const tn_layer_normalization_params *params) {
    switch (params->stash_type) {
    case 10:
        return TN_F16;
    case 11:
        return TN_F64;
    case 16:
        return TN_BF16;
    default:
        return TN_F32;
    }
}

static tn_status layer_normalization_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t axis = 0;
    TN_TRY(layer_normalization_read(call, &axis));
    TN_TRY(tn_infer_copy_shape(call, 0, 0));
    if (!has_mean(call)) return TN_OK;
    const tn_tensor *x = call->inputs[0];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i < axis ? x->shape[i] : 1;
    for (uint32_t output = 1; output <= 2; output++) {
        tn_infer_set_type(call, output, stash_type(call->params));
        TN_TRY(tn_infer_set_shape(call, output, x->rank, shape));
    }
    return TN_OK;
}

static double mean_square(const tn_tensor *x, int64_t first, int64_t count) {
    double sum = 0;
    for (int64_t i = first; i < first + count; i++)
        sum += tn_element_f64(x, i) * tn_element_f64(x, i);
    return sum / (double)count;
}

/* Mean and 1 / sqrt(variance + epsilon) of one lane; without a mean 0, and the mean square for the
 * variance. */
static void find_statistics(const tn_call *call, int64_t first, int64_t count, double *out_mean,
                            double *out_inverse) {
    const tn_layer_normalization_params *params = call->params;
    double variance;
    if (has_mean(call)) {
        tn_element_moments(call->inputs[0], first, count, out_mean, &variance);
    } else {
        variance = mean_square(call->inputs[0], first, count);
        *out_mean = 0;
    }
    *out_inverse = 1 / sqrt(variance + (double)params->epsilon);
}

/* One row of the broadcast, which lies inside one lane or covers several of them. */
static void normalize_row(const tn_call *call, const tn_broadcast_rows *rows, int64_t lane_elements,
                          double *mean, double *inverse) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_tensor *scale = call->inputs[SCALE];
    const tn_tensor *b = tn_infer_input(call, B);
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t at = rows->output_offset + i;
        if (at % lane_elements == 0) find_statistics(call, at, lane_elements, mean, inverse);
        double value = (tn_element_f64(x, at) - *mean) * *inverse;
        value *= tn_element_f64(scale, rows->offset[0] + i * rows->stride[0]);
        if (b) value += tn_element_f64(b, rows->offset[1] + i * rows->stride[1]);
        tn_element_set_f64(y, at, value);
    }
}

static void store_statistics(const tn_call *call, int64_t lanes, int64_t lane_elements) {
    const tn_tensor *mean = tn_infer_output(call, 1), *inverse = tn_infer_output(call, 2);
    for (int64_t i = 0; (mean || inverse) && i < lanes; i++) {
        double values[2];
        find_statistics(call, i * lane_elements, lane_elements, &values[0], &values[1]);
        if (mean) tn_element_set_f64(mean, i, values[0]);
        if (inverse) tn_element_set_f64(inverse, i, values[1]);
    }
}

static tn_status layer_normalization_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const tn_tensor *scale = call->inputs[SCALE];
    const tn_tensor *b = tn_infer_input(call, B);
    double mean = 0, inverse = 0;
    uint32_t axis = 0;
    TN_TRY(layer_normalization_read(call, &axis));
    int64_t lane_elements = tn_infer_product(x->shape, axis, x->rank);
    store_statistics(call, tn_infer_product(x->shape, 0, axis), lane_elements);
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, x->rank, x->shape);
    tn_broadcast_add(&rows, scale->rank, scale->shape);
    if (b) tn_broadcast_add(&rows, b->rank, b->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        normalize_row(call, &rows, lane_elements, &mean, &inverse);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * of floats by vectors (lanes.h), a kernel a processor level; scale and bias have the extents of a
 * lane, statistics are not given out */

typedef struct lanes_job {
    tn_layer_normalization_lane function;
    int64_t count; /* elements of a lane */
    bool has_mean;
    float epsilon;
    const float *x, *scale, *bias;
    float *y;
} lanes_job;

static tn_status lanes_accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    uint32_t axis = 0;
    TN_TRY(layer_normalization_read(call, &axis));
    if (!tn_layer_normalization_is_lane(call->inputs[SCALE], x, axis) ||
        !tn_layer_normalization_is_lane(tn_infer_input(call, B), x, axis) ||
        tn_infer_output(call, 1) || tn_infer_output(call, 2))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status lanes_reshape(tn_call *call) {
    return tn_open_ask(call, lanes_accepts);
}

/* An item is a lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    (void)thread;
    for (int64_t i = begin * job->count; i < end * job->count; i += job->count)
        job->function(job->count, job->has_mean, job->epsilon, job->x + i, job->scale, job->bias,
                      job->y + i);
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    enum { GRAIN = 8192 };
    const tn_layer_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *b = tn_infer_input(call, B);
    uint32_t axis = 0;
    TN_TRY(layer_normalization_read(call, &axis));
    if (x->bytes == 0) return TN_OK;
    lanes_job job = {.function = (tn_layer_normalization_lane)(uintptr_t)call->user,
                     .count = tn_infer_product(x->shape, axis, x->rank),
                     .has_mean = has_mean(call),
                     .epsilon = params->epsilon,
                     .x = x->data,
                     .scale = call->inputs[SCALE]->data,
                     .bias = b ? b->data : NULL,
                     .y = call->outputs[0]->data};
    return call->host->parallel_for(call, tn_infer_product(x->shape, 0, axis),
                                    tn_parallel_grain(GRAIN, job.count), do_lanes, &job);
}

#define LANES_TRAITS TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE
static const char *const combinations[] = {"f32, f32, f32? -> f32"};
static const char *const rms_combinations[] = {"f32, f32 -> f32"};
TN_LEVEL_KERNELS(lanes, tn_layer_normalization, "LayerNormalization", "lanes",
                 "Lanes by vectors, on all threads.", .traits = LANES_TRAITS,
                 TN_COMBINATIONS(combinations), .accepts = lanes_accepts, .reshape = lanes_reshape,
                 .run = lanes_run);
TN_LEVEL_KERNELS(rms_lanes, tn_layer_normalization, "RMSNormalization", "lanes",
                 "Lanes by vectors, on all threads.", .traits = LANES_TRAITS,
                 TN_COMBINATIONS(rms_combinations), .accepts = lanes_accepts,
                 .reshape = lanes_reshape, .run = lanes_run);

static const char *const halves[] = {"f16, f16, f16? -> f16", "bf16, bf16, bf16? -> bf16"};
static const char *const rms_halves[] = {"f16, f16 -> f16", "bf16, bf16 -> bf16"};
TN_WIDENED_KERNELS(widened, lanes, "LayerNormalization", TN_KERNEL_ANY_SHAPE, halves);
TN_WIDENED_KERNELS(rms_widened, rms_lanes, "RMSNormalization", TN_KERNEL_ANY_SHAPE, rms_halves);

/* ----------------------------------------------------------------------------------------------
 * of any types, in double precision */

/* An item is a lane. */
static tn_status do_wide_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *scale = call->inputs[SCALE], *b = tn_infer_input(call, B);
    const int64_t count = tn_element_count(scale);
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++) {
        double mean = 0, inverse = 0;
        find_statistics(call, lane * count, count, &mean, &inverse);
        for (int64_t i = 0; i < count; i++) {
            double value = (tn_element_f64(call->inputs[X], lane * count + i) - mean) * inverse;
            value *= tn_element_f64(scale, i);
            if (b) value += tn_element_f64(b, i);
            tn_element_set_f64(call->outputs[0], lane * count + i, value);
        }
    }
    return TN_OK;
}

static tn_status wide_run(tn_call *call) {
    enum { GRAIN = 4096 };
    const int64_t count = tn_element_count(call->inputs[SCALE]);
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, tn_element_count(call->inputs[X]) / count,
                                    tn_parallel_grain(GRAIN, count), do_wide_lanes, call);
}

#define WIDE_KERNEL(prefix, name)                                                                  \
    TN_CPU_KERNEL_OF(prefix, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, "", name,              \
                     "wide_lanes", "Lanes on all threads, in double precision.",                   \
                     .accepts = lanes_accepts, .reshape = lanes_reshape, .run = wide_run)
WIDE_KERNEL(wide_lanes, "LayerNormalization");
WIDE_KERNEL(rms_wide_lanes, "RMSNormalization");

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port layer_normalization_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
    TN_PORT("Scale", "T", 0, "factor; broadcasts to X"),
    TN_PORT("B", "T", TN_PORT_OPTIONAL, "bias; broadcasts to X"),
};
static const tn_port layer_normalization_outputs[] = {
    TN_PORT("Y", "T", 0, "X normalised, scaled and shifted"),
    TN_PORT("Mean", "float", TN_PORT_OPTIONAL, "the means; normalised axes have extent 1"),
    TN_PORT("InvStdDev", "float", TN_PORT_OPTIONAL, "one over the standard deviations"),
};
static const char *const layer_normalization_cases[] = {
    "| X=f32[1] Scale=f32[1]",
    "| X=f32[2,3,5] Scale=f32[5] B=f32[5]",
    "axis=1 | X=f32[2,3,5] Scale=f32[3,5] B=f32[3,5]",
    "axis=0 epsilon=0.1 | X=f32[4,3] Scale=f32[4,3] B=f32[3]",
    "axis=-2 | X=f64[2,3,4,5] Scale=f64[4,5]",
    "| X=f16[3,33] Scale=f16[33] B=f16[33]",
    "stash_type=bf16 | X=bf16[3,17] Scale=bf16[17] B=bf16[17]",
    "| X=f32[0,8] Scale=f32[8] B=f32[8]",
    "| X=f32[1,197,768] Scale=f32[768] B=f32[768]",
};

/* Along the last axis, by vectors of it. */
static tn_status layer_normalization_facet(tn_call *call, uint32_t input, const char *name,
                                           tn_facet *out_facet) {
    const tn_layer_normalization_params *params = call->params;
    const tn_tensor *x = call->inputs[X], *b = tn_infer_input(call, B);
    uint32_t axis = 0;
    if (input != X || !tn_known_is(name, TN_FACET_NORMALIZE) ||
        layer_normalization_read(call, &axis) != TN_OK || axis + 1 != x->rank ||
        !tn_layer_normalization_is_lane(call->inputs[SCALE], x, axis) ||
        !tn_layer_normalization_is_lane(b, x, axis))
        return TN_ERROR_UNSUPPORTED;
    tn_facet_normalize *what = out_facet->what;
    what->size = sizeof(*what);
    what->axis = (int32_t)axis;
    what->epsilon = params->epsilon;
    out_facet->operand_count = b ? 2 : 1;
    for (uint32_t i = 0; i < out_facet->operand_count; i++)
        out_facet->operands[i] = (tn_facet_operand){
            .input = SCALE + i, .form = TN_OPERAND_VECTOR, .axis = (int32_t)axis};
    return TN_OK;
}

TN_OPERATOR(layer_normalization, "", "LayerNormalization", 17,
            "Normalises trailing axes by their mean and variance.",
            TN_FIELDS(tn_layer_normalization_params, layer_normalization_fields),
            .facet = layer_normalization_facet);

static const tn_port rms_normalization_inputs[] = {
    TN_PORT("X", "T:float", 0, "any tensor"),
    TN_PORT("scale", "V:float", 0, "factor; broadcasts to X"),
};
static const tn_port rms_normalization_outputs[] = {TN_PORT("Y", "V", 0, "X normalised, scaled")};
static const char *const rms_normalization_cases[] = {
    "| X=f32[1] scale=f32[1]",
    "| X=f32[2,3,5] scale=f32[5]",
    "axis=1 epsilon=0.1 | X=f32[2,3,5] scale=f32[3,5]",
    "axis=0 | X=f32[4,3] scale=f32[3]",
    "axis=-2 | X=f64[2,3,4,5] scale=f64[4,5]",
    "| X=f16[3,33] scale=f16[33]",
    "stash_type=bf16 | X=bf16[3,17] scale=f32[17]",
    "| X=f32[0,8] scale=f32[8]",
    ("epsilon=0 | X=f32[2,2]{3,4,6,8} scale=f32[2]{5,5} | "
     "Y=f32[2,2]{4.2426405,5.6568542,4.2426405,5.6568542}"),
    "| X=f32[1,197,768] scale=f32[768]",
};
static const tn_operator rms_normalization_23 = {
    TN_OPERATOR_BEGIN("", "RMSNormalization", 23,
                      "Divides trailing axes by the root of their mean square."),
    TN_FIELDS(tn_layer_normalization_params, layer_normalization_fields),
    TN_INPUTS(rms_normalization_inputs),
    TN_OUTPUTS(rms_normalization_outputs),
    .infer = layer_normalization_infer,
    .reference = layer_normalization_reference,
    TN_CASES(rms_normalization_cases)};

TN_LAYER_WITH_REWRITES(layer_normalization,
                       TN_OPERATORS(&layer_normalization_17, &rms_normalization_23),
                       TN_KERNELS(TN_LEVEL_LIST(lanes), TN_LEVEL_LIST(rms_lanes),
                                  TN_LEVEL_LIST(widened), TN_LEVEL_LIST(rms_widened), &wide_lanes,
                                  &rms_wide_lanes),
                       tn_layer_normalization_rewrites);
