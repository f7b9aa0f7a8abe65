/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of tn_kernel.absorbs, like "tn.bias/1, tn.activation/1(relu|clip), @1 tn.convert/1": the
 * names of facets, the variants of each that count, and the input that it stands before. Names are
 * told apart by their characters alone.
 */
#ifndef TN_PLUGIN_FIELDS_ABSORBS_H
#define TN_PLUGIN_FIELDS_ABSORBS_H

#include "base/memory.h"

#include <tenon/plugin.h>

typedef struct tn_absorb {
    const char *facet;
    uint32_t port; /* 0: after the kernel; k: before its input k - 1 */
    uint32_t variant_count;
    const char *const *variants;
} tn_absorb;

/* Null text: nothing. `is_newer`: the library was built with a header that knows more than this
 * host; names of that header that are not known here are left out then, not refused.
 * TN_ERROR_PLUGIN names the column. */
tn_status tn_absorbs_parse(tn_arena *arena, const char *text, bool is_newer,
                           const tn_absorb **out_absorbs, uint32_t *out_count);
/* Whether a facet of this variant (null: it has none) is meant. */
bool tn_absorb_has(const tn_absorb *absorb, const char *variant);

#endif
