/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of one input; see unary.h. */
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/infer.h"

tn_status tn_unary_infer(tn_call *call) {
    return tn_infer_copy_shape(call, 0, 0);
}

tn_status tn_unary_compute(tn_call *call, const tn_unary_function *function) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    int64_t count = tn_element_count(y);
    if (function->row && x->type == TN_F32 && y->type == TN_F32) {
        const float *input = x->data;
        uint64_t stride = 1;
        function->row(call->params, (uint64_t)count, &input, &stride, y->data);
        return TN_OK;
    }
    bool is_whole = function->whole && !tn_element_is_real(x->type);
    for (int64_t i = 0; i < count; i++) {
        if (is_whole) {
            int64_t value = function->whole(call->params, tn_element_load_i64(x->data, x->type, i));
            tn_element_store_i64(y->data, y->type, i, value);
        } else {
            double value = function->real(call->params, tn_element_load_f64(x->data, x->type, i));
            tn_element_store_f64(y->data, y->type, i, value);
        }
    }
    return TN_OK;
}

tn_status tn_unary_facet(const tn_call *call, const char *name, uint32_t function, float alpha,
                         float beta, tn_facet *out_facet) {
    if (!tn_infer_input(call, 0)) return TN_ERROR_UNSUPPORTED;
    return tn_known_activation(name, function, alpha, beta, out_facet);
}
