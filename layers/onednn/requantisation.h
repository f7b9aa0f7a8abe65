/* SPDX-License-Identifier: Apache-2.0 */
/* The scales and zero points of a QLinearConv or QLinearConvAdd in oneDNN's words. */
#ifndef TN_LAYERS_ONEDNN_REQUANTISATION_H
#define TN_LAYERS_ONEDNN_REQUANTISATION_H

#include "onednn/dnnl.h"

/* The inputs; X is input 0, and from Z on they are QLinearConvAdd's. */
enum {
    TN_DNNL_Q_X_SCALE = 1,
    TN_DNNL_Q_X_ZERO,
    TN_DNNL_Q_W,
    TN_DNNL_Q_W_SCALE,
    TN_DNNL_Q_W_ZERO,
    TN_DNNL_Q_Y_SCALE,
    TN_DNNL_Q_Y_ZERO,
    TN_DNNL_Q_BIAS,
    TN_DNNL_Q_Z,
    TN_DNNL_Q_Z_SCALE,
    TN_DNNL_Q_Z_ZERO,
    TN_DNNL_Q_SUM_SCALE,
    TN_DNNL_Q_SUM_ZERO
};

/* Fills *out_requantisation from the node's constants; its factors are *out_factors, for which the
 * caller calls host->deallocate. TN_ERROR_UNSUPPORTED: scales vary, or weights have zero points. */
tn_status tn_dnnl_requantisation_read(tn_call *call, tn_dnnl_requantisation *out_requantisation,
                                      float **out_factors);

#endif
