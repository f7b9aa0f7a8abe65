/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/cost.h: what a kernel knows of a tactic's time before it is measured, for builds
 * that choose without measuring (--timing-seconds 0). They estimate a kernel by the bytes of its
 * tensors and by the multiplications of its weights; a tactic that does the node by another
 * algorithm says so here. A draft: it may change or go.
 */
#ifndef TENON_PLUGIN_COST_H
#define TENON_PLUGIN_COST_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* host->extension(host, TN_COSTS): tn_cost_service. */
#define TN_COSTS "tn.draft.cost/1"

/* What a tactic of this node takes. */
typedef struct tn_cost {
    uint32_t size;
    uint32_t reserved;
    double work; /* over the node's multiplications in vectors that the kernel is for, of which all
                    lanes are at work: 1 takes just that, 0.5 half of it; above 0 */
    double passed; /* bytes that it writes and reads between its parts, beside the node's tensors */
    double grown;  /* bytes by which what it packs is larger than the constants */
} tn_cost;

typedef struct tn_cost_service {
    uint32_t size;
    uint32_t reserved;
    /* Of tactic `tactic`. Nothing is known of a tactic without a call. Figures that are not finite,
     * or negative, and calls from another callback are passed over.
     * [thread: the callback's own; called: tactics] */
    void (*set)(tn_call *call, uint32_t tactic, const tn_cost *cost) TN_NOEXCEPT;
} tn_cost_service;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_cost, grown, 24);
TN_FROZEN(tn_cost_service, set, 8);

#endif
