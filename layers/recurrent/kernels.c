/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the kernels of recurrent layers, and which nodes they take.
 * What they run is run.c. */
#include "recurrent/kernels.h"
#include "recurrent/dynamic.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"

static bool has_value(const tn_tensor *tensor) {
    return !tensor || tensor->data;
}

/* Weights of Caffe's static input and output layer are known, and no product is over nothing. */
static tn_status recurrent_accepts(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const bool is_known = has_value(node.output_weights) && has_value(node.static_weights);
    if (!is_known || node.hidden <= 0 || node.depth <= 0 ||
        (node.x_static && node.static_depth == 0))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status recurrent_reshape(tn_call *call) {
    tn_recurrent node = {0};
    tn_recurrent_layout layout = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_measure(call, &node, &layout));
    call->workspace_bytes = (uint64_t)layout.floats * sizeof(float);
    return TN_OK;
}

static const char *const lstm_combinations[] = {
    "f32, f32, f32, f32?, i32?, f32?, f32?, f32? -> f32?, f32?, f32?",
    "f16, f16, f16, f16?, i32?, f16?, f16?, f16? -> f16?, f16?, f16?",
    "bf16, bf16, bf16, bf16?, i32?, bf16?, bf16?, bf16? -> bf16?, bf16?, bf16?"};
static const char *const gru_combinations[] = {
    "f32, f32, f32, f32?, i32?, f32? -> f32?, f32?",
    "f16, f16, f16, f16?, i32?, f16? -> f16?, f16?",
    "bf16, bf16, bf16, bf16?, i32?, bf16? -> bf16?, bf16?"};
static const char *const rnn_combinations[] = {
    "f32, f32, f32, f32?, i32?, f32? -> f32?, f32?",
    "f16, f16, f16, f16?, i32?, f16? -> f16?, f16?",
    "bf16, bf16, bf16, bf16?, i32?, bf16? -> bf16?, bf16?"};
static const char *const caffe_lstm_combinations[] = {
    "f32, f32, f32, f32, f32, f32?, f32?, f32?, f32? -> f32?, f32?, f32?"};
static const char *const caffe_rnn_combinations[] = {
    "f32, f32, f32, f32, f32, f32, f32, f32?, f32?, f32? -> f32?, f32?"};

#define RECURRENT_LEVEL(level)                                                                     \
    static const tn_recurrent_level levels_##level = {                                             \
        &tn_matrix_##level, &tn_rows_##level, &tn_recurrent_step_##level, &tn_cells_##level}
RECURRENT_LEVEL(baseline);
RECURRENT_LEVEL(avx2);
RECURRENT_LEVEL(avx512);

#define RECURRENT_KERNELS(prefix, operator_domain, operator_name, more_traits)                     \
    TN_LEVEL_KERNELS_OF(static, prefix, TN_LEVELS(levels), operator_domain, 3, operator_name,      \
                        "packed", "Packed weights; the input's product for all steps at once.",    \
                        .traits = TN_KERNEL_DETERMINISTIC | (more_traits),                         \
                        TN_COMBINATIONS(prefix##_combinations), .accepts = recurrent_accepts,      \
                        .prepare = tn_recurrent_prepare, .release = tn_kernel_state_destroy,       \
                        .reshape = recurrent_reshape, .run = tn_recurrent_run)
RECURRENT_KERNELS(lstm, "", "LSTM", TN_KERNEL_ANY_SHAPE);
RECURRENT_KERNELS(gru, "", "GRU", TN_KERNEL_ANY_SHAPE);
RECURRENT_KERNELS(rnn, "", "RNN", TN_KERNEL_ANY_SHAPE);
RECURRENT_KERNELS(caffe_lstm, "Caffe", "LSTM", 0);
RECURRENT_KERNELS(caffe_rnn, "Caffe", "RNN", 0);

static const char *const lstm_doubles_combinations[] = {
    "f64, f64, f64, f64?, i32?, f64?, f64?, f64? -> f64?, f64?, f64?"};
static const char *const gru_doubles_combinations[] = {
    "f64, f64, f64, f64?, i32?, f64? -> f64?, f64?"};
#define rnn_doubles_combinations gru_doubles_combinations
#define DOUBLES_KERNELS(prefix, operator_name)                                                     \
    TN_LEVEL_KERNELS(prefix##_doubles, levels, operator_name, "doubles",                           \
                     "64-bit floats; some streams of a direction a unit of work.",                 \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     TN_COMBINATIONS(prefix##_doubles_combinations), .accepts = recurrent_accepts, \
                     .reshape = tn_recurrent_doubles_reshape, .run = tn_recurrent_doubles_run)
DOUBLES_KERNELS(lstm, "LSTM");
DOUBLES_KERNELS(gru, "GRU");
DOUBLES_KERNELS(rnn, "RNN");

const tn_kernel *const tn_recurrent_kernels[9] = {
    TN_LEVEL_LIST(lstm),         TN_LEVEL_LIST(gru),         TN_LEVEL_LIST(rnn),
    TN_LEVEL_LIST(lstm_doubles), TN_LEVEL_LIST(gru_doubles), TN_LEVEL_LIST(rnn_doubles),
    TN_LEVEL_LIST(caffe_lstm),   TN_LEVEL_LIST(caffe_rnn),   TN_LEVEL_LIST(tn_dynamic_lstm)};
