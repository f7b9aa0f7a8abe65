/* SPDX-License-Identifier: Apache-2.0 */
/*
 * com.microsoft's DynamicQuantizeLSTM: an LSTM whose weights are 8-bit integers and whose products
 * are of integers. The input of all steps, and at each step the hidden state of all streams, is
 * quantised by its range, as DynamicQuantizeLinear quantises a tensor; all else is an LSTM's
 * (recurrent.h). operator_dynamic.c has the table and the reference, run_dynamic.c the kernels.
 */
#ifndef TN_LAYERS_RECURRENT_DYNAMIC_H
#define TN_LAYERS_RECURRENT_DYNAMIC_H

#include "kit/operator/layer.h"
#include "recurrent/recurrent.h"

/* Inputs behind those of an LSTM. */
enum {
    TN_DYNAMIC_W_SCALE = 8,
    TN_DYNAMIC_W_ZERO = 9,
    TN_DYNAMIC_R_SCALE = 10,
    TN_DYNAMIC_R_ZERO = 11
};
/* Weights by number: of the input, of the hidden state. */
enum { TN_DYNAMIC_W = 0, TN_DYNAMIC_R = 1 };

typedef struct tn_dynamic_range {
    float scale;
    int32_t zero;
} tn_dynamic_range;

/* Of elements from `low` to `high`, which hold 0. */
tn_dynamic_range tn_dynamic_range_of(float low, float high);

/* Scale and zero point of a column of the weights of a direction. */
float tn_dynamic_scale(const tn_recurrent *node, int which, int64_t direction, int64_t column);
int32_t tn_dynamic_zero(const tn_recurrent *node, int which, int64_t direction, int64_t column);

/* Whether a stream's hidden state counts for the range before an iteration: once a forward
 * direction has passed a stream's last step and one more, it is 0 there, as onnxruntime has it. */
static inline bool tn_dynamic_counts(const tn_recurrent *node, bool is_reverse, int64_t iteration,
                                     int64_t stream) {
    return is_reverse || iteration <= tn_recurrent_length(node, stream);
}

/* Rounds values to what their quantised ones stand for. */
void tn_dynamic_round(int64_t count, double *values);

extern const tn_operator tn_dynamic_lstm_1;
TN_LEVEL_KERNELS_EXTERN(tn_dynamic_lstm);

#endif
