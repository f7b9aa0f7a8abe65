/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel has for one node; see kernel_fit.h. */
#include "program/kernel_fit.h"
#include "base/status.h"
#include "plugin/crash.h"
#include "plugin/devices.h"
#include "plugin/fields/kernel_fields.h"
#include "plugin/call.h"
#include "plugin/registry_tables.h"

#include <string.h>

tn_status tn_kernel_fit_params(tn_arena *arena, const tn_kernel_entry *entry,
                               const tn_graph_node *node, const void **out_params, bool *out_fits) {
    *out_fits = true;
    *out_params = NULL;
    const tn_status status =
        tn_kernel_fields_fill(arena, entry->kernel, node->entry->op, node->params, out_params);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    *out_fits = false;
    return TN_OK;
}

/* Answers false after the last one. */
static bool ask_combination(tn_call *call, const tn_kernel *kernel, uint32_t index, char *text) {
    tn_crash_mark mark;
    text[0] = 0;
    const uint32_t before = call->device ? tn_device_enter(call->device) : 0;
    tn_crash_enter(&mark, call, "combination", NULL);
    const tn_status status = kernel->combination(call, index, text, TN_KERNEL_TEXT_BYTES);
    tn_crash_leave(&mark);
    if (call->device) tn_device_leave(call->device, before);
    return status == TN_OK;
}

static tn_status parse(tn_arena *arena, const char *text, uint32_t minor,
                       tn_combination *out_combination) {
    if (!memchr(text, 0, TN_KERNEL_TEXT_BYTES))
        return tn_fail(TN_ERROR_PLUGIN, "it is longer than %d bytes", TN_KERNEL_TEXT_BYTES);
    const char *kept = tn_arena_text(arena, text);
    if (!kept) return tn_fail_memory("a kernel's combinations");
    return tn_combination_parse(arena, kept, minor, out_combination);
}

tn_status tn_kernel_fit_combinations(tn_arena *arena, const tn_kernel_entry *entry, tn_call *call,
                                     uint32_t *out_count, const tn_combination **out_combinations) {
    const tn_kernel *kernel = entry->kernel;
    uint32_t count = entry->combination_count;
    char text[TN_KERNEL_TEXT_BYTES];
    *out_count = count;
    *out_combinations = entry->combinations;
    if (!kernel->combination) return TN_OK;
    tn_combination *all =
        tn_arena_allocate(arena, (size_t)count + TN_MAX_COMBINATIONS, sizeof(*all));
    if (!all) return tn_fail_memory("a kernel's combinations");
    memcpy(all, entry->combinations, count * sizeof(*all));
    for (uint32_t i = 0; i < TN_MAX_COMBINATIONS && ask_combination(call, kernel, i, text); i++) {
        const tn_status status =
            parse(arena, text, tn_library_minor(entry->library), &all[count++]);
        if (status != TN_OK)
            return tn_error_in(tn_error_at(status, "combination %u", i),
                               .node = call->node ? call->node : "", .kernel = kernel->name,
                               .library = entry->library->name);
    }
    *out_count = count;
    *out_combinations = all;
    return TN_OK;
}

bool tn_kernel_takes_open(const tn_kernel *kernel, bool is_ranked) {
    const bool needs_nothing =
        !kernel->accepts && !kernel->prepare && !kernel->tactics && !kernel->combination;
    return needs_nothing || (is_ranked && (kernel->traits & TN_KERNEL_ANY_SHAPE));
}

bool tn_kernel_may_guess_ranks(const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (tn_graph_output_port(op, i)->flags & TN_PORT_SIZED_BY_RUN) return false;
    return op->reference != NULL;
}
