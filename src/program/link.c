/* SPDX-License-Identifier: Apache-2.0 */
/* Asking operators for facets, and the steps that kernels get of them; see link.h. */
#include "program/link.h"
#include "base/status.h"
#include "plugin/fields/expression_row.h"

#include <stdalign.h>
#include <string.h>

static bool has_all(const tn_graph_node *node, const tn_tensor *const *tensors) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR && !tensors[node->inputs[i]]) return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && !tensors[node->outputs[i]]) return false;
    return true;
}

/* The one input that is `chained`; false when it is read twice or there are other outputs. */
static bool find_input(const tn_graph_node *node, tn_tensor_id chained, uint32_t *out_input) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != chained) continue;
        *out_input = i;
        count++;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if ((node->outputs[i] != TN_NO_TENSOR) != (i == 0)) return false;
    return count == 1 && node->output_count > 0;
}

tn_status tn_link_init(tn_link *link, tn_arena *arena, const tn_graph *graph, uint32_t node,
                       tn_tensor_id chained, const tn_tensor *const *tensors) {
    *link = (tn_link){.graph = graph, .arena = arena, .node = node};
    link->is_open = find_input(&graph->nodes[node], chained, &link->input) &&
                    has_all(&graph->nodes[node], tensors);
    if (!link->is_open) return TN_OK;
    return tn_node_call_init(&link->node_call, arena, graph, node, tensors);
}

/* ----------------------------------------------------------------------------------------------
 * the facets that the host answers */

/* One that computes rows of 32-bit floats, or has an expression, whose row function is the host's.
 */
static tn_status describe_row(tn_arena *arena, const tn_call *call, uint32_t input,
                              tn_facet *out_facet) {
    const tn_operator *op = call->op;
    if (!(op->traits & TN_OPERATOR_ELEMENTWISE) || (!op->row && !op->expression))
        return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->input_count; i++)
        if ((call->inputs[i] != NULL) != (i == input)) return TN_ERROR_UNSUPPORTED;
    if (call->inputs[input]->type != TN_F32 || call->outputs[0]->type != TN_F32)
        return TN_ERROR_UNSUPPORTED;
    tn_facet_expression *row = out_facet->what;
    row->size = sizeof *row;
    row->row = op->row;
    row->params = call->params;
    row->text = op->expression;
    row->op = op;
    out_facet->flags = TN_FACET_POINTERS | TN_FACET_NODE_INPUTS;
    return op->row ? TN_OK : tn_expression_row_make(arena, op, call->params, input, row);
}

static bool is_float(tn_type type) {
    return type == TN_F32 || type == TN_F16 || type == TN_BF16;
}

/* One that says what it computes as text, of the chained tensor and one more at most. */
static bool describe_expression(const tn_call *call, uint32_t input, tn_facet *out_facet) {
    const tn_operator *op = call->op;
    const tn_type type = call->outputs[0]->type;
    uint32_t others = 0;
    if (!(op->traits & TN_OPERATOR_ELEMENTWISE) || !op->expression || !is_float(type)) return false;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) continue;
        if (call->inputs[i]->type != type) return false;
        if (i == input) continue;
        out_facet->operands[0] = (tn_facet_operand){.input = i, .form = TN_OPERAND_BROADCAST};
        others++;
    }
    if (others > 1 || (others == 1 && op->input_count != 2)) return false;
    tn_facet_expression *expression = out_facet->what;
    expression->size = sizeof *expression;
    expression->text = op->expression;
    expression->op = op;
    expression->params = call->params;
    out_facet->flags = TN_FACET_POINTERS | TN_FACET_NODE_INPUTS;
    out_facet->operand_count = others;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * asking */

static bool is_operand(const tn_facet *facet, uint32_t input) {
    for (uint32_t i = 0; i < facet->operand_count; i++)
        if (facet->operands[i].input == input) return true;
    return false;
}

/* Everything but the chained tensor and the operands has gone into the description, so it must not
 * change from run to run. */
static bool is_closed(const tn_link *link, const tn_facet *facet) {
    const tn_graph_node *node = &link->graph->nodes[link->node];
    for (uint32_t i = 0; i < facet->operand_count; i++) {
        const tn_facet_operand *operand = &facet->operands[i];
        if (operand->input >= node->input_count || operand->input == link->input ||
            node->inputs[operand->input] == TN_NO_TENSOR || operand->form < TN_OPERAND_VECTOR ||
            operand->form > TN_OPERAND_CONSTANT)
            return false;
        if (tn_link_is_constant(operand) &&
            !link->graph->tensors[node->inputs[operand->input]].is_constant)
            return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR || i == link->input || is_operand(facet, i)) continue;
        if (!link->graph->tensors[node->inputs[i]].is_constant) return false;
    }
    return true;
}

static tn_facet empty(void *buffer) {
    memset(buffer, 0, TN_FACET_BYTES);
    return (tn_facet){.size = sizeof(tn_facet), .what = buffer, .what_bytes = TN_FACET_BYTES};
}

