/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running bodies by their programs: a context a body, opened with the context of the network around
 * it. Results that the operator has no memory for alternate between two sets of buffers, so that
 * those of one run are the inputs of the next. Calls of references run bodies by references.
 */
#include "run/context_private.h"
#include "base/status.h"
#include "graph/body.h"
#include "plugin/sequences/kinds.h"
#include "run/sized/dynamic.h"
#include "tensor/string.h"

#include <inttypes.h>
#include <string.h>

typedef struct body_output {
    void *memory[2];
    size_t bytes[2];
    tn_tensor_storage made[2];
    tn_items lists[2]; /* of one that is not dense */
    tn_heap heaps[2];  /* of strings: behind their elements */
} body_output;

typedef struct body_instance {
    const tn_body_graph *body;
    tn_context *context;
    body_output *outputs; /* by output of the body */
    uint32_t current;
} body_instance;

struct tn_body_contexts {
    tn_body_executor executor; /* first */
    tn_body_references references;
    tn_context *outer;
    body_instance *instances;
    uint32_t count;
};

/* ----------------------------------------------------------------------------------------------
 * a run */

static tn_status set_input(const body_instance *instance, uint32_t index, const tn_tensor *given) {
    const tn_port_info *port = tn_engine_input(instance->context->engine, index);
    if (!given || given->format != TN_LINEAR)
        return tn_fail(TN_ERROR_ARGUMENT, "input '%s' is not there, or not linear", port->name);
    if (given->type != port->type)
        return tn_fail(TN_ERROR_TYPE, "input '%s' is declared as %s, but %s was given", port->name,
                       tn_type_name(port->type), tn_type_name(given->type));
    if (given->kind != port->kind)
        return tn_fail(TN_ERROR_TYPE, "input '%s' is declared as %s, but %s was given", port->name,
                       tn_kind_name(port->kind), tn_kind_name(given->kind));
    if (port->kind) return tn_dynamic_give_items(instance->context, index, given->data);
    TN_TRY(tn_context_set_shape(instance->context, index, given->rank, given->shape));
    TN_TRY(tn_context_bind_input(instance->context, index, given->data, given->bytes));
    instance->context->ports.inputs[index].heap = given->heap;
    return TN_OK;
}

/* What is cached of other shapes stays: nothing is allocated where shapes come again. */
static tn_status reshape(const body_instance *instance) {
    const tn_context *context = instance->context;
    return context->shapes.are_set && !context->engine->has_value_inputs
               ? TN_OK
               : tn_context_reshape(instance->context);
}

static tn_status reserve(const tn_context *outer, body_output *output, uint32_t current,
                         size_t bytes) {
    if (bytes < 64) bytes = 64;
    if (output->bytes[current] >= bytes) return TN_OK;
    tn_deallocate(&outer->allocator, output->memory[current]);
    output->bytes[current] = 0;
    output->memory[current] = tn_allocate_aligned(&outer->allocator, bytes, 64);
    if (!output->memory[current]) return tn_fail_memory("an output of a body");
    output->bytes[current] = bytes;
    return TN_OK;
}

static tn_status bind_output(const tn_context *outer, body_instance *instance, uint32_t index,
                             const tn_tensor *wanted) {
    const tn_tensor *made;
    body_output *output = &instance->outputs[index];
    const tn_port_info *port = tn_engine_output(instance->context->engine, index);
    if (port->kind) return TN_OK;
    if (instance->context->dynamic || port->type == TN_STRING) /* taken after the run */
        return tn_context_bind_output(instance->context, index, NULL, 0);
    TN_TRY(tn_context_output(instance->context, index, &made));
    if (wanted && wanted->data) {
        tn_tensor same = *made;
        same.data = wanted->data;
        same.bytes = 0;
        TN_TRY(tn_body_deliver(instance->body, index, &same, (tn_tensor *)(uintptr_t)wanted));
        if (wanted->bytes < made->bytes)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "output %" PRIu32 " of body '%s' has %" PRIu64 " bytes; %" PRIu64
                           " are needed",
                           index, instance->body->name, wanted->bytes, made->bytes);
        return tn_context_bind_output(instance->context, index, wanted->data, wanted->bytes);
    }
    TN_TRY(reserve(outer, output, instance->current, (size_t)made->bytes));
    return tn_context_bind_output(instance->context, index, output->memory[instance->current],
                                  output->bytes[instance->current]);
}

