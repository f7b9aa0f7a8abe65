/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that run graphs, shaped like ONNX's in a domain of their own. */
#ifndef TN_TESTS_BODIES_H
#define TN_TESTS_BODIES_H

#include <tenon/plugin/body.h>

extern const tn_operator if_operator, loop_operator, while_operator, scan_operator;
extern const tn_kernel if_kernel, loop_kernel, while_kernel, scan_kernel;

static inline const tn_body_service *bodies(const tn_call *call) {
    return call->host->extension(call->host, TN_BODIES);
}

/* Descriptors with room for what infer writes. */
typedef struct shapes {
    tn_tensor tensors[TN_BODY_MAX_PORTS], *pointers[TN_BODY_MAX_PORTS];
    int64_t extents[TN_BODY_MAX_PORTS][TN_MAX_RANK];
} shapes;
void shapes_init(shapes *all);
/* Writes a shape, with `count` before it where it is not negative. */
void write_shape(tn_tensor *output, const tn_tensor *from, int64_t count);
/* One slice of a tensor along its first axis; `extents` has room for its shape. */
tn_tensor slice_of(const tn_tensor *tensor, int64_t index, int64_t *extents);

#endif
