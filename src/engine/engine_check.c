/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether kernels can do what a program asks of them. A stored program is untrusted data, and
 * the library that it was made for may have changed since: its kernels' tables decide, as they do
 * when a graph is lowered. Numbers are program_check.c's matter (src/program).
 */
#include "base/status.h"
#include "engine/engine_private.h"
#include "program/kernel_fit.h"
#include "program/link.h"
#include "program/node_call.h"

static tn_status fail_step(const tn_engine_loading *loading, const tn_program_step *step,
                           const char *why) {
    const tn_graph_node *node = &loading->engine->graph->nodes[step->node];
    return tn_error_at(tn_fail(TN_ERROR_FORMAT, "the stored program %s", why),
                       "node '%s': operator %s%s%s", node->name, node->entry->op->name,
                       step->kernel ? ": kernel " : "", step->kernel ? step->kernel : "");
}

static const tn_program_value *value_of(const tn_engine_loading *loading, uint32_t value) {
    return &loading->engine->program->values[value];
}

static bool is_linear(const tn_engine_loading *loading, uint32_t value) {
    return value == TN_NO_VALUE || value_of(loading, value)->format == TN_LINEAR;
}

static uint32_t input_flags(const tn_engine_loading *loading, const tn_program_step *step,
                            uint32_t input) {
    const tn_port *port =
        tn_graph_input_port(loading->engine->graph->nodes[step->node].entry->op, input);
    return port ? port->flags : 0;
}

/* All that is read or written is linear; what is read of which only the shape counts may be in any
 * format. */
static bool are_all_linear(const tn_engine_loading *loading, const tn_program_step *step) {
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (!is_linear(loading, step->inputs[i]) &&
            !(input_flags(loading, step, i) & TN_PORT_SHAPE_ONLY))
            return false;
    }
    for (uint32_t i = 0; i < step->output_count; i++)
        if (!is_linear(loading, step->outputs[i])) return false;
    return true;
}

/* Stored in the type that the network gives it. */
static bool is_own(const tn_engine_loading *loading, uint32_t value) {
    const tn_program_value *item = value_of(loading, value);
    const tn_tensor *known = loading->linear[item->tensor];
    return !item->quantization && (!known || item->type == known->type);
}

static bool are_all_own(const tn_engine_loading *loading, const tn_program_step *step) {
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TN_NO_VALUE && !is_own(loading, step->inputs[i]) &&
            !(input_flags(loading, step, i) & TN_PORT_SHAPE_ONLY))
            return false;
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] != TN_NO_VALUE && !is_own(loading, step->outputs[i])) return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

/* A lower type is for ports that name it, and for shapes that are known before a run. */
static bool type_matches(const tn_engine_loading *loading, const tn_program_step *step,
                         uint32_t value, const tn_combination_port *port) {
    return is_own(loading, value) || (!port->is_every && tn_engine_step_is_shaped(loading, step));
}

static bool storages_match(const tn_engine_loading *loading, const tn_program_step *step,
                           const tn_combination *combination) {
    for (uint32_t i = 0; i < step->input_count; i++) {
        const tn_combination_port *port = tn_combination_input(combination, i);
        const uint32_t flags = input_flags(loading, step, i);
        if (step->inputs[i] == TN_NO_VALUE || (flags & TN_PORT_SHAPE_ONLY)) continue;
        const tn_format format = value_of(loading, step->inputs[i])->format;
        if (port && port->is_every && step->before_count > 0 && i == step->before_input &&
            !tn_graph_input_takes(loading->engine->graph->nodes[step->node].entry, i,
                                  value_of(loading, step->inputs[i])->type))
            return false;
        if (!port || format != port->format ||
            !type_matches(loading, step, step->inputs[i], port) ||
            ((format != TN_LINEAR || !is_own(loading, step->inputs[i])) &&
             (flags & TN_PORT_VALUE_NEEDED)))
            return false;
    }
    for (uint32_t i = 0; i < step->output_count; i++) {
        const tn_combination_port *port = tn_combination_output(combination, i);
        if (step->outputs[i] != TN_NO_VALUE &&
            (!port || value_of(loading, step->outputs[i])->format != port->format ||
             !type_matches(loading, step, step->outputs[i], port)))
            return false;
    }
    return true;
}

