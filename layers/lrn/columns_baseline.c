/* SPDX-License-Identifier: Apache-2.0 */
/* LRN by vectors for one processor level; see columns_body.h. */
#define TN_LRN_LEVEL tn_lrn_baseline
#include "lrn/columns_body.h"
