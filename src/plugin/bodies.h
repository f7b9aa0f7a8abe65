/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service by which operators run the graphs in their fields (tenon/plugin/body.h), and what
 * stands behind it: an executor in the call's scope, which the layers above provide: references
 * (graph/body.h), or programs (run/bodies/body_contexts.c).
 */
#ifndef TN_PLUGIN_BODIES_H
#define TN_PLUGIN_BODIES_H

#include <tenon/plugin/body.h>

typedef struct tn_body_executor tn_body_executor;
typedef tn_status (*tn_body_call)(tn_body_executor *executor, tn_call *call,
                                  const tn_body_graph *body, const tn_tensor *const *inputs,
                                  tn_tensor *const *outputs);
typedef tn_status (*tn_body_value_call)(tn_call *call, const tn_body_graph *body,
                                        const tn_tensor *const *inputs, uint32_t output,
                                        uint64_t bytes, void *data, bool *out_is_known);
/* What may be asked of bodies, and of the bodies in those, for one node outside of a run, where
 * nobody could cancel it: each question about shapes and each run has a weight. */
#define TN_BODY_QUESTIONS    100000u
#define TN_BODY_ASKED_WEIGHT 5u
#define TN_BODY_RUN_WEIGHT   1u

struct tn_body_executor {
    tn_body_value_call value;
    tn_body_call infer;
    tn_body_call run; /* null: only infer can be asked for at this stage */
};

/* The table of "tn.body/1". */
const tn_body_service *tn_body_service_table(void);

#endif
