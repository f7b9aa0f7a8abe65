/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization by vectors for one processor level; see channels_body.h. */
#define TN_CHANNELS_LEVEL tn_channels_avx512
#define TN_CHANNELS_ROWS  tn_rows_avx512
#include "batch_normalization/channels_body.h"
