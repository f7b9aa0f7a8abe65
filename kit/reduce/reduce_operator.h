/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a reduction (reduce.h): two operators, the earlier one with its axes as a field,
 * the later one with them as an input.
 */
#ifndef TN_KIT_REDUCE_REDUCE_OPERATOR_H
#define TN_KIT_REDUCE_REDUCE_OPERATOR_H

#include "kit/operator/layer.h"
#include "kit/reduce/reduce.h"

#define TN_REDUCE_VERSION(prefix, operator_name, version, text, field_table, number_of_inputs,     \
                          case_table)                                                              \
    static const tn_operator prefix##_##version = {                                                \
        .size = sizeof(tn_operator),                                                               \
        .since_version = version,                                                                  \
        .state_version = 1,                                                                        \
        .domain = "",                                                                              \
        .name = operator_name,                                                                     \
        .doc = text,                                                                               \
        TN_FIELDS(tn_reduce_params, field_table),                                                  \
        .port_size = sizeof(tn_port),                                                              \
        .input_count = number_of_inputs,                                                           \
        .inputs = prefix##_inputs,                                                                 \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = tn_reduce_infer,                                                                  \
        .reference = prefix##_reference,                                                           \
        TN_CASES(case_table),                                                                      \
    }

/* Defines PREFIX_operators, the table of both. `later` is the opset that made the axes an input,
 * `types` what it takes, `reduce_function` a tn_reduce_function. */
#define TN_REDUCE_OPERATORS(prefix, operator_name, types, later, reduce_function, text,            \
                            result_text, earlier_cases, later_cases)                               \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return tn_reduce_compute(call, &(reduce_function));                                        \
    }                                                                                              \
    static const tn_port prefix##_inputs[] = {                                                     \
        TN_PORT("data", "T:" types, 0, "any tensor"),                                              \
        TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "axes to reduce"),         \
    };                                                                                             \
    static const tn_port prefix##_outputs[] = {                                                    \
        TN_PORT("reduced", "T", 0, result_text),                                                   \
    };                                                                                             \
    TN_REDUCE_VERSION(prefix, operator_name, 1, text, tn_reduce_fields_axes, 1, earlier_cases);    \
    TN_REDUCE_VERSION(prefix, operator_name, later, text, tn_reduce_fields_input, 2, later_cases); \
    static const tn_operator *const prefix##_operators[] = {&prefix##_1, &prefix##_##later}

#endif
