/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a combination makes of a case: which inputs it stores narrowly, and the run that it asks
 * for.
 */
#include "plugin/fields/combination.h"
#include "cases/stored/stored_private.h"

#include <stdlib.h>

/* Whether a port names the narrow type; '*' and no combinations never get it from a build. */
static bool names_stored(const tn_drawn *d, const tn_combination_port *port) {
    return d->stored != TN_NONE && port && !port->is_every &&
           (port->types & TN_TYPE_BIT(d->stored));
}

/* The type in which a port stores a tensor of type `own`: the narrow one where the port names it;
 * TN_NONE when it takes neither. */
static tn_type stored_type(const tn_drawn *d, const tn_combination_port *port, tn_type own) {
    if (!port) return TN_NONE;
    if (own == TN_F32 && names_stored(d, port)) return d->stored;
    return port->types & TN_TYPE_BIT(own) ? own : TN_NONE;
}

/* The same for an output, which may have the other sign when it is stored in bytes, too. */
static tn_type stored_output_type(const tn_drawn *d, const tn_combination_port *port, tn_type own) {
    const tn_type type = stored_type(d, port, own);
    tn_drawn other = {.stored = d->stored == TN_STORED_QI8 ? TN_STORED_QU8 : TN_STORED_QI8};
    return type == TN_NONE && tn_stored_is_bytes(d->stored) ? stored_type(&other, port, own) : type;
}

static uint32_t case_input_of(const tn_drawn *d, uint32_t node_input) {
    return (uint32_t)atoi(d->graph->tensors[d->node->inputs[node_input]].name + 2);
}

bool tn_stored_narrow_inputs(const tn_drawn *d, const tn_combination *combination,
                             uint64_t *out_narrow) {
    uint64_t narrow = 0;
    bool is_any = false, has_floats = false;
    for (uint32_t i = 0; i < d->node->input_count; i++) {
        const tn_combination_port *port = tn_combination_input(combination, i);
        if (d->node->inputs[i] == TN_NO_TENSOR) {
            if (port && !port->is_optional) return false;
            continue;
        }
        const uint32_t index = case_input_of(d, i);
        const tn_case_input *input = &d->c.inputs[index];
        const tn_type type = stored_type(d, port, input->type);
        if (type == TN_NONE || !tn_format_fits(port->format, input->shape.rank)) return false;
        has_floats = has_floats || input->type == TN_F32;
        if (input->type == TN_F32 && type == d->stored) narrow |= UINT64_C(1) << index;
    }
    *out_narrow = narrow;
    if (d->stored == TN_NONE) return true;
    for (uint32_t i = 0; i < d->node->output_count; i++) {
        is_any = is_any || names_stored(d, tn_combination_output(combination, i));
    }
    *out_narrow = narrow;
    return narrow != 0 || (is_any && has_floats);
}

static tn_type element_type(tn_type stored) {
    return stored == TN_STORED_QI8 ? TN_I8 : stored == TN_STORED_QU8 ? TN_U8 : stored;
}

/* Whether a kernel sees the input's value before the run. */
static bool is_constant(const tn_drawn *d, uint32_t index) {
    const tn_port *port = &d->op->inputs[d->c.inputs[index].port];
    if (d->stored != TN_NONE) return !(d->narrow >> index & 1);
    return (port->flags & TN_PORT_VALUE_NEEDED) || (d->are_constant && index > 0);
}

bool tn_stored_describe(const tn_drawn *d, const tn_kernel *kernel,
                        const tn_combination *combination, tn_stored_run *run) {
    *run = (tn_stored_run){.runtime = d->runtime,
                           .kernel = kernel,
                           .node = d->node,
                           .device = d->device,
                           .stream = d->stream,
                           .input_count = d->node->input_count,
                           .output_count = d->node->output_count};
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (d->node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_combination_port *port = tn_combination_input(combination, i);
        const uint32_t index = case_input_of(d, i);
        const tn_case_input *input = &d->c.inputs[index];
        const tn_type type = stored_type(d, port, input->type);
        run->inputs[i] =
            (tn_stored_tensor){.is_given = true,
                               .type = element_type(type),
                               .format = port->format,
                               .scale = tn_stored_is_bytes(type) ? d->scales[index] : 0,
                               .zero_point = type == TN_STORED_QU8 ? d->zero_points[index] : 0,
                               .own_type = input->type,
                               .shape = &input->shape,
                               .data = input->data,
                               .is_constant = is_constant(d, index)};
    }
    for (uint32_t i = 0; i < d->expected.count && i < run->output_count; i++) {
        const tn_combination_port *port = tn_combination_output(combination, i);
        const tn_type type = stored_output_type(d, port, d->expected.types[i]);
        if (type == TN_NONE || !tn_format_fits(port->format, d->expected.shapes[i].rank))
            return false;
        run->outputs[i] =
            (tn_stored_tensor){.is_given = true,
                               .type = element_type(type),
                               .format = port->format,
                               .scale = tn_stored_is_bytes(type) ? d->output_scales[i] : 0,
                               .zero_point = type == TN_STORED_QU8 ? d->output_zero_point : 0,
                               .own_type = d->expected.types[i],
                               .shape = &d->expected.shapes[i]};
    }
    return true;
}
