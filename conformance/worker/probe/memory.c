/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run's tensors; see memory.h. */
#include "worker/probe/memory.h"
#include "base/status.h"
#include "tensor/convert.h"
#include "worker/probe/probe.h"
#include "worker/probe/contents.h"
#include "worker/probe/gaps.h"
#include "worker/probe/texts.h"

#include <stdlib.h>
#include <string.h>

tn_status tn_memory_describe(const tn_probe_port *port, bool is_own, void *data,
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
    TN_TRY(tn_memory_describe(port, true, (void *)(uintptr_t)port->own, &own, &none));
    TN_TRY(tn_memory_describe(port, false, data, &stored, &quantization));
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

tn_status tn_memory_map(size_t bytes, const tn_position *where, tn_guarded *buffer, uint32_t kind,
                        uint32_t index) {
    if (where->is_flush) return tn_guarded_create_flush(buffer, kind, index, bytes, where->slack);
    return where->shift > 0
               ? tn_guarded_create_before(buffer, kind, index, bytes, where->shift, where->slack)
               : tn_guarded_create(buffer, kind, index, bytes, where->is_at_end, where->slack);
}

static tn_status map_port(const tn_probe_port *port, const tn_position *where, tn_guarded *buffer,
                          uint32_t kind, uint32_t index) {
    size_t bytes = 0;
    tn_gaps gaps;
    TN_TRY(tn_format_bytes(port->format, port->type, &port->shape, &bytes));
    if (port->has_gaps && tn_gaps_of(port, &gaps)) bytes = gaps.bytes;
    return tn_memory_map(bytes, where, buffer, kind, index);
}

/* The elements of an input of strings, which can be written, get a heap of the input's own. */
static tn_status put_texts(tn_probe_memory *memory, const tn_probe *values, uint32_t input,
                           size_t longest) {
    const tn_probe_port *port = &values->inputs[input];
    size_t count = 0;
    if (!tn_texts_are_own(port)) return TN_OK;
    TN_TRY(tn_shape_count(&port->shape, &count));
    return tn_texts_put(&memory->texts[input], input,
                        (tn_string *)(void *)memory->inputs[input].data, count, longest);
}

/* The distance of texts: every other memory has another layout of them. */
static size_t text_distance(const tn_probe_memory *memory, const tn_probe *values) {
    return memory->is_at_end ? tn_texts_longest(values) : 0;
}

static tn_status fill_input(const tn_probe_port *port, const tn_position *where, tn_guarded *buffer,
                            uint32_t kind, uint32_t index) {
    TN_TRY(map_port(port, where, buffer, kind, index));
    return store_input(port, buffer, where->slack);
}

tn_status tn_probe_memory_refill(tn_probe_memory *memory, const tn_probe *values, uint8_t poison) {
    const size_t longest = text_distance(memory, values);
    for (uint32_t i = 0; i < values->input_count; i++) {
        const tn_probe_port *port = &values->inputs[i];
        if (!port->is_given || port->is_constant || !memory->inputs[i].data) continue;
        tn_guarded_protect(&memory->inputs[i], TN_GUARDED_WRITE);
        TN_TRY(store_input(port, &memory->inputs[i], memory->slack));
        TN_TRY(put_texts(memory, values, i, longest));
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

tn_position tn_memory_of_outputs(const tn_probe_memory *memory) {
    return (tn_position){memory->is_at_end, memory->shift, (uint8_t)(memory->slack ^ 0x33), false};
}

tn_status tn_probe_memory_create(tn_probe_memory *memory, const tn_probe *values, bool is_at_end,
                                 bool is_in_place, uint8_t poison) {
    /* floats: 3.4e38; NaN in halves; and the other time NaN, and -1 as an integer */
    *memory = (tn_probe_memory){.slack = is_at_end != values->swaps_slack ? 0x7F : 0xFF};
    if (is_in_place) memcpy(memory->laid_on, values->laid_on, sizeof(memory->laid_on));
    const tn_position where = {is_at_end, values->shift, memory->slack, values->is_flush};
    memory->is_at_end = is_at_end;
    memory->shift = values->shift;
    const tn_position around_outputs = tn_memory_of_outputs(memory);
    const size_t longest = text_distance(memory, values);
    for (uint32_t i = 0; i < values->input_count; i++) {
        const tn_probe_port *port = &values->inputs[i];
        if (!port->is_given) continue;
        TN_TRY(fill_input(port, &where, &memory->inputs[i], TN_GUARDED_INPUT, i));
        TN_TRY(put_texts(memory, values, i, longest));
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
        TN_TRY(map_port(port, &around_outputs, &memory->outputs[i], TN_GUARDED_OUTPUT, i));
        memset(memory->outputs[i].data, tn_contents_poison(port->type, poison),
               memory->outputs[i].bytes);
    }
    return TN_OK;
}

void tn_probe_memory_destroy(tn_probe_memory *memory) {
    for (uint32_t i = 0; i < TN_PROBE_PORTS; i++) {
        tn_guarded_retire(&memory->inputs[i]);
        tn_guarded_retire(&memory->texts[i]);
    }
    for (uint32_t i = 0; i < TN_PROBE_OUTPUTS; i++) {
        tn_guarded_retire(&memory->outputs[i]);
        tn_owned_heap_deinit(&memory->heaps[i]);
    }
    for (uint32_t i = 0; i < TN_PROBE_OPERANDS; i++)
        tn_guarded_retire(&memory->operands[i]);
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
        tn_status status = tn_memory_describe(&port, true, NULL, &own, &none);
        if (status == TN_OK)
            status = tn_memory_describe(&port, false, at->data, &stored, &quantization);
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
