/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets for buffers with lifetimes: the largest first, each at the lowest offset where nothing
 * that lives at the same time lies. Who calls it (the builder's report, a context's reshape)
 * decides what a buffer is.
 *
 * What was placed is kept in lists sorted by offset: one of all buffers, and one for each of some
 * stretches of steps. A buffer that lives within one stretch, as nearly all do, is compared with
 * that stretch's list alone.
 */
#include "memory/memory_plan.h"
#include "base/status.h"

#include <string.h>

enum { STRETCH_COUNT = 64 };

typedef struct placed_list {
    uint32_t *items; /* buffers by rising offset */
    size_t count;
} placed_list;

typedef struct memory_placement {
    tn_memory_buffer *buffers;
    uint32_t *order; /* buffers by falling size */
    uint32_t stretch_steps;
    placed_list all;
    placed_list stretches[STRETCH_COUNT];
} memory_placement;

static size_t padded_bytes(const tn_memory_buffer *buffer, size_t alignment) {
    return (buffer->bytes + alignment - 1) & ~(alignment - 1); /* was checked once */
}

/* Larger buffers first; of equal ones the first: the answer does not depend on the sort. */
static bool is_before(const tn_memory_buffer *buffers, uint32_t a, uint32_t b) {
    if (buffers[a].bytes != buffers[b].bytes) return buffers[a].bytes > buffers[b].bytes;
    return a < b;
}

static void sift_down(const tn_memory_buffer *buffers, uint32_t *order, size_t root, size_t count) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && is_before(buffers, order[child], order[child + 1])) child++;
        if (!is_before(buffers, order[root], order[child])) return;
        uint32_t swapped = order[root];
        order[root] = order[child];
        order[child] = swapped;
        root = child;
    }
}

/* A heap sort: qsort may allocate behind the allocator's back. */
static void sort_by_size(const tn_memory_buffer *buffers, uint32_t *order, size_t count) {
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t root = count / 2; root-- > 0;)
        sift_down(buffers, order, root, count);
    for (size_t end = count; end > 1; end--) {
        uint32_t swapped = order[0];
        order[0] = order[end - 1];
        order[end - 1] = swapped;
        sift_down(buffers, order, 0, end - 1);
    }
}

static size_t first_stretch(const memory_placement *placement, const tn_memory_buffer *buffer) {
    return buffer->first / placement->stretch_steps;
}

static size_t last_stretch(const memory_placement *placement, const tn_memory_buffer *buffer) {
    return buffer->last / placement->stretch_steps;
}

static void list_insert(const tn_memory_buffer *buffers, placed_list *list, uint32_t index) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (buffers[list->items[middle]].offset <= buffers[index].offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(list->items + low + 1, list->items + low, (list->count - low) * sizeof *list->items);
    list->items[low] = index;
    list->count++;
}

/* The lowest offset for `buffer` beside those of the list that live when it does. */
static size_t lowest_offset(const memory_placement *placement, const placed_list *list,
                            const tn_memory_buffer *buffer, size_t bytes, size_t alignment) {
    size_t offset = 0;
    for (size_t i = 0; i < list->count; i++) {
        const tn_memory_buffer *other = &placement->buffers[list->items[i]];
        if (other->last < buffer->first || other->first > buffer->last) continue;
        if (other->offset >= offset && other->offset - offset >= bytes) break;
        size_t end = other->offset + padded_bytes(other, alignment);
        if (end > offset) offset = end;
    }
    return offset;
}

/* Checks that all numbers can be added up, and gives each stretch's list its part of `items`. */
static tn_status placement_measure(memory_placement *placement, size_t count, size_t alignment,
                                   size_t *out_items) {
    uint32_t last = 0;
    size_t sum = 0, items = count;
    for (size_t i = 0; i < count; i++) {
        const tn_memory_buffer *buffer = &placement->buffers[i];
        size_t bytes = 0;
        if (buffer->last < buffer->first)
            return tn_fail(TN_ERROR_INTERNAL, "a buffer's life ends before it begins");
        if (!tn_align_size(buffer->bytes, alignment, &bytes) || !tn_add_size(sum, bytes, &sum))
            return tn_fail(TN_ERROR_MEMORY,
                           "the buffers of a run are larger than can be addressed");
        if (buffer->last > last) last = buffer->last;
    }
    placement->stretch_steps = last / STRETCH_COUNT + 1;
    for (size_t i = 0; i < count; i++) {
        const tn_memory_buffer *buffer = &placement->buffers[i];
        items += last_stretch(placement, buffer) - first_stretch(placement, buffer) + 1;
        for (size_t s = first_stretch(placement, buffer); s <= last_stretch(placement, buffer); s++)
            placement->stretches[s].count++;
    }
    *out_items = items;
    return TN_OK;
}

static void placement_add(memory_placement *placement, uint32_t index, size_t alignment,
                          size_t *inout_bytes) {
    tn_memory_buffer *buffer = &placement->buffers[index];
    size_t bytes = padded_bytes(buffer, alignment);
    size_t first = first_stretch(placement, buffer), last = last_stretch(placement, buffer);
    const placed_list *list = first == last ? &placement->stretches[first] : &placement->all;
    buffer->offset = bytes == 0 ? 0 : lowest_offset(placement, list, buffer, bytes, alignment);
    if (buffer->offset + bytes > *inout_bytes) *inout_bytes = buffer->offset + bytes;
    if (bytes == 0) return; /* overlaps nothing */
    list_insert(placement->buffers, &placement->all, index);
    for (size_t s = first; s <= last; s++)
        list_insert(placement->buffers, &placement->stretches[s], index);
}

tn_status tn_memory_plan_make(const tn_allocator *allocator, tn_memory_buffer *buffers,
                              size_t count, size_t alignment, size_t *out_bytes) {
    memory_placement placement = {.buffers = buffers};
    size_t items = 0, words = 0, bytes = 0;
    if (count > UINT32_MAX) return tn_fail(TN_ERROR_MEMORY, "too many buffers");
    TN_TRY(placement_measure(&placement, count, alignment, &items));
    if (!tn_add_size(items, count, &words)) return tn_fail_memory("the memory plan");
    uint32_t *scratch = tn_allocate_zero(allocator, words + 1, sizeof *scratch);
    if (!scratch) return tn_fail_memory("the memory plan");
    placement.order = scratch;
    placement.all.items = scratch + count;
    uint32_t *next = placement.all.items + count;
    for (size_t s = 0; s < STRETCH_COUNT; s++) {
        placement.stretches[s].items = next;
        next += placement.stretches[s].count;
        placement.stretches[s].count = 0;
    }
    sort_by_size(buffers, placement.order, count);
    for (size_t i = 0; i < count; i++)
        placement_add(&placement, placement.order[i], alignment, &bytes);
    tn_deallocate(allocator, scratch);
    *out_bytes = bytes;
    return TN_OK;
}
