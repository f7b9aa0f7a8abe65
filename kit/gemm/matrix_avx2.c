/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product's inner loop for one processor level; see matrix_body.h. */
#define TN_MATRIX_LEVEL tn_matrix_avx2
#include "kit/gemm/matrix_body.h"
