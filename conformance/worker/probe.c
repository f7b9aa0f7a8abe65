/* SPDX-License-Identifier: Apache-2.0 */
/* The life of what is under test; see probe.h. The calls themselves are made in frame.c. */
#include "worker/probe.h"
#include "base/status.h"
#include "cases/strings/strings.h"
#include "device/cpu/cpu.h"
#include "plugin/outputs.h"
#include "tensor/convert.h"
#include "worker/frame.h"
#include "worker/probe/contents.h"
#include "worker/probe/gaps.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"

#include <tenon/plugin/counted.h>

#include <stdlib.h>
#include <string.h>

/* Small numbers in all types: who adds to what lies behind changes it. */
enum { WORKSPACE_SLACK = 0x3C };

static tn_status call_in_frame(tn_probe *probe, const tn_probe_life *life, tn_callback callback,
                               const char *name, int sees, tn_frame *frame) {
    TN_TRY(tn_frame_open(frame, probe, life, NULL, sees));
    return tn_frame_call(frame, probe, callback, name);
}

bool tn_probe_accepts(tn_probe *probe) {
    tn_frame frame;
    if (!probe->kernel || !probe->kernel->accepts) return true;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    return tn_frame_ask(&frame, probe, probe->kernel->accepts, "accepts");
}

uint32_t tn_probe_tactics(tn_probe *probe) {
    tn_frame frame;
    uint32_t count = 1;
    if (!probe->kernel || !probe->kernel->tactics) return 1;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return 1;
    tn_frame_watch watch;
    tn_frame_enter(&frame, probe, "tactics", &watch);
    if (probe->kernel->tactics(frame.call) == TN_OK) count = frame.call->tactic_count;
    if (count == 0) tn_trace_broken("fails-honestly", "tactics answers 0: there is at least one");
    tn_frame_finish(&frame, probe, &watch);
    return count ? count : 1;
}

void tn_probe_ask_timing_key(tn_probe *probe) {
    tn_frame frame;
    tn_frame_watch watch;
    tn_guarded text;
    if (!probe->kernel || !probe->kernel->timing_key ||
        tn_guarded_create(&text, TN_GUARDED_TEXT, 0, TN_KERNEL_TEXT_BYTES, true, 0x7F) != TN_OK)
        return;
    text.data[0] = 0;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) == TN_OK) {
        tn_frame_enter(&frame, probe, "timing_key", &watch);
        (void)probe->kernel->timing_key(frame.call, text.data, TN_KERNEL_TEXT_BYTES);
        tn_frame_finish(&frame, probe, &watch);
    }
    tn_guarded_destroy(&text);
}

static void destroy_packed(tn_probe_life *life) {
    if (life->owns_packed) tn_packed_store_destroy(life->packed);
    life->packed = NULL;
}

static tn_status begin_life(tn_probe_life *life, tn_probe *probe) {
    *life = (tn_probe_life){.probe = probe};
    tn_cpu_pool_init(&life->pool, probe->threads, tn_runtime_workers(probe->runtime),
                     probe->kernel && probe->kernel->traits & TN_KERNEL_OPENMP);
    life->packed = probe->packed;
    life->owns_packed = !probe->packed;
    return life->owns_packed ? tn_packed_store_create(probe->allocator, &life->packed) : TN_OK;
}

tn_status tn_probe_prepare(tn_probe_life *life, tn_probe *probe) {
    tn_frame frame;
    TN_TRY(begin_life(life, probe));
    if (!probe->kernel || !probe->kernel->prepare) {
        life->is_prepared = true;
        return TN_OK;
    }
    tn_heap_own(life);
    const tn_status status =
        call_in_frame(probe, life, probe->kernel->prepare, "prepare", TN_SEES_CONSTANTS, &frame);
    tn_heap_own(NULL);
    life->is_prepared = status == TN_OK;
    if (!life->is_prepared) tn_heap_disown(life);
    if (life->is_prepared) life->state = frame.call->state;
    tn_frame_close(&frame);
    if (status != TN_OK) destroy_packed(life);
    return status;
}

