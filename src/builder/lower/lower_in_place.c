/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps of a program may write an output on an input's memory: kernels that declare
 * TN_KERNEL_IN_PLACE, and outputs with TN_PORT_ALIAS. Nobody reads the input afterwards, and it is
 * a tensor of the run's own. Whether they do is decided with the shapes of a run (src/run).
 */
#include "base/status.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"

typedef struct in_place_finder {
    tn_lowering *lowering;
    const uint32_t *choice;
    const tn_storage *storage_of; /* by value */
    tn_program *program;
} in_place_finder;

typedef struct value_facts {
    uint32_t root;      /* the value whose memory it is, through views */
    uint32_t last_read; /* of a root: the last step that reads it or a view of it */
    bool is_taken;      /* of a root: not the run's own memory, or handed out */
    bool has_views;
} value_facts;

static void note_views(const in_place_finder *finder, const tn_program_step *step,
                       value_facts *facts) {
    const tn_graph_node *node = &finder->lowering->graph->nodes[step->node];
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (step->outputs[i] == TN_NO_VALUE) continue;
        uint32_t input = tn_graph_output_port(node->entry->op, i)->alias - 1;
        uint32_t root = facts[step->inputs[input]].root;
        facts[step->outputs[i]].root = root;
        facts[root].has_views = true;
    }
}

static void note_reads(value_facts *facts, uint32_t step, uint32_t count, const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != TN_NO_VALUE) facts[facts[values[i]].root].last_read = step;
}

static void note_values(const in_place_finder *finder, value_facts *facts) {
    const tn_program *program = finder->program;
    const tn_graph *graph = finder->lowering->graph;
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_graph_tensor *tensor = &graph->tensors[program->values[v].tensor];
        facts[v].root = v;
        facts[v].is_taken = tensor->is_constant ||
                            (tensor->is_input &&
                             tn_lower_storage_number(finder->lowering, finder->storage_of[v]) == 0);
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_VIEW) note_views(finder, step, facts);
        note_reads(facts, s, step->input_count, step->inputs);
        note_reads(facts, s, step->operand_count, step->operands);
        for (uint32_t i = 0; step->is_host && i < step->output_count; i++)
            if (step->outputs[i] != TN_NO_VALUE) facts[step->outputs[i]].is_taken = true;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        facts[facts[program->output_values[i]].root].is_taken = true;
}

static bool has_same_bytes(const tn_lowering *lowering, const tn_program_value *a,
                           const tn_program_value *b) {
    if (a->type != b->type || a->format != b->format || a->space != b->space) return false;
    if (b->type == TN_STRING) return false; /* each tensor of strings has a heap of its own */
    for (int point = 0; point < TN_POINTS; point++)
        if (!tn_shape_equal(&lowering->points[point]->tensors[a->tensor].storage.shape,
                            &lowering->points[point]->tensors[b->tensor].storage.shape))
            return false;
    return true;
}

/* Whether output `output` of step `index` may lie on its input `input`. */
static bool may_overwrite(const in_place_finder *finder, uint32_t index, const value_facts *facts,
                          uint32_t input, uint32_t output) {
    const tn_program *program = finder->program;
    const tn_program_step *step = &program->steps[index];
    if (input >= step->input_count || step->inputs[input] == TN_NO_VALUE ||
        (step->before_count > 0 && input == step->before_input) || output >= step->output_count ||
        step->outputs[output] == TN_NO_VALUE)
        return false;
    const uint32_t value = step->inputs[input];
    const value_facts *read = &facts[value];
    return read->root == value && !read->is_taken && !read->has_views && read->last_read == index &&
           tn_program_count_reads(step, value) == 1 &&
           has_same_bytes(finder->lowering, &program->values[value],
                          &program->values[step->outputs[output]]);
}

/* Outputs with TN_PORT_ALIAS, each on an input of its own; the first output of a step that absorbs
 * others is another node's. */
static uint64_t find_aliases(const in_place_finder *finder, uint32_t index,
                             const value_facts *facts) {
    const tn_program_step *step = &finder->program->steps[index];
    const tn_operator *op = finder->lowering->graph->nodes[step->node].entry->op;
    uint64_t outputs = 0;
    for (uint32_t o = step->absorbed_count > 0; o < step->output_count && o < 64; o++) {
        const tn_port *port = tn_graph_output_port(op, o);
        bool is_free = port->flags & TN_PORT_ALIAS && port->alias > 0;
        for (uint32_t k = 0; k < o && is_free; k++)
            is_free = !(outputs >> k & 1) || tn_graph_output_port(op, k)->alias != port->alias;
        if (is_free && may_overwrite(finder, index, facts, port->alias - 1, o))
            outputs |= UINT64_C(1) << o;
    }
    return outputs;
}

static bool overwrites_first(const in_place_finder *finder, uint32_t index,
                             const value_facts *facts) {
    const tn_program_step *step = &finder->program->steps[index];
    const tn_graph_node *node = &finder->lowering->graph->nodes[step->node];
    const tn_candidate *candidate =
        &finder->lowering->nodes[step->node].candidates[finder->choice[step->node]];
    if (!(candidate->entry->kernel->traits & TN_KERNEL_IN_PLACE) || (step->aliased & 1))
        return false;
    for (uint32_t o = 0; o < step->output_count && o < 64; o++)
        if (step->aliased >> o & 1 && tn_graph_output_port(node->entry->op, o)->alias == 1)
            return false;
    return may_overwrite(finder, index, facts, 0, 0);
}

tn_status tn_lower_find_in_place(tn_lowering *lowering, const uint32_t *choice,
                                 const tn_storage *storage_of, tn_program *program) {
    in_place_finder finder = {lowering, choice, storage_of, program};
    value_facts *facts =
        tn_arena_allocate(lowering->arena, program->value_count + 1u, sizeof *facts);
    if (!facts) return tn_fail_memory("lowering a graph");
    note_values(&finder, facts);
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_program_step *step = &program->steps[s];
        if (step->kind != TN_STEP_KERNEL || step->is_host || !step->kernel ||
            !lowering->facts->is_shaped[step->node])
            continue;
        step->aliased = find_aliases(&finder, s, facts);
        step->is_in_place = overwrites_first(&finder, s, facts);
    }
    return TN_OK;
}
