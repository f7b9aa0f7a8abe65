/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the library, and what its operators share. */
#include "bodies.h"

#include <string.h>

void shapes_init(shapes *all) {
    memset(all, 0, sizeof(*all));
    for (uint32_t i = 0; i < TN_BODY_MAX_PORTS; i++) {
        all->tensors[i].size = sizeof(tn_tensor);
        all->tensors[i].shape = all->extents[i];
        all->pointers[i] = &all->tensors[i];
    }
}

void write_shape(tn_tensor *output, const tn_tensor *from, int64_t count) {
    const uint32_t more = count >= 0;
    output->type = from->type;
    output->rank = from->rank + more;
    if (more) output->shape[0] = count;
    for (uint32_t i = 0; i < from->rank; i++)
        output->shape[i + more] = from->shape[i];
}

tn_tensor slice_of(const tn_tensor *tensor, int64_t index, int64_t *extents) {
    const int64_t count = tensor->shape[0];
    tn_tensor slice = *tensor;
    slice.rank = tensor->rank - 1;
    slice.bytes = count > 0 ? tensor->bytes / (uint64_t)count : 0;
    if (tensor->data) slice.data = (char *)tensor->data + (uint64_t)index * slice.bytes;
    for (uint32_t i = 0; i < slice.rank; i++)
        extents[i] = tensor->shape[i + 1];
    slice.shape = extents;
    slice.strides = tensor->strides + 1;
    return slice;
}

static const tn_operator *const operators[] = {&if_operator, &loop_operator, &while_operator,
                                               &scan_operator};
static const tn_kernel *const kernels[] = {&if_kernel, &loop_kernel, &while_kernel, &scan_kernel};
TN_LIBRARY("bodies", "1.0", operators, kernels)
