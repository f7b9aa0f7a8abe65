/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of one input; see unary.h. */
#include "kit/elementwise/unary.h"
#include <tenon/kit/infer.h>

tn_status tn_unary_infer(tn_call *call) {
    return tn_infer_copy_shape(call, 0, 0);
}

tn_status tn_unary_facet(const tn_call *call, const char *name, uint32_t function, float alpha,
                         float beta, tn_facet *out_facet) {
    if (!tn_infer_input(call, 0)) return TN_ERROR_UNSUPPORTED;
    return tn_known_activation(name, function, alpha, beta, out_facet);
}

bool tn_unary_activation(tn_call *call, tn_facet_activation *out_activation) {
    void *user = call->user;
    tn_facet facet = {
        .size = sizeof(facet), .what = out_activation, .what_bytes = sizeof(*out_activation)};
    *out_activation = (tn_facet_activation){.size = 0};
    if (!call->op->facet) return false;
    call->user = call->op->user;
    const tn_status status = call->op->facet(call, 0, TN_FACET_ACTIVATION, &facet);
    call->user = user;
    return status == TN_OK;
}
