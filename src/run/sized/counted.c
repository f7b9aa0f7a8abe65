/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of a fixed capacity of which the caller's count tells how much is there
 * (tn_context_bind_count): which tensors of a set of shapes follow the count, and whether every
 * step is right for any count. The shapes stay those of the capacity.
 *
 * Which extents follow is found by inferring with two larger capacities: an extent that was the
 * capacity and is the larger one at both follows. Everything else that changes is refused.
 */
#include "run/sized/counted.h"
#include "base/status.h"

enum { PROBES = TN_COUNTED_PROBES, NOTHING = 0 };
#define OTHERWISE TN_COUNTED_OTHERWISE

/* The inputs that have one count in common. */
typedef struct counted_group {
    const tn_context *context;
    tn_shape_state *state;
    uint32_t first; /* of the inputs */
    int64_t capacity;
    tn_inference probes[PROBES];
    uint32_t *follows;     /* by tensor */
    bool *is_value_of;     /* by tensor: its elements depend on the capacity */
    tn_counted **counteds; /* by tensor, of all groups */
} counted_group;

const int64_t tn_counted_more[PROBES] = {1, 7};

static bool is_in(const counted_group *group, uint32_t input) {
    return group->context->ports.inputs[input].count ==
           group->context->ports.inputs[group->first].count;
}

static const char *input_name(const counted_group *group) {
    return group->context->engine->inputs[group->first].name;
}

/* ----------------------------------------------------------------------------------------------
 * which extents follow */

static tn_status check_input(const counted_group *group, uint32_t input) {
    const tn_context *context = group->context;
    const tn_input_binding *binding = &context->ports.inputs[input];
    const char *name = context->engine->inputs[input].name;
    if (binding->count_axis >= binding->shape.rank)
        return tn_fail(TN_ERROR_ARGUMENT, "input '%s' has a count along axis %u and rank %u", name,
                       binding->count_axis, binding->shape.rank);
    if (binding->shape.extents[binding->count_axis] != group->capacity)
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has a capacity of %lld, and input '%s', whose count is the same "
                       "one, of %lld",
                       name, (long long)binding->shape.extents[binding->count_axis],
                       input_name(group), (long long)group->capacity);
    return TN_OK;
}

static tn_status infer_with(counted_group *group, int probe) {
    const tn_context *context = group->context;
    const tn_graph *graph = context->engine->graph;
    tn_inference *inference = &group->probes[probe];
    TN_TRY(tn_inference_init(inference, graph, &context->engine->plan));
    TN_TRY(tn_inference_run(inference, context->shapes.now, context->shapes.values));
    for (uint32_t i = 0; i < graph->input_count; i++) {
        tn_shape shape = context->shapes.now[i];
        if (!is_in(group, i)) continue;
        TN_TRY(check_input(group, i));
        shape.extents[context->ports.inputs[i].count_axis] += tn_counted_more[probe];
        TN_TRY(tn_inference_set(inference, graph->inputs[i], &shape, NULL));
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead) TN_TRY(tn_inference_node(inference, n));
    return TN_OK;
}

uint32_t tn_counted_follows(const tn_shape *base, const tn_shape *const *longer, int64_t capacity) {
    uint32_t follows = NOTHING;
    for (int probe = 0; probe < PROBES; probe++)
        if (longer[probe]->rank != base->rank) return OTHERWISE;
    for (uint32_t axis = 0; axis < base->rank; axis++) {
        const int64_t extent = base->extents[axis];
        if (longer[0]->extents[axis] == extent && longer[1]->extents[axis] == extent) continue;
        for (int probe = 0; probe < PROBES; probe++)
            if (extent != capacity ||
                longer[probe]->extents[axis] != extent + tn_counted_more[probe])
                return OTHERWISE;
        if (follows != NOTHING) return OTHERWISE;
        follows = axis + 1;
    }
    return follows;
}

static void find_following(counted_group *group) {
    const tn_inference *inference = &group->context->shapes.inference;
    for (uint32_t t = 0; t < group->context->engine->graph->tensor_count; t++) {
        const tn_shape *larger[PROBES];
        bool is_known = t < inference->tensor_count && inference->tensors[t].is_known;
        for (int probe = 0; probe < PROBES && is_known; probe++) {
            is_known = group->probes[probe].tensors[t].is_known;
            larger[probe] = &group->probes[probe].tensors[t].storage.shape;
        }
        group->follows[t] = is_known ? tn_counted_follows(&inference->tensors[t].storage.shape,
                                                          larger, group->capacity)
                                     : NOTHING;
    }
}

/* ----------------------------------------------------------------------------------------------
 * whether the steps are right for any count */

static tn_status refuse(const counted_group *group, const tn_program_step *step, const char *why) {
    const tn_graph_node *node = &group->context->engine->graph->nodes[step->node];
    const tn_status status =
        tn_fail(TN_ERROR_UNSUPPORTED, "input '%s' has a count, and %s%s%s", input_name(group), why,
                step->kernel ? ": kernel " : "", step->kernel ? step->kernel : "");
    return tn_error_in(status, .node = node->name, .op = node->entry->op->name);
}

