/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised depthwise convolution's loop for one processor level; see depthwise_body.h. */
#define TN_DEPTHWISE_LEVEL tn_depthwise_baseline
#include "conv/depthwise_body.h"
