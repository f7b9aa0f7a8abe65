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

tn_status tn_unary_epilogue(const tn_call *call, uint32_t activation, float alpha, float beta,
                            tn_epilogue *out_epilogue) {
    const tn_tensor *x = tn_infer_input(call, 0);
    if (!x) return TN_ERROR_UNSUPPORTED;
    out_epilogue->kind = TN_EPILOGUE_ACTIVATION;
    out_epilogue->activation = activation;
    out_epilogue->alpha = alpha;
    out_epilogue->beta = beta;
    out_epilogue->type = x->type;
    return TN_OK;
}
