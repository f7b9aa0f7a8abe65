/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a program as JSON; see report_steps.h. */
#include "tensor/quantization.h"
#include "report/report_steps.h"

#include <inttypes.h>

void tn_report_add_extents(tn_text *text, const tn_shape *shape) {
    tn_text_add(text, "[");
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        tn_text_add_format(text, "%s%" PRId64, axis > 0 ? ", " : "", shape->extents[axis]);
    tn_text_add(text, "]");
}

static void add_value(tn_text *text, const tn_report_steps *source, uint32_t value) {
    if (value == TN_NO_VALUE) {
        tn_text_add(text, "null");
        return;
    }
    const tn_program_value *item = &source->program->values[value];
    const tn_inferred_tensor *known = &source->shapes->tensors[item->tensor];
    tn_text_add(text, "{\"tensor\": ");
    tn_text_add_json(text, source->graph->tensors[item->tensor].name);
    tn_text_add_format(text, ", \"type\": \"%s\", \"format\": \"%s\", \"shape\": ",
                       tn_type_name(item->type), tn_format_name(item->format));
    if (tn_inferred_has_shape(known))
        tn_report_add_extents(text, &known->storage.shape);
    else
        tn_text_add(text, "null");
    if (item->space == TN_SPACE_DEVICE) tn_text_add(text, ", \"space\": \"device\"");
    if (item->quantization)
        tn_text_add_member_number(text, "scale", tn_quantization_scale(item->quantization, 0));
    tn_text_add(text, "}");
}

static void add_values(tn_text *text, const tn_report_steps *source, const char *name,
                       uint32_t count, const uint32_t *values) {
    tn_text_add_format(text, ", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_value(text, source, values[i]);
    }
    tn_text_add(text, "]");
}

static void add_kernel(tn_text *text, const tn_program_step *step) {
    if (step->kind == TN_STEP_VIEW)
        tn_text_add(text, ", \"kind\": \"view\", \"kernel\": null, \"library\": null");
    else if (!step->kernel)
        tn_text_add_format(text, ", \"kind\": \"%s\", \"kernel\": \"reference\", \"library\": null",
                           step->is_host ? "shape" : "kernel");
    else {
        tn_text_add(text, ", \"kind\": \"kernel\", \"kernel\": ");
        tn_text_add_json(text, step->kernel);
        tn_text_add_member(text, "library", step->library);
    }
}

/* Why a node reads and writes nothing in the type that the precision allows. */
static void add_note(tn_text *text, const tn_report_steps *source, uint32_t node) {
    const tn_lower_note_item *note = &source->notes->nodes[node];
    const char *type = source->notes->type == TN_I8 ? "int8" : tn_type_name(source->notes->type);
    tn_text_add_format(text,
                       ", \"stays\": {\"in\": \"f32\", \"instead_of\": \"%s\", \"why\": ", type);
    tn_text_add_json(text, note->why);
    tn_text_add_member(text, "text", note->text);
    if (note->reason == TN_LOWER_NO_SCALE)
        tn_text_add_member(text, "tensor", source->graph->tensors[note->tensor].name);
    if (note->reason == TN_LOWER_SLOWER)
        tn_text_add_format(text, ", \"best_ns\": %.0f, \"chosen_ns\": %.0f, \"measured\": %s",
                           note->lower_ns, note->chosen_ns, note->is_measured ? "true" : "false");
    tn_text_add(text, "}");
}

static void add_pinned(tn_text *text, const char *name, const char *value, bool *is_first) {
    if (!value) return;
    tn_text_add_format(text, "%s\"%s\": ", *is_first ? "" : ", ", name);
    tn_text_add_json(text, value);
    *is_first = false;
}

bool tn_node_pin_is_set(const tn_node_pin *pin) {
    return pin->kernel || pin->type != TN_NONE;
}

