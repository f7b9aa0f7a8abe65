/* SPDX-License-Identifier: Apache-2.0 */
/* What counted.c and dynamic_counted.c share: how shapes follow a count. */
#ifndef TN_RUN_COUNTED_H
#define TN_RUN_COUNTED_H

#include "run/context_private.h"

/* Extents that follow a count are found by inferring with more elements than the capacity. */
enum { TN_COUNTED_PROBES = 2 };
extern const int64_t tn_counted_more[TN_COUNTED_PROBES];
#define TN_COUNTED_OTHERWISE UINT32_MAX
/* How a shape depends on the count: 0: not at all; 1 + the axis that follows it; or otherwise.
 * `longer`: the shapes with tn_counted_more[] elements more. */
uint32_t tn_counted_follows(const tn_shape *base, const tn_shape *const *longer, int64_t capacity);

#endif