/* The same of one that is not dense: its items, which the body's next run would give back. */
static tn_status take_items(const body_instance *instance, body_output *output,
                            const tn_tensor *made, tn_tensor *wanted) {
    const tn_items *from = made->data;
    tn_items *items = &output->lists[instance->current];
    tn_tensor_storage *kept = &output->made[instance->current];
    items->store = &instance->context->dynamic->item_store;
    TN_TRY(tn_items_share_all(items, from));
    tn_items_describe(kept, made, made->rank, made->shape);
    kept->tensor.data = items;
    *wanted = kept->tensor;
    return TN_OK;
}

/* The same of strings: their heap is copied behind the elements. */
static tn_status take_strings(const tn_context *outer, body_output *output, uint32_t current,
                              const tn_tensor *made) {
    const uint64_t count = made->bytes / sizeof(tn_string);
    const uint64_t heap_bytes = tn_strings_heap_bytes(made->data, count, made->heap);
    size_t bytes;
    if (!tn_add_size((size_t)made->bytes, (size_t)heap_bytes, &bytes))
        return tn_fail_memory("an output of a body");
    TN_TRY(reserve(outer, output, current, bytes));
    char *heap = (char *)output->memory[current] + made->bytes;
    tn_strings_copy(made->data, count, made->heap, output->memory[current], heap);
    output->heaps[current] = (tn_heap){.size = sizeof(tn_heap), .bytes = heap_bytes, .data = heap};
    return TN_OK;
}

/* The descriptor is the operator's until the second run after this one. */
static tn_status take_output(const tn_context *outer, body_instance *instance, uint32_t index,
                             tn_tensor *wanted) {
    const tn_tensor *made;
    body_output *output = &instance->outputs[index];
    const uint32_t current = instance->current;
    tn_shape shape;
    if (!wanted) return TN_OK;
    TN_TRY(tn_context_output(instance->context, index, &made));
    if (made->kind) return take_items(instance, output, made, wanted);
    if (wanted->data) return tn_body_deliver(instance->body, index, made, wanted);
    const bool is_strings = made->type == TN_STRING;
    TN_TRY(is_strings ? take_strings(outer, output, current, made)
                      : reserve(outer, output, current, (size_t)made->bytes));
    TN_TRY(tn_shape_set(&shape, made->rank, made->shape));
    TN_TRY(tn_tensor_init(&output->made[current], made->type, TN_LINEAR, &shape));
    tn_tensor *kept = &output->made[current].tensor;
    kept->data = output->memory[current];
    kept->name = made->name;
    if (is_strings)
        kept->heap = &output->heaps[current];
    else if (made->data != kept->data && made->bytes > 0)
        memcpy(kept->data, made->data, (size_t)made->bytes);
    *wanted = *kept;
    return TN_OK;
}

static tn_status run_instance(const tn_context *outer, body_instance *instance, const tn_call *call,
                              const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    const tn_body_graph *body = instance->body;
    tn_context *context = instance->context;
    instance->current ^= 1;
    tn_context_join(context, outer);
    for (uint32_t i = 0; i < body->input_count + body->capture_count; i++)
        TN_TRY(set_input(instance, i, tn_body_input_at(call, body, inputs, i)));
    TN_TRY(reshape(instance));
    for (uint32_t i = 0; i < body->output_count; i++)
        TN_TRY(bind_output(outer, instance, i, outputs ? outputs[i] : NULL));
    TN_TRY(tn_context_run(context));
    for (uint32_t i = 0; i < body->output_count; i++)
        TN_TRY(take_output(outer, instance, i, outputs ? outputs[i] : NULL));
    return TN_OK;
}

