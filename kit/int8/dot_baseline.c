/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loop of 8-bit products for one processor level; see dot_body.h. */
#define TN_DOT_LEVEL tn_dot_baseline
#include "kit/int8/dot_body.h"
