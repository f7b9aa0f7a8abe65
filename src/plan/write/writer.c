/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a plan: numbers what is needed, fills the description message, packs it and copies the
 * weights behind it. The same contents give the same bytes. The parts are in write_*.c.
 */
#include "plan/write/writer.h"

#include "base/hash.h"
#include "base/status.h"
#include "graph/body.h"

#include <string.h>

char *tn_plan_writer_text(const char *text) {
    return (char *)(uintptr_t)(text ? text : "");
}

tn_status tn_plan_writer_messages(tn_plan_writer *writer, size_t count, size_t bytes,
                                  void ***out_messages) {
    void **messages = tn_arena_allocate(writer->arena, count, sizeof(*messages));
    unsigned char *items = tn_arena_allocate(writer->arena, count, bytes);
    if (!messages || !items) return tn_fail_memory("writing a plan");
    for (size_t i = 0; i < count; i++)
        messages[i] = items + i * bytes;
    *out_messages = messages;
    return TN_OK;
}

tn_status tn_plan_writer_numbers(tn_plan_writer *writer, size_t count, const uint32_t *indices,
                                 const uint32_t *map, uint32_t **out_numbers) {
    uint32_t *written = tn_arena_allocate(writer->arena, count, sizeof(*written));
    if (!written) return tn_fail_memory("writing a plan");
    for (size_t i = 0; i < count; i++)
        if (indices[i] != UINT32_MAX) written[i] = (map ? map[indices[i]] : indices[i]) + 1;
    *out_numbers = written;
    return TN_OK;
}

static tn_status add_weight(tn_plan_writer *writer, tn_plan_weights *weights, const void *data,
                            size_t bytes, uint64_t *out_offset, uint64_t *out_checksum) {
    *out_offset = 0;
    if (bytes == 0) return TN_OK;
    TN_TRY(tn_grow(writer->allocator, (void **)&weights->items, &weights->capacity,
                   weights->count + 1, sizeof(*weights->items)));
    weights->items[weights->count++] = (tn_plan_weight){data, bytes, out_offset};
    if (out_checksum) *out_checksum = tn_hash(data, bytes);
    return TN_OK;
}

tn_status tn_plan_writer_weight(tn_plan_writer *writer, const void *data, size_t bytes,
                                uint64_t *out_offset, uint64_t *out_checksum) {
    return add_weight(writer, &writer->weights, data, bytes, out_offset, out_checksum);
}

tn_status tn_plan_writer_packed(tn_plan_writer *writer, const void *data, size_t bytes,
                                uint64_t *out_offset, uint64_t *out_checksum) {
    return add_weight(writer, &writer->packed, data, bytes, out_offset, out_checksum);
}

/* Several programs may have packed the same: then it lies there once. */
static bool place_as_before(const tn_plan_weights *weights, size_t index) {
    const tn_plan_weight *weight = &weights->items[index];
    for (size_t i = 0; i < index; i++) {
        const tn_plan_weight *other = &weights->items[i];
        if (other->bytes != weight->bytes || memcmp(other->data, weight->data, other->bytes) != 0)
            continue;
        *weight->out_offset = *other->out_offset;
        return true;
    }
    return false;
}

/* Those of `least` bytes up to `limit`, without it. */
static tn_status place(tn_plan_weights *weights, size_t least, size_t limit) {
    for (size_t i = 0; i < weights->count; i++) {
        const tn_plan_weight *weight = &weights->items[i];
        size_t offset;
        if (weight->bytes < least || weight->bytes >= limit) continue;
        if (weights->has_doubles && place_as_before(weights, i)) continue;
        if (!tn_align_size(weights->bytes, TN_PLAN_WEIGHT_ALIGNMENT, &offset) ||
            !tn_add_size(offset, weight->bytes, &weights->bytes))
            return tn_fail_memory("the weights of a plan");
        *weight->out_offset = offset;
    }
    return TN_OK;
}

/* Small parts lie together: loading reads most of them, biases say, and of the large ones those
 * that the plan does not have packed. */
static tn_status place_all(tn_plan_writer *writer) {
    TN_TRY(place(&writer->weights, 0, TN_PLAN_SMALL));
    TN_TRY(place(&writer->weights, TN_PLAN_SMALL, SIZE_MAX));
    writer->packed.has_doubles = true;
    return place(&writer->packed, 0, SIZE_MAX);
}

static void mark_tensors(tn_plan_writer *writer, uint32_t count, const tn_tensor_id *tensors) {
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i] != TN_NO_TENSOR) writer->tensor_numbers[tensors[i]] = 0;
}

/* Inputs and outputs of the graph, and what living nodes read and make, in the graph's order. */
static tn_status number_all(tn_plan_writer *writer) {
    const tn_graph *graph = writer->graph;
    writer->tensor_numbers = tn_arena_allocate(writer->arena, graph->tensor_count + 1, 4);
    writer->node_numbers = tn_arena_allocate(writer->arena, graph->node_count + 1, 4);
    if (!writer->tensor_numbers || !writer->node_numbers) return tn_fail_memory("writing a plan");
    memset(writer->tensor_numbers, 0xff, graph->tensor_count * 4);
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        writer->node_numbers[n] = node->is_dead ? TN_NO_NODE : writer->node_count++;
        if (node->is_dead) continue;
        mark_tensors(writer, node->input_count, node->inputs);
        mark_tensors(writer, node->output_count, node->outputs);
    }
    mark_tensors(writer, (uint32_t)graph->input_count, graph->inputs);
    mark_tensors(writer, (uint32_t)graph->output_count, graph->outputs);
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (writer->tensor_numbers[t] == 0) writer->tensor_numbers[t] = writer->tensor_count++;
    return TN_OK;
}

