/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample's fields, for the operator and the kernels of every device; a mode has another name
 * from opset 20 on. */
#ifndef TN_LAYERS_GRID_SAMPLE_FIELDS_H
#define TN_LAYERS_GRID_SAMPLE_FIELDS_H

#include <tenon/plugin.h>

typedef struct tn_grid_sample_params {
    uint64_t present;
    bool align_corners;
    uint32_t mode, padding_mode;
} tn_grid_sample_params;

#define FIELDS(mode_default, mode_choices)                                                         \
    {                                                                                              \
        TN_FIELD(tn_grid_sample_params, align_corners, TN_FIELD_BOOL, TN_OPTIONAL, "0",            \
                 "whether -1 and 1 are the middles of the outer elements instead of their edges"), \
            TN_FIELD_CHOICE(tn_grid_sample_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, mode_default, \
                            mode_choices, "how it is interpolated"),                               \
            TN_FIELD_CHOICE(tn_grid_sample_params, padding_mode, TN_FIELD_ENUM, TN_OPTIONAL,       \
                            "zeros", "zeros|border|reflection", "what lies outside"),              \
    }
static const tn_field grid_sample_16_fields[] = FIELDS("bilinear", "bilinear|nearest|bicubic");
static const tn_field grid_sample_20_fields[] = FIELDS("linear", "linear|nearest|cubic");

#endif
