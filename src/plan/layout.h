/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost layer of a plan file: header and section table, with their checksums. Knows nothing
 * of what the sections hold; that is plan.proto's and the readers'. The bytes are described in
 * docs/plans.md.
 */
#ifndef TN_PLAN_LAYOUT_H
#define TN_PLAN_LAYOUT_H

#include "base/memory.h"

#define TN_PLAN_VERSION          1u
#define TN_PLAN_WEIGHT_ALIGNMENT 64u
#define TN_PLAN_PAGE             4096u
#define TN_PLAN_SMALL            16384u /* bytes of a part from which on it lies behind the others */

enum {
    TN_SECTION_DESCRIPTION = 1,
    TN_SECTION_WEIGHTS = 2,
    TN_SECTION_PACKED = 3,
    TN_SECTION_LIBRARIES = 4
};
#define TN_SECTION_LIMIT 16u /* sections of a file */

/* A section, as written and as read. */
typedef struct tn_plan_section {
    uint32_t kind;
    size_t offset, bytes;
    uint64_t checksum; /* as read, or to be written */
} tn_plan_section;

typedef struct tn_plan_layout {
    size_t bytes; /* of the file */
    uint32_t section_count;
    tn_plan_section sections[TN_SECTION_LIMIT];
} tn_plan_layout;

/* Lays out a description of so many bytes, the weights behind it, and packed weights and embedded
 * libraries, if any, behind those. TN_ERROR_MEMORY. */
tn_status tn_plan_layout_make(size_t description_bytes, size_t weight_bytes, size_t packed_bytes,
                              size_t library_bytes, tn_plan_layout *out_layout);
/* Writes header and table into `data` (zeroed, layout->bytes long), the sections being there. */
void tn_plan_layout_write(const tn_plan_layout *layout, void *data);
/* The same with the layout's checksums; the sections need not be there. */
void tn_plan_layout_write_head(const tn_plan_layout *layout, void *head);
/* Reads and checks header and table: afterwards every section lies inside the file, and none
 * overlaps another. The sections' own bytes are verified by tn_plan_layout_verify alone.
 * TN_ERROR_FORMAT says what is wrong. */
tn_status tn_plan_layout_read(const void *data, size_t bytes, tn_plan_layout *out_layout);
/* Whether a section has its checksum; all of it is read. TN_ERROR_FORMAT. */
tn_status tn_plan_layout_verify(const void *data, const tn_plan_layout *layout,
                                const tn_plan_section *section);
/* Null when there is none of this kind. */
const tn_plan_section *tn_plan_layout_find(const tn_plan_layout *layout, uint32_t kind);

#endif