tn_status tn_probe_load(tn_probe_life *life, tn_probe *probe, const void *data, size_t bytes) {
    tn_frame frame;
    TN_TRY(begin_life(life, probe));
    tn_status status = tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS);
    if (status == TN_OK) {
        tn_heap_own(life);
        status = tn_frame_load(&frame, probe, probe->kernel->load, data, bytes);
        tn_heap_own(NULL);
        life->is_prepared = status == TN_OK;
        if (life->is_prepared)
            life->state = frame.call->state;
        else
            tn_heap_disown(life);
        tn_frame_close(&frame);
    }
    if (status != TN_OK) destroy_packed(life);
    return status;
}

enum { MOST_SAVED = 1 << 28 };

tn_status tn_probe_save(tn_probe_life *life, tn_guarded *out_saved) {
    tn_frame frame;
    tn_probe *probe = life->probe;
    uint64_t bytes = 0;
    TN_TRY(tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS));
    tn_status status = tn_frame_save(&frame, probe, probe->kernel->save, NULL, &bytes);
    uint64_t written = bytes;
    if (status == TN_OK && bytes > MOST_SAVED)
        status = tn_fail(TN_ERROR_PLUGIN, "save asks for %llu bytes", (unsigned long long)bytes);
    if (status == TN_OK)
        status = tn_guarded_create(out_saved, TN_GUARDED_STATE, 0, (size_t)bytes, true, 0x7F);
    if (status == TN_OK)
        status = tn_frame_save(&frame, probe, probe->kernel->save, out_saved->data, &written);
    if (status == TN_OK && (written > bytes || !tn_guarded_is_whole(out_saved)))
        status = tn_fail(TN_ERROR_PLUGIN, "save asks for %llu bytes, and writes more",
                         (unsigned long long)bytes);
    tn_frame_close(&frame);
    return status;
}

void tn_probe_release(tn_probe_life *life) {
    tn_frame frame;
    tn_heap_disown(life); /* what release does with it is no writing */
    tn_probe *probe = life->probe;
    if (life->is_prepared && probe->kernel && probe->kernel->release &&
        tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS) == TN_OK)
        tn_frame_release(&frame, probe, probe->kernel->release, "release");
    destroy_packed(life);
    *life = (tn_probe_life){.probe = life->probe};
}

tn_status tn_probe_open(tn_probe_context *context, tn_probe_life *life) {
    tn_frame frame;
    *context = (tn_probe_context){.life = life};
    const tn_kernel *kernel = life->probe->kernel;
    if (!kernel || !kernel->open) {
        context->is_open = true;
        return TN_OK;
    }
    TN_TRY(tn_frame_open(&frame, life->probe, life, NULL, TN_SEES_CONSTANTS));
    frame.scope.context = context;
    const tn_status status = tn_frame_call(&frame, life->probe, kernel->open, "open");
    context->is_open = status == TN_OK;
    if (context->is_open) context->context = frame.call->context;
    tn_frame_close(&frame);
    return status;
}

void tn_probe_close(tn_probe_context *context) {
    tn_frame frame;
    if (!context->life) return;
    tn_probe *probe = context->life->probe;
    if (context->is_open && probe->kernel && probe->kernel->close &&
        tn_frame_open(&frame, probe, context->life, NULL, TN_SEES_CONSTANTS) == TN_OK) {
        frame.call->context = context->context;
        frame.scope.context = context;
        tn_frame_release(&frame, probe, probe->kernel->close, "close");
    }
    tn_guarded_retire(&context->workspace);
    *context = (tn_probe_context){.life = context->life};
}

