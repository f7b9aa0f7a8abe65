/* SPDX-License-Identifier: Apache-2.0 */
/* Transposition by tiles for one processor level; see tiles_body.h. */
#define TN_TRANSPOSE tn_transpose_avx512
#include "transpose/tiles_body.h"
