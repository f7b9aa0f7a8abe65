/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heaps of a context's strings: each value that a step makes has one of its own, kept from one
 * run to the next; views have their source's, constants the graph's, inputs what follows their
 * elements in the caller's memory.
 */
#include "run/context_private.h"
#include "plugin/strings/strings.h"
#include "tensor/string.h"

struct tn_heaps {
    tn_owned_heap *owned; /* by program value: of those that steps make */
    tn_heap *inputs;      /* by graph input */
    tn_heap **all;        /* by program value */
};

/* Types that only a run's inference knows may be strings, too. */
static bool may_be_string(const tn_engine *engine, uint32_t value) {
    const tn_program_value *item = &engine->program->values[value];
    const tn_type type =
        item->type != TN_NONE ? item->type : engine->graph->tensors[item->tensor].type;
    return type == TN_STRING || type == TN_NONE;
}

static bool has_strings(const tn_engine *engine) {
    for (uint32_t v = 0; v < engine->program->value_count; v++)
        if (may_be_string(engine, v)) return true;
    return false;
}

/* Of an input or a constant. */
static tn_heap *source_heap(const tn_context *context, tn_tensor_id id) {
    const tn_graph *graph = context->engine->graph;
    if (graph->tensors[id].is_constant) return graph->tensors[id].heap;
    for (uint32_t i = 0; graph->tensors[id].is_input && i < graph->input_count; i++)
        if (graph->inputs[i] == id) return &context->heaps->inputs[i];
    return NULL;
}

static void find_made(const tn_context *context, const tn_program_step *step) {
    const struct tn_heaps *heaps = context->heaps;
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i];
        if (value == TN_NO_VALUE || !may_be_string(engine, value)) continue;
        heaps->all[value] = &heaps->owned[value].heap;
        if (step->kind != TN_STEP_VIEW) continue;
        const uint32_t alias =
            tn_graph_output_port(engine->graph->nodes[step->node].entry->op, i)->alias;
        if (alias > 0 && alias <= step->input_count && step->inputs[alias - 1] != TN_NO_VALUE)
            heaps->all[value] = heaps->all[step->inputs[alias - 1]];
    }
}

tn_status tn_heaps_create(tn_context *context) {
    const tn_engine *engine = context->engine;
    const tn_allocator *allocator = &context->allocator;
    const uint32_t values = engine->program->value_count;
    if (!has_strings(engine)) return TN_OK;
    struct tn_heaps *heaps = context->heaps = tn_allocate_zero(allocator, 1, sizeof(*heaps));
    if (!heaps) return tn_fail_memory("a context's strings");
    heaps->owned = tn_allocate_zero(allocator, values + 1u, sizeof(*heaps->owned));
    heaps->inputs =
        tn_allocate_zero(allocator, engine->graph->input_count + 1, sizeof(*heaps->inputs));
    heaps->all = tn_allocate_zero(allocator, values + 1u, sizeof(*heaps->all));
    if (!heaps->owned || !heaps->inputs || !heaps->all)
        return tn_fail_memory("a context's strings");
    for (uint32_t v = 0; v < values; v++) {
        tn_owned_heap_init(&heaps->owned[v], allocator);
        if (may_be_string(engine, v))
            heaps->all[v] = source_heap(context, engine->program->values[v].tensor);
    }
    for (uint32_t s = 0; s < engine->program->step_count; s++)
        find_made(context, &engine->program->steps[s]);
    return TN_OK;
}

void tn_heaps_destroy(tn_context *context) {
    struct tn_heaps *heaps = context->heaps;
    const tn_allocator *allocator = &context->allocator;
    if (!heaps) return;
    for (uint32_t v = 0; heaps->owned && v < context->engine->program->value_count; v++)
        tn_owned_heap_deinit(&heaps->owned[v]);
    tn_deallocate(allocator, heaps->owned);
    tn_deallocate(allocator, heaps->inputs);
    tn_deallocate(allocator, (void *)heaps->all);
    tn_deallocate(allocator, heaps);
    context->heaps = NULL;
}

tn_heap *tn_heaps_find(const tn_context *context, uint32_t value) {
    return context->heaps ? context->heaps->all[value] : NULL;
}

/* What the caller bound to an input of strings. */
static tn_status read_input(const tn_context *context, uint32_t input) {
    const tn_input_binding *binding = &context->ports.inputs[input];
    const char *name = context->engine->inputs[input].name;
    if (binding->is_device)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "input '%s' is of strings, which are read from the host's memory alone",
                       name);
    size_t bytes = 0; /* of shapes that came again nothing was inferred anew */
    TN_TRY(tn_format_bytes(TN_LINEAR, TN_STRING, &binding->shape, &bytes));
    TN_TRY(tn_bindings_check_input(context, input, bytes));
    const uint64_t count = bytes / sizeof(tn_string);
    if (binding->heap) { /* of the network around this body, which made it */
        context->heaps->inputs[input] = *binding->heap;
        return TN_OK;
    }
    context->heaps->inputs[input] = tn_heap_behind(binding->data, count, binding->bytes);
    const tn_status status = tn_strings_check(binding->data, count, &context->heaps->inputs[input]);
    return status == TN_OK ? TN_OK : tn_error_at(status, "input '%s'", name);
}

tn_status tn_heaps_begin(tn_context *context) {
    const tn_engine *engine = context->engine;
    if (!context->heaps) return TN_OK;
    for (uint32_t i = 0; i < engine->graph->input_count; i++)
        if (engine->inputs[i].type == TN_STRING && context->ports.inputs[i].is_needed)
            TN_TRY(read_input(context, i));
    for (uint32_t v = 0; v < engine->program->value_count; v++)
        tn_owned_heap_clear(&context->heaps->owned[v]);
    return TN_OK;
}
