/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the builder's report: see report.h. Times are whole nanoseconds: decimal points depend on
 * the locale. */
#include "build/report.h"
#include "base/status.h"
#include "base/text.h"
#include "build/memory_plan.h"

#include <inttypes.h>

static void add_extents(tn_text *text, const tn_shape *shape) {
    tn_text_add(text, "[");
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        tn_text_add_format(text, "%s%" PRId64, axis > 0 ? ", " : "", shape->extents[axis]);
    tn_text_add(text, "]");
}

static void add_inputs(tn_text *text, const tn_report_source *source) {
    const tn_graph *graph = source->graph;
    tn_text_add(text, "  \"inputs\": [");
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        tn_text_add(text, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
        tn_text_add_json(text, tensor->name);
        tn_text_add_format(
            text, ", \"type\": \"%s\", \"free\": %s, \"min\": ", tn_type_name(tensor->type),
            source->profiles[i].is_free ? "true" : "false");
        add_extents(text, &source->profiles[i].minimum);
        tn_text_add(text, ", \"opt\": ");
        add_extents(text, &source->profiles[i].optimum);
        tn_text_add(text, ", \"max\": ");
        add_extents(text, &source->profiles[i].maximum);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_value(tn_text *text, const tn_report_source *source, uint32_t value) {
    if (value == TN_NO_VALUE) {
        tn_text_add(text, "null");
        return;
    }
    const tn_program_value *item = &source->program->values[value];
    const tn_inferred_tensor *known = &source->shapes->points[1]->tensors[item->tensor];
    tn_text_add(text, "{\"tensor\": ");
    tn_text_add_json(text, source->graph->tensors[item->tensor].name);
    tn_text_add_format(text, ", \"type\": \"%s\", \"format\": \"%s\", \"shape\": ",
                       tn_type_name(item->type), tn_format_name(item->format));
    if (known->is_known)
        add_extents(text, &known->storage.shape);
    else
        tn_text_add(text, "null");
    if (item->space == TN_SPACE_DEVICE) tn_text_add(text, ", \"space\": \"device\"");
    if (item->quantization) {
        tn_text_add(text, ", \"scale\": ");
        tn_text_add_number(text, (double)item->quantization->scale[0]);
    }
    tn_text_add(text, "}");
}

static void add_values(tn_text *text, const tn_report_source *source, const char *name,
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
        tn_text_add(text, ", \"library\": ");
        tn_text_add_json(text, step->library);
    }
}

/* Why a node reads and writes nothing in the type that the precision allows. */
static void add_note(tn_text *text, const tn_report_source *source, uint32_t node) {
    const tn_lower_note_item *note = &source->notes->nodes[node];
    const char *type = source->notes->type == TN_I8 ? "int8" : tn_type_name(source->notes->type);
    tn_text_add_format(text,
                       ", \"stays\": {\"in\": \"f32\", \"instead_of\": \"%s\", \"why\": ", type);
    tn_text_add_json(text, note->why);
    tn_text_add(text, ", \"text\": ");
    tn_text_add_json(text, note->text);
    if (note->reason == TN_LOWER_NO_SCALE) {
        tn_text_add(text, ", \"tensor\": ");
        tn_text_add_json(text, source->graph->tensors[note->tensor].name);
    }
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

/* What the caller pinned the node to. */
static void add_pin(tn_text *text, const tn_node_pin *pin) {
    bool is_first = true;
    tn_text_add(text, ", \"pinned\": {");
    add_pinned(text, "kernel", pin->kernel, &is_first);
    add_pinned(text, "combination", pin->combination, &is_first);
    add_pinned(text, "type", pin->type == TN_NONE ? NULL : tn_type_name(pin->type), &is_first);
    tn_text_add(text, "}");
}

static void add_node(tn_text *text, const tn_report_source *source, const tn_program_step *step) {
    const tn_graph_node *node = &source->graph->nodes[step->node];
    tn_text_add(text, "{\"name\": ");
    tn_text_add_json(text, node->name);
    tn_text_add(text, ", \"op\": ");
    tn_text_add_json(text, node->entry->op->name);
    add_kernel(text, step);
    tn_text_add_format(text, ", \"tactic\": %" PRIu32 ", \"in_place\": %s, \"ns\": %.0f",
                       step->tactic, step->is_in_place ? "true" : "false", step->nanoseconds);
    tn_text_add(text, ", \"absorbed\": [");
    for (uint32_t i = 0; i < step->epilogue_count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, source->graph->nodes[step->epilogues[i]].name);
    }
    tn_text_add(text, "]");
    add_values(text, source, "inputs", step->input_count, step->inputs);
    add_values(text, source, "operands", step->operand_count, step->operands);
    add_values(text, source, "outputs", step->output_count, step->outputs);
    if (source->notes && source->notes->nodes[step->node].reason != TN_LOWER_DONE)
        add_note(text, source, step->node);
    if (source->node_pins && tn_node_pin_is_set(&source->node_pins[step->node]))
        add_pin(text, &source->node_pins[step->node]);
    tn_text_add(text, "}");
}

static size_t value_bytes(const tn_report_source *source, uint32_t value) {
    const tn_program_value *item = &source->program->values[value];
    const tn_inferred_tensor *known = &source->shapes->points[1]->tensors[item->tensor];
    size_t bytes = 0;
    if (!known->is_known ||
        tn_format_bytes(item->format, item->type, &known->storage.shape, &bytes) != TN_OK)
        return 0;
    return bytes;
}

static void add_reformat(tn_text *text, const tn_report_source *source,
                         const tn_program_step *step) {
    const tn_program_value *from = &source->program->values[step->inputs[0]],
                           *to = &source->program->values[step->outputs[0]];
    tn_text_add(text, "{\"tensor\": ");
    tn_text_add_json(text, source->graph->tensors[from->tensor].name);
    tn_text_add_format(text,
                       ", \"from\": \"%s\", \"to\": \"%s\", \"bytes\": %zu, \"ns\": %.0f, "
                       "\"from_type\": \"%s\", \"to_type\": \"%s\", \"from_space\": \"%s\", "
                       "\"to_space\": \"%s\"}",
                       tn_format_name(from->format), tn_format_name(to->format),
                       value_bytes(source, step->outputs[0]), step->nanoseconds,
                       tn_type_name(from->type), tn_type_name(to->type),
                       from->space ? "device" : "host", to->space ? "device" : "host");
}

static void add_steps(tn_text *text, const tn_report_source *source, bool of_reformats) {
    const tn_program *program = source->program;
    const char *between = "\n    ";
    tn_text_add(text, of_reformats ? "  \"reformats\": [" : "  \"nodes\": [");
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if ((step->kind == TN_STEP_REFORMAT) != of_reformats) continue;
        tn_text_add(text, between);
        between = ",\n    ";
        if (of_reformats)
            add_reformat(text, source, step);
        else
            add_node(text, source, step);
    }
    tn_text_add(text, "],\n");
}

