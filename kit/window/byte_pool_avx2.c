/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of 8-bit pooling for one processor level; see byte_pool_body.h. */
#define TN_BYTE_POOL_LEVEL tn_byte_pool_avx2
#include "kit/window/byte_pool_body.h"
