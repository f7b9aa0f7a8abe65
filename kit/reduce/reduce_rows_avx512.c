/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions by vectors for one processor level; see reduce_rows_body.h. */
#define TN_REDUCE_LEVEL tn_reduce_avx512
#include "kit/reduce/reduce_rows_body.h"
