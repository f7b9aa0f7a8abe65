/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN of ONNX. The formulas are in recurrent.h; the tables of Caffe's operators,
 * which run by the same reference and kernels, in operator_caffe.c. */
#include "kit/operator/layer.h"
#include "recurrent/dynamic.h"
#include "recurrent/read.h"
#include "recurrent/recurrent.h"

tn_status tn_recurrent_infer(tn_call *call) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const int64_t steps_first[] = {node.steps, node.directions, node.streams, node.hidden};
    const int64_t streams_first[] = {node.streams, node.steps, node.directions, node.hidden};
    const int64_t state[] = {node.directions, node.streams, node.hidden};
    const int64_t state_of_streams[] = {node.streams, node.directions, node.hidden};
    TN_TRY(tn_infer_set_shape(call, 0, 4, node.streams_first ? streams_first : steps_first));
    for (uint32_t i = 1; i <= (tn_recurrent_has_cell(&node) ? 2 : 1); i++)
        TN_TRY(tn_infer_set_shape(call, i, 3, node.streams_first ? state_of_streams : state));
    return TN_OK;
}

tn_status tn_recurrent_operations(tn_call *call, double *out_operations) {
    tn_recurrent node = {0};
    TN_TRY(tn_recurrent_read(call, &node));
    const double streams = (double)node.streams, hidden = (double)node.hidden;
    double each = (double)node.columns * (double)(node.depth + node.hidden); /* step of a stream */
    if (node.output_weights) each += hidden * hidden;
    *out_operations =
        2 * streams * (double)node.directions *
        ((double)node.steps * each + (double)node.columns * (double)node.static_depth);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * fields */

#define PARAMS        tn_recurrent_params
#define CLIP_GREATEST 3.4028234663852886e38
#define DIRECTION     "forward|reverse|bidirectional"
#define ACTIVATION_DOC                                                                             \
    "names, those of the second direction behind the first's; whatever the case of their letters"
#define COMMON_FIELDS                                                                              \
    TN_FIELD_RANGE(PARAMS, hidden_size, TN_FIELD_I64, TN_OPTIONAL, NULL, 0, 0x7fffffff,            \
                   "elements of the hidden state; absent: as R has"),                              \
        TN_FIELD_CHOICE(PARAMS, direction, TN_FIELD_ENUM, TN_OPTIONAL, "forward", DIRECTION,       \
                        "from which end the steps are done"),                                      \
        TN_FIELD(PARAMS, activations, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, ACTIVATION_DOC),        \
        TN_FIELD(PARAMS, activation_alpha, TN_FIELD_F32S, TN_OPTIONAL, NULL,                       \
                 "alpha of those activations that have one, in their order"),                      \
        TN_FIELD(PARAMS, activation_beta, TN_FIELD_F32S, TN_OPTIONAL, NULL,                        \
                 "beta of those activations that have one, in their order"),                       \
        TN_FIELD_RANGE(PARAMS, clip, TN_FIELD_F32, TN_OPTIONAL, "3.4028234663852886e38", 0,        \
                       CLIP_GREATEST,                                                              \
                       "bound of all activations' arguments on both sides, h's too")
#define SEQUENCE_FIELD                                                                             \
    TN_FIELD(PARAMS, output_sequence, TN_FIELD_BOOL, TN_OPTIONAL, "0",                             \
             "whether Y is wanted; it is computed where it is an output of the node")
#define FORGET_FIELD                                                                               \
    TN_FIELD(PARAMS, input_forget, TN_FIELD_BOOL, TN_OPTIONAL, "0",                                \
             "whether the forget gate is 1 - the input gate")
#define RESET_FIELD                                                                                \
    TN_FIELD(PARAMS, linear_before_reset, TN_FIELD_BOOL, TN_OPTIONAL, "0",                         \
             "whether the candidate's product is taken before the reset gate")
#define LAYOUT_FIELD                                                                               \
    TN_FIELD_CHOICE(PARAMS, layout, TN_FIELD_ENUM, TN_OPTIONAL, "steps_first",                     \
                    "steps_first=0|batch_first=1", "the first axis of X, Y and the states")

static const tn_field lstm_1_fields[] = {COMMON_FIELDS, FORGET_FIELD, SEQUENCE_FIELD};
const tn_field tn_lstm_fields[7] = {COMMON_FIELDS, FORGET_FIELD};
static const tn_field lstm_14_fields[] = {COMMON_FIELDS, FORGET_FIELD, LAYOUT_FIELD};
static const tn_field gru_1_fields[] = {COMMON_FIELDS, SEQUENCE_FIELD};
static const tn_field gru_3_fields[] = {COMMON_FIELDS, RESET_FIELD, SEQUENCE_FIELD};
static const tn_field gru_7_fields[] = {COMMON_FIELDS, RESET_FIELD};
static const tn_field gru_14_fields[] = {COMMON_FIELDS, RESET_FIELD, LAYOUT_FIELD};
static const tn_field rnn_1_fields[] = {COMMON_FIELDS, SEQUENCE_FIELD};
static const tn_field rnn_7_fields[] = {COMMON_FIELDS};
static const tn_field rnn_14_fields[] = {COMMON_FIELDS, LAYOUT_FIELD};

/* ----------------------------------------------------------------------------------------------
 * ports */

#define COMMON_INPUTS                                                                              \
    TN_PORT("X", "T:float", 0, "steps, batch, depth; batch first with layout 1"),                  \
        TN_PORT("W", "T", 0, "directions, gates hidden, depth: weights of X"),                     \
        TN_PORT("R", "T", 0, "directions, gates hidden, hidden: weights of the hidden state"),     \
        TN_PORT("B", "T", TN_PORT_OPTIONAL, "directions, 2 gates hidden: of W, then of R"),        \
        TN_PORT("sequence_lens", "i32", TN_PORT_OPTIONAL,                                          \
                "batch: steps of each sequence, 0..steps; absent: all"),                           \
        TN_PORT("initial_h", "T", TN_PORT_OPTIONAL,                                                \
                "directions, batch, hidden (layout 1: batch first); absent: 0")
static const tn_port lstm_inputs[] = {
    COMMON_INPUTS,
    TN_PORT("initial_c", "T", TN_PORT_OPTIONAL, "the cell state, as initial_h; absent: 0"),
    TN_PORT("P", "T", TN_PORT_OPTIONAL, "directions, 3 hidden: peepholes of i, o, f; absent: 0")};
static const tn_port gru_inputs[] = {COMMON_INPUTS};

#define COMMON_OUTPUTS                                                                             \
    TN_PORT("Y", "T", TN_PORT_OPTIONAL,                                                            \
            "steps, directions, batch, hidden; layout 1: batch, steps, directions, hidden"),       \
        TN_PORT("Y_h", "T", TN_PORT_OPTIONAL, "the last hidden states, as initial_h")
static const tn_port lstm_outputs[] = {
    COMMON_OUTPUTS, TN_PORT("Y_c", "T", TN_PORT_OPTIONAL, "the last cell states, as initial_h")};
static const tn_port gru_outputs[] = {COMMON_OUTPUTS};

/* ----------------------------------------------------------------------------------------------
 * LSTM */

/* The first by hand: i = o = f = 1/2 and the candidate is tanh(x + h), so c_1 = tanh(1) / 2,
 * h_1 = tanh(c_1) / 2, c_2 = (c_1 + tanh(h_1)) / 2, h_2 = tanh(c_2) / 2. */
#define LSTM_FIRST_CASES                                                                           \
    "hidden_size=1 | X=f32[2,1,1]{1,0} W=f32[1,4,1]{0,0,0,1} R=f32[1,4,1]{0,0,0,1} | "             \
    "Y=f32[2,1,1,1]{0.1816997,0.1365736} Y_h=f32[1,1,1]{0.1365736} Y_c=f32[1,1,1]{0.2800464}",     \
        "| X=f32[1,1,3] W=f32[1,8,3] R=f32[1,8,2] B=f32[1,16]",                                    \
        "direction=bidirectional | X=f32[4,3,5] W=f32[2,20,5] R=f32[2,20,5] B=f32[2,40] "          \
        "sequence_lens=i32[3]{4,1,0} initial_h=f32[2,3,5] initial_c=f32[2,3,5] P=f32[2,15]",       \
        "direction=reverse clip=0.5 input_forget=1 | X=f32[5,2,3] W=f32[1,28,3] R=f32[1,28,7] "    \
        "sequence_lens=i32[2]{5,3} P=f32[1,21]",                                                   \
        "activations=[\"HardSigmoid\",\"ScaledTanh\",\"Softsign\"] activation_alpha=[0.3,1.5] "    \
        "activation_beta=[0.4,0.7] | X=f32[3,2,4] W=f32[1,12,4] R=f32[1,12,3] B=f32[1,24]",        \
        "| X=f64[3,2,3] W=f64[1,8,3] R=f64[1,8,2] B=f64[1,16] P=f64[1,6]",                         \
        "direction=bidirectional input_forget=1 clip=0.7 | X=f64[4,5,9] W=f64[2,44,9] "            \
        "R=f64[2,44,11] B=f64[2,88] sequence_lens=i32[5]{4,1,0,3,4} initial_h=f64[2,5,11] "        \
        "initial_c=f64[2,5,11]",                                                                   \
        "| X=f16[2,2,3] W=f16[1,8,3] R=f16[1,8,2]",                                                \
        "| X=f32[0,2,3] W=f32[1,8,3] R=f32[1,8,2] initial_h=f32[1,2,2] initial_c=f32[1,2,2]",      \
        "| X=f32[3,0,3] W=f32[1,8,3] R=f32[1,8,2]"
static const char *const lstm_1_cases[] = {LSTM_FIRST_CASES};
static const char *const lstm_14_cases[] = {
    LSTM_FIRST_CASES,
    "layout=batch_first direction=bidirectional | X=f32[2,4,3] W=f32[2,20,3] R=f32[2,20,5] "
    "B=f32[2,40] "
    "sequence_lens=i32[2]{2,4} initial_h=f32[2,2,5] initial_c=f32[2,2,5] | Y=f32[2,4,2,5] "
    "Y_h=f32[2,2,5] Y_c=f32[2,2,5]",
    "| X=bf16[2,2,3] W=bf16[1,8,3] R=bf16[1,8,2]",
    ("layout=batch_first direction=bidirectional | X=f16[9,5,33] W=f16[2,272,33] R=f16[2,272,68] "
     "B=f16[2,544] sequence_lens=i32[9]{5,1,0,2,5,5,3,4,5} initial_h=f16[9,2,68] "
     "initial_c=f16[9,2,68] P=f16[2,204]"),
    ("direction=bidirectional | X=f32[5,1,40] W=f32[2,544,40] R=f32[2,544,136] B=f32[2,1088] "
     "sequence_lens=i32[1]{3}"),
    "layout=batch_first | X=f32[8,3,33] W=f32[1,260,33] R=f32[1,260,65] B=f32[1,520] P=f32[1,195]",
};

static const tn_recurrent_kind lstm_kind = {.cell = TN_CELL_LSTM,
                                            .gates = 4,
                                            .rows = {0, 2, 1, 3},
                                            .functions = 3,
                                            .defaults = {"Sigmoid", "Tanh", "Tanh"},
                                            .read = tn_recurrent_read_onnx,
                                            .input_weights = TN_ONNX_W,
                                            .hidden_weights = TN_ONNX_R};

/* ----------------------------------------------------------------------------------------------
 * GRU */

/* The first by hand: z = r = 1/2 and the candidate is tanh(x), so h_1 = tanh(1) / 2 and
 * h_2 = h_1 / 2. */
#define GRU_FIRST_CASES                                                                            \
    "hidden_size=1 | X=f32[2,1,1]{1,0} W=f32[1,3,1]{0,0,1} R=f32[1,3,1]{0,0,0} | "                 \
    "Y=f32[2,1,1,1]{0.3807971,0.1903985} Y_h=f32[1,1,1]{0.1903985}",                               \
        "| X=f32[1,1,3] W=f32[1,6,3] R=f32[1,6,2] B=f32[1,12]",                                    \
        "direction=bidirectional | X=f32[4,3,5] W=f32[2,15,5] R=f32[2,15,5] B=f32[2,30] "          \
        "sequence_lens=i32[3]{4,1,0} initial_h=f32[2,3,5]",                                        \
        "direction=reverse clip=0.5 | X=f32[5,2,3] W=f32[1,21,3] R=f32[1,21,7] B=f32[1,42] "       \
        "sequence_lens=i32[2]{5,3}",                                                               \
        "activations=[\"Affine\",\"LeakyRelu\"] activation_alpha=[0.3,0.2] "                       \
        "activation_beta=[0.4] clip=0.9 | X=f32[3,2,4] W=f32[1,9,4] R=f32[1,9,3] B=f32[1,18]",     \
        "| X=f64[3,2,3] W=f64[1,6,3] R=f64[1,6,2] B=f64[1,12]",                                    \
        "| X=f16[2,2,3] W=f16[1,6,3] R=f16[1,6,2]",                                                \
        "| X=f32[0,2,3] W=f32[1,6,3] R=f32[1,6,2] initial_h=f32[1,2,2]"
#define GRU_RESET_CASES                                                                            \
    "linear_before_reset=1 | X=f32[4,2,3] W=f32[1,15,3] R=f32[1,15,5] B=f32[1,30]",                \
        "linear_before_reset=1 direction=bidirectional activations=[\"Tanh\",\"Elu\","             \
        "\"Sigmoid\",\"Tanh\"] | X=f64[4,6,9] W=f64[2,39,9] R=f64[2,39,13] B=f64[2,78] "           \
        "sequence_lens=i32[6]{4,1,0,3,4,2} initial_h=f64[2,6,13]",                                 \
        "linear_before_reset=1 direction=bidirectional | X=f32[4,7,3] W=f32[2,15,3] "              \
        "R=f32[2,15,5] B=f32[2,30] sequence_lens=i32[7]{4,1,0,2,3,4,4} initial_h=f32[2,7,5]"
static const char *const gru_1_cases[] = {GRU_FIRST_CASES};
static const char *const gru_3_cases[] = {GRU_FIRST_CASES, GRU_RESET_CASES};
static const char *const gru_14_cases[] = {
    GRU_FIRST_CASES,
    GRU_RESET_CASES,
    "layout=batch_first direction=bidirectional | X=f32[2,4,3] W=f32[2,15,3] R=f32[2,15,5] "
    "B=f32[2,30] "
    "initial_h=f32[2,2,5] | Y=f32[2,4,2,5] Y_h=f32[2,2,5]",
    "| X=bf16[2,2,3] W=bf16[1,6,3] R=bf16[1,6,2]",
    ("direction=bidirectional linear_before_reset=1 | X=bf16[5,9,33] W=bf16[2,204,33] "
     "R=bf16[2,204,68] B=bf16[2,408] initial_h=bf16[2,9,68]"),
    ("direction=bidirectional | X=f32[5,2,40] W=f32[2,408,40] R=f32[2,408,136] B=f32[2,816] "
     "sequence_lens=i32[2]{3,2}"),
    ("layout=batch_first linear_before_reset=1 | X=f32[8,3,33] W=f32[1,195,33] R=f32[1,195,65] "
     "B=f32[1,390] sequence_lens=i32[8]{3,3,2,1,3,3,0,3}"),
};

static const tn_recurrent_kind gru_kind = {.cell = TN_CELL_GRU,
                                           .gates = 3,
                                           .rows = {0, 1, 2},
                                           .functions = 2,
                                           .defaults = {"Sigmoid", "Tanh"},
                                           .read = tn_recurrent_read_onnx,
                                           .input_weights = TN_ONNX_W,
                                           .hidden_weights = TN_ONNX_R};

/* ----------------------------------------------------------------------------------------------
 * RNN */

/* The first by hand: h_1 = tanh(1), h_2 = tanh(h_1). */
#define RNN_FIRST_CASES                                                                            \
    "hidden_size=1 | X=f32[2,1,1]{1,0} W=f32[1,1,1]{1} R=f32[1,1,1]{1} | "                         \
    "Y=f32[2,1,1,1]{0.7615942,0.6420150} Y_h=f32[1,1,1]{0.6420150}",                               \
        "| X=f32[1,1,3] W=f32[1,2,3] R=f32[1,2,2] B=f32[1,4]",                                     \
        "direction=bidirectional | X=f32[4,3,5] W=f32[2,5,5] R=f32[2,5,5] B=f32[2,10] "            \
        "sequence_lens=i32[3]{4,1,0} initial_h=f32[2,3,5]",                                        \
        "direction=reverse clip=0.5 activations=[\"relu\"] | X=f32[5,2,3] W=f32[1,7,3] "           \
        "R=f32[1,7,7] B=f32[1,14] sequence_lens=i32[2]{5,3}",                                      \
        "direction=bidirectional activations=[\"Elu\",\"ThresholdedRelu\"] "                       \
        "activation_alpha=[0.3,0.2] | X=f32[3,2,4] W=f32[2,3,4] R=f32[2,3,3] B=f32[2,6]",          \
        "activations=[\"Softplus\"] | X=f32[2,2,3] W=f32[1,4,3] R=f32[1,4,4]",                     \
        "| X=f64[3,2,3] W=f64[1,2,3] R=f64[1,2,2] B=f64[1,4]",                                     \
        "direction=reverse clip=0.5 | X=f64[5,7,3] W=f64[1,17,3] R=f64[1,17,17]",                  \
        "| X=f16[2,2,3] W=f16[1,2,3] R=f16[1,2,2]",                                                \
        "| X=f32[0,2,3] W=f32[1,2,3] R=f32[1,2,2] initial_h=f32[1,2,2]"
static const char *const rnn_1_cases[] = {RNN_FIRST_CASES};
static const char *const rnn_14_cases[] = {
    RNN_FIRST_CASES,
    "layout=batch_first direction=bidirectional | X=f32[2,4,3] W=f32[2,5,3] R=f32[2,5,5] "
    "B=f32[2,10] "
    "initial_h=f32[2,2,5] | Y=f32[2,4,2,5] Y_h=f32[2,2,5]",
    "| X=bf16[2,2,3] W=bf16[1,2,3] R=bf16[1,2,2]",
    ("direction=bidirectional | X=f32[2,8,40] W=f32[2,136,40] R=f32[2,136,136] B=f32[2,272] "
     "sequence_lens=i32[8]{2,2,1,2,2,2,0,2}"),
};

static const tn_recurrent_kind rnn_kind = {.cell = TN_CELL_RNN,
                                           .gates = 1,
                                           .functions = 1,
                                           .defaults = {"Tanh"},
                                           .read = tn_recurrent_read_onnx,
                                           .input_weights = TN_ONNX_W,
                                           .hidden_weights = TN_ONNX_R};

/* ----------------------------------------------------------------------------------------------
 * tables */

#define RECURRENT(prefix, name, version, ports, case_table, words)                                 \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        TN_FIELDS(tn_recurrent_params, prefix##_##version##_fields),                               \
        TN_INPUTS(ports##_inputs),                                                                 \
        TN_OUTPUTS(ports##_outputs),                                                               \
        .infer = tn_recurrent_infer,                                                               \
        .reference = tn_recurrent_reference,                                                       \
        .user = (void *)(uintptr_t)&prefix##_kind,                                                 \
        TN_CASES(case_table),                                                                      \
        .operations = tn_recurrent_operations,                                                     \
    }

#define LSTM_WORDS "Long short-term memory over the steps of sequences."
#define GRU_WORDS  "Gated recurrent units over the steps of sequences."
#define RNN_WORDS  "Simple recurrent network over the steps of sequences."
RECURRENT(lstm, "LSTM", 1, lstm, lstm_1_cases, LSTM_WORDS);
#define lstm_7_fields tn_lstm_fields
RECURRENT(lstm, "LSTM", 7, lstm, lstm_1_cases, LSTM_WORDS);
RECURRENT(lstm, "LSTM", 14, lstm, lstm_14_cases, LSTM_WORDS);
RECURRENT(gru, "GRU", 1, gru, gru_1_cases, GRU_WORDS);
RECURRENT(gru, "GRU", 3, gru, gru_3_cases, GRU_WORDS);
RECURRENT(gru, "GRU", 7, gru, gru_3_cases, GRU_WORDS);
RECURRENT(gru, "GRU", 14, gru, gru_14_cases, GRU_WORDS);
RECURRENT(rnn, "RNN", 1, gru, rnn_1_cases, RNN_WORDS);
RECURRENT(rnn, "RNN", 7, gru, rnn_1_cases, RNN_WORDS);
RECURRENT(rnn, "RNN", 14, gru, rnn_14_cases, RNN_WORDS);

TN_LAYER(recurrent,
         TN_OPERATORS(&lstm_1, &lstm_7, &lstm_14, &gru_1, &gru_3, &gru_7, &gru_14, &rnn_1, &rnn_7,
                      &rnn_14, &tn_caffe_lstm_1, &tn_caffe_rnn_1, &tn_dynamic_lstm_1),
         tn_recurrent_kernels);
