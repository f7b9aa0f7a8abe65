/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: the largest element of each window (MaxPool), and where it was found, the mean
 * (AveragePool), or the length by the p-norm (LpPool); and the same of whole planes (GlobalMaxPool,
 * GlobalAveragePool, GlobalLpPool). The references are in reference.c, kernels beside it; means of
 * 8-bit integers in quantized/.
 */
#include <tenon/kit/known_steps.h>
#include "kit/operator/layer.h"
#include "pool/pool.h"

#include <tenon/plugin/plane_mean.h>

#define FIELDS_OF_PADDING                                                                          \
    TN_FIELD_CHOICE(tn_pool_params, auto_pad, TN_FIELD_ENUM, TN_OPTIONAL, "NOTSET",                \
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),           \
        TN_FIELD(tn_pool_params, ceil_mode, TN_FIELD_BOOL, TN_OPTIONAL, "0",                       \
                 "whether the output's extents are rounded up")
#define FIELDS_OF_WINDOW                                                                           \
    TN_FIELD(tn_pool_params, kernel_shape, TN_FIELD_I64S, TN_REQUIRED, NULL,                       \
             "extents of the window"),                                                             \
        TN_FIELD_STRIDES(tn_pool_params), TN_FIELD_DILATIONS(tn_pool_params),                      \
        TN_FIELD_PADS(tn_pool_params)
static const tn_field max_pool_fields[] = {
    FIELDS_OF_PADDING,
    TN_FIELD_CHOICE(tn_pool_params, storage_order, TN_FIELD_ENUM, TN_OPTIONAL, "row_major",
                    "row_major|column_major", "how Indices count the spatial axes"),
    FIELDS_OF_WINDOW,
};
static const tn_field average_pool_fields[] = {
    FIELDS_OF_PADDING,
    TN_FIELD(tn_pool_params, count_include_pad, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether padding counts as zeros"),
    FIELDS_OF_WINDOW,
};

/* Before opset 2 a real number. */
#define FIELD_OF_NORM(params)                                                                      \
    TN_FIELD_RANGE(params, p, TN_FIELD_F64, TN_OPTIONAL, "2", 0x1p-10, 1024,                       \
                   "the norm: (sum of |x|^p)^(1/p)")
static const tn_field lp_pool_fields[] = {
    FIELDS_OF_PADDING,
    FIELDS_OF_WINDOW,
    FIELD_OF_NORM(tn_pool_params),
};
static const tn_field global_lp_pool_fields[] = {FIELD_OF_NORM(tn_global_lp_pool_params)};

tn_status tn_pool_window(tn_call *call, tn_window *out_window) {
    const tn_pool_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    tn_window_fields fields = {.kernel = params->kernel_shape,
                               .strides = params->strides,
                               .dilations = params->dilations,
                               .pads = params->pads,
                               .auto_pad = params->auto_pad,
                               .ceil_mode = params->ceil_mode};
    if (fields.kernel.count == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'kernel_shape' is empty");
    return tn_window_resolve(call, &fields, x->rank - 2, x->shape + 2, out_window);
}

static tn_status pool_infer(tn_call *call) {
    tn_window window;
    TN_TRY(tn_pool_window(call, &window));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1]};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    TN_TRY(tn_infer_set_shape(call, TN_POOL_Y, x->rank, shape));
    return tn_infer_set_shape(call, TN_POOL_INDICES, x->rank, shape);
}

static tn_status global_pool_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1], 1, 1, 1, 1, 1, 1};
    return tn_infer_set_shape(call, TN_POOL_Y, x->rank, shape);
}

/* Windows side by side, from the beginning, of no more than the last two axes. */
static tn_status max_pool_facet(tn_call *call, uint32_t input, const char *name,
                                tn_facet *out_facet) {
    tn_window window;
    const tn_pool_params *params = call->params;
    uint32_t extents[2] = {1, 1};
    (void)input;
    if (!tn_known_is(name, TN_FACET_WINDOW_MAX)) return TN_ERROR_UNSUPPORTED;
    if (params->auto_pad != TN_AUTO_PAD_NOTSET && params->auto_pad != TN_AUTO_PAD_VALID)
        return TN_ERROR_UNSUPPORTED; /* pads would change with the shape */
    TN_TRY(tn_pool_window(call, &window));
    for (uint32_t i = 0; i < window.rank; i++) {
        const uint32_t back = window.rank - i;
        if (window.kernel[i] != window.stride[i] || window.dilation[i] != 1 ||
            window.pad_begin[i] != 0 || window.pad_end[i] != 0 || window.kernel[i] > 65535 ||
            (back > 2 && window.kernel[i] != 1))
            return TN_ERROR_UNSUPPORTED;
        if (back <= 2) extents[2 - back] = (uint32_t)window.kernel[i];
    }
    return tn_known_window_max(name, extents, out_facet);
}

