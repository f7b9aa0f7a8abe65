/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAYERS_ATTENTION_REWRITES_H
#define TN_LAYERS_ATTENTION_REWRITES_H

#include <tenon/plugin/rewrite.h>

/* rewrites_around.c: what is written around Attention. */
extern const tn_rewrite tn_attention_rows_rewrite, tn_attention_groups_rewrite,
    tn_attention_past_rewrite, tn_attention_packed_rewrite, tn_attention_sliced_rewrite;
/* rewrites.c: products around a softmax, and those. */
extern const tn_rewrite *const tn_attention_rewrites[21];

#endif
