/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of Caffe::PReLU, which prelu_plugin.c and cuda.cu share. */
#ifndef PRELU_PLUGIN_H
#define PRELU_PLUGIN_H

#include <tenon/plugin.h>

typedef struct prelu_params {
    uint64_t present;
    bool channel_shared;
    const tn_tensor *slope;
} prelu_params;

#endif
