/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan as JSON, in the words of the builder's report. See inspect.h. */
#include "plan/inspect/inspect.h"

#include "plan/program_fit.h"
#include "program/program.h"

#include <tenon/runtime.h>

#include <inttypes.h>
#include <string.h>

/* `number` is 1 + the value. */
static void add_value(tn_text *text, const Tenon__Plan__Plan *plan,
                      const Tenon__Plan__Program *program, uint32_t number) {
    if (number == 0 || number > program->n_values) {
        tn_text_add(text, "null");
        return;
    }
    const Tenon__Plan__ProgramValue *value = program->values[number - 1];
    tn_text_add(text, "{\"tensor\": ");
    tn_inspect_tensor_name(text, plan, value->tensor);
    tn_text_add(text, ", \"type\": ");
    tn_inspect_type(text, value->type);
    tn_text_add_format(text, ", \"format\": \"%s\"", tn_format_name(value->format));
    if (value->space == TN_SPACE_DEVICE) tn_text_add(text, ", \"space\": \"device\"");
    if (value->quantization && value->quantization->n_scale > 0) {
        tn_text_add(text, ", \"scale\": ");
        tn_text_add_number(text, (double)value->quantization->scale[0]);
    }
    if (value->note && value->note->has_shape && value->note->n_shape <= TN_MAX_RANK) {
        tn_text_add(text, ", \"shape\": ");
        tn_inspect_shape(text, value->note->n_shape, value->note->shape);
    }
    tn_text_add(text, "}");
}

static void add_values(tn_text *text, const Tenon__Plan__Plan *plan,
                       const Tenon__Plan__Program *program, const char *name, size_t count,
                       const uint32_t *numbers) {
    tn_text_add_format(text, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_value(text, plan, program, numbers[i]);
    }
    tn_text_add(text, "]");
}

static void add_kernel(tn_text *text, const Tenon__Plan__Step *step) {
    static const char *const kinds[] = {"unknown", "kernel", "reformat", "view"};
    const char *kind = step->kind <= TN_STEP_VIEW ? kinds[step->kind] : kinds[0];
    tn_text_add_format(text, ", \"kind\": \"%s\", \"kernel\": ", step->is_host ? "shape" : kind);
    if (*step->kernel) {
        tn_text_add_json(text, step->kernel);
        tn_text_add(text, ", \"library\": ");
        tn_text_add_json(text, step->library);
    } else {
        tn_text_add(text, step->kind == TN_STEP_KERNEL ? "\"reference\"" : "null");
        tn_text_add(text, ", \"library\": null");
    }
}

/* The operator of a node; null where there is none. */
static void add_operator(tn_text *text, const Tenon__Plan__Plan *plan, uint64_t node) {
    const uint32_t index =
        node < plan->n_nodes ? plan->nodes[node]->operator_index : (uint32_t)plan->n_operators;
    if (index < plan->n_operators)
        tn_text_add_json(text, plan->operators[index]->name);
    else
        tn_text_add(text, "null");
}

static bool add_rewrite(tn_text *text, const Tenon__Plan__Plan *plan, uint64_t node,
                        bool is_first) {
    if (node >= plan->n_nodes || !*plan->nodes[node]->rewrite) return is_first;
    tn_text_add(text, is_first ? ", \"rewrites\": [" : ", ");
    tn_text_add_json(text, plan->nodes[node]->rewrite);
    return false;
}

/* The rewrites that put nodes of the step in place, where there are any. */
static void add_rewrites(tn_text *text, const Tenon__Plan__Plan *plan,
                         const Tenon__Plan__Step *step) {
    bool is_first = add_rewrite(text, plan, (uint64_t)step->node + UINT64_MAX, true);
    for (size_t i = 0; i < step->n_absorbed; i++)
        is_first = add_rewrite(text, plan, step->absorbed[i], is_first);
    if (!is_first) tn_text_add(text, "]");
}

static void add_step(tn_text *text, const Tenon__Plan__Plan *plan,
                     const Tenon__Plan__Program *program, const Tenon__Plan__Step *step) {
    tn_text_add(text, "{\"name\": ");
    tn_inspect_node_name(text, plan, (uint64_t)step->node + UINT64_MAX);
    add_kernel(text, step);
    tn_text_add_format(text, ", \"tactic\": %" PRIu32 ", \"in_place\": %s, \"ns\": ", step->tactic,
                       step->is_in_place ? "true" : "false");
    tn_text_add_number(text, step->nanoseconds);
    tn_text_add(text, ", \"absorbed\": [");
    for (size_t i = 0; i < step->n_absorbed; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_inspect_node_name(text, plan, step->absorbed[i]);
    }
    tn_text_add(text, "]");
    if (step->before_count > 0)
        tn_text_add_format(text, ", \"before\": %" PRIu32 ", \"before_input\": %" PRIu32,
                           step->before_count, step->before_input);
    add_values(text, plan, program, "inputs", step->n_inputs, step->inputs);
    add_values(text, plan, program, "operands", step->n_operands, step->operands);
    add_values(text, plan, program, "outputs", step->n_outputs, step->outputs);
    if (step->has_state) tn_text_add_format(text, ", \"state_bytes\": %" PRIu64, step->state_bytes);
    if (*step->note) {
        tn_text_add(text, ", \"note\": ");
        tn_text_add_json(text, step->note);
    }
    tn_text_add(text, ", \"op\": ");
    add_operator(text, plan, (uint64_t)step->node + UINT64_MAX);
    tn_text_add(text, ", \"absorbed_ops\": [");
    for (size_t i = 0; i < step->n_absorbed; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_operator(text, plan, step->absorbed[i]);
    }
    tn_text_add(text, "]");
    add_rewrites(text, plan, step);
    tn_text_add(text, "}");
}

