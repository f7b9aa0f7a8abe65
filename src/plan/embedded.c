/* SPDX-License-Identifier: Apache-2.0 */
/* What the manifest says of embedded libraries, checked; see embedded.h. */
#include "plan/embedded.h"

#include "base/code_cache/sha256.h"
#include "base/status.h"

#include <inttypes.h>

bool tn_plan_is_embedded(const Tenon__Plan__Library *library) {
    return library->embedded_bytes > 0 || library->sha256.len > 0;
}

static tn_status fail(const Tenon__Plan__Library *library, const char *why) {
    return tn_fail(TN_ERROR_FORMAT,
                   "the plan is damaged: library '%.100s' (%.100s, %" PRIu64 " bytes at %" PRIu64
                   " of the section of libraries) is embedded, but %s",
                   library->name, library->file_name, library->embedded_bytes,
                   library->embedded_offset, why);
}

tn_status tn_plan_find_embedded(const Tenon__Plan__Library *library, const tn_plan_layout *layout,
                                size_t *out_offset) {
    const tn_plan_section *section = tn_plan_layout_find(layout, TN_SECTION_LIBRARIES);
    if (!*library->file_name || library->hash == 0) return fail(library, "was linked in");
    if (library->sha256.len != TN_SHA256_BYTES) return fail(library, "has no SHA-256");
    if (!section) return fail(library, "there is no such section");
    if (library->embedded_bytes == 0 || library->embedded_offset > section->bytes ||
        library->embedded_bytes > section->bytes - library->embedded_offset)
        return fail(library, "is not inside that");
    *out_offset = section->offset + (size_t)library->embedded_offset;
    return TN_OK;
}
