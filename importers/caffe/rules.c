/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers run: include and exclude against the network's state. Source: Caffe's documentation
 * of NetStateRule; a layer with include runs when one of its rules is met, one with exclude when
 * none is.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <string.h>

#define STAGES_AT_MOST 256

/* The options' stages, or those of the network's own state. */
static bool has_stage(const tn_caffe_reader *reader, const char *stage) {
    const tn_caffe_options *options = reader->options;
    for (uint64_t i = 0; i < options->stages.count; i++)
        if (strcmp(options->stages.items[i], stage) == 0) return true;
    const tn_prototext_message *state = tn_prototext_child(reader->network, "state");
    const tn_prototext_field *field = NULL;
    while ((field = tn_prototext_message_next(state, "stage", field)))
        if (strcmp(field->text, stage) == 0) return true;
    return false;
}

static int64_t level(const tn_caffe_reader *reader) {
    if (reader->options->level != 0) return reader->options->level;
    return tn_prototext_integer(tn_prototext_child(reader->network, "state"), "level", 0);
}

static bool is_met(const tn_caffe_reader *reader, const tn_prototext_message *rule) {
    const tn_prototext_field *field = NULL;
    if (strcmp(tn_prototext_text(rule, "phase", "TEST"), "TEST") != 0) return false;
    if (level(reader) < tn_prototext_integer(rule, "min_level", INT64_MIN) ||
        level(reader) > tn_prototext_integer(rule, "max_level", INT64_MAX))
        return false;
    while ((field = tn_prototext_message_next(rule, "stage", field)))
        if (!has_stage(reader, field->text)) return false;
    while ((field = tn_prototext_message_next(rule, "not_stage", field)))
        if (has_stage(reader, field->text)) return false;
    return true;
}

static bool any_met(const tn_caffe_reader *reader, const tn_prototext_message *layer,
                    const char *name) {
    const tn_prototext_field *field = NULL;
    while ((field = tn_prototext_message_next(layer, name, field)))
        if (is_met(reader, field->message)) return true;
    return false;
}

tn_status tn_caffe_state_check(const tn_caffe_reader *reader) {
    size_t count = tn_prototext_count(tn_prototext_child(reader->network, "state"), "stage");
    if (count <= STAGES_AT_MOST) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT, "the network's state has %zu stages; at most %d are read",
                   count, STAGES_AT_MOST);
}

tn_status tn_caffe_rules_met(const tn_caffe_reader *reader, const tn_prototext_message *layer,
                             bool *out_is_used) {
    bool has_include = tn_prototext_has(layer, "include"),
         has_exclude = tn_prototext_has(layer, "exclude");
    if (has_include && has_exclude)
        return tn_fail(TN_ERROR_FORMAT, "it has both include and exclude rules");
    *out_is_used =
        has_include ? any_met(reader, layer, "include") : !any_met(reader, layer, "exclude");
    return TN_OK;
}