/* What the caller pinned the node to. */
static void add_pin(tn_text *text, const tn_node_pin *pin) {
    bool is_first = true;
    tn_text_add(text, ", \"pinned\": {");
    add_pinned(text, "kernel", pin->kernel, &is_first);
    add_pinned(text, "combination", pin->combination, &is_first);
    add_pinned(text, "type", pin->type == TN_NONE ? NULL : tn_type_name(pin->type), &is_first);
    tn_text_add(text, "}");
}

static void add_operators(tn_text *text, const tn_report_steps *source, uint32_t count,
                          const uint32_t *nodes) {
    tn_text_add(text, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, source->graph->nodes[nodes[i]].entry->op->name);
    }
    tn_text_add(text, "]");
}

static bool add_rewrite(tn_text *text, const tn_graph_node *node, bool is_first) {
    if (!node->rewrite) return is_first;
    tn_text_add(text, is_first ? ", \"rewrites\": [" : ", ");
    tn_text_add_json(text, node->rewrite);
    return false;
}

/* The rewrites that put nodes of the step in place, where there are any. */
static void add_rewrites(tn_text *text, const tn_graph *graph, const tn_program_step *step) {
    bool is_first = add_rewrite(text, &graph->nodes[step->node], true);
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        is_first = add_rewrite(text, &graph->nodes[step->absorbed[i]], is_first);
    if (!is_first) tn_text_add(text, "]");
}

static void add_candidate_port(tn_text *text, const char *key, tn_type type, tn_format format) {
    if (type == TN_NONE) return;
    tn_text_add_format(text, ", \"%s\": {\"type\": \"%s\", \"format\": \"%s\"}", key,
                       tn_type_name(type), tn_format_name(format));
}

static void add_candidate(tn_text *text, const tn_report_steps *source,
                          const tn_lower_candidate *item) {
    static const char *const sources[] = {"", "measured", "estimated", "pruned"};
    tn_text_add(text, "{\"kernel\": ");
    tn_text_add_json(text, item->kernel ? item->kernel : "reference");
    if (item->library) tn_text_add_member(text, "library", item->library);
    tn_text_add(text, ", \"absorbs\": ");
    add_operators(text, source, item->chain_count, item->chain);
    tn_text_add_format(
        text, ", \"tactic\": %" PRIu32 ", \"tactics\": %" PRIu32 ", \"tactics_measured\": %" PRIu32,
        item->tactic, item->tactic_count, item->measured_count);
    add_candidate_port(text, "input", item->input_type, item->input_format);
    add_candidate_port(text, "output", item->output_type, item->output_format);
    if (item->is_device) tn_text_add(text, ", \"space\": \"device\"");
    tn_text_add_format(text, ", \"ns\": %.0f, \"time\": \"%s\"", item->nanoseconds,
                       sources[item->time_source]);
    if (item->time_source == TN_LOWER_MEASURED)
        tn_text_add_member_number(text, "noise", item->noise);
    tn_text_add_format(text, ", \"chosen\": %s}", item->is_chosen ? "true" : "false");
}

static void add_candidates(tn_text *text, const tn_report_steps *source,
                           const tn_lower_candidate_list *list) {
    if (list->count == 0) return;
    tn_text_add(text, ", \"candidates\": [");
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_candidate(text, source, &list->items[i]);
    }
    tn_text_add(text, "]");
}

static double step_ns(const tn_report_steps *source, uint32_t index) {
    return source->step_ns ? source->step_ns[index] : source->program->steps[index].nanoseconds;
}

