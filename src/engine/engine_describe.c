/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine runs, as structs: the program of the engine instead of a plan's. See
 * plan/inspect/describe.h. */
#include "base/status.h"
#include "engine/engine_private.h"
#include "tensor/quantization.h"

#include <string.h>

static void describe_note(const tn_value_note *note, tn_described_value *value) {
    if (note->has_shape) {
        value->rank = note->shape.rank;
        value->extents = note->shape.extents;
    }
    value->is_planned = note->is_planned;
    value->offset = note->offset;
    value->bytes = note->bytes;
    value->first_step = note->first_step;
    value->last_step = note->last_step;
}

static tn_status describe_values(tn_description *description, const tn_engine *engine,
                                 tn_described_program *to) {
    const tn_program *program = engine->program;
    tn_described_value **values =
        tn_description_list(description, program->value_count, sizeof(tn_described_value));
    if (!values) return tn_fail_memory("a description");
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_program_value *from = &program->values[v];
        tn_described_value *value = values[v];
        value->type = from->type;
        value->format = from->format;
        value->is_device = from->space == TN_SPACE_DEVICE;
        value->tensor = engine->graph->tensors[from->tensor].name;
        if (from->quantization) value->scale = tn_quantization_scale(from->quantization, 0);
        value->rank = UINT32_MAX;
        if (from->note) describe_note(from->note, value);
    }
    to->value_count = program->value_count;
    to->values = (const tn_described_value *const *)values;
    return TN_OK;
}

static void add_rewrite(const tn_graph_node *node, const char **rewrites, tn_described_step *step) {
    if (node->rewrite) rewrites[step->rewrite_count++] = node->rewrite;
}

static tn_status describe_nodes_of(tn_description *description, const tn_engine *engine,
                                   const tn_program_step *from, tn_described_step *step) {
    const tn_graph_node *nodes = engine->graph->nodes;
    const uint32_t count = from->absorbed_count;
    const char **names = tn_arena_allocate(description->arena, count, sizeof(*names));
    const char **ops = tn_arena_allocate(description->arena, count, sizeof(*ops));
    const char **rewrites =
        tn_arena_allocate(description->arena, count + (size_t)1, sizeof(*rewrites));
    if (!names || !ops || !rewrites) return tn_fail_memory("a description");
    if (from->node != TN_NO_NODE) {
        const tn_operator *op = nodes[from->node].entry->op;
        step->node = nodes[from->node].name;
        step->domain = op->domain;
        step->op = op->name;
        step->version = op->since_version;
        add_rewrite(&nodes[from->node], rewrites, step);
    }
    for (uint32_t i = 0; i < count; i++) {
        names[i] = nodes[from->absorbed[i]].name;
        ops[i] = nodes[from->absorbed[i]].entry->op->name;
        add_rewrite(&nodes[from->absorbed[i]], rewrites, step);
    }
    step->absorbed_count = count;
    step->absorbed = names;
    step->absorbed_ops = ops;
    step->rewrites = rewrites;
    return TN_OK;
}

static tn_status describe_step(tn_description *description, const tn_engine *engine,
                               const tn_program_step *from, const tn_described_program *program,
                               tn_described_step *step) {
    step->kind = from->is_host ? TN_DESCRIBED_SHAPE : from->kind;
    step->tactic = from->tactic;
    step->kernel = from->kernel;
    step->library = from->kernel ? from->library : NULL;
    step->before_count = from->before_count;
    step->before_input = from->before_input;
    step->is_in_place = from->is_in_place;
    step->ns = from->nanoseconds;
    step->is_device = from->is_device;
    step->has_state = from->has_state;
    step->state_bytes = from->state_bytes;
    step->note = from->note;
    step->input_count = from->input_count;
    step->inputs = from->inputs;
    step->output_count = from->output_count;
    step->outputs = from->outputs;
    step->operand_count = from->operand_count;
    step->operands = from->operands;
    TN_TRY(describe_nodes_of(description, engine, from, step));
    return tn_description_combine(description, program, step);
}

static tn_status describe_program(tn_description *description, const tn_engine *engine,
                                  uint32_t profile, tn_described_program *program) {
    const tn_program *from = engine->program;
    tn_described_step **steps =
        tn_description_list(description, from->step_count, sizeof(tn_described_step));
    if (!steps) return tn_fail_memory("a description");
    program->profile = profile;
    program->threads = from->threads;
    program->device = from->device ? from->device : "cpu";
    program->fingerprint = from->fingerprint ? from->fingerprint : "";
    program->fits = 1;
    TN_TRY(describe_values(description, engine, program));
    tn_description_sum_memory(program);
    for (uint32_t s = 0; s < from->step_count; s++)
        TN_TRY(describe_step(description, engine, &from->steps[s], program, steps[s]));
    program->step_count = from->step_count;
    program->steps = (const tn_described_step *const *)steps;
    return TN_OK;
}