static void add_names(tn_text *text, const char *what, const tn_pass_names *names) {
    tn_text_add_format(text, "  \"%s\": [", what);
    for (size_t i = 0; i < names->count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, names->names[i]);
    }
    tn_text_add(text, "],\n");
}

static void extend_life(tn_memory_buffer *buffers, uint32_t step, uint32_t count,
                        const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != TN_NO_VALUE && buffers[values[i]].bytes > 0)
            buffers[values[i]].last = step;
}

/* The memory of a run at the optimum, workspaces and views left out: what the engine takes differs
 * by those. */
static tn_status measure_arena(const tn_report_source *source, size_t *out_bytes) {
    const tn_program *program = source->program;
    const tn_allocator *allocator = source->graph->allocator;
    tn_memory_buffer *buffers =
        tn_allocate_zero(allocator, program->value_count + (size_t)1, sizeof *buffers);
    if (!buffers) return tn_fail_memory("the report of a build");
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        for (uint32_t i = 0; i < step->output_count; i++) {
            if (step->outputs[i] == TN_NO_VALUE || step->kind == TN_STEP_VIEW || step->is_host)
                continue;
            tn_memory_buffer *buffer = &buffers[step->outputs[i]];
            buffer->bytes = value_bytes(source, step->outputs[i]);
            buffer->first = buffer->last = s;
        }
        extend_life(buffers, s, step->input_count, step->inputs);
        extend_life(buffers, s, step->operand_count, step->operands);
    }
    extend_life(buffers, program->step_count, (uint32_t)source->graph->output_count,
                program->output_values);
    tn_status status = tn_memory_plan_make(allocator, buffers, program->value_count, 64, out_bytes);
    tn_deallocate(allocator, buffers);
    return status;
}

