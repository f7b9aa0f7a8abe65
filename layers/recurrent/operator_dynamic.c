/* SPDX-License-Identifier: Apache-2.0 */
/* The table and the reference of DynamicQuantizeLSTM; see dynamic.h. */
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "recurrent/dynamic.h"
#include "recurrent/read.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * quantisation */

tn_dynamic_range tn_dynamic_range_of(float low, float high) {
    const float scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float exact = 0.0f - low / scale;
    return (tn_dynamic_range){scale,
                              exact > 0 ? (int32_t)nearbyintf(exact < 255 ? exact : 255) : 0};
}

/* Element of a tensor of one number a direction or one a column. */
static int64_t element_of(const tn_tensor *tensor, int64_t direction, int64_t column) {
    return tensor->rank == 2 ? direction * tensor->shape[1] + column : direction;
}

float tn_dynamic_scale(const tn_recurrent *node, int which, int64_t direction, int64_t column) {
    const tn_tensor *scale = node->scales[which];
    return ((const float *)scale->data)[element_of(scale, direction, column)];
}

int32_t tn_dynamic_zero(const tn_recurrent *node, int which, int64_t direction, int64_t column) {
    const tn_tensor *zero = node->zeros[which];
    return zero ? (int32_t)tn_element_i64(zero, element_of(zero, direction, column)) : 0;
}

void tn_dynamic_round(int64_t count, double *values) {
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        const float value = (float)values[i];
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    const tn_dynamic_range range = tn_dynamic_range_of(low, high);
    for (int64_t i = 0; i < count; i++) {
        const double whole = nearbyint((double)((float)values[i] / range.scale)) + range.zero;
        const double held = whole > 255 ? 255 : whole > 0 ? whole : 0;
        values[i] = isnan(whole) ? 0 : (held - range.zero) * (double)range.scale;
    }
}

/* ----------------------------------------------------------------------------------------------
 * reference: an LSTM of the values that the integers stand for */

/* `to`: directions, columns, depth. */
static void dequantise_weights(const tn_recurrent *node, int which, const tn_tensor *weights,
                               double *to) {
    const int64_t depth = weights->shape[1], columns = node->columns;
    for (int64_t d = 0; d < node->directions; d++)
        for (int64_t column = 0; column < columns; column++)
            for (int64_t k = 0; k < depth; k++)
                *to++ =
                    (double)((int32_t)tn_element_i64(weights, (d * depth + k) * columns + column) -
                             tn_dynamic_zero(node, which, d, column)) *
                    (double)tn_dynamic_scale(node, which, d, column);
}

static tn_tensor of_doubles(const tn_tensor *tensor, double *data) {
    tn_tensor result = *tensor;
    result.type = TN_F64;
    result.data = data;
    return result;
}