static tn_tensor_id tensor_of(const counted_group *group, uint32_t value) {
    return group->context->engine->program->values[value].tensor;
}

static bool is_elementwise(const counted_group *group, uint32_t node) {
    return group->context->engine->graph->nodes[node].entry->op->traits & TN_OPERATOR_ELEMENTWISE;
}

static tn_status check_kernel_input(const counted_group *group, const tn_engine_step *own,
                                    uint32_t input) {
    const tn_program_step *step = own->step;
    const tn_engine *engine = group->context->engine;
    const tn_tensor_id tensor = tensor_of(group, step->inputs[input]);
    const tn_port *port = tn_graph_input_port(engine->graph->nodes[step->node].entry->op, input);
    if (group->is_value_of[tensor] && !(port->flags & TN_PORT_VALUE_NEEDED))
        return refuse(group, step, "the capacity, not the count, would be computed with");
    if (group->follows[tensor] == NOTHING || is_elementwise(group, step->node)) return TN_OK;
    if (input >= 64 || !(own->counted_inputs >> input & 1) || !step->kernel)
        return refuse(group, step,
                      step->kernel ? "a kernel reads it that accepts none"
                                   : "the reference reads it, which accepts none");
    if (group->context->device.stream && !step->is_device)
        return refuse(group, step,
                      "the processor reads it, while the count is in the device's "
                      "memory");
    return TN_OK;
}

static tn_status check_kernel(const counted_group *group, const tn_engine_step *own) {
    const tn_program_step *step = own->step;
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TN_NO_VALUE) TN_TRY(check_kernel_input(group, own, i));
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        if (!is_elementwise(group, step->absorbed[i]))
            return refuse(group, step, "a step that is not elementwise is fused there");
    return TN_OK;
}

/* The elements below the count are the same ones where as many lie before the axis. */
static int64_t outer_count(const counted_group *group, tn_tensor_id tensor) {
    const tn_shape *shape = &group->context->shapes.inference.tensors[tensor].storage.shape;
    int64_t count = 1;
    for (uint32_t axis = 0; axis + 1 < group->follows[tensor]; axis++)
        count *= shape->extents[axis];
    return count;
}

static tn_status check_view(const counted_group *group, const tn_program_step *step) {
    const tn_operator *op = group->context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (step->outputs[i] == TN_NO_VALUE) continue;
        const tn_tensor_id to = tensor_of(group, step->outputs[i]),
                           from = tensor_of(group,
                                            step->inputs[tn_graph_output_port(op, i)->alias - 1]);
        group->is_value_of[to] = group->is_value_of[from];
        if (group->follows[from] == NOTHING && group->follows[to] == NOTHING) continue;
        if (group->follows[from] == NOTHING || group->follows[to] == NOTHING ||
            outer_count(group, from) != outer_count(group, to))
            return refuse(group, step, "the new shape does not keep the axis that is counted");
    }
    return TN_OK;
}

/* Whether anything that a step reads or makes depends on the count; OTHERWISE is refused. */
static tn_status look_at(const counted_group *group, const tn_program_step *step,
                         bool *out_depends) {
    const uint32_t *const lists[3] = {step->inputs, step->outputs, step->operands};
    const uint32_t counts[3] = {step->input_count, step->output_count, step->operand_count};
    *out_depends = false;
    for (int list = 0; list < 3; list++) {
        for (uint32_t i = 0; i < counts[list]; i++) {
            if (lists[list][i] == TN_NO_VALUE) continue;
            const tn_tensor_id tensor = tensor_of(group, lists[list][i]);
            *out_depends |= group->follows[tensor] != NOTHING || group->is_value_of[tensor];
            if (group->follows[tensor] == OTHERWISE)
                return refuse(group, step,
                              "a shape depends on it otherwise than by one extent "
                              "that is the count");
        }
    }
    return TN_OK;
}

static tn_status check_step(const counted_group *group, const tn_engine_step *own) {
    const tn_program_step *step = own->step;
    bool depends = false;
    if (step->kind == TN_STEP_REFORMAT) return TN_OK; /* of all that there is room for */
    TN_TRY(look_at(group, step, &depends));
    if (!depends) return TN_OK;
    if (step->kind == TN_STEP_VIEW) return check_view(group, step);
    for (uint32_t i = 0; i < step->output_count && step->is_host; i++)
        if (step->outputs[i] != TN_NO_VALUE)
            group->is_value_of[tensor_of(group, step->outputs[i])] = true;
    return step->is_host ? TN_OK : check_kernel(group, own);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static tn_status note_counts(const counted_group *group) {
    const tn_engine *engine = group->context->engine;
    for (uint32_t t = 0; t < engine->graph->tensor_count; t++) {
        if (group->follows[t] == NOTHING || group->follows[t] == OTHERWISE) continue;
        if (group->counteds[t])
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "tensor '%s' has two counts, of input '%s' and of "
                           "another",
                           engine->graph->tensors[t].name, input_name(group));
        tn_counted *counted = tn_arena_allocate(group->state->arena, 1, sizeof(*counted));
        if (!counted) return tn_fail_memory("a set of shapes");
        *counted = (tn_counted){.size = sizeof(*counted),
                                .axis = group->follows[t] - 1,
                                .value = group->context->ports.inputs[group->first].count};
        group->counteds[t] = counted;
    }
    return TN_OK;
}