/* A window that is the whole plane. */
static tn_status average_pool_facet(tn_call *call, uint32_t input, const char *name,
                                    tn_facet *out_facet) {
    tn_window window;
    const tn_pool_params *params = call->params;
    (void)input;
    if (!tn_known_is(name, TN_FACET_PLANE_MEAN)) return TN_ERROR_UNSUPPORTED;
    if (params->auto_pad != TN_AUTO_PAD_NOTSET && params->auto_pad != TN_AUTO_PAD_VALID)
        return TN_ERROR_UNSUPPORTED; /* pads would change with the shape */
    TN_TRY(tn_pool_window(call, &window));
    for (uint32_t i = 0; i < window.rank; i++)
        if (window.kernel[i] != window.input[i] || window.output[i] != 1 ||
            window.dilation[i] != 1 || window.pad_begin[i] != 0 || window.pad_end[i] != 0)
            return TN_ERROR_UNSUPPORTED;
    return tn_known_plane_mean(name, out_facet);
}

static tn_status global_average_pool_facet(tn_call *call, uint32_t input, const char *name,
                                           tn_facet *out_facet) {
    (void)call;
    (void)input;
    return tn_known_plane_mean(name, out_facet);
}

static const tn_port pool_inputs[] = {TN_PORT("X", "T:float", 0, "batch, channels, spatial axes")};
static const tn_port max_pool_inputs[] = {
    TN_PORT("X", "T:float|i8|u8", 0, "batch, channels, spatial axes")};
static const tn_port max_pool_outputs[] = {
    TN_PORT("Y", "T", 0, "the largest elements"),
    TN_PORT("Indices", "i64", TN_PORT_OPTIONAL,
            "the index of each in X, counted over all axes; -1: the window saw padding alone"),
};
static const tn_port lp_pool_outputs[] = {TN_PORT("Y", "T", 0, "the lengths")};
static const tn_port average_pool_outputs[] = {TN_PORT("Y", "T", 0, "the means")};
static const tn_port global_pool_outputs[] = {TN_PORT("Y", "T", 0, "batch, channels, ones")};

#define COMMON_CASES                                                                               \
    "kernel_shape=[1,1] | X=f32[1,1,1,1]", "kernel_shape=[2,2] strides=[2,2] | X=f32[2,3,8,10]",   \
        "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] | X=f32[1,5,15,17]"
#define VOLUME_CASES                                                                               \
    "kernel_shape=[3,3,3] strides=[2,2,2] pads=[1,1,1,1,1,1] | X=f32[2,3,7,9,37]",                 \
        "kernel_shape=[1,2,2] strides=[1,2,2] | X=f32[1,3,5,7,35]",                                \
        ("kernel_shape=[2,4,5] dilations=[3,1,2] strides=[1,3,1] pads=[2,0,3,1,1,4] ceil_mode=1 "  \
         "| X=f32[1,2,6,11,20]")
#define DILATED_CASES                                                                              \
    "kernel_shape=[2,3] dilations=[2,3] ceil_mode=1 strides=[3,2] | X=f32[1,2,12,13]",             \
        "kernel_shape=[4,4] auto_pad=SAME_LOWER strides=[2,3] | X=f64[1,2,9,11]"
