/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's report: its steps in order, as JSON. */
#include "base/status.h"
#include "base/text.h"
#include "engine/engine_private.h"

static void add_values(tn_text *text, const tn_program *program, const tn_graph *graph,
                       const char *key, const uint32_t *values, uint32_t count) {
    tn_text_add_format(text, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) tn_text_add(text, ", ");
        if (values[i] == TN_NO_VALUE) {
            tn_text_add(text, "null");
            continue;
        }
        const tn_program_value *value = &program->values[values[i]];
        tn_text_add(text, "{\"tensor\": ");
        tn_text_add_json(text, graph->tensors[value->tensor].name);
        tn_text_add_format(text, ", \"type\": \"%s\", \"format\": \"%s\"%s}",
                           tn_type_name(value->type), tn_format_name(value->format),
                           value->space == TN_SPACE_DEVICE ? ", \"space\": \"device\"" : "");
    }
    tn_text_add(text, "]");
}

static void add_step(tn_text *text, const tn_engine *engine, const tn_program_step *step) {
    const tn_graph *graph = engine->graph;
    static const char *const kinds[] = {"", "kernel", "reformat", "view"};
    tn_text_add_format(text, "{\"kind\": \"%s\"", step->is_host ? "host" : kinds[step->kind]);
    if (step->node != TN_NO_NODE) {
        tn_text_add(text, ", \"node\": ");
        tn_text_add_json(text, graph->nodes[step->node].name);
        tn_text_add(text, ", \"operator\": ");
        tn_text_add_json(text, graph->nodes[step->node].entry->op->name);
    }
    if (step->kind == TN_STEP_KERNEL && !step->is_host) {
        tn_text_add(text, ", \"kernel\": ");
        tn_text_add_json(text, step->kernel ? step->kernel : "reference");
        tn_text_add(text, ", \"fused\": [");
        for (uint32_t i = 0; i < step->absorbed_count; i++) {
            tn_text_add(text, i ? ", " : "");
            tn_text_add_json(text, graph->nodes[step->absorbed[i]].name);
        }
        tn_text_add(text, "]");
    }
    add_values(text, engine->program, graph, "inputs", step->inputs, step->input_count);
    add_values(text, engine->program, graph, "outputs", step->outputs, step->output_count);
    tn_text_add(text, "}");
}

static void add_steps(tn_text *text, const tn_engine *engine) {
    tn_text_add_format(text, "{\"threads\": %u, \"steps\": [", engine->program->threads);
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        tn_text_add(text, i ? ",\n  " : "\n  ");
        add_step(text, engine, &engine->program->steps[i]);
    }
    tn_text_add(text, "\n]");
}

tn_status tn_engine_make_report(tn_engine *engine) {
    tn_text text;
    char *report = NULL;
    tn_text_init(&text, engine->allocator);
    add_steps(&text, engine);
    if (engine->profile_engines) tn_text_add(&text, ", \"profiles\": [");
    for (uint32_t p = 0; engine->profile_engines && p < engine->profile_count; p++) {
        tn_text_add(&text, p > 0 ? ",\n" : "\n");
        add_steps(&text, engine->profile_engines[p]);
        tn_text_add(&text, "}");
    }
    tn_text_add(&text, engine->profile_engines ? "]}\n" : "}\n");
    const tn_status status = tn_text_take(&text, &report);
    tn_text_deinit(&text);
    if (status != TN_OK) return status;
    tn_deallocate(engine->allocator, engine->report);
    engine->report = report;
    return TN_OK;
}