static tn_status dynamic_reference(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    TN_TRY(tn_recurrent_check_lengths(call, &node));
    if (node.streams == 0 || node.hidden == 0) return TN_OK;
    const int64_t x_count = tn_element_count(node.x),
                  w_count = tn_element_count(node.input_weights);
    const int64_t r_count = tn_element_count(node.hidden_weights);
    int64_t count;
    void *memory = NULL;
    if (!tn_infer_add(x_count, w_count, &count) || !tn_infer_add(count, r_count, &count))
        count = INT64_MAX;
    TN_TRY(tn_product_allocate(call, count, sizeof(double), &memory));
    double *x = memory, *w = x + x_count, *r = w + w_count;
    tn_element_read_f64(node.x->data, node.x->type, 0, 1, x_count, x);
    tn_dynamic_round(x_count, x);
    dequantise_weights(&node, TN_DYNAMIC_W, node.input_weights, w);
    dequantise_weights(&node, TN_DYNAMIC_R, node.hidden_weights, r);
    const tn_tensor wide_x = of_doubles(node.x, x), wide_w = of_doubles(node.input_weights, w),
                    wide_r = of_doubles(node.hidden_weights, r);
    node.x = &wide_x;
    node.input_weights = &wide_w;
    node.hidden_weights = &wide_r;
    const tn_status status = tn_recurrent_reference_of(call, &node);
    call->host->deallocate(call->host, memory);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * table */

static const tn_port dynamic_lstm_inputs[] = {
    TN_PORT("X", "f32", 0, "steps, batch, depth"),
    TN_PORT("W", "T2:u8|i8", 0, "directions, depth, 4 hidden: weights of X"),
    TN_PORT("R", "T2", 0, "directions, hidden, 4 hidden: weights of the hidden state"),
    TN_PORT("B", "f32", TN_PORT_OPTIONAL, "directions, 8 hidden: of W, then of R"),
    TN_PORT("sequence_lens", "i32", TN_PORT_OPTIONAL,
            "batch: steps of each sequence, 0..steps; absent: all"),
    TN_PORT("initial_h", "f32", TN_PORT_OPTIONAL, "directions, batch, hidden; absent: 0"),
    TN_PORT("initial_c", "f32", TN_PORT_OPTIONAL, "as initial_h"),
    TN_PORT("P", "f32", TN_PORT_OPTIONAL, "directions, 3 hidden: peepholes of i, o, f"),
    TN_PORT("W_scale", "f32", 0, "directions; or directions, 4 hidden"),
    TN_PORT("W_zero_point", "T2", TN_PORT_OPTIONAL, "as W_scale; absent: 0"),
    TN_PORT("R_scale", "f32", 0, "directions; or directions, 4 hidden"),
    TN_PORT("R_zero_point", "T2", TN_PORT_OPTIONAL, "as R_scale; absent: 0"),
};
static const tn_port dynamic_lstm_outputs[] = {
    TN_PORT("Y", "f32", TN_PORT_OPTIONAL, "steps, directions, batch, hidden"),
    TN_PORT("Y_h", "f32", TN_PORT_OPTIONAL, "directions, batch, hidden: the last state"),
    TN_PORT("Y_c", "f32", TN_PORT_OPTIONAL, "as Y_h: the last cell state"),
};

/* The first by hand: x = 1 is the byte 255 of scale 1 / 255, so that the candidate's sum is 1. */
static const char *const dynamic_lstm_cases[] = {
    ("hidden_size=1 | X=f32[2,1,1]{1,0} W=i8[1,1,4]{0,0,0,4} R=i8[1,1,4]{0,0,0,0} "
     "W_scale=f32[1]{0.25} W_zero_point=i8[1]{0} R_scale=f32[1]{1} R_zero_point=i8[1]{0} | "
     "Y=f32[2,1,1,1]{0.1816997,0.0940653} Y_h=f32[1,1,1]{0.0940653} Y_c=f32[1,1,1]{0.1903985}"),
    ("| X=f32[1,1,3] W=u8[1,3,8] R=u8[1,2,8] B=f32[1,16] W_scale=f32[1]{0.01} "
     "W_zero_point=u8[1]{120} R_scale=f32[1]{0.02} R_zero_point=u8[1]{131}"),
    ("direction=bidirectional | X=f32[4,3,5] W=i8[2,5,20] R=i8[2,5,20] B=f32[2,40] "
     "sequence_lens=i32[3]{4,1,0} initial_h=f32[2,3,5] initial_c=f32[2,3,5] P=f32[2,15] "
     "W_scale=f32[2]{0.01,0.02} W_zero_point=i8[2]{3,0} R_scale=f32[2]{0.01,0.01} "
     "R_zero_point=i8[2]{-2,1}"),
    ("direction=reverse clip=0.5 input_forget=1 | X=f32[5,2,3] W=i8[1,3,28] R=i8[1,7,28] "
     "W_scale=f32[1]{0.01} R_scale=f32[1]{0.015}"),
    ("| X=f32[3,30,33] W=i8[1,33,260] R=i8[1,65,260] W_scale=f32[1]{0.004} R_scale=f32[1]{0.003}"),
    "| X=f32[0,2,3] W=i8[1,3,8] R=i8[1,2,8] W_scale=f32[1]{0.1} R_scale=f32[1]{0.1}",
    "| X=f32[3,0,3] W=i8[1,3,8] R=i8[1,2,8] W_scale=f32[1]{0.1} R_scale=f32[1]{0.1}",
};

static const tn_recurrent_kind dynamic_kind = {.cell = TN_CELL_LSTM,
                                               .gates = 4,
                                               .rows = {0, 2, 1, 3},
                                               .functions = 3,
                                               .defaults = {"Sigmoid", "Tanh", "Tanh"},
                                               .read = tn_recurrent_read_onnx,
                                               .input_weights = TN_ONNX_W,
                                               .hidden_weights = TN_ONNX_R,
                                               .is_dynamic = true};

const tn_operator tn_dynamic_lstm_1 = {
    TN_OPERATOR_BEGIN("com.microsoft", "DynamicQuantizeLSTM", 1,
                      "Long short-term memory whose products are of 8-bit integers: X and the "
                      "hidden state are quantised by their ranges."),
    TN_FIELDS(tn_recurrent_params, tn_lstm_fields),
    TN_INPUTS(dynamic_lstm_inputs),
    TN_OUTPUTS(dynamic_lstm_outputs),
    .infer = tn_recurrent_infer,
    .reference = dynamic_reference,
    .user = (void *)(uintptr_t)&dynamic_kind,
    TN_CASES(dynamic_lstm_cases),
    .operations = tn_recurrent_operations,
};
