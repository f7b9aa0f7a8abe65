/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow_dot_body.h's loop where the sums of four products fit 16 bits: two groups are added before
 * they are widened. Before it is included, TN_DOT_LEVEL names the table.
 */
#define TN_DOT_NARROW
#define TN_DOT_FOLD 2
#include "kit/int8/dot_body.h"
