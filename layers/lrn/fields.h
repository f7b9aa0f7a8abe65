/* SPDX-License-Identifier: Apache-2.0 */
/* LRN's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_LRN_FIELDS_H
#define TN_LAYERS_LRN_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_lrn_params {
    uint64_t present;
    float alpha, beta, bias;
    int64_t size;
} tn_lrn_params;

static const tn_field lrn_fields[] = {
    TN_FIELD(tn_lrn_params, alpha, TN_FIELD_F32, TN_OPTIONAL, "0.0001",
             "weight of the mean square"),
    TN_FIELD(tn_lrn_params, beta, TN_FIELD_F32, TN_OPTIONAL, "0.75", "exponent"),
    TN_FIELD(tn_lrn_params, bias, TN_FIELD_F32, TN_OPTIONAL, "1", "what is added to the sum"),
    TN_FIELD_RANGE(tn_lrn_params, size, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 2147483647,
                   "channels that count"),
};

#endif