/* As many as there are of engines, which are made one after another when a plan is loaded. */
static uint32_t profile_count_of(const tn_engine *engine) {
    return engine->profile_engines ? engine->profile_count : 1;
}

static tn_status describe_programs(tn_description *description, tn_engine *engine) {
    const uint32_t count = profile_count_of(engine);
    tn_described_program **programs =
        tn_description_list(description, count, sizeof(tn_described_program));
    if (!programs) return tn_fail_memory("a description");
    for (uint32_t p = 0; p < count; p++)
        TN_TRY(describe_program(description, tn_engine_at_profile(engine, p), p, programs[p]));
    description->view.program_count = count;
    description->view.programs = (const tn_described_program *const *)programs;
    return TN_OK;
}

static tn_status describe_libraries(tn_description *description, const tn_engine *engine) {
    const tn_plan_contents *contents = &engine->contents;
    tn_described_library **libraries =
        tn_description_list(description, contents->library_count, sizeof(tn_described_library));
    uint32_t count = 0;
    if (!libraries) return tn_fail_memory("a description");
    for (uint32_t i = 0; i < contents->library_count; i++) {
        const tn_loaded_library *from = contents->libraries[i];
        if (!from) continue;
        tn_described_library *library = libraries[count++];
        const char *slash = strrchr(from->path, '/');
        library->is_linked_in = !*from->path;
        library->name = from->name;
        library->version = from->version;
        library->file = !*from->path ? NULL : slash ? slash + 1 : from->path;
        library->hash = from->hash;
        library->domain = from->domain ? from->domain : "";
    }
    description->view.library_count = count;
    description->view.libraries = (const tn_described_library *const *)libraries;
    return TN_OK;
}

static tn_status describe_nodes(tn_description *description, const tn_engine *engine) {
    const tn_graph *graph = engine->graph;
    tn_described_node **nodes =
        tn_description_list(description, graph->node_count, sizeof(tn_described_node));
    if (!nodes) return tn_fail_memory("a description");
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *from = &graph->nodes[n];
        nodes[n]->name = from->name;
        nodes[n]->domain = from->entry->op->domain;
        nodes[n]->op = from->entry->op->name;
        nodes[n]->version = from->entry->op->since_version;
        nodes[n]->library = from->entry->library->name;
        nodes[n]->rewrite = from->rewrite;
    }
    description->view.node_count = (uint32_t)graph->node_count;
    description->view.nodes = (const tn_described_node *const *)nodes;
    return TN_OK;
}

static tn_status describe_ports(tn_description *description, tn_engine *engine) {
    const uint32_t inputs = tn_engine_input_count(engine), outputs = tn_engine_output_count(engine);
    const uint32_t profile_count = profile_count_of(engine);
    const tn_port_info **list =
        tn_arena_allocate(description->arena, (size_t)inputs + outputs, sizeof(*list));
    const tn_profile_input **profiles =
        tn_arena_allocate(description->arena, (size_t)profile_count * inputs, sizeof(*profiles));
    if (!list || !profiles) return tn_fail_memory("a description");
    for (uint32_t i = 0; i < inputs; i++) {
        list[i] = tn_engine_input(engine, i);
        for (uint32_t p = 0; p < profile_count; p++)
            profiles[(size_t)p * inputs + i] =
                tn_engine_profile(tn_engine_at_profile(engine, p), i);
    }
    for (uint32_t i = 0; i < outputs; i++)
        list[inputs + i] = tn_engine_output(engine, i);
    description->view.input_count = inputs;
    description->view.output_count = outputs;
    description->view.inputs = list;
    description->view.outputs = list + inputs;
    description->view.profile_count = profile_count;
    description->view.profiles = profiles;
    return TN_OK;
}

static void release_engine(void *engine, const tn_allocator *allocator) {
    (void)allocator;
    tn_engine_release(engine);
}

static tn_status describe_engine(tn_description *description, tn_engine *engine) {
    description->model.size = sizeof(description->model);
    TN_TRY(tn_engine_get_model_info(engine, &description->model));
    description->view.constant_bytes = tn_graph_constant_bytes(engine->graph);
    TN_TRY(describe_libraries(description, engine));
    TN_TRY(describe_nodes(description, engine));
    TN_TRY(describe_ports(description, engine));
    return describe_programs(description, engine);
}

tn_status tn_engine_describe_lent(tn_engine *engine, tn_description **out_description) {
    tn_description *description;
    TN_TRY(tn_description_create(engine->runtime, &description));
    const tn_status status = describe_engine(description, engine);
    if (status == TN_OK)
        *out_description = description;
    else
        tn_plan_description_destroy(&description->view);
    return status;
}

tn_status tn_engine_describe(tn_engine *engine, const tn_plan_description **out_description) {
    tn_description *description;
    if (!engine || !out_description)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_engine_describe needs an engine and out_description");
    TN_TRY(tn_engine_describe_lent(engine, &description));
    description->owner = tn_engine_retain(engine);
    description->release = release_engine;
    *out_description = &description->view;
    return TN_OK;
}
