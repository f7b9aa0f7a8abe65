/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN of ONNX, LSTM and RNN of Caffe on CUDA, by kit/cuda/any/step/recurrent.cu. */
#include "kit/cuda/any/step/step_job.h"
#include "kit/operator/layer.h"
#include "recurrent/recurrent.h"

#include <math.h>

/* Doubles of the inputs' part of all gates. */
static bool count_sums(const tn_recurrent *node, int64_t *out_count) {
    return tn_infer_multiply(node->steps, node->streams, out_count) &&
           tn_infer_multiply(*out_count, node->directions, out_count) &&
           tn_infer_multiply(*out_count, node->columns, out_count);
}

static tn_status recurrent_reshape(tn_call *call) {
    tn_recurrent node = {0};
    int64_t sums = 0, state = 0;
    TN_TRY(tn_recurrent_read(call, &node));
    if (!count_sums(&node, &sums) || !tn_infer_multiply(node.hidden, 4, &state) ||
        !tn_infer_add(state, node.columns, &state) ||
        !tn_infer_multiply(state, node.directions * node.streams, &state) ||
        !tn_infer_add(sums, state, &sums) || sums > INT64_MAX / 16)
        return call->host->fail(call, TN_ERROR_MEMORY, "there are too many steps and streams");
    call->workspace_bytes = (uint64_t)sums * sizeof(double);
    return TN_OK;
}

static void read_tensors(const tn_recurrent *node, tn_cuda_recurrent_job *job) {
    job->x = tn_infer_data(node->x);
    job->input_weights = tn_infer_data(node->input_weights);
    job->hidden_weights = tn_infer_data(node->hidden_weights);
    job->bias = tn_infer_data(node->bias);
    job->peepholes = tn_infer_data(node->peepholes);
    job->h_0 = tn_infer_data(node->h_0);
    job->c_0 = tn_infer_data(node->c_0);
    job->lengths = tn_infer_data(node->lengths);
    job->cont = tn_infer_data(node->cont);
    job->x_static = tn_infer_data(node->x_static);
    job->static_weights = tn_infer_data(node->static_weights);
    job->output_weights = tn_infer_data(node->output_weights);
    job->output_bias = tn_infer_data(node->output_bias);
    job->y = tn_infer_data(node->y);
    job->h_last = tn_infer_data(node->h_last);
    job->c_last = tn_infer_data(node->c_last);
    job->type = node->x->type;
    job->cont_type = node->cont ? node->cont->type : node->x->type;
}

static tn_status recurrent_run(tn_call *call) {
    tn_recurrent node = {0};
    int64_t sums = 0;
    TN_TRY(tn_recurrent_read(call, &node));
    if (node.streams == 0 || node.hidden == 0) return TN_OK;
    tn_cuda_recurrent_job job = {.cell = node.kind->cell,
                                 .gates = node.kind->gates,
                                 .steps = node.steps,
                                 .streams = node.streams,
                                 .directions = node.directions,
                                 .depth = node.depth,
                                 .static_depth = node.static_depth,
                                 .hidden = node.hidden,
                                 .has_two_biases = node.has_two_biases,
                                 .is_reverse = node.is_reverse,
                                 .streams_first = node.streams_first,
                                 .linear_before_reset = node.linear_before_reset,
                                 .input_forget = node.input_forget,
                                 .clip = node.clip < FLT_MAX ? (double)node.clip : (double)INFINITY,
                                 .gate_sums = call->workspace,
                                 .fault = tn_cuda_fault_of(call)};
    read_tensors(&node, &job);
    (void)count_sums(&node, &sums);
    job.state = job.gate_sums + sums;
    for (uint32_t k = 0; k < TN_RECURRENT_MOST_GATES; k++)
        job.rows[k] = node.kind->rows[k];
    for (uint32_t direction = 0; direction < 2; direction++)
        for (uint32_t k = 0; k < TN_RECURRENT_FUNCTIONS; k++) {
            const tn_activation_function own = node.functions[direction][k];
            job.functions[direction][k] =
                (tn_cuda_recurrent_function){own.kind, own.alpha, own.beta};
        }
    return tn_cuda_any_run(call, tn_cuda_recurrent_launch, &job);
}

#define STREAMS(symbol, domain, name)                                                              \
    TN_CUDA_ANY_KERNEL(symbol, domain, name, "streams",                                            \
                       "The input's part of all steps at once, then a stream a block.",            \
                       .accepts = tn_cuda_any_accepts, .open = tn_cuda_fault_open,                 \
                       .close = tn_cuda_fault_close, .verify = tn_cuda_fault_verify,               \
                       .reshape = recurrent_reshape, .run = recurrent_run)
STREAMS(lstm_streams, "", "LSTM");
STREAMS(gru_streams, "", "GRU");
STREAMS(rnn_streams, "", "RNN");
STREAMS(caffe_lstm_streams, "Caffe", "LSTM");
STREAMS(caffe_rnn_streams, "Caffe", "RNN");
TN_CUDA_LAYER(recurrent, &lstm_streams, &gru_streams, &rnn_streams, &caffe_lstm_streams,
              &caffe_rnn_streams);
