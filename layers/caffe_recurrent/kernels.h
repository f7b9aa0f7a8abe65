/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels' two halves share: kernels.c prepares, run.c computes. */
#ifndef TN_LAYERS_CAFFE_RECURRENT_KERNELS_H
#define TN_LAYERS_CAFFE_RECURRENT_KERNELS_H

#include "caffe_recurrent/recurrent.h"
#include <tenon/kit/rows.h>
#include <tenon/kit/matrix.h>

/* What a kernel's `user` points at. */
typedef struct tn_recurrent_level {
    const tn_matrix_level *matrix;
    const tn_rows_level *rows;
} tn_recurrent_level;

typedef struct tn_recurrent_state {
    const tn_recurrent_level *level;
    const float *input_weights, *static_weights, *hidden_weights, *output_weights; /* packed */
} tn_recurrent_state;

/* Where each part of the workspace begins, and its size in floats. */
typedef struct tn_recurrent_room {
    int64_t gates, hidden_states, kept, cell, zeros, floats;
} tn_recurrent_room;

/* `node->y` decides: where nobody asks for an LSTM's output, its hidden states need room too.
 * TN_ERROR_MEMORY. */
tn_status tn_recurrent_measure(tn_call *call, const tn_recurrent *node,
                               tn_recurrent_room *out_room);

/* The kernels' run. */
tn_status tn_recurrent_run(tn_call *call) TN_NOEXCEPT;

#endif
