/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers over `steps` time steps of `streams` independent sequences: ONNX's LSTM, GRU and
 * RNN (operator.c, read.c) and those of BVLC's Caffe (operator_caffe.c, read_caffe.c, with Caffe's
 * formulas). A reader turns a node of either into a tn_recurrent; the reference and the kernels
 * know nothing else. Caffe's are cells of the same kind in one direction, to which cont, a static
 * input and an output layer are added.
 *
 * With f, g, h the activations, * the product element by element, a_k the sum of gate k over the
 * input and the hidden state before, W_k x_t + R_k h_{t-1} + Wb_k + Rb_k:
 *
 * LSTM (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; peepholes: Gers and
 * Schmidhuber, "Recurrent Nets that Time and Count", 2000):
 *     i = f(a_i + P_i * c_{t-1})    F = f(a_f + P_f * c_{t-1}), or 1 - i with input_forget
 *     c_t = F * c_{t-1} + i * g(a_c)    o = f(a_o + P_o * c_t)    h_t = o * h(c_t)
 * GRU (Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014):
 *     z = f(a_z)    r = f(a_r)    h_t = (1 - z) * g(n) + z * h_{t-1}
 *     n = W_h x_t + Wb_h + R_h (r * h_{t-1}) + Rb_h, or with linear_before_reset
 *     n = W_h x_t + Wb_h + r * (R_h h_{t-1} + Rb_h)
 * RNN (Elman, "Finding Structure in Time", 1990):
 *     h_t = f(a)
 *
 * The argument of every activation is clipped to -clip..clip first.
 */
#ifndef TN_LAYERS_RECURRENT_RECURRENT_H
#define TN_LAYERS_RECURRENT_RECURRENT_H

#include "recurrent/activation.h"

#include <float.h>

enum { TN_RECURRENT_MOST_GATES = 4, TN_RECURRENT_FUNCTIONS = 3 };

enum { TN_CELL_LSTM = 0, TN_CELL_GRU = 1, TN_CELL_RNN = 2 };

typedef struct tn_recurrent tn_recurrent;

/* How operators differ; an operator's `user` points at its own. */
typedef struct tn_recurrent_kind {
    uint32_t cell;  /* TN_CELL_... */
    uint32_t gates; /* products for each hidden element */
    /* Gate k of the cell is gate rows[k] of the weights. The cell's order: LSTM i, f, o, c; GRU z,
     * r, h. */
    uint32_t rows[TN_RECURRENT_MOST_GATES];
    uint32_t functions;                           /* activations of a direction */
    const char *defaults[TN_RECURRENT_FUNCTIONS]; /* their names */
    /* Reads a node and checks its shapes, types and fields; extents of -1 are not known. */
    tn_status (*read)(tn_call *call, tn_recurrent *out_node);
    uint32_t input_weights, hidden_weights;  /* inputs that kernels pack, by index */
    uint32_t output_weights, static_weights; /* Caffe's; 0: none */
    bool is_dynamic; /* of dynamic.h: weights are directions, depth or hidden, columns of bytes */
} tn_recurrent_kind;

/* A node: its tensors, null where they are absent or nobody asks, and sizes that have been checked.
 * All is in the order of ONNX with layout 0 unless `streams_first`. */
struct tn_recurrent {
    const tn_recurrent_kind *kind;
    const tn_tensor *x;                              /* steps, streams, depth */
    const tn_tensor *input_weights, *hidden_weights; /* directions, columns, depth or hidden */
    const tn_tensor *bias;      /* directions, columns: of the input; where `has_two_biases` */
    bool has_two_biases;        /* directions, 2 columns: of the input, of the hidden state */
    const tn_tensor *peepholes; /* directions, 3 hidden: i, o, f */
    const tn_tensor *lengths;   /* streams: steps of each */
    const tn_tensor *h_0, *c_0; /* directions, streams, hidden */
    tn_tensor *y;               /* steps, directions, streams, hidden */
    tn_tensor *h_last, *c_last; /* directions, streams, hidden */
    /* Caffe's. cont: steps, streams: a factor of the state before. The static input's product is
     * added to the gates at all steps. The output weights are those of a layer behind the hidden
     * states, whose tanh is y. */
    const tn_tensor *cont, *x_static, *static_weights, *output_weights, *output_bias;
    /* Of dynamic.h, by weights: directions, or directions, columns; zeros may be null. */
    const tn_tensor *scales[2], *zeros[2];

