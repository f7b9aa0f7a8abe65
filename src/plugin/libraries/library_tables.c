/* SPDX-License-Identifier: Apache-2.0 */
/* The table that a library's entry returns: checked, and its items added to the registry; see
 * library_private.h. */
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/registry.h"

#include <string.h>

bool tn_library_is_plain_name(const char *name) {
    if (!name || !name[0] || strlen(name) > 100) return false;
    for (const char *at = name; *at; at++) {
        const bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_letter && !(*at >= '0' && *at <= '9') && *at != '_' && *at != '-') return false;
    }
    return true;
}

#define MOST_TABLES 1000000

static bool has_rewrites(const tn_library *table) {
    return table->size >= offsetof(tn_library, rewrites) + sizeof(table->rewrites);
}

tn_status tn_library_check_table(const tn_library *table) {
    if (table->size < offsetof(tn_library, kernels) + sizeof(table->kernels) || table->size > 65536)
        return tn_fail(TN_ERROR_PLUGIN, "its table says it has %u bytes", table->size);
    if (table->abi_major != TN_ABI_MAJOR)
        return tn_fail(
            TN_ERROR_PLUGIN,
            "it was built for ABI version %u.%u, this is %u.%u: build it again with this header",
            table->abi_major, table->abi_minor, TN_ABI_MAJOR, TN_ABI_MINOR);
    if ((table->flags & TN_LIBRARY_NEEDS_ITS_MINOR) && table->abi_minor > TN_ABI_MINOR)
        return tn_fail(TN_ERROR_PLUGIN,
                       "it needs ABI version %u.%u or newer, this is %u.%u: use a newer Tenon",
                       table->abi_major, table->abi_minor, TN_ABI_MAJOR, TN_ABI_MINOR);
    if (!tn_library_is_plain_name(table->name))
        return tn_fail(TN_ERROR_PLUGIN, "its name is not made of letters, digits, '_' and '-'");
    if (table->operator_count > MOST_TABLES || table->kernel_count > MOST_TABLES ||
        (table->operator_count && !table->operators) || (table->kernel_count && !table->kernels))
        return tn_fail(TN_ERROR_PLUGIN,
                       "it counts %llu operators and %llu kernels, whose tables are not there",
                       (unsigned long long)table->operator_count,
                       (unsigned long long)table->kernel_count);
    if (has_rewrites(table) &&
        (table->rewrite_count > MOST_TABLES || (table->rewrite_count && !table->rewrites)))
        return tn_fail(TN_ERROR_PLUGIN, "it counts %llu rewrites, whose table is not there",
                       (unsigned long long)table->rewrite_count);
    return TN_OK;
}

tn_status tn_library_add_tables(tn_registry *registry, tn_loaded_library *library) {
    tn_library *table = library->table;
    for (uint64_t i = 0; i < table->operator_count; i++)
        TN_TRY(tn_registry_add_operator(registry, library, table->operators[i]));
    for (uint64_t i = 0; i < table->kernel_count; i++)
        TN_TRY(tn_registry_add_kernel(registry, library, table->kernels[i]));
    for (uint64_t i = 0; has_rewrites(table) && i < table->rewrite_count; i++)
        TN_TRY(tn_registry_add_rewrite(registry, library, table->rewrites[i]));
    return TN_OK;
}