tn_status tn_probe_reshape(tn_probe_context *context, tn_probe *shapes) {
    tn_frame frame;
    const tn_kernel *kernel = shapes->kernel;
    tn_status status = TN_OK;
    context->workspace_bytes = 0;
    tn_guarded_retire(&context->workspace);
    if (kernel && kernel->reshape) {
        TN_TRY(tn_frame_open(&frame, shapes, context->life, NULL, TN_SEES_VALUES));
        frame.call->context = context->context;
        frame.scope.packed = NULL;
        status = tn_frame_call(&frame, shapes, kernel->reshape, "reshape");
        context->workspace_bytes = frame.call->workspace_bytes;
        tn_frame_close(&frame);
        if (status != TN_OK) return status;
    }
    if (context->workspace_bytes > (uint64_t)1 << 32) {
        memcpy(shapes->rule, "workspace-inside", sizeof("workspace-inside"));
        return tn_fail(TN_ERROR_PLUGIN, "reshape asks for a workspace of %llu bytes",
                       (unsigned long long)context->workspace_bytes);
    }
    if (context->workspace_bytes == 0) return TN_OK;
    return tn_guarded_create(&context->workspace, TN_GUARDED_WORKSPACE, 0,
                             (size_t)context->workspace_bytes, true, WORKSPACE_SLACK);
}

/* ----------------------------------------------------------------------------------------------
 * memory */

static tn_status describe(const tn_probe_port *port, bool is_own, void *data,
                          tn_tensor_storage *storage, tn_quantization *quantization) {
    TN_TRY(tn_tensor_init(storage, is_own ? port->own_type : port->type,
                          is_own ? TN_LINEAR : port->format, &port->shape));
    storage->tensor.data = data;
    *quantization = (tn_quantization){
        .size = sizeof(*quantization), .scale_type = TN_F32, .count = 1, .scales = &port->scale};
    if (!is_own && port->scale != 0) storage->tensor.quantization = quantization;
    return TN_OK;
}

static tn_status store_packed(const tn_probe_port *port, void *data) {
    tn_tensor_storage own, stored;
    tn_quantization none, quantization;
    TN_TRY(describe(port, true, (void *)(uintptr_t)port->own, &own, &none));
    TN_TRY(describe(port, false, data, &stored, &quantization));
    return tn_convert(&own.tensor, &stored.tensor, 0,
                      tn_convert_items(&own.tensor, &stored.tensor));
}

/* What lies between rows, and behind a count, is `filler`. */
static tn_status store_input(const tn_probe_port *port, const tn_guarded *buffer, uint8_t filler) {
    tn_gaps gaps;
    if (!port->has_gaps || !tn_gaps_of(port, &gaps)) return store_packed(port, buffer->data);
    char *packed = aligned_alloc(64, (gaps.rows * gaps.row_bytes + 63) / 64 * 64);
    if (!packed) return tn_fail_memory("an input's rows");
    const tn_status status = store_packed(port, packed);
    if (status == TN_OK) tn_gaps_spread(&gaps, buffer->data, packed, filler);
    free(packed);
    return status;
}

/* Where tensors lie in their pages. */
typedef struct placing {
    bool is_at_end;
    uint32_t shift;
    uint8_t slack;
    bool is_flush;
} placing;

static tn_status place_bytes(size_t bytes, const placing *where, tn_guarded *buffer, uint32_t kind,
                             uint32_t index) {
    if (where->is_flush) return tn_guarded_create_flush(buffer, kind, index, bytes, where->slack);
    return where->shift > 0
               ? tn_guarded_create_before(buffer, kind, index, bytes, where->shift, where->slack)
               : tn_guarded_create(buffer, kind, index, bytes, where->is_at_end, where->slack);
}

static tn_status place_port(const tn_probe_port *port, const placing *where, tn_guarded *buffer,
                            uint32_t kind, uint32_t index) {
    size_t bytes = 0;
    tn_gaps gaps;
    TN_TRY(tn_format_bytes(port->format, port->type, &port->shape, &bytes));
    if (port->has_gaps && tn_gaps_of(port, &gaps)) bytes = gaps.bytes;
    return place_bytes(bytes, where, buffer, kind, index);
}

