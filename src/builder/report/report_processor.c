/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's part of a network for a device: see report_processor.h. */
#include "builder/report/report_processor.h"
#include "base/status.h"
#include "plugin/devices.h"

#include <inttypes.h>

/* Nodes of one operator that run on the processor. */
typedef struct fallen_operator {
    const tn_operator *op;
    uint32_t count;
} fallen_operator;

typedef struct processor_sums {
    fallen_operator *operators;
    uint32_t operator_count, host_count, node_count, copy_count;
    size_t copy_bytes;
    double host_ns, copy_ns, all_ns;
    const tn_graph_node *sized; /* the first whose output's size its data decides; or null */
} processor_sums;

static void note_operator(processor_sums *sums, const tn_graph_node *node) {
    uint32_t i = 0;
    while (i < sums->operator_count && sums->operators[i].op != node->entry->op)
        i++;
    if (i == sums->operator_count)
        sums->operators[sums->operator_count++] = (fallen_operator){.op = node->entry->op};
    sums->operators[i].count++;
    while (i > 0 && sums->operators[i - 1].count < sums->operators[i].count) { /* most first */
        const fallen_operator moved = sums->operators[i];
        sums->operators[i] = sums->operators[i - 1];
        sums->operators[--i] = moved;
    }
}

static void note_kernel(const tn_report_processor *source, const tn_program_step *step,
                        processor_sums *sums) {
    sums->node_count += 1 + step->absorbed_count;
    if (step->is_device) return;
    sums->host_count += 1 + step->absorbed_count;
    sums->host_ns += step->nanoseconds;
    for (uint32_t i = 0; i <= step->absorbed_count; i++)
        note_operator(sums, &source->graph->nodes[i == 0 ? step->node : step->absorbed[i - 1]]);
}

/* Inputs come from the host, and outputs go there, wherever the nodes run. */
static bool is_at_border(const tn_report_processor *source, const tn_program_step *step) {
    const tn_program *program = source->program;
    for (size_t i = 0; i < source->graph->input_count; i++)
        if (program->input_values[i] == step->inputs[0]) return true;
    for (size_t i = 0; i < source->graph->output_count; i++)
        if (program->output_values[i] == step->outputs[0]) return true;
    return false;
}

static void note_copy(const tn_report_processor *source, const tn_program_step *step,
                      processor_sums *sums) {
    const tn_program_value *from = &source->program->values[step->inputs[0]],
                           *to = &source->program->values[step->outputs[0]];
    const tn_inferred_tensor *known = &source->shapes->tensors[to->tensor];
    size_t bytes = 0;
    if (from->space == to->space || is_at_border(source, step)) return;
    if (tn_inferred_has_shape(known))
        (void)tn_format_bytes(to->format, to->type, &known->storage.shape, &bytes);
    sums->copy_count++;
    sums->copy_bytes += bytes;
    sums->copy_ns += step->nanoseconds;
}

static void note_sized(processor_sums *sums, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count && !sums->sized; i++)
        if (tn_graph_output_is_sized(node, i)) sums->sized = node;
}

static void sum_up(const tn_report_processor *source, processor_sums *sums) {
    for (uint32_t s = 0; s < source->program->step_count; s++) {
        const tn_program_step *step = &source->program->steps[s];
        sums->all_ns += step->nanoseconds;
        if (step->kind == TN_STEP_KERNEL) note_sized(sums, &source->graph->nodes[step->node]);
        if (step->kind == TN_STEP_KERNEL && !step->is_host) note_kernel(source, step, sums);
        if (step->kind == TN_STEP_REFORMAT) note_copy(source, step, sums);
    }
}

static void add_sums(tn_text *text, const processor_sums *sums) {
    tn_text_add_format(text, "  \"processor\": {\"nodes\": %" PRIu32 ", \"of\": %" PRIu32,
                       sums->host_count, sums->node_count);
    tn_text_add(text, ", \"operators\": [");
    for (uint32_t i = 0; i < sums->operator_count; i++) {
        tn_text_add(text, i > 0 ? ", {\"op\": " : "{\"op\": ");
        tn_text_add_json(text, sums->operators[i].op->name);
        tn_text_add_format(text, ", \"nodes\": %" PRIu32 "}", sums->operators[i].count);
    }
    tn_text_add_format(text,
                       "], \"kernel_ns\": %.0f, \"copies\": %" PRIu32
                       ", \"copy_bytes\": %zu, \"copy_ns\": %.0f, \"share\": ",
                       sums->host_ns, sums->copy_count, sums->copy_bytes, sums->copy_ns);
    if (sums->all_ns > 0)
        tn_text_add_number(text, (sums->host_ns + sums->copy_ns) / sums->all_ns);
    else
        tn_text_add(text, "null");
    tn_text_add(text, ", \"sized_by_run\": ");
    if (sums->sized)
        tn_text_add_json(text, sums->sized->name);
    else
        tn_text_add(text, "null");
    tn_text_add(text, "},\n");
}

tn_status tn_report_add_processor(tn_text *text, const tn_report_processor *source) {
    const tn_allocator *allocator = source->graph->allocator;
    processor_sums sums = {0};
    if (!source->device || !tn_device_is_remote(source->device)) return TN_OK;
    sums.operators =
        tn_allocate_zero(allocator, source->graph->node_count + 1, sizeof(*sums.operators));
    if (!sums.operators) return tn_fail_memory("the report of a build");
    sum_up(source, &sums);
    add_sums(text, &sums);
    tn_deallocate(allocator, sums.operators);
    return TN_OK;
}
