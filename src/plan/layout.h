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

enum { TN_SECTION_DESCRIPTION = 1, TN_SECTION_WEIGHTS = 2 };
#define TN_SECTION_LIMIT 16u /* sections of a file */

/* A section, as written and as read. */
typedef struct tn_plan_section {
    uint32_t kind;
    size_t offset, bytes;
} tn_plan_section;

typedef struct tn_plan_layout {
    size_t bytes; /* of the file */
    uint32_t section_count;
    tn_plan_section sections[TN_SECTION_LIMIT];
} tn_plan_layout;

/* Places a description of so many bytes and the weights behind it. TN_ERROR_MEMORY. */
tn_status tn_plan_layout_make(size_t description_bytes, size_t weight_bytes,
                              tn_plan_layout *out_layout);
/* Writes header and table into `data` (zeroed, layout->bytes long), the sections being there. */
void tn_plan_layout_write(const tn_plan_layout *layout, void *data);
/* Reads and checks all of it: afterwards every section lies inside the file, none overlaps another,
 * and each has its checksum. TN_ERROR_FORMAT says what is wrong. */
tn_status tn_plan_layout_read(const void *data, size_t bytes, tn_plan_layout *out_layout);
/* The same of bytes that were read before: the sections' checksums are not computed once more. */
tn_status tn_plan_layout_read_again(const void *data, size_t bytes, tn_plan_layout *out_layout);
/* Null when there is none of this kind. */
const tn_plan_section *tn_plan_layout_find(const tn_plan_layout *layout, uint32_t kind);

#endif
