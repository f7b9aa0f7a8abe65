/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSTM and RNN of BVLC's Caffe: recurrent layers over whole sequences, with the ports and the order
 * of gates of Caffe's LSTMLayer and RNNLayer. They differ from ONNX's operators of these names, but
 * run by the same reference and kernels. The formulas are in read_caffe.c.
 */
#include "kit/operator/layer.h"
#include "recurrent/recurrent.h"

static tn_status recurrent_infer(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const int64_t all[] = {node.steps, node.streams, node.hidden};
    const int64_t last[] = {1, node.streams, node.hidden};
    TN_TRY(tn_infer_set_shape(call, 0, 3, all));
    TN_TRY(tn_infer_set_shape(call, 1, 3, last));
    return tn_recurrent_has_cell(&node) ? tn_infer_set_shape(call, 2, 3, last) : TN_OK;
}

/* With its ports, cases and tn_recurrent_kind. */
#define RECURRENT(prefix, name, words)                                                             \
    const tn_operator tn_caffe_##prefix##_1 = {                                                    \
        TN_OPERATOR_BEGIN("Caffe", name, 1, words),                                                \
        TN_NO_FIELDS,                                                                              \
        TN_INPUTS(prefix##_inputs),                                                                \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = recurrent_infer,                                                                  \
        .reference = tn_recurrent_reference,                                                       \
        .user = (void *)(uintptr_t)&prefix##_kind,                                                 \
        TN_CASES(prefix##_cases),                                                                  \
        .operations = tn_recurrent_operations,                                                     \
    }

/* ----------------------------------------------------------------------------------------------
 * LSTM */

static const tn_port lstm_inputs[] = {
    TN_PORT("x", "T:float", 0, "steps, streams, any further axes"),
    TN_PORT("cont", "T", 0,
            "steps, streams: factor of the state before (0 begins a sequence, 1 goes on)"),
    TN_PORT("W_xc", "T", 0, "4 hidden rows: weights of x for the gates i, f, o, g"),
    TN_PORT("b_c", "T", 0, "4 hidden numbers: the gates' bias"),
    TN_PORT("W_hc", "T", 0, "4 hidden x hidden: weights of the hidden state"),
    TN_PORT("x_static", "T", TN_PORT_OPTIONAL, "streams, any further axes: an input of all steps"),
    TN_PORT("W_xc_static", "T", TN_PORT_OPTIONAL, "4 hidden rows: weights of x_static"),
    TN_PORT("h_0", "T", TN_PORT_OPTIONAL, "1, streams, hidden: the hidden state before; absent: 0"),
    TN_PORT("c_0", "T", TN_PORT_OPTIONAL, "1, streams, hidden: the cell state before; absent: 0"),
};
static const tn_port lstm_outputs[] = {
    TN_PORT("h", "T", 0, "steps, streams, hidden: the hidden states"),
    TN_PORT("h_T", "T", 0, "1, streams, hidden: the last hidden state"),
    TN_PORT("c_T", "T", 0, "1, streams, hidden: the last cell state"),
};
/* The first by hand: i' = f' = o' = 0 and g' = x + h, so c_1 = tanh(1) / 2, h_1 = tanh(c_1) / 2,
 * c_2 = (c_1 + tanh(h_1)) / 2, h_2 = tanh(c_2) / 2; the third step begins a sequence. */
static const char *const lstm_cases[] = {
    "| x=f32[3,1,1]{1,0,1} cont=f32[3,1]{0,1,0} W_xc=f32[4,1]{0,0,0,1} b_c=f32[4]{0,0,0,0} "
    "W_hc=f32[4,1]{0,0,0,1} | h=f32[3,1,1]{0.1816997,0.1365736,0.1816997} "
    "h_T=f32[1,1,1]{0.1816997} c_T=f32[1,1,1]{0.3807971}",
    "| x=f32[1,1,3] cont=f32[1,1]{1} W_xc=f32[8,3] b_c=f32[8] W_hc=f32[8,2]",
    "| x=f32[5,3,4] cont=f32[5,3]{0,0,0,1,1,1,1,0,1,1,1,0,0,1,1} W_xc=f32[20,4] b_c=f32[20] "
    "W_hc=f32[20,5]",
    "| x=f32[3,2,2,3] cont=f32[3,2]{0,1,1,1,1,0} W_xc=f32[28,6] b_c=f32[28] W_hc=f32[28,7] "
    "x_static=f32[2,3] W_xc_static=f32[28,3]",
    "| x=f32[3,2,6] cont=f32[3,2]{1,0,1,1,0,1} W_xc=f32[12,6] b_c=f32[12] W_hc=f32[12,3] "
    "h_0=f32[1,2,3] c_0=f32[1,2,3] | h=f32[3,2,3] h_T=f32[1,2,3] c_T=f32[1,2,3]",
    "| x=f32[2,2,3] cont=f32[2,2] W_xc=f32[12,3] b_c=f32[12] W_hc=f32[12,3] x_static=f32[2] "
    "W_xc_static=f32[12,1] h_0=f32[1,2,3] c_0=f32[1,2,3]",
    "| x=f64[4,2,3] cont=f64[4,2]{0,0,1,1,1,0,1,1} W_xc=f64[8,3] b_c=f64[8] W_hc=f64[8,2]",
    "| x=f16[2,2,3] cont=f16[2,2]{0,1,1,1} W_xc=f16[8,3] b_c=f16[8] W_hc=f16[8,2]",
    "| x=f32[0,2,3] cont=f32[0,2] W_xc=f32[8,3] b_c=f32[8] W_hc=f32[8,2] h_0=f32[1,2,2] "
    "c_0=f32[1,2,2]",
    "| x=f32[3,0,3] cont=f32[3,0] W_xc=f32[8,3] b_c=f32[8] W_hc=f32[8,2]",
    "| x=f32[4,1,80] cont=f32[4,1]{0,1,1,1} W_xc=f32[1120,80] b_c=f32[1120] "
    "W_hc=f32[1120,280]",
    "| x=f32[3,9,33] cont=f32[3,9] W_xc=f32[132,33] b_c=f32[132] W_hc=f32[132,33]",
};

static const tn_recurrent_kind lstm_kind = {.cell = TN_CELL_LSTM,
                                            .gates = 4,
                                            .rows = {0, 1, 2, 3},
                                            .functions = 3,
                                            .defaults = {"Sigmoid", "Tanh", "Tanh"},
                                            .read = tn_recurrent_read_caffe,
                                            .input_weights = 2,
                                            .hidden_weights = 4,
                                            .static_weights = 6};

RECURRENT(lstm, "LSTM", "Long short-term memory over time steps, sequences begun by cont.");

/* ----------------------------------------------------------------------------------------------
 * RNN */

static const tn_port rnn_inputs[] = {
    TN_PORT("x", "T:float", 0, "steps, streams, any further axes"),
    TN_PORT("cont", "T", 0,
            "steps, streams: factor of the state before (0 begins a sequence, 1 goes on)"),
    TN_PORT("W_xh", "T", 0, "hidden rows: weights of x"),
    TN_PORT("b_h", "T", 0, "hidden numbers: the hidden state's bias"),
    TN_PORT("W_hh", "T", 0, "hidden x hidden: weights of the hidden state"),
    TN_PORT("W_ho", "T", 0, "hidden x hidden: weights of the hidden state for the output"),
    TN_PORT("b_o", "T", 0, "hidden numbers: the output's bias"),
    TN_PORT("x_static", "T", TN_PORT_OPTIONAL, "streams, any further axes: an input of all steps"),
    TN_PORT("W_xh_static", "T", TN_PORT_OPTIONAL, "hidden rows: weights of x_static"),
    TN_PORT("h_0", "T", TN_PORT_OPTIONAL, "1, streams, hidden: the hidden state before; absent: 0"),
};
static const tn_port rnn_outputs[] = {
    TN_PORT("o", "T", 0, "steps, streams, hidden: the outputs"),
    TN_PORT("h_T", "T", 0, "1, streams, hidden: the last hidden state"),
};
/* The first by hand: h_1 = tanh(1), h_2 = tanh(h_1), h_3 = tanh(1), o = tanh(2 h). */
static const char *const rnn_cases[] = {
    "| x=f32[3,1,1]{1,0,1} cont=f32[3,1]{0,1,0} W_xh=f32[1,1]{1} b_h=f32[1]{0} W_hh=f32[1,1]{1} "
    "W_ho=f32[1,1]{2} b_o=f32[1]{0} | o=f32[3,1,1]{0.9092517,0.8575549,0.9092517} "
    "h_T=f32[1,1,1]{0.7615942}",
    "| x=f32[5,3,4] cont=f32[5,3]{0,0,0,1,1,1,1,0,1,1,1,0,0,1,1} W_xh=f32[5,4] b_h=f32[5] "
    "W_hh=f32[5,5] W_ho=f32[5,5] b_o=f32[5]",
    "| x=f32[3,2,2,3] cont=f32[3,2] W_xh=f32[7,6] b_h=f32[7] W_hh=f32[7,7] W_ho=f32[7,7] "
    "b_o=f32[7] x_static=f32[2,3] W_xh_static=f32[7,3]",
    "| x=f32[3,2,6] cont=f32[3,2]{1,0,1,1,0,1} W_xh=f32[3,6] b_h=f32[3] W_hh=f32[3,3] "
    "W_ho=f32[3,3] b_o=f32[3] h_0=f32[1,2,3] | o=f32[3,2,3] h_T=f32[1,2,3]",
    "| x=f64[4,2,3] cont=f64[4,2] W_xh=f64[2,3] b_h=f64[2] W_hh=f64[2,2] W_ho=f64[2,2] b_o=f64[2]",
    "| x=f16[2,2,3] cont=f16[2,2]{0,1,1,1} W_xh=f16[2,3] b_h=f16[2] W_hh=f16[2,2] W_ho=f16[2,2] "
    "b_o=f16[2]",
    "| x=f32[0,2,3] cont=f32[0,2] W_xh=f32[2,3] b_h=f32[2] W_hh=f32[2,2] W_ho=f32[2,2] b_o=f32[2] "
    "h_0=f32[1,2,2]",
    "| x=f32[2,1,40] cont=f32[2,1]{0,1} W_xh=f32[300,40] b_h=f32[300] W_hh=f32[300,300] "
    "W_ho=f32[300,300] b_o=f32[300]",
};

static const tn_recurrent_kind rnn_kind = {.cell = TN_CELL_RNN,
                                           .gates = 1,
                                           .functions = 1,
                                           .defaults = {"Tanh"},
                                           .read = tn_recurrent_read_caffe,
                                           .input_weights = 2,
                                           .hidden_weights = 4,
                                           .output_weights = 5,
                                           .static_weights = 8};

RECURRENT(rnn, "RNN", "Simple recurrent network over time steps, sequences begun by cont.");
