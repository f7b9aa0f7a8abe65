/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/plugin/plane_mean.h: the facet of nodes that take the mean of whole planes, for kernels
 * that have all pixels of an image together (tn_kernel.absorbs). */
#ifndef TENON_PLUGIN_PLANE_MEAN_H
#define TENON_PLUGIN_PLANE_MEAN_H

#include <tenon/plugin.h>

/* y [batch, channels, 1...] = the mean of x [batch, channels, spatial...] over the 1 or more
 * spatial axes. NaN where a plane has one. The struct is its size alone, a uint32_t; the answer has
 * TN_FACET_RESHAPES. */
#define TN_FACET_PLANE_MEAN "tn.plane_mean/1"

#endif
