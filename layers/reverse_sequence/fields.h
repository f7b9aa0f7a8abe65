/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_REVERSE_SEQUENCE_FIELDS_H
#define TN_LAYERS_REVERSE_SEQUENCE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_reverse_params {
    uint64_t present;
    int64_t batch_axis, time_axis;
} tn_reverse_params;

static const tn_field reverse_fields[] = {
    TN_FIELD_RANGE(tn_reverse_params, batch_axis, TN_FIELD_I64, TN_OPTIONAL, "1", 0, 1,
                   "axis of the sequences, 0 or 1"),
    TN_FIELD_RANGE(tn_reverse_params, time_axis, TN_FIELD_I64, TN_OPTIONAL, "0", 0, 1,
                   "axis of their elements, the other one of both"),
};

#endif
