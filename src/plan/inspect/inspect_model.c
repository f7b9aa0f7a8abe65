/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's file said of itself, as JSON. See inspect.h. */
#include "plan/inspect/inspect.h"

#include <inttypes.h>

static void add_text(tn_text *text, const char *name, const char *value) {
    tn_text_add_member(text, name, value);
}

static void add_opsets(tn_text *text, const tn_model_info *info) {
    tn_text_add(text, ", \"opsets\": [");
    for (uint32_t i = 0; i < info->opset_count; i++) {
        tn_text_add(text, i > 0 ? ", {\"domain\": " : "{\"domain\": ");
        tn_text_add_json(text, info->opsets[i].domain);
        tn_text_add_format(text, ", \"version\": %" PRIu32 "}", info->opsets[i].version);
    }
    tn_text_add(text, "]");
}

static void add_metadata(tn_text *text, const tn_model_info *info) {
    tn_text_add(text, ", \"metadata\": [");
    for (uint64_t i = 0; i < info->metadata_count; i++) {
        tn_text_add(text, i > 0 ? ",\n    {\"key\": " : "\n    {\"key\": ");
        tn_text_add_json(text, info->metadata[i].key);
        tn_text_add_member(text, "value", info->metadata[i].value);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]");
}

void tn_inspect_model(tn_text *text, const tn_model_info *info) {
    tn_text_add(text, "  \"model\": {\"source_format\": ");
    tn_text_add_json(text, info->source_format);
    add_text(text, "producer_name", info->producer_name);
    add_text(text, "producer_version", info->producer_version);
    add_text(text, "domain", info->domain);
    tn_text_add_format(text, ", \"version\": %" PRId64, info->model_version);
    add_text(text, "doc", info->doc);
    add_opsets(text, info);
    add_metadata(text, info);
    tn_text_add(text, "},\n");
}
