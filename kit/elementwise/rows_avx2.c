/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions for one processor level; see rows_body.h. */
#define TN_ROWS_LEVEL tn_rows_avx2
#include "kit/elementwise/rows_body.h"
