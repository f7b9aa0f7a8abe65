/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Concat and its kernels share. */
#ifndef TN_LAYERS_CONCAT_CONCAT_H
#define TN_LAYERS_CONCAT_CONCAT_H

#include <tenon/kit/region.h>

/* The inputs' boxes in the output one after the other, in any format. Zero before the first. */
typedef struct tn_concat_iterator {
    uint32_t input;   /* the next one */
    int64_t offset;   /* of its box, in elements */
    tn_region region; /* what tn_concat_next found */
    void *to;
    const void *from;
} tn_concat_iterator;
tn_status tn_concat_next(tn_call *call, tn_concat_iterator *iterator);

#endif
