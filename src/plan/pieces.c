/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a plan, in the order of the file, with the zeros between them; see pieces.h. */
#include "plan/pieces.h"

#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static int compare_offsets(const void *a, const void *b) {
    const size_t first = ((const tn_plan_piece *)a)->offset;
    const size_t second = ((const tn_plan_piece *)b)->offset;
    return first < second ? -1 : first > second;
}

/* What alignment leaves free, less than a page. */
static void add_zeros(tn_plan_pieces *pieces, size_t bytes) {
    static const unsigned char zeros[TN_PLAN_PAGE];
    if (bytes > 0) pieces->parts[pieces->part_count++] = (tn_file_part){zeros, bytes};
}

/* Zeros up to where a section begins are a part of their own. */
static void add_gap(tn_plan_pieces *pieces, size_t from, size_t to) {
    for (uint32_t i = 1; i < pieces->layout.section_count; i++) {
        const size_t begin = pieces->layout.sections[i].offset;
        if (begin <= from || begin >= to) continue;
        add_zeros(pieces, begin - from);
        from = begin;
    }
    add_zeros(pieces, to - from);
}

tn_status tn_plan_pieces_init(tn_plan_pieces *pieces, const tn_allocator *allocator,
                              const tn_plan_layout *layout, size_t count, tn_plan_piece *weights) {
    const tn_plan_section *description = &layout->sections[0];
    size_t end = description->offset + description->bytes;
    *pieces = (tn_plan_pieces){.allocator = allocator, .layout = *layout};
    pieces->head = tn_allocate_zero(allocator, 1, end);
    /* each weight with zeros before it, and those before each section */
    pieces->parts =
        tn_allocate_zero(allocator, 2 * count + TN_SECTION_LIMIT + 1, sizeof(*pieces->parts));
    pieces->weights = tn_allocate_zero(allocator, count + 1, sizeof(*pieces->weights));
    if (!pieces->head || !pieces->parts || !pieces->weights) {
        tn_plan_pieces_deinit(pieces);
        return tn_fail_memory("a plan");
    }
    pieces->parts[pieces->part_count++] = (tn_file_part){pieces->head, end};
    if (count > 0) qsort(weights, count, sizeof(*weights), compare_offsets);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && weights[i].offset == weights[i - 1].offset) continue;
        add_gap(pieces, end, weights[i].offset);
        pieces->parts[pieces->part_count++] = (tn_file_part){weights[i].data, weights[i].bytes};
        end = weights[i].offset + weights[i].bytes;
        pieces->weights[pieces->weight_count++] = weights[i];
    }
    add_gap(pieces, end, layout->bytes);
    return TN_OK;
}

static bool is_aligned(const tn_plan_piece *weight) {
    return (uintptr_t)weight->data % TN_PLAN_WEIGHT_ALIGNMENT == 0;
}

tn_status tn_plan_pieces_align(tn_plan_pieces *pieces) {
    const size_t most = TN_PLAN_WEIGHT_ALIGNMENT - 1;
    size_t total = 0, at = 0;
    for (size_t i = 0; i < pieces->weight_count; i++)
        if (!is_aligned(&pieces->weights[i])) total += (pieces->weights[i].bytes + most) & ~most;
    if (total == 0) return TN_OK;
    unsigned char *copies = tn_allocate_aligned(pieces->allocator, total, TN_PLAN_WEIGHT_ALIGNMENT);
    if (!copies) return tn_fail_memory("a plan's weights");
    for (size_t i = 0; i < pieces->weight_count; i++) {
        tn_plan_piece *weight = &pieces->weights[i];
        if (is_aligned(weight)) continue;
        memcpy(copies + at, weight->data, weight->bytes);
        weight->data = copies + at;
        at += (weight->bytes + most) & ~most;
    }
    pieces->aligned = copies;
    return TN_OK;
}

const void *tn_plan_pieces_find(const tn_plan_pieces *pieces, size_t offset, size_t bytes) {
    const tn_plan_piece key = {.offset = offset};
    const tn_plan_piece *found =
        pieces->weight_count == 0
            ? NULL
            : bsearch(&key, pieces->weights, pieces->weight_count, sizeof(key), compare_offsets);
    return found && bytes <= found->bytes ? found->data : NULL;
}

void tn_plan_pieces_deinit(tn_plan_pieces *pieces) {
    if (pieces->allocator) {
        tn_deallocate(pieces->allocator, pieces->head);
        tn_deallocate(pieces->allocator, pieces->parts);
        tn_deallocate(pieces->allocator, pieces->weights);
        tn_deallocate(pieces->allocator, pieces->aligned);
    }
    *pieces = (tn_plan_pieces){0};
}

tn_status tn_plan_pieces_sum(tn_plan_pieces *pieces) {
    tn_plan_layout *layout = &pieces->layout;
    tn_hash_stream *stream;
    if (pieces->has_checksums) return TN_OK;
    if (!(stream = tn_hash_stream_create())) return tn_fail_memory("a plan's checksums");
    layout->sections[0].checksum =
        tn_hash(pieces->head + layout->sections[0].offset, layout->sections[0].bytes);
    size_t at = 0, part = 0;
    for (uint32_t i = 1; i < layout->section_count; i++) {
        tn_plan_section *section = &layout->sections[i];
        tn_hash_stream_reset(stream);
        for (; part < pieces->part_count && at < section->offset + section->bytes; part++) {
            const tn_file_part *piece = &pieces->parts[part];
            if (at >= section->offset) tn_hash_stream_add(stream, piece->data, piece->bytes);
            at += piece->bytes;
        }
        section->checksum = tn_hash_stream_end(stream);
    }
    tn_hash_stream_destroy(stream);
    tn_plan_layout_write_head(layout, pieces->head);
    pieces->has_checksums = true;
    return TN_OK;
}

void tn_plan_pieces_join(const tn_plan_pieces *pieces, void *out_data) {
    unsigned char *at = out_data;
    for (size_t i = 0; i < pieces->part_count; i++) {
        memcpy(at, pieces->parts[i].data, pieces->parts[i].bytes);
        at += pieces->parts[i].bytes;
    }
}
