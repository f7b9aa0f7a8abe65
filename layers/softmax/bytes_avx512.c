/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of bytes by vectors for one processor level; see bytes_body.h. */
#define TN_SOFTMAX_BYTES_LEVEL tn_softmax_bytes_avx512
#include "softmax/bytes_body.h"
