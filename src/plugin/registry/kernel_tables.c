/* SPDX-License-Identifier: Apache-2.0 */
/* Checking and copying of kernels' tables; see registry_tables.h. */
#include "base/status.h"
#include "plugin/loaded_library.h"
#include "plugin/registry/tables_private.h"

#include <string.h>

/* No honest table is near this; a damaged one is refused before it is read. */
#define MOST_COMBINATIONS 4096

static bool same_combinations(const tn_kernel *a, const tn_kernel *b) {
    bool is_same = a->combination_count == b->combination_count && !a->combination;
    for (uint32_t i = 0; is_same && i < a->combination_count; i++)
        is_same = a->combinations[i] && strcmp(a->combinations[i], b->combinations[i]) == 0;
    return is_same;
}

static tn_status copy_combinations(tn_arena *arena, tn_kernel *kernel, uint32_t minor,
                                   const tn_kernel_entry *like, tn_kernel_entry *entry) {
    bool failed = false;
    uint32_t count = kernel->combination_count;
    if (like && count > 0 && kernel->combinations && same_combinations(kernel, like->kernel)) {
        kernel->combinations = like->kernel->combinations;
        entry->combinations = like->combinations;
        entry->combination_count = like->combination_count;
        return TN_OK;
    }
    if (count > MOST_COMBINATIONS || (count && !kernel->combinations))
        return tn_fail(TN_ERROR_PLUGIN, "%u combinations: expected at most %d, and their table",
                       count, MOST_COMBINATIONS);
    kernel->combinations = tn_table_copy_texts(arena, kernel->combinations, count, &failed);
    if (failed) return tn_fail_memory("a kernel's combinations");
    TN_TRY(tn_combination_expand(arena, kernel->combinations, count, MOST_COMBINATIONS,
                                 &kernel->combinations, &count));
    kernel->combination_count = count;
    tn_combination *combinations =
        tn_arena_allocate(arena, count ? count : 1, sizeof(*combinations));
    if (!combinations) return tn_fail_memory("a kernel's combinations");
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(tn_combination_parse(arena, kernel->combinations[i], minor, &combinations[i]));
    const bool is_any = count == 0 && !kernel->combination;
    if (is_any) TN_TRY(tn_combination_parse(arena, TN_COMBINATION_ANY, minor, &combinations[0]));
    entry->combinations = combinations;
    entry->combination_count = is_any ? 1 : count;
    return TN_OK;
}

/* As an operator's fields, which have the same members. */
static tn_status copy_kernel_fields(tn_arena *arena, tn_kernel *kernel) {
    tn_operator table = {.params_bytes = kernel->params_bytes,
                         .field_size = kernel->field_size,
                         .field_count = kernel->field_count,
                         .fields = kernel->fields};
    TN_TRY(tn_table_copy_fields(arena, &table));
    kernel->field_size = table.field_size;
    kernel->fields = table.fields;
    return TN_OK;
}

/* What a kernel absorbs, and its combinations, are often those of the one before. */
static tn_status copy_absorbs(tn_arena *arena, tn_kernel *kernel, uint32_t minor,
                              const tn_kernel_entry *like, tn_kernel_entry *entry) {
    bool failed = false;
    if (like && kernel->absorbs && like->kernel->absorbs &&
        strcmp(kernel->absorbs, like->kernel->absorbs) == 0) {
        kernel->absorbs = like->kernel->absorbs;
        entry->absorbs = like->absorbs;
        entry->absorb_count = like->absorb_count;
        return TN_OK;
    }
    kernel->absorbs = tn_table_copy_text(arena, kernel->absorbs, &failed);
    if (failed) return tn_fail_memory("a kernel");
    return tn_absorbs_parse(arena, kernel->absorbs, minor > TN_ABI_MINOR, &entry->absorbs,
                            &entry->absorb_count);
}

static tn_status copy_kernel(tn_arena *arena, tn_kernel *kernel, uint32_t minor,
                             const tn_kernel_entry *like, tn_kernel_entry *entry) {
    bool failed = false;
    if (!kernel->run) return tn_fail(TN_ERROR_PLUGIN, "there is no run");
    if (!kernel->device || !kernel->device[0])
        return tn_fail(TN_ERROR_PLUGIN, "there is no device");
    if ((kernel->release && !kernel->prepare) || (kernel->close && !kernel->open))
        return tn_fail(TN_ERROR_PLUGIN, "release needs prepare, close needs open");
    if (!kernel->save != !kernel->load || (kernel->save && !kernel->prepare))
        return tn_fail(TN_ERROR_PLUGIN,
                       "save and load come together, beside prepare, or not at all");
    kernel->device = tn_table_copy_text(arena, kernel->device, &failed);
    kernel->doc = tn_table_copy_text(arena, kernel->doc, &failed);
    kernel->requires_features = tn_table_copy_text(arena, kernel->requires_features, &failed);
    if (kernel->revision == 0) kernel->revision = 1;
    if (failed) return tn_fail_memory("a kernel");
    TN_TRY(copy_absorbs(arena, kernel, minor, like, entry));
    TN_TRY(copy_kernel_fields(arena, kernel));
    return copy_combinations(arena, kernel, minor, like, entry);
}

tn_status tn_registry_copy_kernel(tn_loaded_library *library, const tn_kernel *kernel,
                                  const tn_kernel_entry *like, tn_kernel_entry **out_entry) {
    tn_arena *arena = tn_library_arena(library);
    bool failed = false;
    if (!kernel || kernel->size < offsetof(tn_kernel, run) + sizeof(kernel->run) ||
        kernel->size > TN_TABLE_MOST_BYTES)
        return tn_fail(TN_ERROR_PLUGIN,
                       kernel ? "a kernel's table says it has %u bytes"
                              : "a kernel's table is null",
                       kernel ? kernel->size : 0);
    tn_kernel *copy = tn_arena_allocate(arena, 1, sizeof(*copy));
    tn_kernel_entry *entry = tn_arena_allocate(arena, 1, sizeof(*entry));
    if (!copy || !entry) return tn_fail_memory("a kernel");
    memcpy(copy, kernel, kernel->size < sizeof(*copy) ? kernel->size : sizeof(*copy));
    copy->size = sizeof(*copy);
    if (!copy->op || !copy->op[0] || !copy->name || !copy->name[0])
        return tn_fail(TN_ERROR_PLUGIN, "a kernel names no operator, or has no name");
    copy->op = tn_table_copy_text(arena, copy->op, &failed);
    copy->name = tn_table_copy_text(arena, copy->name, &failed);
    copy->domain = tn_table_copy_text(arena, copy->domain ? copy->domain : "", &failed);
    if (failed) return tn_fail_memory("a kernel");
    const tn_status status = copy_kernel(arena, copy, tn_library_minor(library), like, entry);
    if (status != TN_OK)
        return tn_error_at(status, "kernel '%s' of operator %s", copy->name, copy->op);
    entry->kernel = copy;
    entry->library = library;
    *out_entry = entry;
    return TN_OK;
}
