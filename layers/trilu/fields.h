/* SPDX-License-Identifier: Apache-2.0 */
/* Trilu's fields, for the operator and the kernels of every device. */
#ifndef TN_LAYERS_TRILU_FIELDS_H
#define TN_LAYERS_TRILU_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_trilu_params {
    uint64_t present;
    bool upper;
} tn_trilu_params;

static const tn_field trilu_fields[] = {
    TN_FIELD(tn_trilu_params, upper, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the upper triangle is kept instead of the lower one")};

#endif