static tn_status fill_input(const tn_probe_port *port, const placing *where, tn_guarded *buffer,
                            uint32_t kind, uint32_t index) {
    TN_TRY(place_port(port, where, buffer, kind, index));
    return store_input(port, buffer, where->slack);
}

tn_status tn_probe_memory_refill(tn_probe_memory *memory, const tn_probe *values, uint8_t poison) {
    for (uint32_t i = 0; i < values->input_count; i++) {
        const tn_probe_port *port = &values->inputs[i];
        if (!port->is_given || port->is_constant || !memory->inputs[i].data) continue;
        tn_guarded_protect(&memory->inputs[i], TN_GUARDED_WRITE);
        TN_TRY(store_input(port, &memory->inputs[i], memory->slack));
        tn_guarded_protect(&memory->inputs[i], TN_GUARDED_READ);
    }
    for (uint32_t i = 0; i < values->output_count; i++)
        if (values->outputs[i].is_given && memory->outputs[i].data)
            memset(memory->outputs[i].data, tn_contents_poison(values->outputs[i].type, poison),
                   memory->outputs[i].bytes);
    return TN_OK;
}

static bool is_overwritten(const tn_probe_memory *memory, uint32_t input) {
    for (uint32_t i = 0; i < TN_PROBE_OUTPUTS; i++)
        if (memory->laid_on[i] == input + 1) return true;
    return false;
}

/* What is copied from behind an input is not what lies behind the output. */
static placing placing_of_outputs(const tn_probe_memory *memory) {
    return (placing){memory->is_at_end, memory->shift, (uint8_t)(memory->slack ^ 0x33), false};
}

tn_status tn_probe_memory_create(tn_probe_memory *memory, const tn_probe *values, bool is_at_end,
                                 bool is_in_place, uint8_t poison) {
    /* floats: 3.4e38; NaN in halves; and the other time NaN, and -1 as an integer */
    *memory = (tn_probe_memory){.slack = is_at_end != values->swaps_slack ? 0x7F : 0xFF};
    if (is_in_place) memcpy(memory->laid_on, values->laid_on, sizeof(memory->laid_on));
    const placing where = {is_at_end, values->shift, memory->slack, values->is_flush};
    memory->is_at_end = is_at_end;
    memory->shift = values->shift;
    const placing around_outputs = placing_of_outputs(memory);
    for (uint32_t i = 0; i < values->input_count; i++) {
        const tn_probe_port *port = &values->inputs[i];
        if (!port->is_given) continue;
        TN_TRY(fill_input(port, &where, &memory->inputs[i], TN_GUARDED_INPUT, i));
        if (!is_overwritten(memory, i)) tn_guarded_protect(&memory->inputs[i], TN_GUARDED_READ);
    }
    for (uint32_t i = 0; i < TN_PROBE_OPERANDS; i++) {
        if (!values->operands[i].is_given) continue;
        TN_TRY(
            fill_input(&values->operands[i], &where, &memory->operands[i], TN_GUARDED_OPERAND, i));
        tn_guarded_protect(&memory->operands[i], TN_GUARDED_READ);
    }
    for (uint32_t i = 0; i < values->output_count; i++) {
        const tn_probe_port *port = &values->outputs[i];
        memory->shapes[i] = port->shape;
        if (!port->is_given) continue;
        if (port->type == TN_STRING) tn_owned_heap_init(&memory->heaps[i], tn_allocator_default());
        if (port->unbounded) continue;
        TN_TRY(place_port(port, &around_outputs, &memory->outputs[i], TN_GUARDED_OUTPUT, i));
        memset(memory->outputs[i].data, tn_contents_poison(port->type, poison),
               memory->outputs[i].bytes);
    }
    return TN_OK;
}