/* Types of values, TN_NONE for absent ones; false when one is not known. Where only the shape is
 * read, the network's own. `op` is null for outputs. */
static bool read_types(const tn_engine_loading *loading, const tn_operator *op,
                       const uint32_t *values, uint32_t count, tn_type *types) {
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == TN_NO_VALUE) continue;
        const tn_port *port = op ? tn_graph_input_port(op, i) : NULL;
        const tn_tensor *known = loading->linear[value_of(loading, values[i])->tensor];
        types[i] = tn_program_value_port_type(value_of(loading, values[i]));
        if (known && port && (port->flags & TN_PORT_SHAPE_ONLY)) types[i] = known->type;
        if (types[i] == TN_NONE) return false;
    }
    return true;
}

/* With those that the kernel is asked for, where shapes are known before a run. */
static tn_status list_combinations(tn_engine_loading *loading, const tn_engine_step *own,
                                   uint32_t *out_count, const tn_combination **out_combinations) {
    tn_call call;
    tn_call_scope scope;
    const bool is_asked =
        own->entry->kernel->combination && (tn_engine_step_is_shaped(loading, own->step) ||
                                            tn_engine_step_is_ranked(loading, own->step));
    *out_count = own->entry->combination_count;
    *out_combinations = own->entry->combinations;
    if (!is_asked) return TN_OK;
    TN_TRY(tn_engine_plain_call_init(loading, own, &scope, &call));
    return tn_kernel_fit_combinations(loading->arena, own->entry, &call, out_count,
                                      out_combinations);
}

/* Ports at which a combination accepts rows that lie apart, and counts. */
static void note_ports(tn_engine_step *own, const tn_combination *combination) {
    for (uint32_t i = 0; i < own->step->input_count && i < 64; i++) {
        const tn_combination_port *port = tn_combination_input(combination, i);
        if (port && port->is_strided) own->strided_inputs |= UINT64_C(1) << i;
        if (port && port->is_counted) own->counted_inputs |= UINT64_C(1) << i;
    }
    for (uint32_t i = 0; i < own->step->output_count && i < 64; i++) {
        const tn_combination_port *port = tn_combination_output(combination, i);
        if (port && port->is_strided) own->strided_outputs |= UINT64_C(1) << i;
        if (port && port->is_counted) own->counted_outputs |= UINT64_C(1) << i;
    }
}

static tn_status check_combination(tn_engine_loading *loading, tn_engine_step *own) {
    const tn_program_step *step = own->step;
    const tn_combination *combinations = NULL;
    uint32_t count = 0;
    tn_type *inputs = tn_arena_allocate(loading->arena, step->input_count + 1u, sizeof(*inputs));
    tn_type *outputs = tn_arena_allocate(loading->arena, step->output_count + 1u, sizeof(*outputs));
    if (!inputs || !outputs) return tn_fail_memory("a node's types");
    const tn_operator *op = loading->engine->graph->nodes[step->node].entry->op;
    if (!read_types(loading, op, step->inputs, step->input_count, inputs) ||
        !read_types(loading, NULL, step->outputs, step->output_count, outputs))
        return fail_step(loading, step, "gives it types that are not known");
    TN_TRY(list_combinations(loading, own, &count, &combinations));
    for (uint32_t c = 0; c < count; c++) {
        if (!tn_combination_matches(&combinations[c], step->input_count, inputs, step->output_count,
                                    outputs) ||
            !storages_match(loading, step, &combinations[c]))
            continue;
        note_ports(own, &combinations[c]);
        return TN_OK;
    }
    return fail_step(loading, step, "gives it types or formats that it does not take");
}

/* ----------------------------------------------------------------------------------------------
 * what is fused into a kernel */

