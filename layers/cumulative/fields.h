/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of CumSum and CumProd, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_CUMULATIVE_FIELDS_H
#define TN_LAYERS_CUMULATIVE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_cumulative_params {
    uint64_t present;
    bool exclusive, reverse;
} tn_cumulative_params;

static const tn_field cumulative_fields[] = {
    TN_FIELD(tn_cumulative_params, exclusive, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether an element is not in its own result"),
    TN_FIELD(tn_cumulative_params, reverse, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether lanes begin at the end"),
};

#endif
