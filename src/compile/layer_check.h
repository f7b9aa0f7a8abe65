/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what a caller says of a layer before layer_source.c writes its source. */
#ifndef TN_COMPILE_LAYER_CHECK_H
#define TN_COMPILE_LAYER_CHECK_H

#include <tenon/compile.h>

/* Names are identifiers, arrays are there, types and flags are known, bounds are finite.
 * TN_ERROR_ARGUMENT says which is not so. */
tn_status tn_layer_check(const tn_compile_layer *layer);

#endif