static tn_status describe_facet(tn_link *link, const char *name, void *buffer,
                                tn_facet *out_facet) {
    tn_call *call = &link->node_call.call;
    *out_facet = empty(buffer);
    if (tn_call_facet(call, link->input, name, out_facet)) return TN_OK;
    *out_facet = empty(buffer);
    if (strcmp(name, TN_FACET_ROW) == 0)
        return describe_row(link->arena, call, link->input, out_facet);
    return strcmp(name, TN_FACET_EXPRESSION) == 0 &&
                   describe_expression(call, link->input, out_facet)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status keep_facet(tn_link *link, const char *name, const tn_facet *facet,
                            const void *buffer, bool is_described, tn_link_facet **out_kept) {
    tn_link_facet *kept = tn_arena_allocate(link->arena, 1, sizeof *kept);
    if (!kept) return tn_fail_memory("a node's facets");
    *kept = (tn_link_facet){.name = name, .is_described = is_described, .next = link->facets};
    if (is_described) {
        kept->facet = *facet;
        kept->facet.what = tn_arena_copy(link->arena, buffer, TN_FACET_BYTES);
        if (facet->variant) kept->facet.variant = tn_arena_text(link->arena, facet->variant);
        if (!kept->facet.what || (facet->variant && !kept->facet.variant))
            return tn_fail_memory("a node's facets");
    }
    link->facets = *out_kept = kept;
    return TN_OK;
}

tn_status tn_link_facet_of(tn_link *link, const char *name, const tn_facet **out_facet) {
    alignas(16) char buffer[TN_FACET_BYTES];
    tn_facet facet;
    *out_facet = NULL;
    if (!link->is_open) return TN_OK;
    tn_link_facet *kept = link->facets;
    while (kept && strcmp(kept->name, name) != 0)
        kept = kept->next;
    if (!kept) {
        const tn_status status = describe_facet(link, name, buffer, &facet);
        if (status != TN_OK && status != TN_ERROR_UNSUPPORTED) return status;
        const bool is_described = status == TN_OK && facet.what == buffer &&
                                  facet.operand_count <= TN_LINK_OPERANDS &&
                                  is_closed(link, &facet);
        TN_TRY(keep_facet(link, name, &facet, buffer, is_described, &kept));
    }
    if (kept->is_described) *out_facet = &kept->facet;
    return TN_OK;
}

bool tn_link_is_alike(const tn_facet *a, const tn_facet *b) {
    if (!a->variant != !b->variant || (a->variant && strcmp(a->variant, b->variant) != 0) ||
        a->flags != b->flags || a->operand_count != b->operand_count ||
        memcmp(a->what, b->what, TN_FACET_BYTES) != 0)
        return false;
    return memcmp(a->operands, b->operands, a->operand_count * sizeof a->operands[0]) == 0;
}

bool tn_link_operand_fits(const tn_facet_operand *operand, const tn_shape *shape,
                          const tn_shape *output) {
    if (operand->form == TN_OPERAND_CONSTANT) return true;
    if (operand->form == TN_OPERAND_WHOLE) return tn_shape_equal(shape, output);
    if (operand->form == TN_OPERAND_BROADCAST) return tn_shape_is_broadcast(shape, output);
    const int64_t rank = output->rank;
    const int64_t axis = operand->axis < 0 ? operand->axis + rank : operand->axis;
    size_t count = 0;
    return axis >= 0 && axis < rank && tn_shape_count(shape, &count) == TN_OK &&
           count == (size_t)output->extents[axis];
}

/* ----------------------------------------------------------------------------------------------
 * chains */

typedef struct builder {
    tn_arena *arena;
    tn_chain *chain;
    uint32_t *nodes;
    const tn_step **steps;
    const tn_facet **facets;
    tn_tensor_id *operands;
    tn_facet_operand *forms;
} builder;

/* The first facet of the kernel's list for a port that the node is. */
static tn_status choose_facet(tn_link *link, const tn_kernel_entry *entry, uint32_t port,
                              const char **out_name, const tn_facet **out_facet) {
    *out_facet = NULL;
    for (uint32_t i = 0; !*out_facet && i < entry->absorb_count; i++) {
        const tn_absorb *absorb = &entry->absorbs[i];
        if (absorb->port != port) continue;
        TN_TRY(tn_link_facet_of(link, absorb->facet, out_facet));
        if (*out_facet && !tn_absorb_has(absorb, (*out_facet)->variant)) *out_facet = NULL;
        *out_name = absorb->facet;
    }
    return TN_OK;
}

static uint32_t find_operand(const tn_facet *facet, uint32_t input, uint32_t first) {
    for (uint32_t i = 0; i < facet->operand_count; i++)
        if (facet->operands[i].input == input) return TN_STEP_OPERAND | (first + i);
    return TN_STEP_ABSENT;
}

static tn_status list_inputs(const builder *b, const tn_link *link, const tn_facet *facet,
                             tn_step *step) {
    const uint32_t first = b->chain->operand_counts[b->chain->count];
    const uint32_t at = b->chain->count;
    const bool is_first = at == 0 || at == b->chain->before_count;
    const uint32_t chained = is_first ? TN_STEP_VALUE : at - 1;
    const bool is_node = facet->flags & TN_FACET_NODE_INPUTS;
    step->input_count = is_node ? link->node_call.call.input_count : 1 + facet->operand_count;
    uint32_t *inputs = tn_arena_allocate(b->arena, step->input_count, sizeof *inputs);
    if (!inputs) return tn_fail_memory("a chain");
    for (uint32_t i = 0; i < step->input_count; i++) {
        const bool is_chained = is_node ? i == link->input : i == 0;
        inputs[i] = is_chained ? chained
                    : is_node  ? find_operand(facet, i, first)
                               : TN_STEP_OPERAND | (first + i - 1);
    }
    step->inputs = inputs;
    return TN_OK;
}

/* The tensor after the step; link->node_call's lies on shapes that may go. */
static tn_status describe_output(const builder *b, const tn_link *link, tn_step *step) {
    const tn_tensor *y = link->node_call.call.outputs[0];
    tn_tensor_storage *storage = tn_arena_allocate(b->arena, 1, sizeof *storage);
    tn_shape shape = {.rank = y->rank};
    if (!storage) return tn_fail_memory("a chain");
    memcpy(shape.extents, y->shape, y->rank * sizeof shape.extents[0]);
    TN_TRY(tn_tensor_init(storage, y->type, TN_LINEAR, &shape));
    storage->tensor.name = y->name;
    step->output = &storage->tensor;
    return TN_OK;
}

static tn_status add_step(builder *b, const tn_link *link, const char *name,
                          const tn_facet *facet) {
    tn_chain *chain = b->chain;
    const tn_graph_node *node = &link->graph->nodes[link->node];
    const uint32_t first = chain->operand_counts[chain->count];
    tn_step *step = tn_arena_allocate(b->arena, 1, sizeof *step);
    if (!step) return tn_fail_memory("a chain");
    *step = (tn_step){.size = sizeof *step,
                      .port = chain->count < chain->before_count ? chain->port : 0,
                      .facet = name,
                      .variant = facet->variant,
                      .what = facet->what};
    TN_TRY(list_inputs(b, link, facet, step));
    TN_TRY(describe_output(b, link, step));
    for (uint32_t i = 0; i < facet->operand_count; i++) {
        b->forms[first + i] = facet->operands[i];
        b->operands[first + i] = node->inputs[facet->operands[i].input];
    }
    b->nodes[chain->count] = link->node;
    b->steps[chain->count] = step;
    b->facets[chain->count] = facet;
    chain->operand_counts[++chain->count] = first + facet->operand_count;
    return TN_OK;
}

tn_status tn_chain_init(tn_chain *chain, tn_arena *arena, const tn_kernel_entry *entry,
                        const tn_links *links) {
    const uint32_t count = links->count;
    *chain = (tn_chain){.before_count = links->before_count,
                        .port = links->before_count > 0 ? links->port : 0,
                        .stored = links->before_count > 0 ? links->stored : TN_NO_TENSOR};
    if (count == 0 || !entry || entry->absorb_count == 0) return TN_OK;
    builder b = {
        .arena = arena,
        .chain = chain,
        .nodes = tn_arena_allocate(arena, count, sizeof *b.nodes),
        .steps = tn_arena_allocate(arena, count, sizeof *b.steps),
        .facets = tn_arena_allocate(arena, count, sizeof *b.facets),
        .operands = tn_arena_allocate(arena, count * (size_t)TN_LINK_OPERANDS, sizeof *b.operands),
        .forms = tn_arena_allocate(arena, count * (size_t)TN_LINK_OPERANDS, sizeof *b.forms)};
    if (!b.nodes || !b.steps || !b.facets || !b.operands || !b.forms)
        return tn_fail_memory("a chain");
    chain->nodes = b.nodes;
    chain->steps = b.steps;
    chain->facets = b.facets;
    chain->operands = b.operands;
    chain->forms = b.forms;
    while (chain->count < count && chain->count < TN_CHAIN_LIMIT) {
        tn_link *link = links->items[chain->count];
        const uint32_t port = chain->count < chain->before_count ? chain->port : 0;
        const char *name = NULL;
        const tn_facet *facet = NULL;
        TN_TRY(choose_facet(link, entry, port, &name, &facet));
        if (!facet) break;
        TN_TRY(add_step(&b, link, name, facet));
    }
    return TN_OK;
}

bool tn_chain_reshapes_behind(const tn_chain *chain, uint32_t operand, uint32_t count) {
    for (uint32_t step = 1; step < count; step++)
        if (operand < chain->operand_counts[step] &&
            (chain->facets[step]->flags & TN_FACET_RESHAPES))
            return true;
    return false;
}
