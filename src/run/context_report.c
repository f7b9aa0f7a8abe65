/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a context, in the words of the builder's: its steps with the shapes that it has now
 * and the times that it measured, and its memory. */
#include "base/text.h"
#include "report/report_memory.h"
#include "run/context_private.h"

#include <inttypes.h>

static void add_inputs(tn_text *text, const tn_context *context) {
    const tn_engine *engine = context->engine;
    tn_text_add(text, "  \"inputs\": [");
    for (size_t i = 0; i < engine->graph->input_count; i++) {
        const tn_graph_tensor *tensor = &engine->graph->tensors[engine->graph->inputs[i]];
        tn_text_add(text, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
        tn_text_add_json(text, tensor->name);
        tn_text_add_format(text, ", \"type\": \"%s\", \"shape\": ", tn_type_name(tensor->type));
        if (context->ports.inputs[i].has_shape)
            tn_report_add_extents(text, &context->ports.inputs[i].shape);
        else
            tn_text_add(text, "null");
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_totals(tn_text *text, const tn_context *context, const double *step_ns) {
    const tn_program *program = context->engine->program;
    double kernel_ns = 0, reformat_ns = 0;
    uint32_t reformats = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const bool is_reformat = program->steps[s].kind == TN_STEP_REFORMAT;
        reformats += is_reformat;
        *(is_reformat ? &reformat_ns : &kernel_ns) += step_ns[s];
    }
    tn_text_add_format(text,
                       "  \"totals\": {\"steps\": %" PRIu32 ", \"reformats\": %" PRIu32
                       ", \"kernel_ns\": %.0f, \"reformat_ns\": %.0f, \"arena_bytes\": %zu, "
                       "\"profiled_runs\": %" PRIu64 "},\n",
                       program->step_count, reformats, kernel_ns, reformat_ns,
                       context->arena.memory_bytes + context->arena.device_bytes,
                       context->profile.count > 0
                           ? context->profile.entries[context->profile.steps[0]].runs
                           : UINT64_C(0));
}

/* The arenas of the current shapes, by steps; those of a network that is sized by run are made
 * while it runs. */
static tn_status read_memory(const tn_context *context, tn_report_memory *memory) {
    const tn_shape_state *state = context->shapes.current;
    const tn_allocator *allocator = context->engine->allocator;
    memory->has_workspaces = true;
    for (int space = 0; state && space < 2; space++) {
        const tn_report_arena *from = &state->arenas[space];
        tn_report_arena *to = &memory->arenas[space];
        to->buffers = tn_allocate_zero(allocator, from->count + 1, sizeof *to->buffers);
        to->values = tn_allocate_zero(allocator, from->count + 1, sizeof *to->values);
        if (!to->buffers || !to->values) return tn_fail_memory("the report of a context");
        to->bytes = from->bytes;
        for (; to->count < from->count; to->count++) {
            tn_memory_buffer *buffer = &to->buffers[to->count];
            *buffer = from->buffers[to->count];
            to->values[to->count] = from->values[to->count];
            buffer->first = state->item_steps[buffer->first];
            buffer->last = buffer->last < state->item_count ? state->item_steps[buffer->last]
                                                            : context->engine->program->step_count;
        }
    }
    return TN_OK;
}

static tn_status write_report(const tn_context *context, const double *step_ns,
                              const tn_report_memory *memory, char **out_json) {
    const tn_engine *engine = context->engine;
    tn_text text;
    tn_text_init(&text, engine->allocator);
    tn_text_add(&text, "{\n  \"graph\": ");
    tn_text_add_json(&text, engine->graph->name);
    tn_text_add(&text, ",\n  \"device\": ");
    tn_text_add_json(&text, engine->program->fingerprint);
    tn_text_add_format(&text, ",\n  \"threads\": %" PRIu32 ",\n", engine->program->threads);
    add_inputs(&text, context);
    tn_report_add_steps(&text, memory->steps);
    add_totals(&text, context, step_ns);
    tn_report_add_outputs(&text, engine->graph);
    tn_report_add_memory(&text, memory);
    tn_text_add(&text, ",\n  \"version\": ");
    tn_text_add_json(&text, tn_version());
    tn_text_add(&text, "\n}\n");
    const tn_status status = tn_text_take(&text, out_json);
    tn_text_deinit(&text);
    return status;
}

tn_status tn_context_report(const tn_context *context, char **out_json) {
    if (!context || !out_json)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_context_report needs a context and out_json");
    TN_TRY(tn_run_control_check_idle(&context->control));
    const tn_context *other = tn_context_stand_in(context);
    if (other) return tn_context_report(other, out_json);
    const tn_engine *engine = context->engine;
    tn_status status = TN_OK;
    double *step_ns = tn_allocate_zero(engine->allocator, engine->program->step_count + (size_t)1,
                                       sizeof *step_ns);
    const tn_report_steps steps = {.graph = engine->graph,
                                   .shapes = &context->shapes.inference,
                                   .program = engine->program,
                                   .step_ns = step_ns};
    tn_report_memory memory = {.steps = &steps};
    if (!step_ns) return tn_fail_memory("the report of a context");
    for (uint32_t i = 0; i < context->profile.count; i++)
        step_ns[context->profile.steps[i]] =
            (double)context->profile.entries[context->profile.steps[i]].minimum_ns;
    TN_GO(read_memory(context, &memory));
    TN_GO(write_report(context, step_ns, &memory, out_json));
done:
    tn_report_memory_deinit(&memory, engine->allocator);
    tn_deallocate(engine->allocator, step_ns);
    return status;
}
