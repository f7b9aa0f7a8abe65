/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_CAUSAL_CONV_FIELDS_H
#define TN_LAYERS_CAUSAL_CONV_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_causal_conv_params {
    uint64_t present;
    uint32_t activation;
} tn_causal_conv_params;

static const tn_field causal_conv_fields[] = {
    TN_FIELD_CHOICE(tn_causal_conv_params, activation, TN_FIELD_ENUM, TN_OPTIONAL, "none",
                    "none|silu|swish", "silu, swish: the result times its sigmoid"),
};

#endif