static tn_status find_group(counted_group *group, tn_arena *arena) {
    const tn_engine *engine = group->context->engine;
    const size_t count = engine->graph->tensor_count + 1;
    const tn_input_binding *first = &group->context->ports.inputs[group->first];
    group->capacity =
        first->count_axis < first->shape.rank ? first->shape.extents[first->count_axis] : 0;
    group->follows = tn_arena_allocate(arena, count, sizeof(*group->follows));
    group->is_value_of = tn_arena_allocate(arena, count, sizeof(*group->is_value_of));
    if (!group->follows || !group->is_value_of) return tn_fail_memory("a set of shapes");
    for (int probe = 0; probe < PROBES; probe++)
        TN_TRY(tn_error_at(infer_with(group, probe),
                           "with %lld elements in place of %lld in input '%s', which has a count",
                           (long long)(group->capacity + tn_counted_more[probe]),
                           (long long)group->capacity, input_name(group)));
    find_following(group);
    for (uint32_t s = 0; s < engine->program->step_count; s++)
        TN_TRY(check_step(group, &engine->steps[s]));
    return note_counts(group);
}

static bool is_first(const tn_context *context, uint32_t input) {
    for (uint32_t i = 0; i < input; i++)
        if (context->ports.inputs[i].count == context->ports.inputs[input].count) return false;
    return context->ports.inputs[input].count != NULL;
}

static void hand_out(const tn_context *context, tn_shape_state *state, tn_counted **counteds) {
    const tn_program *program = context->engine->program;
    for (uint32_t v = 0; v < program->value_count; v++)
        state->tensors[v].tensor.counted = counteds[program->values[v].tensor];
    for (uint32_t i = 0; i < context->engine->graph->output_count; i++)
        state->outputs[i].tensor.counted =
            counteds[program->values[program->output_values[i]].tensor];
}

static tn_status find_all(const tn_context *context, tn_shape_state *state, tn_arena *arena) {
    tn_counted **counteds =
        tn_arena_allocate(arena, context->engine->graph->tensor_count + 1u, sizeof(*counteds));
    if (!counteds) return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        counted_group group = {
            .context = context, .state = state, .first = i, .counteds = counteds};
        if (!is_first(context, i)) continue;
        const tn_status status = find_group(&group, arena);
        for (int probe = 0; probe < PROBES; probe++)
            tn_inference_deinit(&group.probes[probe]);
        TN_TRY(status);
    }
    hand_out(context, state, counteds);
    return TN_OK;
}

bool tn_counted_is_same(const tn_context *context, const tn_shape_state *state) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_input_binding *binding = &context->ports.inputs[i];
        if (state->counts[i].value != binding->count ||
            (binding->count && state->counts[i].axis != binding->count_axis))
            return false;
    }
    return true;
}

tn_status tn_counted_find(const tn_context *context, tn_shape_state *state) {
    const uint32_t count = tn_context_input_count(context);
    tn_arena *arena = NULL;
    bool is_any = false;
    state->counts = tn_arena_allocate(state->arena, count + 1u, sizeof(*state->counts));
    if (!state->counts) return tn_fail_memory("a set of shapes");
    for (uint32_t i = 0; i < count; i++) {
        state->counts[i] = (tn_counted){.axis = context->ports.inputs[i].count_axis,
                                        .value = context->ports.inputs[i].count};
        is_any = is_any || context->ports.inputs[i].count;
    }
    if (!is_any || state->is_unfused) return TN_OK;
    TN_TRY(tn_arena_create(&context->allocator, &arena));
    const tn_status status = find_all(context, state, arena);
    tn_arena_destroy(arena);
    return status;
}

tn_status tn_context_bind_count(tn_context *context, uint32_t input, uint32_t axis,
                                int64_t *count) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    const tn_engine *engine = context->engine;
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    const char *name = engine->inputs[input].name;
    if (count && (engine->plan.is_sized_by_run || context->isolation || context->checked))
        return tn_fail(TN_ERROR_UNSUPPORTED, "input '%s' cannot have a count: %s", name,
                       engine->plan.is_sized_by_run ? "the data of the network sizes an output"
                       : context->isolation         ? "kernels run in a helper process"
                                                    : "runs are guarded");
    if (count && engine->plan.is_value_input[input])
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "input '%s' cannot have a count: its value decides shapes", name);
    if (axis >= TN_MAX_RANK || (uintptr_t)count % sizeof(*count) != 0)
        return tn_fail(TN_ERROR_ARGUMENT, "the count of input '%s' is %s", name,
                       axis >= TN_MAX_RANK ? "along an axis that no tensor has"
                                           : "not aligned to 8 bytes");
    tn_input_binding *binding = &context->ports.inputs[input];
    if (binding->count != count || binding->count_axis != axis) context->shapes.are_set = false;
    binding->count = count;
    binding->count_axis = axis;
    return TN_OK;
}
