/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a plan that may be refitted: see refit_index.h. */
#include "plan/refit/refit_index.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/status.h"
#include "base/wire.h"
#include "graph/body.h"
#include "plan/layout.h"
#include "plan/plan.pb-c.h"
#include "tensor/shape.h"

#include <string.h>

/* A plan, or one within it. */
typedef struct known_plan {
    size_t offset;
    tn_plan_layout layout;
} known_plan;

/* While it is made: a constant's offsets grow. */
typedef struct index_item {
    tn_refit_item constant;
    tn_shape shape;
    size_t *offsets;
    size_t capacity;
} index_item;

struct tn_refit_index {
    const tn_allocator *allocator;
    tn_arena *arena; /* names */
    tn_map *names;
    index_item **items;
    size_t item_count, item_capacity;
    known_plan *plans; /* inner ones first */
    size_t plan_count, plan_capacity;
};

/* One plan that is read. */
typedef struct reading {
    tn_refit_index *index;
    const unsigned char *data; /* of the whole */
    size_t offset, bytes;      /* of this one */
    bool is_known;
    uint32_t depth;
    tn_plan_section weights;
} reading;

static tn_status fail(const char *what) {
    return tn_fail(TN_ERROR_FORMAT, "the plan is damaged: %s", what);
}

static tn_status add_offset(tn_refit_index *index, index_item *item, size_t position) {
    TN_TRY(tn_grow(index->allocator, (void **)&item->offsets, &item->capacity,
                   item->constant.offset_count + 1u, sizeof(*item->offsets)));
    item->offsets[item->constant.offset_count++] = position;
    item->constant.offsets = item->offsets;
    return TN_OK;
}

static tn_status add_item(tn_refit_index *index, const Tenon__Plan__Tensor *message,
                          const tn_shape *shape, index_item **out_item) {
    TN_TRY(tn_grow(index->allocator, (void **)&index->items, &index->item_capacity,
                   index->item_count + 1, sizeof(index_item *)));
    index_item *item = tn_arena_allocate(index->arena, 1, sizeof(*item));
    const char *name = tn_arena_text(index->arena, message->refit_name);
    if (!item || !name) return tn_fail_memory("constants that can be refitted");
    item->shape = *shape;
    item->constant.bytes = (size_t)message->bytes;
    item->constant.info = (tn_port_info){.size = sizeof(tn_port_info),
                                         .type = message->type,
                                         .name = name,
                                         .rank = shape->rank,
                                         .extents = item->shape.extents};
    TN_TRY(tn_map_set(index->names, name, index->item_count));
    index->items[index->item_count++] = *out_item = item;
    return TN_OK;
}

static tn_status read_tensor(const reading *from, const Tenon__Plan__Tensor *message) {
    tn_refit_index *index = from->index;
    tn_shape shape;
    size_t expected = 0;
    uint64_t number = 0;
    index_item *item = NULL;
    if (!*message->refit_name) return TN_OK;
    if (message->n_shape > TN_MAX_RANK || !tn_type_is_valid(message->type) ||
        message->type == TN_STRING)
        return fail("a constant to be refitted has no shape or type");
    TN_TRY(tn_shape_set(&shape, (uint32_t)message->n_shape, message->shape));
    TN_TRY(tn_format_bytes(TN_LINEAR, message->type, &shape, &expected));
    if (message->bytes != expected || message->offset > from->weights.bytes ||
        expected > from->weights.bytes - message->offset)
        return fail("a constant to be refitted is not inside the weights");
    if (tn_map_get(index->names, message->refit_name, &number)) {
        item = index->items[number];
        if (item->constant.info.type != message->type || !tn_shape_equal(&item->shape, &shape))
            return fail("two constants to be refitted by one name are not alike");
    } else {
        TN_TRY(add_item(index, message, &shape, &item));
    }
    return add_offset(index, item, from->offset + from->weights.offset + (size_t)message->offset);
}

static tn_status read_plan(reading *from);

static tn_status read_body(const reading *from, const Tenon__Plan__Body *message) {
    if (message->offset > from->weights.bytes ||
        message->bytes > from->weights.bytes - message->offset)
        return fail("a body is not inside the weights");
    if (from->depth >= TN_BODY_DEPTH) return fail("bodies are nested too deep");
    reading body = {.index = from->index,
                    .data = from->data,
                    .offset = from->offset + from->weights.offset + (size_t)message->offset,
                    .bytes = (size_t)message->bytes,
                    .is_known = from->is_known,
                    .depth = from->depth + 1};
    return read_plan(&body);
}

static tn_status read_description(const reading *from, const Tenon__Plan__Plan *plan) {
    for (size_t t = 0; t < plan->n_tensors; t++)
        TN_TRY(tn_error_at(read_tensor(from, plan->tensors[t]), "tensor '%s'",
                           plan->tensors[t]->name));
    for (size_t n = 0; n < plan->n_nodes; n++) {
        const Tenon__Plan__Node *node = plan->nodes[n];
        for (size_t a = 0; a < node->n_attributes; a++)
            if (node->attributes[a]->graph)
                TN_TRY(tn_error_at(read_body(from, node->attributes[a]->graph), "node '%s'",
                                   node->name));
    }
    return TN_OK;
}

