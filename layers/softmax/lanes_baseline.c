/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax by vectors for one processor level; see lanes_body.h. */
#define TN_SOFTMAX_LEVEL tn_softmax_baseline
#include "softmax/lanes_body.h"
