/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 bytes by vectors for one processor level; see byte_table_body.h. */
#define TN_BYTE_TABLE_APPLY tn_byte_table_apply_avx2
#include "kit/math/byte_table_body.h"
