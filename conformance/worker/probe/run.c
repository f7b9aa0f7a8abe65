/* SPDX-License-Identifier: Apache-2.0 */
/* One run, and what it may have left behind; see probe.h. */
#include "base/status.h"
#include "cases/strings/strings.h"
#include "plugin/outputs.h"
#include "worker/probe/frame.h"
#include "worker/probe/probe.h"
#include "worker/probe/contents.h"
#include "worker/probe/gaps.h"
#include "worker/probe/memory.h"

#include <tenon/plugin/counted.h>

#include <string.h>

static tn_status broken(tn_probe *probe, const char *rule, tn_status status) {
    strncpy(probe->rule, rule, sizeof(probe->rule) - 1);
    return status;
}

/* Bytes between a tensor's end and the guard page are checked here: faults show the rest. */
static tn_status check_slack(tn_probe *probe, const tn_probe_memory *memory,
                             const tn_probe_context *context) {
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].is_given && memory->outputs[i].data &&
            !(tn_guarded_is_whole(&memory->outputs[i]) &&
              tn_guarded_is_whole(tn_probe_memory_output(memory, i))))
            return broken(probe, "writes-inside",
                          tn_fail(TN_ERROR_PLUGIN,
                                  "writes within 64 bytes past the end of output %u (%zu bytes)", i,
                                  memory->outputs[i].bytes));
    if (context->workspace.data && !tn_guarded_is_whole(&context->workspace))
        return broken(probe, "workspace-inside",
                      tn_fail(TN_ERROR_PLUGIN,
                              "writes past the workspace of %llu bytes that reshape asked for",
                              (unsigned long long)context->workspace_bytes));
    return TN_OK;
}

static tn_status check_gaps(tn_probe *probe, const tn_probe_memory *memory, uint8_t poison) {
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_probe_port *port = &probe->outputs[i];
        tn_gaps gaps;
        if (!port->is_given || !port->has_gaps || port->capacity > 0 || !tn_gaps_of(port, &gaps) ||
            tn_gaps_are_whole(&gaps, memory->outputs[i].data,
                              tn_contents_poison(port->type, poison)))
            continue;
        return broken(probe, "strided",
                      tn_fail(TN_ERROR_PLUGIN,
                              "writes between the rows of output %u, which lie %zu bytes apart and "
                              "have %zu bytes",
                              i, gaps.pitch_bytes, gaps.row_bytes));
    }
    return TN_OK;
}

/* What a kernel has stored in place of the true shape. */
static tn_status read_count(tn_probe *probe, const tn_frame *frame, tn_probe_memory *memory,
                            uint32_t index) {
    const tn_tensor *tensor = frame->outputs[index];
    const tn_probe_port *port = &probe->outputs[index];
    tn_shape *shape = &memory->shapes[index];
    const tn_counted *counted = tensor->counted;
    *shape = port->shape;
    bool is_sound = tensor->rank == shape->rank && counted && counted->axis < shape->rank;
    for (uint32_t axis = 0; is_sound && axis < shape->rank; axis++)
        is_sound = tensor->shape[axis] == shape->extents[axis];
    if (!is_sound)
        return broken(probe, "counted",
                      tn_fail(TN_ERROR_PLUGIN,
                              "run was given room for a count of output %u and changed its shape, "
                              "or set an axis that it has not",
                              index));
    const int64_t count = *counted->value, bound = shape->extents[counted->axis];
    if (count < 0 || count > bound)
        return broken(probe, "counted",
                      tn_fail(TN_ERROR_PLUGIN,
                              "the count of output %u is %lld after run, and there is room for "
                              "%lld (-1: none was stored)",
                              index, (long long)count, (long long)bound));
    shape->extents[counted->axis] = count;
    memory->counted_axes[index] = counted->axis;
    return TN_OK;
}

/* An output sized by run may have got smaller, nothing else may change. */
static tn_status read_shapes(tn_probe *probe, const tn_frame *frame, tn_probe_memory *memory) {
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_probe_port *port = &probe->outputs[i];
        if (!port->is_given) continue;
        if (port->is_offered) {
            TN_TRY(read_count(probe, frame, memory, i));
            continue;
        }
        const tn_port *declared = tn_graph_output_port(probe->op, i);
        const tn_tensor *tensor = frame->outputs[i];
        const bool is_sized = declared && (declared->flags & TN_PORT_SIZED_BY_RUN);
        bool is_sound = tensor->rank == port->shape.rank;
        for (uint32_t axis = 0; is_sound && axis < port->shape.rank; axis++) {
            const bool is_counted = port->capacity > 0 && axis == port->counted_axis;
            const int64_t found = tensor->shape[axis],
                          bound = is_counted ? port->capacity : port->shape.extents[axis];
            is_sound = port->unbounded ? found >= 0 /* tn_outputs_end has seen the rest */
                       : is_sized      ? found >= 0 && found <= bound
                                       : found == bound;
        }
        if (!is_sound)
            return broken(
                probe, "shape-rule",
                tn_fail(TN_ERROR_PLUGIN, "run changed the shape of output %u to what %s", i,
                        is_sized ? "is larger than the bound of infer" : "infer did not say"));
        if (is_sized) TN_TRY(tn_shape_set(&memory->shapes[i], tensor->rank, tensor->shape));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * outputs without a bound */

bool tn_probe_is_unbounded(const tn_probe *probe) {
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].is_given && probe->outputs[i].unbounded) return true;
    return false;
}

