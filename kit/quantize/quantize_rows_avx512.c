/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of 8-bit integers for one processor level; see quantize_rows_body.h. */
#define TN_QUANTIZE_LEVEL tn_quantize_avx512
#include "kit/quantize/quantize_rows_body.h"
