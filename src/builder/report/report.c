/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the builder's report: see report.h. Its steps are report_steps.c's, its memory is
 * report_memory.c's. Times are whole nanoseconds: decimal points depend on the locale. */
#include "builder/report/report.h"
#include "base/status.h"
#include "base/text.h"
#include "builder/report/report_processor.h"
#include "graph/body.h"
#include "report/report_steps.h"

#include <inttypes.h>
#include <string.h>

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
        tn_report_add_extents(text, &source->profiles[i].minimum);
        tn_text_add(text, ", \"opt\": ");
        tn_report_add_extents(text, &source->profiles[i].optimum);
        tn_text_add(text, ", \"max\": ");
        tn_report_add_extents(text, &source->profiles[i].maximum);
        tn_text_add(text, "}");
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

/* Each rewrite once, with the nodes that it put in place. */
static void add_rewrites(tn_text *text, const tn_pass_context *passes) {
    const tn_pass_names *by = &passes->rewritten_by;
    bool is_first = true;
    tn_text_add(text, "  \"rewrites\": [");
    for (size_t i = 0; i < by->count; i++) {
        size_t before = 0, count = 0;
        for (size_t k = 0; k < by->count; k++) {
            const bool is_same = strcmp(by->names[k], by->names[i]) == 0;
            before += is_same && k < i;
            count += is_same;
        }
        if (before > 0) continue;
        tn_text_add(text, is_first ? "\n    {\"name\": " : ",\n    {\"name\": ");
        is_first = false;
        tn_text_add_json(text, by->names[i]);
        tn_text_add_format(text, ", \"count\": %zu, \"nodes\": [", count);
        for (size_t k = i, written = 0; k < by->count; k++) {
            if (strcmp(by->names[k], by->names[i]) != 0) continue;
            if (written++ > 0) tn_text_add(text, ", ");
            tn_text_add_json(text, passes->rewritten.names[k]);
        }
        tn_text_add(text, "]}");
    }
    tn_text_add(text, is_first ? "],\n" : "\n  ],\n");
}

/* The constants that may be refitted, in order, and what was left as it is for them. */
static void add_refit(tn_text *text, const tn_report_source *source) {
    const tn_graph *graph = source->graph;
    const tn_pass_context *passes = source->passes;
    bool is_first = true;
    if (!tn_graph_has_refit(graph)) return;
    tn_text_add(text, "  \"refit\": {\"constants\": [");
    for (size_t t = 0; t < graph->tensor_count; t++) {
        if (!graph->tensors[t].refit_name || graph->tensors[t].use_count == 0) continue;
        tn_text_add(text, is_first ? "" : ", ");
        tn_text_add_json(text, graph->tensors[t].refit_name);
        is_first = false;
    }
    tn_text_add(text, "], \"left\": [");
    for (size_t i = 0; i < passes->unfused.count; i++) {
        tn_text_add(text, i > 0 ? ",\n    {\"node\": " : "\n    {\"node\": ");
        tn_text_add_json(text, passes->unfused.names[i]);
        tn_text_add_member(text, "constant", passes->unfused_for.names[i]);
        tn_text_add_member(text, "why", passes->unfused_why.names[i]);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]},\n");
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
    tn_text_add_format(text, ", \"nodes\": %zu, \"kernels\": %" PRIu32 "},\n",
                       source->given_node_count, program->step_count - sums.reformat_count);
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

static tn_report_steps steps_of(const tn_report_source *source) {
    return (tn_report_steps){.graph = source->graph,
                             .shapes = source->shapes->points[1],
                             .program = source->program,
                             .notes = source->notes,
                             .node_pins = source->node_pins};
}

/* What differs between the profiles of a plan, in the words of the whole. */
static void add_profile(tn_text *text, const tn_report_source *source) {
    const tn_report_steps steps = steps_of(source);
    tn_text_add(text, "{\n");
    add_precision(text, source);
    add_inputs(text, source);
    tn_report_add_steps(text, &steps);
    add_totals(text, source, tn_report_memory_bytes(source->memory));
    tn_report_add_memory(text, source->memory);
    tn_text_add(text, "}");
}

/* All of them, where there are several: the whole speaks of the first one. */
static void add_profiles(tn_text *text, const tn_report_source *sources, uint32_t count) {
    tn_text_add(text, ",\n  \"profiles\": [");
    for (uint32_t p = 0; p < count; p++) {
        if (p > 0) tn_text_add(text, ", ");
        add_profile(text, &sources[p]);
    }
    tn_text_add(text, "]");
}

tn_status tn_report_make(const tn_report_source *sources, uint32_t count, char **out_json) {
    const tn_report_source *source = &sources[0];
    const tn_report_steps steps = steps_of(source);
    tn_text text;
    tn_text_init(&text, source->graph->allocator);
    tn_text_add(&text, "{\n  \"graph\": ");
    tn_text_add_json(&text, source->graph->name);
    tn_text_add(&text, ",\n  \"device\": ");
    tn_text_add_json(&text, source->program->fingerprint);
    tn_text_add_format(&text, ",\n  \"threads\": %" PRIu32 ",\n", source->program->threads);
    const tn_report_processor processor = {source->graph, source->program,
                                           source->shapes->points[1], source->device};
    tn_status status = tn_report_add_processor(&text, &processor);
    add_precision(&text, source);
    add_inputs(&text, source);
    tn_report_add_steps(&text, &steps);
    add_names(&text, "folded", &source->passes->folded);
    add_names(&text, "dropped", &source->passes->dropped);
    add_names(&text, "merged", &source->passes->merged);
    if (source->passes->widened_nodes.count > 0)
        add_names(&text, "widened", &source->passes->widened_nodes);
    add_rewrites(&text, source->passes);
    add_refit(&text, source);
    add_totals(&text, source, tn_report_memory_bytes(source->memory));
    tn_report_add_outputs(&text, source->graph);
    tn_report_add_memory(&text, source->memory);
    if (count > 1) add_profiles(&text, sources, count);
    tn_text_add(&text, ",\n  \"version\": ");
    tn_text_add_json(&text, tn_version());
    tn_text_add(&text, "\n}\n");
    if (status == TN_OK) status = tn_text_take(&text, out_json);
    tn_text_deinit(&text);
    return status;
}
