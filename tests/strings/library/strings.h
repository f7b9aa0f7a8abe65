/* SPDX-License-Identifier: Apache-2.0 */
/* A third party's operators on strings; library.c has the list. */
#ifndef STRINGS_H
#define STRINGS_H

#include <tenon/plugin/string.h>

#include <string.h>

extern const tn_operator concat_operator, split_operator, select_operator, flatten_operator,
    length_operator, equal_operator, look_up_operator;
extern const tn_kernel concat_kernel, select_kernel, length_kernel;

static inline const tn_string_services *string_services(const tn_call *call) {
    return call->host->extension(call->host, TN_STRINGS);
}

static inline int64_t count_of(const tn_tensor *tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static inline void copy_shape(tn_tensor *to, const tn_tensor *from) {
    to->rank = from->rank;
    for (uint32_t i = 0; i < from->rank; i++)
        to->shape[i] = from->shape[i];
}

static inline bool has_shape_of(const tn_tensor *a, const tn_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

#endif
