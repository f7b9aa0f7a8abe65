/* SPDX-License-Identifier: Apache-2.0 */
/* Header and section table of a plan file; see layout.h. */
#include "plan/layout.h"

#include "base/hash.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* The first byte keeps text editors away, the line ends show a transfer as text. */
static const unsigned char magic[8] = {0x89, 'T', 'E', 'N', 'O', 'N', '\r', '\n'};

/* The bytes of the file: frozen. */
typedef struct file_header {
    unsigned char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t file_bytes;
    uint64_t checksum; /* of header and table, this member zero */
} file_header;
typedef struct file_section {
    uint32_t kind;
    uint32_t reserved;
    uint64_t offset;
    uint64_t bytes;
    uint64_t checksum;
} file_section;
TN_STATIC_ASSERT(sizeof(file_header) == 32, "the header of a plan is 32 bytes");
TN_STATIC_ASSERT(sizeof(file_section) == 32, "an entry of a plan's section table is 32 bytes");

static size_t head_bytes(uint32_t section_count) {
    return sizeof(file_header) + section_count * sizeof(file_section);
}

/* Behind the last one, at a page. */
static tn_status add_pages(tn_plan_layout *layout, uint32_t kind, size_t bytes) {
    size_t offset, end;
    if (!tn_align_size(layout->bytes, TN_PLAN_PAGE, &offset) || !tn_add_size(offset, bytes, &end))
        return tn_fail(TN_ERROR_MEMORY, "a plan with a section of %zu bytes is too large", bytes);
    layout->sections[layout->section_count++] =
        (tn_plan_section){.kind = kind, .offset = offset, .bytes = bytes};
    layout->bytes = end;
    return TN_OK;
}

tn_status tn_plan_layout_make(size_t description_bytes, size_t weight_bytes, size_t packed_bytes,
                              size_t library_bytes, tn_plan_layout *out_layout) {
    const size_t start = head_bytes(2u + (packed_bytes > 0) + (library_bytes > 0));
    tn_plan_layout layout = {.section_count = 1};
    if (!tn_add_size(start, description_bytes, &layout.bytes))
        return tn_fail(TN_ERROR_MEMORY, "a plan is too large");
    layout.sections[0] = (tn_plan_section){
        .kind = TN_SECTION_DESCRIPTION, .offset = start, .bytes = description_bytes};
    TN_TRY(add_pages(&layout, TN_SECTION_WEIGHTS, weight_bytes));
    if (packed_bytes > 0) TN_TRY(add_pages(&layout, TN_SECTION_PACKED, packed_bytes));
    if (library_bytes > 0) TN_TRY(add_pages(&layout, TN_SECTION_LIBRARIES, library_bytes));
    *out_layout = layout;
    return TN_OK;
}

static uint64_t head_checksum(const unsigned char *data, uint32_t section_count) {
    unsigned char head[sizeof(file_header) + TN_SECTION_LIMIT * sizeof(file_section)];
    memcpy(head, data, head_bytes(section_count));
    memset(head + offsetof(file_header, checksum), 0, sizeof(uint64_t));
    return tn_hash(head, head_bytes(section_count));
}

static void write_head_checksum(unsigned char *data, uint32_t section_count) {
    uint64_t checksum = head_checksum(data, section_count);
    memcpy(data + offsetof(file_header, checksum), &checksum, sizeof(checksum));
}

void tn_plan_layout_write_head(const tn_plan_layout *layout, void *head) {
    file_header header = {.version = TN_PLAN_VERSION,
                          .section_count = layout->section_count,
                          .file_bytes = layout->bytes};
    memcpy(header.magic, magic, sizeof(magic));
    memcpy(head, &header, sizeof(header));
    for (uint32_t i = 0; i < layout->section_count; i++) {
        const tn_plan_section *section = &layout->sections[i];
        const file_section entry = {.kind = section->kind,
                                    .offset = section->offset,
                                    .bytes = section->bytes,
                                    .checksum = section->checksum};
        memcpy((unsigned char *)head + head_bytes(i), &entry, sizeof(entry));
    }
    write_head_checksum(head, layout->section_count);
}

void tn_plan_layout_write(const tn_plan_layout *layout, void *data) {
    tn_plan_layout summed = *layout;
    for (uint32_t i = 0; i < layout->section_count; i++)
        summed.sections[i].checksum =
            tn_hash((unsigned char *)data + layout->sections[i].offset, layout->sections[i].bytes);
    tn_plan_layout_write_head(&summed, data);
}