typedef struct probe_source {
    tn_output_source source;
    tn_output_state states[TN_PROBE_OUTPUTS];
    const tn_probe *probe;
    tn_probe_memory *memory;
    uint8_t poison;
} probe_source;

static tn_status allocate_output(tn_output_source *source, tn_call *call, uint32_t index,
                                 uint64_t bytes, void **out_data) {
    const probe_source *own = source->user;
    tn_guarded *buffer = &own->memory->outputs[index];
    tn_probe_asking *asking = own->probe->asking;
    const tn_position where = tn_memory_of_outputs(own->memory);
    (void)call;
    if (asking && ++asking->calls == asking->fail_at) return tn_fail_memory("an output");
    TN_TRY(tn_memory_map((size_t)bytes, &where, buffer, TN_GUARDED_OUTPUT, index));
    memset(buffer->data, tn_contents_poison(own->probe->outputs[index].type, own->poison),
           buffer->bytes);
    *out_data = buffer->data;
    return TN_OK;
}

/* What an earlier run asked for is gone. */
static void open_outputs(probe_source *own, tn_probe *probe, tn_probe_memory *memory,
                         uint8_t poison, tn_frame *frame) {
    *own =
        (probe_source){.source = {.allocate = allocate_output, .user = own, .states = own->states},
                       .probe = probe,
                       .memory = memory,
                       .poison = poison};
    for (uint32_t i = 0; i < probe->output_count; i++)
        if (probe->outputs[i].unbounded) tn_guarded_retire(&memory->outputs[i]);
    if (tn_outputs_begin(&own->source, frame->call)) frame->scope.outputs = &own->source;
}

static tn_status close_outputs(const probe_source *own, tn_probe *probe, tn_frame *frame,
                               const char *name) {
    if (!frame->scope.outputs) return TN_OK;
    const tn_status status = tn_outputs_end(&own->source, frame->call, name);
    return status == TN_OK ? TN_OK : broken(probe, "shape-rule", status);
}

void tn_probe_empty_heaps(tn_probe_memory *memory) {
    for (uint32_t i = 0; i < TN_PROBE_OUTPUTS; i++)
        if (memory->heaps[i].allocator) tn_owned_heap_clear(&memory->heaps[i]);
}

tn_status tn_probe_take_strings(tn_probe *probe, const tn_frame *frame, tn_probe_memory *memory,
                                uint8_t poison) {
    for (uint32_t i = 0; i < probe->output_count; i++) {
        if (!probe->outputs[i].is_given || probe->outputs[i].type != TN_STRING) continue;
        tn_string *elements = (tn_string *)(void *)memory->outputs[i].data, unwritten;
        size_t count = 0;
        TN_TRY(tn_shape_count(&memory->shapes[i], &count));
        memset(&unwritten, poison, sizeof(unwritten));
        for (size_t k = 0; k < count && poison != 0; k++) /* zeros are an empty string */
            if (memcmp(&elements[k], &unwritten, sizeof(unwritten)) == 0)
                return broken(
                    probe, "writes-all",
                    tn_fail(TN_ERROR_PLUGIN, "output %u, element %zu was not written", i, k));
        if (frame->outputs[i]->heap != &memory->heaps[i].heap)
            return broken(probe, "strings",
                          tn_fail(TN_ERROR_PLUGIN,
                                  "the pointer to the heap of output %u was replaced: share gives "
                                  "it an input's",
                                  i));
        const tn_status status = tn_case_take_strings(elements, count, &memory->heaps[i].heap);
        if (status == TN_ERROR_PLUGIN)
            return broken(probe, "strings", tn_error_at(status, "output %u", i));
        TN_TRY(status);
    }
    return TN_OK;
}

tn_status tn_probe_run(tn_probe_context *context, tn_probe *values, tn_probe_memory *memory,
                       uint8_t poison) {
    tn_frame frame;
    probe_source source;
    const tn_kernel *kernel = values->kernel;
    const char *name = kernel ? "run" : "reference";
    tn_probe_empty_heaps(memory);
    TN_TRY(tn_frame_open(&frame, values, context->life, memory, TN_SEES_ALL));
    frame.call->context = context->context;
    frame.call->workspace = context->workspace.data;
    frame.call->workspace_bytes = context->workspace_bytes;
    frame.scope.packed = NULL;
    if (context->workspace.data) memset(context->workspace.data, poison, context->workspace.bytes);
    open_outputs(&source, values, memory, poison, &frame);
    tn_status status =
        tn_frame_call(&frame, values, kernel ? kernel->run : values->op->reference, name);
    if (status == TN_OK) status = close_outputs(&source, values, &frame, name);
    if (status == TN_OK) status = check_slack(values, memory, context);
    if (status == TN_OK) status = check_gaps(values, memory, poison);
    if (status == TN_OK) status = read_shapes(values, &frame, memory);
    if (status == TN_OK) status = tn_probe_take_strings(values, &frame, memory, poison);
    if (status == TN_OK) status = tn_contents_check(values, memory, poison);
    tn_frame_close(&frame);
    return status;
}
