/* SPDX-License-Identifier: Apache-2.0 */
/* The activations that ONNX names for recurrent layers, with alpha and beta: by name, in double for
 * the reference, and on rows of floats for the kernels. */
#ifndef TN_LAYERS_RECURRENT_ACTIVATION_H
#define TN_LAYERS_RECURRENT_ACTIVATION_H

#include <tenon/kit/rows.h>

typedef struct tn_activation_function {
    uint32_t kind; /* TN_RECURRENT_... */
    float alpha, beta;
} tn_activation_function;

/* By name, whatever the case, with its defaults. `out_parameters`: how many of alpha and beta it
 * has. False when there is none of this name. */
bool tn_activation_find(const char *name, tn_activation_function *out_function,
                        uint32_t *out_parameters);

double tn_activation_apply(tn_activation_function function, double x);
/* In place. */
void tn_activation_row(tn_activation_function function, const tn_rows_level *rows, int64_t count,
                       float *x);

#endif
