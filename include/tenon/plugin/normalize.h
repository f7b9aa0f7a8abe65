/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/plugin/normalize.h: the facet of nodes that normalise along an axis, for kernels that have
 * whole rows of their output (tn_kernel.absorbs). */
#ifndef TENON_PLUGIN_NORMALIZE_H
#define TENON_PLUGIN_NORMALIZE_H

#include <tenon/plugin.h>

/* y = (x - mean) / sqrt(variance + epsilon) * operand 0 + operand 1, where there is one: constant
 * VECTORs along the axis, over which mean and variance are taken. */
#define TN_FACET_NORMALIZE "tn.normalize/1"
typedef struct tn_facet_normalize {
    uint32_t size;
    int32_t axis; /* of y; may count from the end */
    float epsilon;
} tn_facet_normalize;

#endif
