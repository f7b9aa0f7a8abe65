/* SPDX-License-Identifier: Apache-2.0 */
/* The direct convolution's inner loop for one processor level; see direct_body.h. */
#define TN_DIRECT_LEVEL tn_direct_baseline
#include "conv/direct_body.h"
