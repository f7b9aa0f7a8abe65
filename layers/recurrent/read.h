/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of ONNX's recurrent operators, which read.c reads and operator.c declares. */
#ifndef TN_LAYERS_RECURRENT_READ_H
#define TN_LAYERS_RECURRENT_READ_H

#include <tenon/plugin.h>

typedef struct tn_recurrent_params {
    uint64_t present;
    int64_t hidden_size;
    uint32_t direction;
    tn_strings activations;
    tn_f32s activation_alpha, activation_beta;
    float clip;
    bool output_sequence;     /* version 1: what is asked for shows it, too */
    bool input_forget;        /* LSTM */
    bool linear_before_reset; /* GRU */
    uint32_t layout;
} tn_recurrent_params;

enum { TN_RECURRENT_HAS_HIDDEN_SIZE = 1u /* in `present`: the tables' first field */ };

enum { TN_RECURRENT_FORWARD = 0, TN_RECURRENT_REVERSE = 1, TN_RECURRENT_BIDIRECTIONAL = 2 };

/* Inputs by index. */
enum {
    TN_ONNX_X = 0,
    TN_ONNX_W = 1,
    TN_ONNX_R = 2,
    TN_ONNX_B = 3,
    TN_ONNX_LENGTHS = 4,
    TN_ONNX_H_0 = 5,
    TN_ONNX_C_0 = 6,
    TN_ONNX_P = 7
};

#endif
