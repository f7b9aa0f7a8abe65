/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that UFF defines, by name, and Identity. What the others mean is in constants.c
 * and operations_*.c; any other name is a library's (custom.c).
 */
#include "importers/uff/uff.h"

#include <string.h>

/* Its output is its input. */
static tn_status read_identity(tn_uff_call *call) {
    call->output = call->inputs[0];
    return TN_OK;
}

#define MANY UINT32_MAX
static const tn_uff_operation_row operations[] = {
    {"Const", 0, 0, tn_uff_read_const},
    {"Identity", 1, 1, read_identity},
    {"Conv", 2, 2, tn_uff_read_conv},
    {"ConvTranspose", 3, 3, tn_uff_read_conv_transpose},
    {"Pool", 1, 1, tn_uff_read_pool},
    {"LRN", 1, 1, tn_uff_read_lrn},
    {"BatchNorm", 5, 5, tn_uff_read_batch_norm},
    {"FullyConnected", 2, 2, tn_uff_read_fully_connected},
    {"Binary", 2, 2, tn_uff_read_binary},
    {"Unary", 1, 1, tn_uff_read_unary},
    {"Activation", 1, 1, tn_uff_read_activation},
    {"LeakyRelu", 1, 1, tn_uff_read_leaky_relu},
    {"Softmax", 1, 1, tn_uff_read_softmax},
    {"Reshape", 2, 2, tn_uff_read_reshape},
    {"Flatten", 1, 1, tn_uff_read_flatten},
    {"Transpose", 1, 1, tn_uff_read_transpose},
    {"Squeeze", 1, 1, tn_uff_read_squeeze},
    {"ExpandDims", 1, 1, tn_uff_read_expand_dims},
    {"Concat", 1, MANY, tn_uff_read_concat},
    {"Stack", 1, MANY, tn_uff_read_stack},
    {"Shape", 1, 1, tn_uff_read_shape},
    {"StridedSlice", 4, 4, tn_uff_read_strided_slice},
    {"Pad", 2, 2, tn_uff_read_pad},
    {"Reduce", 1, 1, tn_uff_read_reduce},
    {"ArgMax", 1, 1, tn_uff_read_arg},
    {"ArgMin", 1, 1, tn_uff_read_arg},
    {"Gather", 2, 2, tn_uff_read_gather},
    {"GatherV2", 2, 2, tn_uff_read_gather},
};

const tn_uff_operation_row *tn_uff_operation_find(const char *name) {
    for (size_t i = 0; i < TN_COUNT(operations); i++)
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    return NULL;
}
