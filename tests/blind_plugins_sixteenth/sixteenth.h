/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef SIXTEENTH_H
#define SIXTEENTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>
#include <tenon/plugin/try.h>

#define WRONG(number) (MISTAKE == (number))
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Sixteenth"
#define KERNEL .size = sizeof(tn_kernel), .revision = 1, .domain = "Sixteenth", .device = "cpu"
#define LIBRARY(name, of_operator, of_kernel)                                                      \
    static const tn_operator *const operators[] = {&(of_operator)};                                \
    static const tn_kernel *const kernels[] = {&(of_kernel)};                                      \
    TN_LIBRARY(name, "1.0", operators, kernels)

/* The elements along axes begin..end-1. */
static inline int64_t extent(const tn_tensor *tensor, uint32_t begin, uint32_t end) {
    uint64_t count = 1;
    for (uint32_t i = begin; i < end; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

/* Sets the shape of an output, which nobody may have asked for. */
static inline tn_status set_shape(tn_call *call, uint32_t output, uint32_t rank,
                                  const int64_t *shape) {
    if (output >= call->output_count || !call->outputs[output]) return TN_OK;
    return tn_layer_set_shape(call, output, rank, shape);
}

static inline tn_status infer_same(tn_call *call) {
    return set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

/* An output, null where nobody asked for it. */
static inline tn_tensor *output(const tn_call *call, uint32_t index) {
    return index < call->output_count ? call->outputs[index] : NULL;
}

#endif
