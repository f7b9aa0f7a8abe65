/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's file said of itself: see writer.h. */
#include "plan/write/writer.h"

#include "base/status.h"

static tn_status write_opsets(tn_plan_writer *writer, const tn_model_info *info,
                              Tenon__Plan__Model *model) {
    void **messages;
    TN_TRY(
        tn_plan_writer_messages(writer, info->opset_count, sizeof(Tenon__Plan__Opset), &messages));
    model->n_opsets = info->opset_count;
    model->opsets = (Tenon__Plan__Opset **)messages;
    for (uint32_t i = 0; i < info->opset_count; i++) {
        tenon__plan__opset__init(model->opsets[i]);
        model->opsets[i]->domain = tn_plan_writer_text(info->opsets[i].domain);
        model->opsets[i]->version = info->opsets[i].version;
    }
    return TN_OK;
}

static tn_status write_metadata(tn_plan_writer *writer, const tn_model_info *info,
                                Tenon__Plan__Model *model) {
    const size_t count = (size_t)info->metadata_count;
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, count, sizeof(Tenon__Plan__Metadata), &messages));
    model->n_metadata = count;
    model->metadata = (Tenon__Plan__Metadata **)messages;
    for (size_t i = 0; i < count; i++) {
        tenon__plan__metadata__init(model->metadata[i]);
        model->metadata[i]->key = tn_plan_writer_text(info->metadata[i].key);
        model->metadata[i]->value = tn_plan_writer_text(info->metadata[i].value);
    }
    return TN_OK;
}

tn_status tn_plan_write_model(tn_plan_writer *writer) {
    tn_model_info info = {.size = sizeof(info)};
    TN_TRY(tn_graph_get_model_info(writer->graph, &info));
    if (!*info.producer_name && !*info.producer_version && !*info.domain && !*info.doc &&
        !*info.source_format && info.model_version == 0 && info.opset_count == 0 &&
        info.metadata_count == 0)
        return TN_OK;
    Tenon__Plan__Model *model = tn_arena_allocate(writer->arena, 1, sizeof(*model));
    if (!model) return tn_fail_memory("writing a plan");
    tenon__plan__model__init(model);
    model->producer_name = tn_plan_writer_text(info.producer_name);
    model->producer_version = tn_plan_writer_text(info.producer_version);
    model->domain = tn_plan_writer_text(info.domain);
    model->doc = tn_plan_writer_text(info.doc);
    model->source_format = tn_plan_writer_text(info.source_format);
    model->version = info.model_version;
    TN_TRY(write_opsets(writer, &info, model));
    TN_TRY(write_metadata(writer, &info, model));
    writer->plan.model = model;
    return TN_OK;
}
