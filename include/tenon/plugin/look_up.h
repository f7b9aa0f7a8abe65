/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/plugin/look_up.h: the facet of nodes that are a function of a byte as a table, for kernels
 * that have bytes to store (tn_kernel.absorbs). */
#ifndef TENON_PLUGIN_LOOK_UP_H
#define TENON_PLUGIN_LOOK_UP_H

#include <tenon/plugin.h>

/* y = operand 0 at x, whose bits are read as an unsigned byte: a CONSTANT of 256 elements of y's
 * type. x and y have 8 bits (i8, u8). The struct is its size alone, a uint32_t. */
#define TN_FACET_LOOK_UP "tn.look_up/1"

#endif