static tn_status fill(tn_plan_writer *writer) {
    tenon__plan__plan__init(&writer->plan);
    writer->plan.producer = tn_plan_writer_text(tn_version());
    writer->plan.name = tn_plan_writer_text(writer->graph->name);
    TN_TRY(tn_plan_write_model(writer));
    TN_TRY(number_all(writer));
    TN_TRY(tn_plan_write_manifest(writer));
    TN_TRY(tn_plan_write_tensors(writer));
    TN_TRY(tn_plan_write_outputs(writer));
    TN_TRY(tn_plan_write_nodes(writer));
    TN_TRY(tn_plan_write_profiles(writer));
    TN_TRY(tn_plan_write_programs(writer));
    writer->plan.has_checksums = true;
    return place_all(writer);
}

static void add_pieces(const tn_plan_weights *weights, size_t begin, tn_plan_piece *pieces) {
    for (size_t i = 0; i < weights->count; i++) {
        const tn_plan_weight *weight = &weights->items[i];
        pieces[i] =
            (tn_plan_piece){begin + (size_t)*weight->out_offset, weight->bytes, weight->data};
    }
}

static tn_status make_pieces(tn_plan_writer *writer, tn_plan *plan) {
    tn_plan_layout layout;
    const size_t count = writer->weights.count + writer->packed.count;
    const size_t description_bytes = tenon__plan__plan__get_packed_size(&writer->plan);
    TN_TRY(tn_plan_layout_make(description_bytes, writer->weights.bytes, writer->packed.bytes, 0,
                               &layout));
    tn_plan_piece *pieces = tn_arena_allocate(writer->arena, count + 1, sizeof(*pieces));
    if (!pieces) return tn_fail_memory("a plan");
    add_pieces(&writer->weights, layout.sections[1].offset, pieces);
    if (layout.section_count > 2)
        add_pieces(&writer->packed, layout.sections[2].offset, pieces + writer->weights.count);
    TN_TRY(tn_plan_pieces_init(&plan->pieces, plan->allocator, &layout, count, pieces));
    tenon__plan__plan__pack(&writer->plan, plan->pieces.head + layout.sections[0].offset);
    plan->bytes = layout.bytes;
    plan->buffer = tn_allocate_aligned(plan->allocator, plan->bytes, TN_PLAN_WEIGHT_ALIGNMENT);
    return plan->buffer ? TN_OK : tn_fail_memory("a plan");
}

static tn_status make_plan(tn_plan_writer *writer, bool is_lent, tn_plan **out_plan) {
    tn_plan *plan = tn_allocate_zero(writer->allocator, 1, sizeof(*plan));
    if (!plan) return tn_fail_memory("a plan");
    plan->allocator = writer->allocator;
    plan->runtime = tn_runtime_retain(writer->graph->runtime);
    plan->has_refit = tn_graph_has_refit(writer->graph);
    atomic_init(&plan->owners, 1);
    pthread_mutex_init(&plan->joining, NULL);
    tn_status status = make_pieces(writer, plan);
    if (status == TN_OK && !is_lent && !tn_plan_bytes(plan, NULL)) status = TN_ERROR_MEMORY;
    if (status == TN_OK)
        *out_plan = plan;
    else
        tn_plan_destroy(plan);
    return status;
}

tn_status tn_plan_write(const tn_graph *graph, const tn_plan_profile *profiles,
                        uint32_t program_count, const tn_program *const *programs,
                        tn_plan **out_plan) {
    return tn_plan_write_described(graph, profiles, NULL, program_count, programs, out_plan);
}

tn_status tn_plan_write_described(const tn_graph *graph, const tn_plan_profile *profiles,
                                  const tn_plan_output *outputs, uint32_t program_count,
                                  const tn_program *const *programs, tn_plan **out_plan) {
    const tn_plan_parts parts = {.graph = graph,
                                 .profile_count = 1,
                                 .profiles = profiles,
                                 .outputs = outputs,
                                 .program_count = program_count,
                                 .programs = programs};
    return tn_plan_write_parts(&parts, out_plan);
}

tn_status tn_plan_write_parts(const tn_plan_parts *parts, tn_plan **out_plan) {
    tn_plan_writer writer = {.graph = parts->graph,
                             .profile_count = parts->profile_count,
                             .profiles = parts->profiles,
                             .outputs = parts->outputs,
                             .program_count = parts->program_count,
                             .programs = parts->programs,
                             .allocator = parts->graph->allocator};
    TN_TRY(tn_arena_create(writer.allocator, &writer.arena));
    tn_status status = fill(&writer);
    if (status == TN_OK) status = make_plan(&writer, parts->is_lent, out_plan);
    tn_deallocate(writer.allocator, writer.weights.items);
    tn_deallocate(writer.allocator, writer.packed.items);
    tn_arena_destroy(writer.arena);
    return status;
}
