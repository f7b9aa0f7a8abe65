/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of the normalisations, for the operators and the kernels of every device. */
#ifndef TN_LAYERS_NORMALIZE_FIELDS_H
#define TN_LAYERS_NORMALIZE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_group_params {
    uint64_t present;
    float epsilon;
    int64_t num_groups;
    uint32_t stash_type;
} tn_group_params;

#define FIELD_EPSILON                                                                              \
    TN_FIELD(tn_group_params, epsilon, TN_FIELD_F32, TN_OPTIONAL, "1e-05",                         \
             "added to the variance before the root")
#define FIELD_GROUPS                                                                               \
    TN_FIELD_RANGE(tn_group_params, num_groups, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 9.2e18,        \
                   "groups of as many channels each")
static const tn_field instance_fields[] = {FIELD_EPSILON};
static const tn_field group_18_fields[] = {FIELD_EPSILON, FIELD_GROUPS};
static const tn_field group_21_fields[] = {
    FIELD_EPSILON, FIELD_GROUPS,
    TN_FIELD_CHOICE(tn_group_params, stash_type, TN_FIELD_ENUM, TN_OPTIONAL, "f32",
                    "f32=1|f16=10|f64=11|bf16=16",
                    "the least precision of the statistics; they are computed in double")};

typedef struct tn_mean_variance_params {
    uint64_t present;
    tn_i64s axes;
} tn_mean_variance_params;

static const tn_field mean_variance_fields[] = {
    TN_FIELD(tn_mean_variance_params, axes, TN_FIELD_I64S, TN_OPTIONAL, "[0, 2, 3]",
             "axes that are taken together; negative: from the end"),
};

typedef struct tn_lp_normalization_params {
    uint64_t present;
    int64_t axis, p;
} tn_lp_normalization_params;

static const tn_field lp_normalization_fields[] = {
    TN_FIELD(tn_lp_normalization_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",
             "the axis; negative: from the end"),
    TN_FIELD_RANGE(tn_lp_normalization_params, p, TN_FIELD_I64, TN_OPTIONAL, "2", 1, 2,
                   "the power in the length"),
};

#endif
