/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan as JSON, in the words of the builder's report, from their description. See
 * inspect.h. */
#include "plan/inspect/inspect.h"

#include "tensor/shape.h"

#include <inttypes.h>

static void add_text(tn_text *text, const char *piece) {
    if (piece)
        tn_text_add_json(text, piece);
    else
        tn_text_add(text, "null");
}

static void add_texts(tn_text *text, const char *name, uint32_t count, const char *const *pieces) {
    tn_text_add_format(text, ", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_text(text, pieces[i]);
    }
    tn_text_add(text, "]");
}

static void add_value(tn_text *text, const tn_described_program *program, uint32_t number) {
    if (number >= program->value_count) {
        tn_text_add(text, "null");
        return;
    }
    const tn_described_value *value = program->values[number];
    tn_text_add(text, "{\"tensor\": ");
    add_text(text, value->tensor);
    tn_text_add(text, ", \"type\": ");
    tn_inspect_type(text, value->type);
    tn_text_add_format(text, ", \"format\": \"%s\"", tn_format_name(value->format));
    if (value->is_device) tn_text_add(text, ", \"space\": \"device\"");
    if (value->scale != 0) tn_text_add_member_number(text, "scale", value->scale);
    if (value->rank != UINT32_MAX) {
        tn_text_add(text, ", \"shape\": ");
        tn_inspect_shape(text, value->rank, value->extents);
    }
    tn_text_add(text, "}");
}

static void add_values(tn_text *text, const tn_described_program *program, const char *name,
                       uint32_t count, const uint32_t *indices) {
    tn_text_add_format(text, ", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_value(text, program, indices[i]);
    }
    tn_text_add(text, "]");
}

static void add_kernel(tn_text *text, const tn_described_step *step) {
    static const char *const kinds[] = {"unknown", "kernel", "reformat", "view", "shape"};
    const bool is_reference = step->kind == TN_DESCRIBED_KERNEL || step->kind == TN_DESCRIBED_SHAPE;
    tn_text_add_format(text, ", \"kind\": \"%s\", \"kernel\": ", kinds[step->kind]);
    if (step->kernel)
        tn_text_add_json(text, step->kernel);
    else
        tn_text_add(text, is_reference ? "\"reference\"" : "null");
    tn_text_add(text, ", \"library\": ");
    add_text(text, step->library);
}

static void add_step(tn_text *text, const tn_described_program *program,
                     const tn_described_step *step) {
    tn_text_add(text, "{\"name\": ");
    add_text(text, step->node);
    add_kernel(text, step);
    tn_text_add_format(text, ", \"tactic\": %" PRIu32 ", \"in_place\": %s, \"ns\": ", step->tactic,
                       step->is_in_place ? "true" : "false");
    tn_text_add_number(text, step->ns);
    add_texts(text, "absorbed", step->absorbed_count, step->absorbed);
    if (step->before_count > 0)
        tn_text_add_format(text, ", \"before\": %" PRIu32 ", \"before_input\": %" PRIu32,
                           step->before_count, step->before_input);
    add_values(text, program, "inputs", step->input_count, step->inputs);
    add_values(text, program, "operands", step->operand_count, step->operands);
    add_values(text, program, "outputs", step->output_count, step->outputs);
    if (step->has_state) tn_text_add_format(text, ", \"state_bytes\": %" PRIu64, step->state_bytes);
    if (step->note) tn_text_add_member(text, "note", step->note);
    tn_text_add(text, ", \"combination\": ");
    add_text(text, step->combination);
    tn_text_add(text, ", \"op\": ");
    add_text(text, step->op);
    add_texts(text, "absorbed_ops", step->absorbed_count, step->absorbed_ops);
    if (step->rewrite_count > 0) add_texts(text, "rewrites", step->rewrite_count, step->rewrites);
    tn_text_add(text, "}");
}

static uint32_t type_of(const tn_described_program *program, uint32_t count,
                        const uint32_t *indices) {
    const bool is_there = count > 0 && indices[0] < program->value_count;
    return is_there ? program->values[indices[0]]->type : TN_NONE;
}

/* How many conversions there are, those between types apart, and what share of the time that was
 * measured they take. */
static void add_conversions(tn_text *text, const tn_described_program *program) {
    uint32_t count = 0, type_count = 0;
    double all_ns = 0, ns = 0, type_ns = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_described_step *step = program->steps[s];
        all_ns += step->ns;
        if (step->kind != TN_DESCRIBED_REFORMAT) continue;
        count++;
        ns += step->ns;
        if (type_of(program, step->input_count, step->inputs) ==
            type_of(program, step->output_count, step->outputs))
            continue;
        type_count++;
        type_ns += step->ns;
    }
    tn_text_add_format(text, ", \"reformats\": %" PRIu32 ", \"reformat_ns\": ", count);
    tn_text_add_number(text, ns);
    tn_text_add_format(text,
                       ", \"type_conversions\": %" PRIu32 ", \"type_conversion_ns\": ", type_count);
    tn_text_add_number(text, type_ns);
    tn_text_add_member_number(text, "type_conversion_share", all_ns > 0 ? type_ns / all_ns : 0);
}

static void add_arena(tn_text *text, const tn_described_program *program, uint32_t is_device) {
    const char *between = "";
    tn_text_add_format(text, "{\"space\": \"%s\", \"bytes\": %" PRIu64 ", \"buffers\": [",
                       is_device ? "device" : "host",
                       is_device ? program->device_bytes : program->host_bytes);
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_described_value *value = program->values[v];
        if (!value->is_planned || value->is_device != is_device) continue;
        tn_text_add_format(text, "%s\n        {\"tensor\": ", between);
        add_text(text, value->tensor);
        tn_text_add_format(text,
                           ", \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"first\": %" PRIu32
                           ", \"last\": %" PRIu32 "}",
                           value->offset, value->bytes, value->first_step, value->last_step);
        between = ",";
    }
    tn_text_add(text, "]}");
}

/* The memory of a run as the build planned it, as in its report; plans of earlier versions have
 * none. */
static void add_memory(tn_text *text, const tn_described_program *program) {
    tn_text_add(text, ",\n      \"memory\": {\"workspaces\": false, \"arenas\": [");
    if (program->host_bytes > 0) add_arena(text, program, 0);
    if (program->host_bytes > 0 && program->device_bytes > 0) tn_text_add(text, ", ");
    if (program->device_bytes > 0) add_arena(text, program, 1);
    tn_text_add(text, "]}");
}

void tn_inspect_programs(tn_text *text, const tn_plan_description *description) {
    tn_text_add(text, "  \"programs\": [");
    for (uint32_t p = 0; p < description->program_count; p++) {
        const tn_described_program *program = description->programs[p];
        tn_text_add(text, p > 0 ? ",\n    {\"device\": " : "\n    {\"device\": ");
        tn_text_add_json(text, program->fingerprint);
        tn_text_add_format(text, ", \"threads\": %" PRIu32, program->threads);
        if (description->profile_count > 1)
            tn_text_add_format(text, ", \"profile\": %" PRIu32, program->profile);
        tn_text_add_format(text, ", \"fits\": %s",
                           program->fits > 0    ? "true"
                           : program->fits == 0 ? "false"
                                                : "null");
        tn_text_add(text, ", \"steps\": [");
        for (uint32_t s = 0; s < program->step_count; s++) {
            tn_text_add(text, s > 0 ? ",\n      " : "\n      ");
            add_step(text, program, program->steps[s]);
        }
        tn_text_add(text, "]");
        add_conversions(text, program);
        add_memory(text, program);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]\n");
}
