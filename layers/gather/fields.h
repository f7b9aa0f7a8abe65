/* SPDX-License-Identifier: Apache-2.0 */
/* GatherND's fields, for the operator and the kernels of every device. Before opset 12 it has none,
 * and no common axes. */
#ifndef TN_LAYERS_GATHER_FIELDS_H
#define TN_LAYERS_GATHER_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_gather_nd_params {
    uint64_t present;
    int64_t batch_dims;
} tn_gather_nd_params;

static const tn_field gather_nd_12_fields[] = {
    TN_FIELD_RANGE(tn_gather_nd_params, batch_dims, TN_FIELD_I64, TN_OPTIONAL, "0", 0,
                   TN_MAX_RANK - 1, "axes that data and indices have in common")};

#endif