/* What the steps cost; of the conversions those between types apart. */
typedef struct step_sums {
    double kernel_ns, reformat_ns, retype_ns;
    uint32_t reformat_count, retype_count;
} step_sums;

static step_sums sum_steps(const tn_program *program) {
    step_sums sums = {0};
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind != TN_STEP_REFORMAT) {
            sums.kernel_ns += step->nanoseconds;
            continue;
        }
        sums.reformat_count++;
        sums.reformat_ns += step->nanoseconds;
        if (tn_program_value_is_alike(&program->values[step->inputs[0]],
                                      &program->values[step->outputs[0]]))
            continue;
        sums.retype_count++;
        sums.retype_ns += step->nanoseconds;
    }
    return sums;
}

static void add_totals(tn_text *text, const tn_report_source *source, size_t arena_bytes) {
    const tn_program *program = source->program;
    const step_sums sums = sum_steps(program);
    const double all = sums.kernel_ns + sums.reformat_ns;
    size_t constants = 0;
    for (size_t t = 0; t < source->graph->tensor_count; t++)
        if (source->graph->tensors[t].is_constant && source->graph->tensors[t].use_count > 0)
            constants += source->graph->tensors[t].bytes;
    tn_text_add_format(text,
                       "  \"totals\": {\"steps\": %" PRIu32 ", \"reformats\": %" PRIu32
                       ", \"kernel_ns\": %.0f, \"reformat_ns\": %.0f, \"constant_bytes\": %zu, "
                       "\"arena_bytes\": %zu, \"type_conversions\": %" PRIu32
                       ", \"type_conversion_ns\": %.0f, \"type_conversion_share\": ",
                       program->step_count, sums.reformat_count, sums.kernel_ns, sums.reformat_ns,
                       constants, arena_bytes, sums.retype_count, sums.retype_ns);
    tn_text_add_number(text, all > 0 ? sums.retype_ns / all : 0);
    tn_text_add(text, "}\n");
}

/* The type that the precision allowed beside the tensors' own, and who would need a scale. */
static void add_precision(tn_text *text, const tn_report_source *source) {
    const tn_lower_notes *notes = source->notes;
    if (!notes || notes->type == TN_NONE) {
        tn_text_add(text, "  \"precision\": \"f32\",\n");
        return;
    }
    tn_text_add_format(text, "  \"precision\": \"%s\",\n  \"without_scale\": [",
                       notes->type == TN_I8 ? "int8" : tn_type_name(notes->type));
    for (size_t i = 0; i < notes->without_scale_count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, source->graph->tensors[notes->without_scale[i]].name);
    }
    tn_text_add(text, "],\n");
}

tn_status tn_report_make(const tn_report_source *source, char **out_json) {
    tn_text text;
    size_t arena_bytes = 0;
    TN_TRY(measure_arena(source, &arena_bytes));
    tn_text_init(&text, source->graph->allocator);
    tn_text_add(&text, "{\n  \"graph\": ");
    tn_text_add_json(&text, source->graph->name);
    tn_text_add(&text, ",\n  \"device\": ");
    tn_text_add_json(&text, source->program->fingerprint);
    tn_text_add_format(&text, ",\n  \"threads\": %" PRIu32 ",\n", source->program->threads);
    add_precision(&text, source);
    add_inputs(&text, source);
    add_steps(&text, source, false);
    add_steps(&text, source, true);
    add_names(&text, "folded", &source->passes->folded);
    add_names(&text, "dropped", &source->passes->dropped);
    add_names(&text, "merged", &source->passes->merged);
    add_names(&text, "recognized", &source->passes->recognized);
    add_totals(&text, source, arena_bytes);
    tn_text_add(&text, "}\n");
    tn_status status = tn_text_take(&text, out_json);
    tn_text_deinit(&text);
    return status;
}
