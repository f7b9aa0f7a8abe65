/* SPDX-License-Identifier: Apache-2.0 */
/* A rewrite's table, of any size and age, checked and copied: see registry_tables.h. */
#include "base/status.h"
#include "plugin/loaded_library.h"
#include "plugin/registry_tables.h"
#include "plugin/rewrite/pattern.h"

#include <string.h>

enum { MOST_CASES = 1000, MOST_BYTES = 4096 };

static bool is_name(const char *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return name && name[0] && strlen(name) <= 100 && name[strspn(name, allowed)] == 0;
}

static const char *copy_text(tn_arena *arena, const char *text, bool *inout_failed) {
    const char *copy = text ? tn_arena_keep_text(arena, text) : NULL;
    *inout_failed = *inout_failed || (text && !copy);
    return copy;
}

static const char *const *copy_texts(tn_arena *arena, const char *const *texts, uint64_t count,
                                     bool *inout_failed) {
    const char **copies = tn_arena_allocate(arena, (size_t)count + 1, sizeof *copies);
    *inout_failed = *inout_failed || !copies;
    for (uint64_t i = 0; copies && i < count; i++)
        copies[i] = copy_text(arena, texts[i] ? texts[i] : "", inout_failed);
    return copies;
}

static tn_status check_table(const tn_rewrite *rewrite) {
    if (rewrite->flags != 0)
        return tn_fail(TN_ERROR_PLUGIN, "flags %u are reserved: expected 0", rewrite->flags);
    if (strncmp(rewrite->name, "tn.", 3) == 0)
        return tn_fail(TN_ERROR_PLUGIN, "names that begin with \"tn.\" are reserved");
    if (!rewrite->pattern || !rewrite->replacement)
        return tn_fail(TN_ERROR_PLUGIN, "it has no %s",
                       rewrite->pattern ? "replacement" : "pattern");
    if (rewrite->case_count > MOST_CASES || rewrite->near_miss_count > MOST_CASES ||
        (rewrite->case_count && !rewrite->cases) ||
        (rewrite->near_miss_count && !rewrite->near_misses))
        return tn_fail(TN_ERROR_PLUGIN, "%llu cases and %llu near misses: expected their tables",
                       (unsigned long long)rewrite->case_count,
                       (unsigned long long)rewrite->near_miss_count);
    return TN_OK;
}

/* '$' without a guard would stand for nothing. */
static tn_status check_computed(const tn_rewrite *rewrite, const tn_pattern *pattern) {
    for (uint32_t i = 0; !rewrite->guard && i < pattern->name_count; i++)
        if (pattern->names[i].kind == TN_TERM_COMPUTED)
            return tn_fail(TN_ERROR_PLUGIN, "replacement: there is no guard that computes '$%s'",
                           pattern->names[i].text);
    return TN_OK;
}

static tn_status copy_rewrite(tn_arena *arena, tn_rewrite *copy) {
    bool failed = false;
    TN_TRY(check_table(copy));
    copy->domain = copy_text(arena, copy->domain ? copy->domain : "", &failed);
    copy->doc = copy_text(arena, copy->doc, &failed);
    if (strlen(copy->pattern) > TN_PATTERN_BYTES || strlen(copy->replacement) > TN_PATTERN_BYTES)
        return tn_fail(TN_ERROR_PLUGIN, "its texts are longer than 16 KiB");
    copy->pattern = copy_text(arena, copy->pattern, &failed);
    copy->replacement = copy_text(arena, copy->replacement, &failed);
    copy->cases = copy_texts(arena, copy->cases, copy->case_count, &failed);
    copy->near_misses = copy_texts(arena, copy->near_misses, copy->near_miss_count, &failed);
    if (failed) return tn_fail_memory("a rewrite");
    if (strcmp(copy->domain, "ai.onnx") == 0) copy->domain = "";
    return TN_OK;
}

tn_status tn_registry_parse_rewrite(tn_rewrite_entry *entry) {
    const tn_rewrite *rewrite = entry->rewrite;
    const tn_pattern *pattern = NULL;
    TN_TRY(tn_pattern_parse(tn_library_arena(entry->library), rewrite->pattern,
                            rewrite->replacement, &pattern));
    TN_TRY(check_computed(rewrite, pattern));
    entry->pattern = pattern;
    return TN_OK;
}

tn_status tn_registry_copy_rewrite(tn_loaded_library *library, const tn_rewrite *rewrite,
                                   tn_rewrite_entry **out_entry) {
    tn_arena *arena = tn_library_arena(library);
    bool failed = false;
    if (!rewrite ||
        rewrite->size < offsetof(tn_rewrite, replacement) + sizeof rewrite->replacement ||
        rewrite->size > MOST_BYTES)
        return tn_fail(TN_ERROR_PLUGIN,
                       rewrite ? "a rewrite's table says it has %u bytes"
                               : "a rewrite's table is null",
                       rewrite ? rewrite->size : 0);
    tn_rewrite *copy = tn_arena_allocate(arena, 1, sizeof *copy);
    tn_rewrite_entry *entry = tn_arena_allocate(arena, 1, sizeof *entry);
    if (!copy || !entry) return tn_fail_memory("a rewrite");
    memcpy(copy, rewrite, rewrite->size < sizeof *copy ? rewrite->size : sizeof *copy);
    copy->size = sizeof *copy;
    if (!is_name(copy->name))
        return tn_fail(TN_ERROR_PLUGIN,
                       "a rewrite's name is not made of letters, digits, '_', '-' and '.'");
    copy->name = copy_text(arena, copy->name, &failed);
    if (failed) return tn_fail_memory("a rewrite");
    TN_TRY(tn_error_at(copy_rewrite(arena, copy), "rewrite '%s'", copy->name));
    entry->rewrite = copy;
    entry->library = library;
    *out_entry = entry;
    return TN_OK;
}