static const char *const max_pool_cases[] = {
    COMMON_CASES,
    VOLUME_CASES,
    DILATED_CASES,
    "kernel_shape=[3] pads=[1,1] storage_order=column_major | X=f32[2,2,17]",
    "kernel_shape=[2,2,2] strides=[2,2,2] ceil_mode=1 | X=f32[1,2,5,5,5]",
    "kernel_shape=[2,2] | X=i8[1,3,5,5]",
    "kernel_shape=[3,2] | X=u8[1,3,5,6]",
    "kernel_shape=[2,2] | X=f16[1,9,7,7]",
    "kernel_shape=[2,2] strides=[2,2] | X=f32[0,3,8,8]",
    "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] | X=f32[1,64,112,112]",
};
static const char *const average_pool_cases[] = {
    COMMON_CASES,
    VOLUME_CASES,
    "kernel_shape=[2,2] strides=[2,2] | X=f32[1,3,9,37]",
    "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1 | X=f32[1,5,15,17]",
    DILATED_CASES,
    "kernel_shape=[3] pads=[1,1] ceil_mode=1 strides=[2] count_include_pad=1 | X=f32[2,2,18]",
    "kernel_shape=[2,2,2] strides=[2,2,2] | X=f16[1,2,5,5,5]",
    "kernel_shape=[2,2] | X=f32[0,3,8,8]",
    ("kernel_shape=[3,2] strides=[2,3] ceil_mode=1 count_include_pad=1 pads=[1,0,2,1] | "
     "X=f32[2,3,9,8]"),
    "kernel_shape=[2,2] dilations=[3,2] pads=[1,1,1,1] | X=f32[1,2,7,8]",
    "kernel_shape=[2,2,2] count_include_pad=1 pads=[1,0,1,0,1,1] | X=f32[1,2,5,4,3]",
    "kernel_shape=[3] pads=[2,2] strides=[2] | X=bf16[1,2,9]",
    "kernel_shape=[7,5] strides=[2,1] | X=f32[2,3,7,5]",
    "kernel_shape=[3,3] pads=[1,1,1,1] | X=f32[1,64,35,35]",
};
static const char *const lp_pool_cases[] = {
    COMMON_CASES,
    DILATED_CASES,
    "kernel_shape=[2,2] p=1 | X=f32[1,1,2,2]{1,-2,3,-4} | Y=f32[1,1,1,1]{10}",
    "kernel_shape=[3] p=3 pads=[1,1] | X=f64[1,2,7]",
    "kernel_shape=[2] p=2 | X=f64[1,1,3]{3,-4,0} | Y=f64[1,1,2]{5,4}",
    "kernel_shape=[2,2,2] p=4 strides=[2,2,2] | X=f16[1,2,5,5,5]",
    "kernel_shape=[2,2] | X=bf16[0,3,8,8]",
    "kernel_shape=[3,3] p=2 pads=[1,1,1,1] | X=f32[1,16,35,35]",
};
static const char *const global_lp_pool_cases[] = {
    "| X=f32[1,1,1,1]",
    "p=1 | X=f32[2,3,5,7]",
    "p=3 | X=f32[1,3,17]",
    "p=0.5 | X=f64[1,1,2]{4,9} | Y=f64[1,1,1]{25}",
    "| X=f64[1,1,2,1]{3,-4} | Y=f64[1,1,1,1]{5}",
    "| X=f16[2,9,33,3]",
    "| X=f32[1,2,0] | Y=f32[1,2,1]{0,0}",
    "| X=f32[0,3,8,8]",
    "| X=f32[1,512,7,7]",
};
static const char *const global_pool_cases[] = {
    "| X=f32[1,1,1,1]",    "| X=f32[2,3,5,7]",    "| X=f32[1,3,17]",  "| X=f64[1,2,3,4,5]",
    "| X=f16[2,9,33,3]",   "| X=bf16[1,4,7,7]",   "| X=f32[0,3,8,8]", "| X=f32[1,2048,7,7]",
    "| X=f16[1,24,67,61]", "| X=f32[2,12,64,64]",
};

#define POOL(prefix, operator_name, words, fields, input_table, output_table, rule, case_table,    \
             ...)                                                                                  \
    static const tn_operator prefix = {TN_OPERATOR_BEGIN("", operator_name, 1, words),             \
                                       fields,                                                     \
                                       TN_INPUTS(input_table),                                     \
                                       TN_OUTPUTS(output_table),                                   \
                                       .infer = rule,                                              \
                                       .reference = tn_##prefix##_reference,                       \
                                       TN_CASES(case_table),                                       \
                                       __VA_ARGS__}
#define FIELDS(table) TN_FIELDS(tn_pool_params, table)
POOL(max_pool, "MaxPool", "The largest element of each window.", FIELDS(max_pool_fields),
     max_pool_inputs, max_pool_outputs, pool_infer, max_pool_cases, .traits = TN_OPERATOR_SELECTS,
     .facet = max_pool_facet);
POOL(average_pool, "AveragePool", "The mean of each window.", FIELDS(average_pool_fields),
     pool_inputs, average_pool_outputs, pool_infer, average_pool_cases, .traits = 0,
     .facet = average_pool_facet);
POOL(global_max_pool, "GlobalMaxPool", "The largest element of each channel.", TN_NO_FIELDS,
     pool_inputs, global_pool_outputs, global_pool_infer, global_pool_cases,
     .traits = TN_OPERATOR_SELECTS);
POOL(global_average_pool, "GlobalAveragePool", "The mean of each channel.", TN_NO_FIELDS,
     pool_inputs, global_pool_outputs, global_pool_infer, global_pool_cases, .traits = 0,
     .facet = global_average_pool_facet);
POOL(lp_pool, "LpPool", "The length of each window by the p-norm.", FIELDS(lp_pool_fields),
     pool_inputs, lp_pool_outputs, pool_infer, lp_pool_cases, .traits = 0);
POOL(global_lp_pool, "GlobalLpPool", "The length of each channel by the p-norm.",
     TN_FIELDS(tn_global_lp_pool_params, global_lp_pool_fields), pool_inputs, global_pool_outputs,
     global_pool_infer, global_lp_pool_cases, .traits = 0);

TN_LAYER_WITH_REWRITES(pool,
                       TN_OPERATORS(&max_pool, &average_pool, &lp_pool, &global_max_pool,
                                    &global_average_pool, &global_lp_pool,
                                    &tn_quantized_average_pool_1,
                                    &tn_quantized_global_average_pool_1),
                       tn_pool_kernels, tn_means_rewrites);