static tn_status read_header(const unsigned char *data, size_t bytes, file_header *out_header) {
    file_header header;
    if (bytes < sizeof(magic) || memcmp(data, magic, sizeof(magic)) != 0)
        return tn_fail(TN_ERROR_FORMAT, "this is not a plan: it does not begin as one");
    if (bytes < sizeof(header))
        return tn_fail(TN_ERROR_FORMAT, "the plan is cut off: its header has %zu bytes of %zu",
                       bytes, sizeof(header));
    memcpy(&header, data, sizeof(header));
    if (header.version != TN_PLAN_VERSION)
        return tn_error_mend(tn_fail(TN_ERROR_FORMAT,
                                     "the plan has version %" PRIu32
                                     " of the format; this library (%s) reads "
                                     "version %u",
                                     header.version, tn_version(), TN_PLAN_VERSION),
                             ": ", "build the plan again, or take the library that wrote it");
    if (header.file_bytes != bytes)
        return tn_fail(
            TN_ERROR_FORMAT, "the plan is %s: it has %zu bytes, its header says %" PRIu64,
            bytes < header.file_bytes ? "cut off" : "too long", bytes, header.file_bytes);
    if (header.section_count == 0 || header.section_count > TN_SECTION_LIMIT ||
        head_bytes(header.section_count) > bytes)
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: its header counts %" PRIu32
                       " sections; 1 to %u are possible",
                       header.section_count, TN_SECTION_LIMIT);
    if (header.checksum != head_checksum(data, header.section_count))
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: header and section table do not have their checksum");
    *out_header = header;
    return TN_OK;
}

static bool is_zero(const unsigned char *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 0) return false;
    return true;
}

/* One entry, which begins at `end` or less than a page behind it. */
static tn_status read_section(const unsigned char *data, size_t bytes, uint32_t index, size_t end,
                              tn_plan_section *out_section) {
    file_section entry;
    memcpy(&entry, data + head_bytes(index), sizeof(entry));
    if (entry.reserved != 0 || entry.offset > bytes || entry.bytes > bytes - entry.offset)
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: section %" PRIu32 " (%" PRIu64 " bytes at %" PRIu64
                       ") is not inside the file",
                       index, entry.bytes, entry.offset);
    if (entry.offset < end || entry.offset - end >= TN_PLAN_PAGE ||
        !is_zero(data + end, (size_t)entry.offset - end))
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: section %" PRIu32 " does not follow on the one before",
                       index);
    const bool is_paged = entry.kind == TN_SECTION_WEIGHTS || entry.kind == TN_SECTION_PACKED;
    if (is_paged && entry.offset % TN_PLAN_PAGE != 0)
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: its weights are not aligned to a page");
    *out_section =
        (tn_plan_section){entry.kind, (size_t)entry.offset, (size_t)entry.bytes, entry.checksum};
    return TN_OK;
}

tn_status tn_plan_layout_verify(const void *data, const tn_plan_layout *layout,
                                const tn_plan_section *section) {
    const unsigned char *bytes = data;
    if (section->checksum == tn_hash(bytes + section->offset, section->bytes)) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT,
                   "the plan is damaged: section %zu (%zu bytes at %zu) does not have its checksum",
                   (size_t)(section - layout->sections), section->bytes, section->offset);
}

tn_status tn_plan_layout_read(const void *data, size_t bytes, tn_plan_layout *out_layout) {
    file_header header = {0};
    TN_TRY(read_header(data, bytes, &header));
    tn_plan_layout layout = {.bytes = bytes, .section_count = header.section_count};
    size_t end = head_bytes(header.section_count);
    for (uint32_t i = 0; i < header.section_count; i++) {
        tn_plan_section *section = &layout.sections[i];
        TN_TRY(read_section(data, bytes, i, end, section));
        end = section->offset + section->bytes;
        for (uint32_t j = 0; j < i; j++)
            if (layout.sections[j].kind == section->kind)
                return tn_fail(TN_ERROR_FORMAT,
                               "the plan is damaged: sections %" PRIu32 " and %" PRIu32
                               " are of one kind",
                               j, i);
    }
    if (end != bytes)
        return tn_fail(TN_ERROR_FORMAT,
                       "the plan is damaged: %zu bytes behind its last section belong to none",
                       bytes - end);
    *out_layout = layout;
    return TN_OK;
}

const tn_plan_section *tn_plan_layout_find(const tn_plan_layout *layout, uint32_t kind) {
    for (uint32_t i = 0; i < layout->section_count; i++)
        if (layout->sections[i].kind == kind) return &layout->sections[i];
    return NULL;
}