    int64_t steps, streams, directions, depth, static_depth;
    int64_t hidden, columns; /* columns = gates * hidden */
    bool is_reverse;         /* the first direction is; the second one always */
    bool streams_first;      /* x, y and states begin with the streams: layout 1 */
    bool linear_before_reset, input_forget;
    float clip; /* FLT_MAX: none */
    tn_activation_function functions[2][TN_RECURRENT_FUNCTIONS];
};

static inline bool tn_recurrent_has_cell(const tn_recurrent *node) {
    return node->kind->cell == TN_CELL_LSTM;
}
static inline bool tn_recurrent_is_reverse(const tn_recurrent *node, int64_t direction) {
    return direction == 1 || node->is_reverse;
}
/* A step of a stream: its row of x, and its first element of y. */
static inline int64_t tn_recurrent_x_row(const tn_recurrent *node, int64_t step, int64_t stream) {
    return node->streams_first ? stream * node->steps + step : step * node->streams + stream;
}
static inline int64_t tn_recurrent_y_at(const tn_recurrent *node, int64_t step, int64_t direction,
                                        int64_t stream) {
    const int64_t row = node->streams_first
                            ? (stream * node->steps + step) * node->directions + direction
                            : (step * node->directions + direction) * node->streams + stream;
    return row * node->hidden;
}
/* The first element of a stream in initial and last states. */
static inline int64_t tn_recurrent_state_at(const tn_recurrent *node, int64_t direction,
                                            int64_t stream) {
    const int64_t row = node->streams_first ? stream * node->directions + direction
                                            : direction * node->streams + stream;
    return row * node->hidden;
}
/* How many steps a stream has. */
static inline int64_t tn_recurrent_length(const tn_recurrent *node, int64_t stream) {
    return node->lengths ? ((const int32_t *)node->lengths->data)[stream] : node->steps;
}

/* The node of a call, by its kind's reader. TN_ERROR_SHAPE, TN_ERROR_ARGUMENT, TN_ERROR_RANGE with
 * the input's or field's name. */
tn_status tn_recurrent_read(tn_call *call, tn_recurrent *out_node);
/* At run: lengths outside 0..steps are TN_ERROR_RANGE. */
tn_status tn_recurrent_check_lengths(tn_call *call, const tn_recurrent *node);
/* For readers: the input has these extents, as far as both are known. TN_ERROR_SHAPE. */
tn_status tn_recurrent_require_shape(tn_call *call, uint32_t input, uint32_t rank,
                                     const int64_t *expected);

tn_status tn_recurrent_infer(tn_call *call) TN_NOEXCEPT;
tn_status tn_recurrent_reference(tn_call *call) TN_NOEXCEPT;
/* The same of a node that was read, whose lengths were checked, and which has streams and a hidden
 * size. */
tn_status tn_recurrent_reference_of(tn_call *call, const tn_recurrent *node);
/* The products' operations. */
tn_status tn_recurrent_operations(tn_call *call, double *out_operations) TN_NOEXCEPT;

tn_status tn_recurrent_read_onnx(tn_call *call, tn_recurrent *out_node);
tn_status tn_recurrent_read_caffe(tn_call *call, tn_recurrent *out_node);

extern const tn_field tn_lstm_fields[7]; /* version 7's */
extern const tn_operator tn_caffe_lstm_1, tn_caffe_rnn_1;
extern const tn_kernel *const tn_recurrent_kernels[9];

#endif
