/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator BatchNormalization and its kernels share: the fields and the sizes they mean.
 */
#ifndef TN_LAYERS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_H
#define TN_LAYERS_BATCH_NORMALIZATION_BATCH_NORMALIZATION_H

#include <tenon/plugin.h>

typedef struct tn_batch_normalization_params {
    uint64_t present;
    float epsilon;
    float momentum;
    bool spatial;       /* before opset 9 */
    bool is_test;       /* before opset 7 */
    bool training_mode; /* from opset 14 on */
} tn_batch_normalization_params;

enum {
    TN_BATCH_NORMALIZATION_X = 0,
    TN_BATCH_NORMALIZATION_SCALE = 1,
    TN_BATCH_NORMALIZATION_B = 2,
    TN_BATCH_NORMALIZATION_MEAN = 3,
    TN_BATCH_NORMALIZATION_VARIANCE = 4
};

static inline bool tn_batch_normalization_is_training(const tn_call *call) {
    const tn_batch_normalization_params *params = call->params;
    return call->op->since_version >= 14 && params->training_mode;
}

/* X as batch x channels x elements; every channel has a scale, bias, mean and variance. Where the
 * field `spatial` is false each pixel of an image is a channel of its own. */
typedef struct tn_batch_normalization_sizes {
    int64_t batch, channels, elements;
} tn_batch_normalization_sizes;

/* Checks the shapes of a BatchNormalization node. TN_ERROR_SHAPE. */
tn_status tn_batch_normalization_read(tn_call *call, tn_batch_normalization_sizes *out_sizes);

/* kernels.c */
extern const tn_kernel *const tn_batch_normalization_kernels[2];

#endif
