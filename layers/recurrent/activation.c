/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of recurrent layers; see activation.h. */
#include "recurrent/activation.h"
#include "kit/math/recurrent_function.h"

#include <strings.h>

enum { AFFINE = TN_MAP_COUNT, SCALED_TANH };

/* By TN_RECURRENT_...; `map`: of tenon/kit/rows.h, or one of the two above. */
static const struct {
    const char *name;
    uint32_t map, parameters;
    float alpha, beta;
} activations[] = {
    [TN_RECURRENT_SIGMOID] = {"Sigmoid", TN_ACTIVATION_SIGMOID, 0, 0, 0},
    [TN_RECURRENT_TANH] = {"Tanh", TN_ACTIVATION_TANH, 0, 0, 0},
    [TN_RECURRENT_RELU] = {"Relu", TN_ACTIVATION_RELU, 0, 0, 0},
    [TN_RECURRENT_AFFINE] = {"Affine", AFFINE, 2, 1, 0},
    [TN_RECURRENT_LEAKY_RELU] = {"LeakyRelu", TN_ACTIVATION_LEAKY_RELU, 1, 0.01f, 0},
    [TN_RECURRENT_THRESHOLDED_RELU] = {"ThresholdedRelu", TN_MAP_THRESHOLDED_RELU, 1, 1, 0},
    [TN_RECURRENT_SCALED_TANH] = {"ScaledTanh", SCALED_TANH, 2, 1, 1},
    [TN_RECURRENT_HARD_SIGMOID] = {"HardSigmoid", TN_ACTIVATION_HARD_SIGMOID, 2, 0.2f, 0.5f},
    [TN_RECURRENT_ELU] = {"Elu", TN_ACTIVATION_ELU, 1, 1, 0},
    [TN_RECURRENT_SOFTSIGN] = {"Softsign", TN_MAP_SOFTSIGN, 0, 0, 0},
    [TN_RECURRENT_SOFTPLUS] = {"Softplus", TN_MAP_SOFTPLUS, 0, 0, 0},
};

bool tn_activation_find(const char *name, tn_activation_function *out_function,
                        uint32_t *out_parameters) {
    for (uint32_t i = 0; i < TN_COUNT(activations); i++) {
        if (strcasecmp(activations[i].name, name) != 0) continue;
        *out_function = (tn_activation_function){i, activations[i].alpha, activations[i].beta};
        *out_parameters = activations[i].parameters;
        return true;
    }
    return false;
}

double tn_activation_apply(tn_activation_function function, double x) {
    return tn_recurrent_function(function.kind, (double)function.alpha, (double)function.beta, x);
}

static void scale_row(float alpha, float beta, int64_t count, float *x) {
    for (int64_t i = 0; i < count; i++)
        x[i] = alpha * x[i] + beta;
}

void tn_activation_row(tn_activation_function function, const tn_rows_level *rows, int64_t count,
                       float *x) {
    const uint32_t map = activations[function.kind].map;
    if (map == AFFINE) {
        scale_row(function.alpha, function.beta, count, x);
    } else if (map == SCALED_TANH) {
        scale_row(function.beta, 0, count, x);
        rows->maps[TN_ACTIVATION_TANH](0, 0, count, x, x);
        scale_row(function.alpha, 0, count, x);
    } else {
        rows->maps[map](function.alpha, function.beta, count, x, x);
    }
}