static uint32_t type_of(const Tenon__Plan__Program *program, size_t count,
                        const uint32_t *numbers) {
    const bool is_there = count > 0 && numbers[0] > 0 && numbers[0] <= program->n_values;
    return is_there ? program->values[numbers[0] - 1]->type : TN_NONE;
}

/* How many conversions there are, those between types apart, and what share of the time that was
 * measured they take. */
static void add_conversions(tn_text *text, const Tenon__Plan__Program *program) {
    uint32_t count = 0, type_count = 0;
    double all_ns = 0, ns = 0, type_ns = 0;
    for (size_t s = 0; s < program->n_steps; s++) {
        const Tenon__Plan__Step *step = program->steps[s];
        all_ns += step->nanoseconds;
        if (step->kind != TN_STEP_REFORMAT) continue;
        count++;
        ns += step->nanoseconds;
        if (type_of(program, step->n_inputs, step->inputs) ==
            type_of(program, step->n_outputs, step->outputs))
            continue;
        type_count++;
        type_ns += step->nanoseconds;
    }
    tn_text_add_format(text, ", \"reformats\": %" PRIu32 ", \"reformat_ns\": ", count);
    tn_text_add_number(text, ns);
    tn_text_add_format(text,
                       ", \"type_conversions\": %" PRIu32 ", \"type_conversion_ns\": ", type_count);
    tn_text_add_number(text, type_ns);
    tn_text_add(text, ", \"type_conversion_share\": ");
    tn_text_add_number(text, all_ns > 0 ? type_ns / all_ns : 0);
}

static bool is_planned(const Tenon__Plan__ProgramValue *value, uint32_t space) {
    return value->space == space && value->note && value->note->is_planned;
}

static void add_arena(tn_text *text, const Tenon__Plan__Plan *plan,
                      const Tenon__Plan__Program *program, uint32_t space, uint64_t bytes) {
    const char *between = "";
    tn_text_add_format(text, "{\"space\": \"%s\", \"bytes\": %" PRIu64 ", \"buffers\": [",
                       space == TN_SPACE_DEVICE ? "device" : "host", bytes);
    for (size_t v = 0; v < program->n_values; v++) {
        const Tenon__Plan__ValueNote *note = program->values[v]->note;
        if (!is_planned(program->values[v], space)) continue;
        tn_text_add_format(text, "%s\n        {\"tensor\": ", between);
        tn_inspect_tensor_name(text, plan, program->values[v]->tensor);
        tn_text_add_format(text,
                           ", \"offset\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"first\": %" PRIu32
                           ", \"last\": %" PRIu32 "}",
                           note->offset, note->bytes, note->first_step, note->last_step);
        between = ",";
    }
    tn_text_add(text, "]}");
}

/* The memory of a run as the build planned it, as in its report; plans of earlier versions have
 * none. */
static void add_memory(tn_text *text, const Tenon__Plan__Plan *plan,
                       const Tenon__Plan__Program *program) {
    const char *between = "";
    tn_text_add(text, ",\n      \"memory\": {\"workspaces\": false, \"arenas\": [");
    for (uint32_t space = TN_SPACE_HOST; space <= TN_SPACE_DEVICE; space++) {
        uint64_t bytes = 0;
        for (size_t v = 0; v < program->n_values; v++) {
            const Tenon__Plan__ValueNote *note = program->values[v]->note;
            if (is_planned(program->values[v], space) && note->offset + note->bytes > bytes)
                bytes = note->offset + note->bytes;
        }
        if (bytes == 0) continue;
        tn_text_add(text, between);
        add_arena(text, plan, program, space, bytes);
        between = ", ";
    }
    tn_text_add(text, "]}");
}

/* A program against the devices that are known; a device's library is not loaded to know more. */
typedef struct fit_search {
    const Tenon__Plan__Program *program;
    bool is_kind_known, fits;
} fit_search;

static bool compare_device(void *user, const tn_device_info *device) {
    fit_search *search = user;
    const char *kind = *search->program->device ? search->program->device : "cpu";
    const tn_program_target built = {search->program->fingerprint, search->program->threads},
                            here = {device->fingerprint, 0};
    search->is_kind_known |= strcmp(device->kind, kind) == 0;
    search->fits |= tn_program_fits(&built, &here);
    return !search->fits;
}

static void add_fit(tn_text *text, const Tenon__Plan__Program *program, tn_runtime *runtime) {
    fit_search search = {.program = program};
    tn_runtime_visit_devices(runtime, compare_device, &search);
    tn_text_add_format(text, ", \"fits\": %s",
                       search.fits            ? "true"
                       : search.is_kind_known ? "false"
                                              : "null");
}

void tn_inspect_programs(tn_text *text, const Tenon__Plan__Plan *plan, tn_runtime *runtime) {
    tn_text_add(text, "  \"programs\": [");
    for (size_t p = 0; p < plan->n_programs; p++) {
        const Tenon__Plan__Program *program = plan->programs[p];
        tn_text_add(text, p > 0 ? ",\n    {\"device\": " : "\n    {\"device\": ");
        tn_text_add_json(text, program->fingerprint);
        tn_text_add_format(text, ", \"threads\": %" PRIu32, program->threads);
        if (plan->n_further_profiles > 0)
            tn_text_add_format(text, ", \"profile\": %" PRIu32, program->profile);
        add_fit(text, program, runtime);
        tn_text_add(text, ", \"steps\": [");
        for (size_t s = 0; s < program->n_steps; s++) {
            tn_text_add(text, s > 0 ? ",\n      " : "\n      ");
            add_step(text, plan, program, program->steps[s]);
        }
        tn_text_add(text, "]");
        add_conversions(text, program);
        add_memory(text, plan, program);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]\n");
}