static body_instance *find_instance(const struct tn_body_contexts *bodies,
                                    const tn_body_graph *body) {
    for (uint32_t i = 0; i < bodies->count; i++)
        if (bodies->instances[i].body == body) return &bodies->instances[i];
    return NULL;
}

static tn_status run_body(tn_body_executor *executor, tn_call *call, const tn_body_graph *body,
                          const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    struct tn_body_contexts *bodies = (struct tn_body_contexts *)executor; /* its first member */
    bodies->references.run = bodies->outer->run;
    TN_TRY(tn_run_check(bodies->outer->run)); /* a body without nodes, repeated */
    if (call->flags & TN_CALL_REFERENCE)
        return bodies->references.executor.run(&bodies->references.executor, call, body, inputs,
                                               outputs);
    body_instance *instance = find_instance(bodies, body);
    if (!instance) return tn_fail(TN_ERROR_INTERNAL, "body '%s' was not opened", body->name);
    return tn_error_at(run_instance(bodies->outer, instance, call, inputs, outputs), "body '%s'",
                       body->name);
}

/* ----------------------------------------------------------------------------------------------
 * life */

static tn_status open_instance(tn_context *context, const tn_engine_body *own,
                               body_instance *instance) {
    instance->body = &own->body->view;
    instance->outputs = tn_allocate_zero(&context->allocator, instance->body->output_count + 1u,
                                         sizeof(*instance->outputs));
    if (!instance->outputs) return tn_fail_memory("a body");
    return tn_context_create_part(context, own->engine, true, &instance->context);
}

tn_status tn_body_contexts_create(tn_context *context) {
    const tn_engine *engine = context->engine;
    if (!engine->has_bodies) return TN_OK;
    struct tn_body_contexts *bodies = tn_allocate_zero(&context->allocator, 1, sizeof(*bodies));
    if (!bodies) return tn_fail_memory("the bodies of a context");
    context->bodies = bodies;
    bodies->executor =
        (tn_body_executor){.infer = tn_body_infer, .value = tn_body_value, .run = run_body};
    bodies->outer = context;
    tn_body_references_init(&bodies->references, &context->allocator);
    bodies->instances =
        tn_allocate_zero(&context->allocator, engine->body_count + 1u, sizeof(*bodies->instances));
    if (!bodies->instances) return tn_fail_memory("the bodies of a context");
    for (uint32_t i = 0; i < engine->body_count; i++) {
        bodies->count++;
        TN_TRY(open_instance(context, &engine->bodies[i], &bodies->instances[i]));
    }
    return TN_OK;
}

static void close_instance(const tn_allocator *allocator, body_instance *instance) {
    for (uint32_t i = 0; instance->outputs && i < instance->body->output_count; i++)
        for (int current = 0; current < 2; current++) {
            tn_deallocate(allocator, instance->outputs[i].memory[current]);
            tn_items_deinit(&instance->outputs[i].lists[current]);
        }
    tn_deallocate(allocator, instance->outputs);
    tn_context_destroy(instance->context);
}

void tn_body_contexts_destroy(tn_context *context) {
    struct tn_body_contexts *bodies = context->bodies;
    if (!bodies) return;
    for (uint32_t i = 0; i < bodies->count; i++)
        close_instance(&context->allocator, &bodies->instances[i]);
    tn_body_references_deinit(&bodies->references);
    tn_deallocate(&context->allocator, bodies->instances);
    tn_deallocate(&context->allocator, bodies);
    context->bodies = NULL;
}

tn_body_executor *tn_body_contexts_executor(const tn_context *context) {
    return context->bodies ? &context->bodies->executor : NULL;
}

void tn_body_contexts_count(const tn_context *context, tn_context_statistics *inout_statistics) {
    for (uint32_t i = 0; context->bodies && i < context->bodies->count; i++) {
        tn_context_statistics own = {.size = sizeof(own)};
        tn_context_get_statistics(context->bodies->instances[i].context, &own);
        inout_statistics->allocations += own.allocations;
        inout_statistics->arena_bytes += own.arena_bytes;
        inout_statistics->waits += own.waits;
    }
}