/* `like`: the value that a whole one is stored as; TN_NO_VALUE: the step has none. */
static tn_status check_operand(const tn_engine_loading *loading, const tn_program_step *step,
                               const tn_facet_operand *form, uint32_t index, uint32_t like,
                               bool is_before) {
    const tn_program_value *operand = value_of(loading, step->operands[index]);
    const tn_program_value *as = like == TN_NO_VALUE ? NULL : value_of(loading, like);
    const bool is_constant = loading->engine->graph->tensors[operand->tensor].is_constant;
    const bool is_alike = as && operand->format == as->format && operand->type == as->type &&
                          !operand->quantization == !as->quantization;
    const bool is_plain = operand->format == TN_LINEAR && !operand->quantization;
    const bool is_sound = is_before ? is_plain && is_own(loading, step->operands[index]) &&
                                          (is_constant || !tn_link_is_constant(form))
                          : form->form == TN_OPERAND_WHOLE     ? is_alike
                          : form->form == TN_OPERAND_BROADCAST ? is_alike || is_plain
                                                               : is_plain && is_constant;
    return is_sound ? TN_OK : fail_step(loading, step, "fuses an operand that does not fit");
}

static bool is_fusable(const tn_engine_loading *loading, uint32_t node) {
    const tn_engine *engine = loading->engine;
    return !engine->plan.is_host_node[node] && !loading->shapes.plan.is_after_run[node] &&
           !(tn_graph_output_port(engine->graph->nodes[node].entry->op, 0)->flags &
             TN_PORT_SIZED_BY_RUN);
}

