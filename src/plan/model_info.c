/* SPDX-License-Identifier: Apache-2.0 */
/* See model_info.h. */
#include "plan/model_info.h"

#include "base/status.h"

tn_status tn_plan_model_info(tn_arena *arena, const Tenon__Plan__Plan *plan,
                             tn_model_info *out_info) {
    static const Tenon__Plan__Model none = TENON__PLAN__MODEL__INIT;
    const Tenon__Plan__Model *model = plan->model ? plan->model : &none;
    tn_opset_import *opsets = tn_arena_allocate(arena, model->n_opsets + 1, sizeof(*opsets));
    tn_metadata *entries = tn_arena_allocate(arena, model->n_metadata + 1, sizeof(*entries));
    if (!opsets || !entries) return tn_fail_memory("a model's description");
    for (size_t i = 0; i < model->n_opsets; i++)
        opsets[i] = (tn_opset_import){model->opsets[i]->domain, model->opsets[i]->version};
    for (size_t i = 0; i < model->n_metadata; i++)
        entries[i] = (tn_metadata){model->metadata[i]->key, model->metadata[i]->value};
    *out_info = (tn_model_info){.size = sizeof(*out_info),
                                .opset_count = (uint32_t)model->n_opsets,
                                .graph_name = plan->name,
                                .producer_name = model->producer_name,
                                .producer_version = model->producer_version,
                                .domain = model->domain,
                                .doc = model->doc,
                                .source_format = model->source_format,
                                .model_version = model->version,
                                .opsets = opsets,
                                .metadata_count = model->n_metadata,
                                .metadata = entries};
    return TN_OK;
}
