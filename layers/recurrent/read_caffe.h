/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that both of Caffe's recurrent operators have, by index. */
#ifndef TN_LAYERS_RECURRENT_READ_CAFFE_H
#define TN_LAYERS_RECURRENT_READ_CAFFE_H

enum {
    TN_CAFFE_X = 0,
    TN_CAFFE_CONT = 1,
    TN_CAFFE_INPUT_WEIGHTS = 2,
    TN_CAFFE_BIAS = 3,
    TN_CAFFE_HIDDEN_WEIGHTS = 4
};

#endif
