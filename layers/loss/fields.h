/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, for the operator and the
 * kernels of every device. */
#ifndef TN_LAYERS_LOSS_FIELDS_H
#define TN_LAYERS_LOSS_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_loss_params {
    uint64_t present;
    int64_t ignore_index;
    uint32_t reduction;
} tn_loss_params;

static const tn_field loss_fields[] = {
    TN_FIELD(tn_loss_params, ignore_index, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "label of lanes that count nothing; absent: there is none"),
    TN_FIELD_CHOICE(tn_loss_params, reduction, TN_FIELD_ENUM, TN_OPTIONAL, "mean", "none|sum|mean",
                    "what becomes of the lanes' losses"),
};

#endif
