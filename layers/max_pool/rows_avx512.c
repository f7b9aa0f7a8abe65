/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling by rows for one processor level; see rows_body.h. */
#define TN_MAX_POOL_ROWS tn_max_pool_rows_avx512
#include "max_pool/rows_body.h"