void tn_probe_memory_destroy(tn_probe_memory *memory) {
    for (uint32_t i = 0; i < TN_PROBE_PORTS; i++)
        tn_guarded_retire(&memory->inputs[i]);
    for (uint32_t i = 0; i < TN_PROBE_OUTPUTS; i++) {
        tn_guarded_retire(&memory->outputs[i]);
        tn_owned_heap_deinit(&memory->heaps[i]);
    }
    for (uint32_t i = 0; i < TN_PROBE_OPERANDS; i++)
        tn_guarded_retire(&memory->operands[i]);
}

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
    const placing where = placing_of_outputs(own->memory);
    (void)call;
    if (asking && ++asking->calls == asking->fail_at) return tn_fail_memory("an output");
    TN_TRY(place_bytes((size_t)bytes, &where, buffer, TN_GUARDED_OUTPUT, index));
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

tn_status tn_probe_results(const tn_probe *values, const tn_probe_memory *memory, tn_outcome *out) {
    *out = (tn_outcome){.is_random = values->is_random};
    for (uint32_t i = 0; i < values->output_count; i++) {
        tn_probe_port port = values->outputs[i];
        tn_tensor_storage own, stored;
        tn_quantization none, quantization;
        if (!port.is_given) continue;
        if (port.is_offered) {
            port.counted_axis = memory->counted_axes[i];
            port.capacity = port.shape.extents[port.counted_axis];
            port.has_gaps = port.capacity > 0;
        }
        port.shape = memory->shapes[i];
        const tn_guarded *at = tn_probe_memory_output(memory, i);
        tn_status status = describe(&port, true, NULL, &own, &none);
        if (status == TN_OK) status = describe(&port, false, at->data, &stored, &quantization);
        void *data = status == TN_OK ? malloc((size_t)own.tensor.bytes + 1) : NULL;
        if (status == TN_OK && !data) status = tn_fail_memory("an output's copy");
        own.tensor.data = data;
        tn_gaps gaps;
        char *packed = NULL;
        if (status == TN_OK && port.has_gaps && tn_gaps_of(&port, &gaps)) {
            packed = aligned_alloc(64, (gaps.rows * gaps.row_bytes + 63) / 64 * 64);
            if (packed) tn_gaps_gather(&gaps, packed, at->data);
            if (!packed) status = tn_fail_memory("an output's rows");
            stored.tensor.data = packed;
        }
        if (status == TN_OK)
            status = tn_convert(&stored.tensor, &own.tensor, 0,
                                tn_convert_items(&stored.tensor, &own.tensor));
        free(packed);
        if (status != TN_OK) {
            free(data);
            tn_outcome_free(out);
            return status;
        }
        const uint32_t slot = out->count++;
        out->types[slot] = port.own_type;
        out->shapes[slot] = port.shape;
        out->bytes[slot] = (size_t)own.tensor.bytes;
        out->data[slot] = data;
    }
    return TN_OK;
}

tn_status tn_probe_run_life(tn_probe_life *life, bool is_at_end, bool is_in_place, uint8_t poison,
                            tn_outcome *out) {
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    tn_probe *probe = life->probe;
    tn_status status = tn_probe_open(&context, life);
    if (status == TN_OK) status = tn_probe_reshape(&context, probe);
    if (status == TN_OK)
        status = tn_probe_memory_create(&memory, probe, is_at_end, is_in_place, poison);
    if (status == TN_OK) status = tn_probe_run(&context, probe, &memory, poison);
    if (status == TN_OK) status = tn_probe_results(probe, &memory, out);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
    return status;
}

tn_status tn_probe_once(tn_probe *probe, bool is_at_end, bool is_in_place, uint8_t poison,
                        tn_outcome *out) {
    tn_probe_life life;
    TN_TRY(tn_probe_prepare(&life, probe));
    const tn_status status = tn_probe_run_life(&life, is_at_end, is_in_place, poison, out);
    tn_probe_release(&life);
    return status;
}