static tn_status read_plan(reading *from) {
    tn_refit_index *index = from->index;
    const unsigned char *data = from->data + from->offset;
    known_plan plan = {.offset = from->offset};
    TN_TRY(tn_plan_layout_read(data, from->bytes, &plan.layout));
    for (uint32_t i = 0; i < plan.layout.section_count && !from->is_known; i++)
        TN_TRY(tn_plan_layout_verify(data, &plan.layout, &plan.layout.sections[i]));
    const tn_plan_section *description = tn_plan_layout_find(&plan.layout, TN_SECTION_DESCRIPTION);
    const tn_plan_section *weights = tn_plan_layout_find(&plan.layout, TN_SECTION_WEIGHTS);
    ProtobufCMessage *message;
    if (!description || !weights) return fail("it has no description or no weights");
    from->weights = *weights;
    TN_TRY(tn_wire_unpack(index->allocator, &tenon__plan__plan__descriptor,
                          data + description->offset, description->bytes, &message));
    tn_status status = read_description(from, (const Tenon__Plan__Plan *)message);
    tn_wire_free(index->allocator, message);
    if (status == TN_OK)
        status = tn_grow(index->allocator, (void **)&index->plans, &index->plan_capacity,
                         index->plan_count + 1, sizeof(*index->plans));
    if (status == TN_OK) index->plans[index->plan_count++] = plan;
    return status;
}

tn_status tn_refit_index_create(const tn_allocator *allocator, const void *plan, size_t bytes,
                                bool is_known, tn_refit_index **out_index) {
    tn_refit_index *index = tn_allocate_zero(allocator, 1, sizeof(*index));
    tn_status status = TN_OK;
    if (!index) return tn_fail_memory("constants that can be refitted");
    index->allocator = allocator;
    reading whole = {.index = index, .data = plan, .bytes = bytes, .is_known = is_known};
    TN_GO(tn_arena_create(allocator, &index->arena));
    TN_GO(tn_map_create(allocator, &index->names));
    TN_GO(read_plan(&whole));
    *out_index = index;
    return TN_OK;
done:
    tn_refit_index_destroy(index);
    return status;
}

void tn_refit_index_destroy(tn_refit_index *index) {
    if (!index) return;
    const tn_allocator *allocator = index->allocator;
    for (size_t i = 0; i < index->item_count; i++)
        tn_deallocate(allocator, index->items[i]->offsets);
    tn_deallocate(allocator, index->items);
    tn_deallocate(allocator, index->plans);
    tn_map_destroy(index->names);
    tn_arena_destroy(index->arena);
    tn_deallocate(allocator, index);
}

uint32_t tn_refit_index_count(const tn_refit_index *index) {
    return (uint32_t)index->item_count;
}

const tn_refit_item *tn_refit_index_at(const tn_refit_index *index, uint32_t number) {
    return &index->items[number]->constant;
}

bool tn_refit_index_find(const tn_refit_index *index, const char *name, uint32_t *out_number) {
    uint64_t number = 0;
    if (!tn_map_get(index->names, name, &number)) return false;
    *out_number = (uint32_t)number;
    return true;
}

/* Sets the checksums of constants anew where they have one of their own. The description keeps its
 * size: a checksum takes the same bytes whatever it is. */
static tn_status set_checksums(const tn_refit_index *index, const tn_plan_layout *layout,
                               unsigned char *data) {
    const tn_plan_section *description = tn_plan_layout_find(layout, TN_SECTION_DESCRIPTION);
    const tn_plan_section *weights = tn_plan_layout_find(layout, TN_SECTION_WEIGHTS);
    ProtobufCMessage *message;
    TN_TRY(tn_wire_unpack(index->allocator, &tenon__plan__plan__descriptor,
                          data + description->offset, description->bytes, &message));
    const Tenon__Plan__Plan *plan = (const Tenon__Plan__Plan *)message;
    for (size_t t = 0; plan->has_checksums && t < plan->n_tensors; t++) {
        Tenon__Plan__Tensor *tensor = plan->tensors[t];
        if (*tensor->refit_name)
            tensor->checksum =
                tn_hash(data + weights->offset + tensor->offset, (size_t)tensor->bytes);
    }
    tn_status status = TN_OK;
    if (plan->has_checksums && tenon__plan__plan__get_packed_size(plan) != description->bytes)
        status = fail("its description is not as Tenon writes it");
    else if (plan->has_checksums)
        tenon__plan__plan__pack(plan, data + description->offset);
    tn_wire_free(index->allocator, message);
    return status;
}

tn_status tn_refit_index_patch(const tn_refit_index *index, const void *const *values, void *plan) {
    unsigned char *data = plan;
    for (size_t i = 0; i < index->item_count; i++) {
        const tn_refit_item *constant = &index->items[i]->constant;
        for (uint32_t p = 0; values[i] && p < constant->offset_count; p++)
            memcpy(data + constant->offsets[p], values[i], constant->bytes);
    }
    for (size_t i = 0; i < index->plan_count; i++) {
        const known_plan *known = &index->plans[i];
        TN_TRY(set_checksums(index, &known->layout, data + known->offset));
        tn_plan_layout_write(&known->layout, data + known->offset);
    }
    return TN_OK;
}
