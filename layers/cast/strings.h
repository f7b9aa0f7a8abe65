/* SPDX-License-Identifier: Apache-2.0 */
/* Casts from and to strings. */
#ifndef TN_LAYERS_CAST_STRINGS_H
#define TN_LAYERS_CAST_STRINGS_H

#include "kit/operator/strings.h"

/* Input 0 or output 0 has strings. Numbers are written with the fewest digits that say them; texts
 * that say no number are an error with the element. */
tn_status tn_cast_strings(tn_call *call);

#endif