static void add_node(tn_text *text, const tn_report_steps *source, uint32_t index) {
    const tn_program_step *step = &source->program->steps[index];
    const tn_graph_node *node = &source->graph->nodes[step->node];
    tn_text_add(text, "{\"name\": ");
    tn_text_add_json(text, node->name);
    tn_text_add_member(text, "op", node->entry->op->name);
    add_kernel(text, step);
    tn_text_add_format(text, ", \"tactic\": %" PRIu32 ", \"in_place\": %s, \"ns\": %.0f",
                       step->tactic, step->is_in_place ? "true" : "false", step_ns(source, index));
    tn_text_add(text, ", \"absorbed\": [");
    for (uint32_t i = 0; i < step->absorbed_count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, source->graph->nodes[step->absorbed[i]].name);
    }
    tn_text_add(text, "]");
    if (step->before_count > 0)
        tn_text_add_format(text, ", \"before\": %" PRIu32 ", \"before_input\": %" PRIu32,
                           step->before_count, step->before_input);
    add_values(text, source, "inputs", step->input_count, step->inputs);
    add_values(text, source, "operands", step->operand_count, step->operands);
    add_values(text, source, "outputs", step->output_count, step->outputs);
    if (source->notes && source->notes->nodes[step->node].reason != TN_LOWER_DONE)
        add_note(text, source, step->node);
    if (source->node_pins && tn_node_pin_is_set(&source->node_pins[step->node]))
        add_pin(text, &source->node_pins[step->node]);
    tn_text_add_format(text, ", \"step\": %" PRIu32 ", \"absorbed_ops\": ", index);
    add_operators(text, source, step->absorbed_count, step->absorbed);
    if (step->is_device) tn_text_add(text, ", \"space\": \"device\"");
    if (source->notes && source->notes->candidates)
        add_candidates(text, source, &source->notes->candidates[step->node]);
    add_rewrites(text, source->graph, step);
    tn_text_add(text, "}");
}

size_t tn_report_value_bytes(const tn_report_steps *source, uint32_t value) {
    const tn_program_value *item = &source->program->values[value];
    const tn_inferred_tensor *known = &source->shapes->tensors[item->tensor];
    size_t bytes = 0;
    if (!tn_inferred_has_shape(known) ||
        tn_format_bytes(item->format, item->type, &known->storage.shape, &bytes) != TN_OK)
        return 0;
    return bytes;
}

static void add_reformat(tn_text *text, const tn_report_steps *source, uint32_t index) {
    const tn_program_step *step = &source->program->steps[index];
    const tn_program_value *from = &source->program->values[step->inputs[0]],
                           *to = &source->program->values[step->outputs[0]];
    tn_text_add(text, "{\"tensor\": ");
    tn_text_add_json(text, source->graph->tensors[from->tensor].name);
    tn_text_add_format(text,
                       ", \"from\": \"%s\", \"to\": \"%s\", \"bytes\": %zu, \"ns\": %.0f, "
                       "\"from_type\": \"%s\", \"to_type\": \"%s\", \"from_space\": \"%s\", "
                       "\"to_space\": \"%s\", \"step\": %" PRIu32 "}",
                       tn_format_name(from->format), tn_format_name(to->format),
                       tn_report_value_bytes(source, step->outputs[0]), step_ns(source, index),
                       tn_type_name(from->type), tn_type_name(to->type),
                       from->space ? "device" : "host", to->space ? "device" : "host", index);
}

static void add_list(tn_text *text, const tn_report_steps *source, bool of_reformats) {
    const tn_program *program = source->program;
    const char *between = "\n    ";
    tn_text_add(text, of_reformats ? "  \"reformats\": [" : "  \"nodes\": [");
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if ((step->kind == TN_STEP_REFORMAT) != of_reformats) continue;
        tn_text_add(text, between);
        between = ",\n    ";
        if (of_reformats)
            add_reformat(text, source, s);
        else
            add_node(text, source, s);
    }
    tn_text_add(text, "],\n");
}

void tn_report_add_steps(tn_text *text, const tn_report_steps *source) {
    add_list(text, source, false);
    add_list(text, source, true);
}

void tn_report_add_outputs(tn_text *text, const tn_graph *graph) {
    tn_text_add(text, "  \"outputs\": [");
    for (size_t i = 0; i < graph->output_count; i++) {
        tn_text_add(text, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
        tn_text_add_json(text, graph->output_names[i]);
        tn_text_add_member(text, "tensor", graph->tensors[graph->outputs[i]].name);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}
