/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin: where the largest or smallest element along an axis is. */
#ifndef TN_KIT_REDUCE_ARG_REDUCE_H
#define TN_KIT_REDUCE_ARG_REDUCE_H

#include "kit/operator/layer.h"

typedef struct tn_arg_reduce_params {
    uint64_t present;
    int64_t axis;
    bool keepdims;
    bool select_last_index; /* from opset 12 on */
} tn_arg_reduce_params;

extern const tn_field tn_arg_reduce_fields[3]; /* the last one from opset 12 on */

tn_status tn_arg_reduce_infer(tn_call *call) TN_NOEXCEPT;
/* NaN comes before all other numbers. */
tn_status tn_arg_reduce_compute(tn_call *call, bool is_largest);

#define TN_ARG_REDUCE_VERSION(prefix, operator_name, version, number_of_fields, text)              \
    static const tn_operator prefix##_##version = {                                                \
        .size = sizeof(tn_operator),                                                               \
        .since_version = version,                                                                  \
        .state_version = 1,                                                                        \
        .domain = "",                                                                              \
        .name = operator_name,                                                                     \
        .doc = text,                                                                               \
        .params_bytes = sizeof(tn_arg_reduce_params),                                              \
        .field_size = sizeof(tn_field),                                                            \
        .field_count = number_of_fields,                                                           \
        .fields = tn_arg_reduce_fields,                                                            \
        TN_INPUTS(prefix##_inputs),                                                                \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = tn_arg_reduce_infer,                                                              \
        .reference = prefix##_reference,                                                           \
        TN_CASES(prefix##_##version##_cases),                                                      \
    }

#define TN_ARG_REDUCE_LAYER(prefix, operator_name, is_largest, text)                               \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return tn_arg_reduce_compute(call, is_largest);                                            \
    }                                                                                              \
    static const tn_port prefix##_inputs[] = {                                                     \
        TN_PORT("data", "number", 0, "any tensor"),                                                \
    };                                                                                             \
    static const tn_port prefix##_outputs[] = {                                                    \
        TN_PORT("reduced", "i64", 0, "places along the axis, from zero"),                          \
    };                                                                                             \
    TN_ARG_REDUCE_VERSION(prefix, operator_name, 1, 2, text);                                      \
    TN_ARG_REDUCE_VERSION(prefix, operator_name, 12, 3, text);                                     \
    static const tn_operator *const prefix##_operators[] = {&prefix##_1, &prefix##_12};            \
    TN_LAYER_WITHOUT_KERNELS(prefix, prefix##_operators)

#endif
