/* SPDX-License-Identifier: Apache-2.0 */
/* The options of reading a UFF file, as callers give them and as the reader takes them. */
#ifndef TN_IMPORTERS_UFF_OPTIONS_H
#define TN_IMPORTERS_UFF_OPTIONS_H

#include "importers/common/import.h"

/* How the data of a network whose file has N, H, W, C comes in and goes out. AUTO: an input is as
 * the file declares it, and N, C, H, W where the file leaves the batch axis out (its shape is C, H,
 * W then) or where the given shape fits only so; outputs of rank 3 and above follow the inputs. */
enum { TN_UFF_ORDER_AUTO = 0, TN_UFF_ORDER_NCHW = 1 };

/* An input that the options name. The shape replaces the file's; -1: known only at run
 * time. A name that is an inner node's makes that node an input. */
typedef struct tn_uff_input {
    const char *name;
    bool has_shape;
    uint32_t rank;
    int64_t extents[TN_MAX_RANK];
} tn_uff_input;

/* The importer's options. */
typedef struct tn_uff_params {
    uint64_t present;
    uint32_t order; /* TN_UFF_ORDER_... */
    tn_strings inputs, outputs;
    bool without_weights;
} tn_uff_params;
typedef struct tn_uff_options {
    uint32_t order;
    bool without_weights;
    uint32_t input_count, output_count;
    const tn_uff_input *inputs;
    const char *const *outputs; /* nodes that are outputs, instead of those that the file marks */
} tn_uff_options;
tn_status tn_uff_options_read(tn_arena *arena, const tn_uff_params *params,
                              tn_uff_options *out_options);

#endif
