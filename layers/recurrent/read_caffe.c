/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a node of Caffe's LSTM or RNN and checks its shapes. Both have cont, which multiplies the
 * state that a step takes from the one before (0: a sequence begins, 1: it goes on), and an LSTM
 * has no peepholes (Zaremba and Sutskever, "Learning to Execute", 2014):
 *
 *     [i' f' o' g'] = W_xc x_t + b_c + W_xc_static x_static + W_hc (cont_t h_{t-1})
 *     c_t = cont_t sigmoid(f') c_{t-1} + sigmoid(i') tanh(g')
 *     h_t = sigmoid(o') tanh(c_t)
 *
 * where cont_t = 0 makes the factor of c_{t-1} zero whatever f' is. An RNN:
 *
 *     h_t = tanh(W_xh x_t + b_h + W_xh_static x_static + W_hh (cont_t h_{t-1}))
 *     o_t = tanh(W_ho h_t + b_o)
 */
#include "recurrent/read_caffe.h"
#include "recurrent/recurrent.h"
#include <tenon/kit/infer.h>

/* Two optional inputs that are there together or not at all. */
static tn_status require_both(tn_call *call, uint32_t first, uint32_t second, bool *out_are_there) {
    const bool has_first = tn_infer_input(call, first), has_second = tn_infer_input(call, second);
    *out_are_there = has_first;
    if (has_first == has_second) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "input '%s' is there without '%s'",
                            tn_infer_input_name(call, has_first ? first : second),
                            tn_infer_input_name(call, has_first ? second : first));
}

/* The time-varying input and the hidden state's size, from its own weights. */
static tn_status read_sizes(tn_call *call, tn_recurrent *node) {
    TN_TRY(tn_infer_require_rank(call, TN_CAFFE_X, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, TN_CAFFE_HIDDEN_WEIGHTS, 2, 2));
    node->x = call->inputs[TN_CAFFE_X];
    node->directions = 1;
    node->clip = FLT_MAX;
    node->hidden_weights = call->inputs[TN_CAFFE_HIDDEN_WEIGHTS];
    node->steps = node->x->shape[0];
    node->streams = node->x->shape[1];
    node->depth = tn_infer_product(node->x->shape, 2, node->x->rank);
    node->hidden = node->hidden_weights->shape[1];
    if (tn_infer_multiply(node->hidden, (int64_t)node->kind->gates, &node->columns) &&
        node->columns == node->hidden_weights->shape[0])
        return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has %lld rows of %lld; %u times as many rows are expected",
                            tn_infer_input_name(call, TN_CAFFE_HIDDEN_WEIGHTS),
                            (long long)node->hidden_weights->shape[0], (long long)node->hidden,
                            node->kind->gates);
}

static tn_status read_required(tn_call *call, tn_recurrent *node) {
    const int64_t cont[] = {node->steps, node->streams}, weights[] = {node->columns, node->depth};
    TN_TRY(tn_recurrent_require_shape(call, TN_CAFFE_CONT, 2, cont));
    TN_TRY(tn_recurrent_require_shape(call, TN_CAFFE_INPUT_WEIGHTS, 2, weights));
    TN_TRY(tn_recurrent_require_shape(call, TN_CAFFE_BIAS, 1, &node->columns));
    node->cont = call->inputs[TN_CAFFE_CONT];
    node->input_weights = call->inputs[TN_CAFFE_INPUT_WEIGHTS];
    node->bias = call->inputs[TN_CAFFE_BIAS];
    const uint32_t output = node->kind->output_weights;
    if (output == 0) return TN_OK;
    const int64_t square[] = {node->hidden, node->hidden};
    TN_TRY(tn_recurrent_require_shape(call, output, 2, square));
    TN_TRY(tn_recurrent_require_shape(call, output + 1, 1, &node->hidden));
    node->output_weights = call->inputs[output];
    node->output_bias = call->inputs[output + 1];
    return TN_OK;
}

static tn_status read_static(tn_call *call, tn_recurrent *node) {
    const uint32_t first = node->kind->static_weights - 1;
    bool is_there;
    TN_TRY(require_both(call, first, first + 1, &is_there));
    if (!is_there) return TN_OK;
    TN_TRY(tn_infer_require_rank(call, first, 1, TN_MAX_RANK));
    node->x_static = call->inputs[first];
    node->static_weights = call->inputs[first + 1];
    if (node->x_static->shape[0] != node->streams)
        return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has %lld streams; '%s' has %lld",
                                tn_infer_input_name(call, first),
                                (long long)node->x_static->shape[0],
                                tn_infer_input_name(call, TN_CAFFE_X), (long long)node->streams);
    node->static_depth = tn_infer_product(node->x_static->shape, 1, node->x_static->rank);
    const int64_t weights[] = {node->columns, node->static_depth};
    return tn_recurrent_require_shape(call, first + 1, 2, weights);
}

static tn_status read_state(tn_call *call, tn_recurrent *node) {
    const uint32_t first = node->kind->static_weights + 1;
    const int64_t state[] = {1, node->streams, node->hidden};
    bool is_there = tn_infer_input(call, first);
    if (tn_recurrent_has_cell(node)) TN_TRY(require_both(call, first, first + 1, &is_there));
    if (!is_there) return TN_OK;
    TN_TRY(tn_recurrent_require_shape(call, first, 3, state));
    node->h_0 = call->inputs[first];
    if (!tn_recurrent_has_cell(node)) return TN_OK;
    TN_TRY(tn_recurrent_require_shape(call, first + 1, 3, state));
    node->c_0 = call->inputs[first + 1];
    return TN_OK;
}

tn_status tn_recurrent_read_caffe(tn_call *call, tn_recurrent *out_node) {
    tn_recurrent node = {.kind = call->op->user};
    TN_TRY(read_sizes(call, &node));
    TN_TRY(read_required(call, &node));
    TN_TRY(read_static(call, &node));
    TN_TRY(read_state(call, &node));
    for (uint32_t i = 0; i < node.kind->functions; i++) {
        uint32_t parameters;
        (void)tn_activation_find(node.kind->defaults[i], &node.functions[0][i], &parameters);
    }
    node.y = tn_infer_output(call, 0);
    node.h_last = tn_infer_output(call, 1);
    node.c_last = tn_recurrent_has_cell(&node) ? tn_infer_output(call, 2) : NULL;
    *out_node = node;
    return TN_OK;
}