static tn_status check_chain(const tn_engine_loading *loading, const tn_program_step *step,
                             const tn_chain *chain) {
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        if (!is_fusable(loading, step->node) || !is_fusable(loading, step->absorbed[i]))
            return fail_step(loading, step, "fuses nodes whose shapes no build can know");
    for (uint32_t i = 0; i < chain->operand_counts[chain->count]; i++) {
        const uint32_t like =
            step->input_count > 0 && tn_chain_reshapes_behind(chain, i, chain->count)
                ? step->inputs[0]
                : step->outputs[0];
        TN_TRY(check_operand(loading, step, &chain->forms[i], i, like,
                             i < chain->operand_counts[chain->before_count]));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * questions to the kernel */

static tn_status ask_kernel(tn_engine_loading *loading, const tn_engine_step *own) {
    const tn_program_step *step = own->step;
    const tn_kernel *kernel = own->entry->kernel;
    tn_call call;
    tn_call_scope scope;
    for (int i = 0; kernel->accepts && i < 3; i++) {
        const int point = (i + 1) % 3; /* the optimum first */
        if (i > 0 && loading->shapes.points[point] == loading->shapes.points[1]) continue;
        if (i > 0 && !tn_engine_step_is_shaped(loading, step)) continue;
        TN_TRY(tn_engine_call_init(loading, own, point, loading->arena, &scope, NULL, &call));
        if (tn_call_ask(&call, kernel->accepts, "accepts") != TN_OK)
            return fail_step(loading, step, "gives it a node that it does not accept");
    }
    uint32_t tactics = 1;
    if (kernel->tactics) {
        TN_TRY(tn_engine_call_init(loading, own, 1, loading->arena, &scope, NULL, &call));
        call.tactic_count = 1;
        TN_TRY(tn_call_invoke(&call, kernel->tactics, "tactics"));
        tactics = call.tactic_count ? call.tactic_count : 1;
    }
    return step->tactic < tactics ? TN_OK
                                  : fail_step(loading, step, "asks for a tactic that it lacks");
}

/* The kernel's own parameters, from the node's fields. */
static tn_status fill_params(tn_engine_loading *loading, tn_engine_step *own) {
    bool fits = false;
    TN_TRY(tn_kernel_fit_params(loading->engine->arena, own->entry,
                                &loading->engine->graph->nodes[own->step->node],
                                &own->kernel_params, &fits));
    return fits ? TN_OK : fail_step(loading, own->step, "gives it fields that it does not take");
}

static tn_status check_kernel(tn_engine_loading *loading, tn_engine_step *own) {
    const tn_program_step *step = own->step;
    const tn_kernel *kernel = own->entry->kernel;
    tn_call call;
    tn_call_scope scope;
    tn_chain chain;
    TN_TRY(fill_params(loading, own));
    TN_TRY(check_combination(loading, own));
    if (step->is_in_place && !(kernel->traits & TN_KERNEL_IN_PLACE))
        return fail_step(loading, step, "lets it overwrite its input, which it does not do");
    if (!tn_engine_step_is_shaped(loading, step)) {
        if (tn_kernel_takes_open(kernel, tn_engine_step_is_ranked(loading, step)) &&
            step->absorbed_count == 0) {
            own->is_open = kernel->traits & TN_KERNEL_ANY_SHAPE;
            if (own->is_open) TN_TRY(tn_engine_note_ranks(loading, own));
            return ask_kernel(loading, own);
        }
        return fail_step(loading, step, "gives it shapes that are not known before a run");
    }
    TN_TRY(tn_engine_call_init(loading, own, 1, loading->arena, &scope, &chain, &call));
    TN_TRY(check_chain(loading, step, &chain));
    return ask_kernel(loading, own);
}

/* Views and values that decide shapes lie as linear elements do. */
static tn_status check_plain(const tn_engine_loading *loading, const tn_program_step *step) {
    if (!are_all_linear(loading, step))
        return fail_step(loading, step, "has formats that only kernels can have");
    if (step->kind != TN_STEP_VIEW && !are_all_own(loading, step))
        return fail_step(loading, step, "has types that only kernels can have");
    if (step->is_host && !loading->engine->plan.is_host_node[step->node])
        return fail_step(loading, step, "leaves to the reshape what belongs to the run");
    if (step->is_in_place || step->aliased) return fail_step(loading, step, "overwrites an input");
    return TN_OK;
}

/* Where a type is known already, a value has it, or a lower one that may stand for it. */
static bool has_types(const tn_engine_loading *loading, const uint32_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == TN_NO_VALUE) continue;
        const tn_program_value *value = value_of(loading, values[i]);
        const tn_tensor *known = loading->linear[value->tensor];
        if (known ? !tn_program_value_fits(value, known->type) : value->quantization != NULL)
            return false;
    }
    return true;
}

tn_status tn_engine_check_values(const tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    const uint32_t count = engine->program->value_count;
    engine->is_lower = tn_arena_allocate(engine->arena, count + 1u, sizeof(*engine->is_lower));
    if (!engine->is_lower) return tn_fail_memory("an engine");
    for (uint32_t v = 0; v < count; v++)
        engine->is_lower[v] = !is_own(loading, v);
    for (size_t i = 0; i < engine->graph->input_count; i++)
        if (!is_own(loading, engine->program->input_values[i]))
            return tn_fail(TN_ERROR_FORMAT, "the stored program has a wrong type at input %zu", i);
    for (size_t i = 0; i < engine->graph->output_count; i++)
        if (!is_own(loading, engine->program->output_values[i]))
            return tn_fail(TN_ERROR_FORMAT, "the stored program has a wrong type at output %zu", i);
    return TN_OK;
}

tn_status tn_engine_check_step(tn_engine_loading *loading, tn_engine_step *own) {
    const tn_program_step *step = own->step;
    const bool is_sound = has_types(loading, step->inputs, step->input_count) &&
                          has_types(loading, step->outputs, step->output_count) &&
                          has_types(loading, step->operands, step->operand_count);
    if (step->kind == TN_STEP_REFORMAT)
        return is_sound ? TN_OK : tn_fail(TN_ERROR_FORMAT, "the stored program has a wrong type");
    if (!is_sound) return fail_step(loading, step, "has other types than the network");
    return own->entry && !step->is_host ? check_kernel(loading, own) : check_plain(loading, step);
}
