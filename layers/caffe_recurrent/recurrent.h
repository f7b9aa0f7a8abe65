/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caffe's LSTM and RNN: what the operators, their reference and their kernels share. Both run over
 * `steps` time steps of `streams` independent sequences; cont[t][n] multiplies the state that step
 * t of stream n takes from the step before it (0: a sequence begins, 1: it goes on).
 *
 * LSTM (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997, with the forget gate and
 * without peepholes, as in Zaremba and Sutskever, "Learning to Execute", 2014):
 *     [i' f' o' g'] = W_xc x_t + b_c + W_xc_static x_static + W_hc (cont_t h_{t-1})
 *     c_t = cont_t sigmoid(f') c_{t-1} + sigmoid(i') tanh(g')
 *     h_t = sigmoid(o') tanh(c_t)
 * where cont_t = 0 makes the factor of c_{t-1} zero whatever f' is. RNN (Elman, "Finding Structure
 * in Time", 1990):
 *     h_t = tanh(W_xh x_t + b_h + W_xh_static x_static + W_hh (cont_t h_{t-1}))
 *     o_t = tanh(W_ho h_t + b_o)
 */
#ifndef TN_LAYERS_CAFFE_RECURRENT_RECURRENT_H
#define TN_LAYERS_CAFFE_RECURRENT_RECURRENT_H

#include <tenon/plugin.h>

/* Inputs that both have, by index. */
enum {
    TN_RECURRENT_X = 0,
    TN_RECURRENT_CONT = 1,
    TN_RECURRENT_INPUT_WEIGHTS = 2,
    TN_RECURRENT_BIAS = 3,
    TN_RECURRENT_HIDDEN_WEIGHTS = 4
};

/* How the two differ; an operator's `user` points at its own. */
typedef struct tn_recurrent_kind {
    uint32_t gates;          /* products for each hidden element */
    uint32_t output_weights; /* input, its bias after it; 0: the hidden state is the output */
    uint32_t optional;       /* the first of x_static, its weights, h_0 and, with a cell, c_0 */
    bool has_cell;
} tn_recurrent_kind;

/* A node: its tensors, null where they are absent, and sizes that have been checked. */
typedef struct tn_recurrent {
    const tn_recurrent_kind *kind;
    const tn_tensor *x, *cont, *input_weights, *bias, *hidden_weights;
    const tn_tensor *output_weights, *output_bias; /* of an RNN */
    const tn_tensor *x_static, *static_weights;    /* both or none */
    const tn_tensor *h_0, *c_0;
    tn_tensor *y, *h_last, *c_last; /* null where nobody asks */
    int64_t steps, streams, depth, static_depth;
    int64_t hidden, columns; /* columns = gates * hidden */
} tn_recurrent;

/* TN_ERROR_SHAPE, TN_ERROR_ARGUMENT with the input's name. */
tn_status tn_recurrent_read(tn_call *call, tn_recurrent *out_recurrent);

tn_status tn_recurrent_reference(tn_call *call) TN_NOEXCEPT;

extern const tn_kernel *const tn_recurrent_kernels[6];

#endif
