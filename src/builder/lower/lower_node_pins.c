/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's own pin (node_pins.h) lets pass: kernels, combinations and types; and what is said
 * when nothing does. Unlike the pin of an operator (lower_pins.c), one that cannot be kept is an
 * error: the node was named.
 */
#include "base/status.h"
#include "base/text.h"
#include "builder/lower/candidate.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_fit.h"
#include "builder/lower/lower_pins.h"
#include "builder/lower/lower_storages.h"

#include <string.h>

const tn_node_pin *tn_lower_node_pin_of(const tn_lowering *lowering, uint32_t node) {
    const tn_node_pin *pins = lowering->options->node_pins;
    return pins && tn_node_pin_is_set(&pins[node]) ? &pins[node] : NULL;
}

bool tn_lower_node_pin_fits(const tn_node_pin *pin, const tn_kernel_entry *entry) {
    if (!pin || !pin->kernel) return true;
    const tn_lower_pin named = {.kernel = pin->kernel};
    return tn_lower_pin_fits(&named, entry);
}

/* To what decides how a tensor is stored: rows that lie apart and counts are other matters. */
static const char *skip_rest(const char *at) {
    static const char strided[] = ":strided", counted[] = ":counted"; /* of one length */
    const size_t length = sizeof(strided) - 1;
    for (;;) {
        at += strspn(at, " ");
        if (strncmp(at, strided, length) != 0 && strncmp(at, counted, length) != 0) return at;
        at += length;
    }
}

static bool is_same_text(const char *a, const char *b) {
    for (a = skip_rest(a), b = skip_rest(b); *a && *a == *b;
         a = skip_rest(a + 1), b = skip_rest(b + 1))
        ;
    return *a == 0 && *b == 0;
}

bool tn_lower_node_pin_combines(const tn_node_pin *pin, const tn_combination *combination) {
    return !pin || !pin->combination || is_same_text(pin->combination, combination->text);
}

/* Whether a port is stored in the type. */
static bool uses(const tn_storage *storages, uint32_t count, tn_type type) {
    for (uint32_t i = 0; i < count; i++)
        if (storages[i].type == type) return true;
    return false;
}

bool tn_lower_node_pin_takes(const tn_lowering *lowering, uint32_t index,
                             const tn_candidate *candidate) {
    const tn_node_pin *pin = tn_lower_node_pin_of(lowering, index);
    const tn_graph_node *node = &lowering->graph->nodes[index];
    if (!pin || pin->type == TN_NONE) return true;
    if (pin->type == TN_F32) return !tn_lower_is_lowered(lowering, index, candidate);
    return uses(candidate->inputs, node->input_count, pin->type) ||
           uses(candidate->outputs, node->output_count, pin->type);
}

/* --- what is said --- */

/* The names of an operator's kernels, and the combinations of the pinned one. */
static tn_status list_combinations(tn_lowering *lowering, uint32_t index,
                                   const tn_kernel_entry *entry, tn_text *combinations) {
    const tn_lower_fit *fit = NULL;
    if (entry->kernel->combination_count == 0 && !entry->kernel->combination) return TN_OK;
    TN_TRY(tn_lower_fit_of(lowering, index, entry, &fit));
    for (uint32_t c = 0; c < fit->combination_count; c++)
        tn_text_add_format(combinations, "%s'%s'", combinations->length ? "; " : "",
                           fit->combinations[c].text);
    return TN_OK;
}

static tn_status list_kernels(tn_lowering *lowering, uint32_t index, const tn_node_pin *pin,
                              tn_text *names, tn_text *combinations, tn_nearest *nearest) {
    const tn_operator *op = lowering->graph->nodes[index].entry->op;
    for (int is_device = tn_lower_has_device(lowering); is_device >= 0; is_device--) {
        const tn_lower_kernels *kernels = NULL;
        TN_TRY(tn_lower_kernels_of(lowering, op, is_device, &kernels));
        for (uint32_t i = 0; i < kernels->count; i++) {
            const tn_kernel *kernel = kernels->entries[i]->kernel;
            tn_text_add_format(names, "%s, ", kernel->name);
            tn_nearest_offer(nearest, kernel->name);
            if (pin->kernel && tn_lower_node_pin_fits(pin, kernels->entries[i]))
                TN_TRY(list_combinations(lowering, index, kernels->entries[i], combinations));
        }
    }
    tn_text_add(names, "reference");
    return TN_OK;
}

static tn_status fail_listed(const tn_graph_node *node, const tn_node_pin *pin, const char *names,
                             const char *combinations, const tn_nearest *nearest,
                             bool is_kernel_known) {
    const char *op = node->entry->op->name;
    if (pin->kernel && !is_kernel_known)
        return tn_error_mend_nearest(
            tn_fail(TN_ERROR_NOT_FOUND,
                    "operator %s has no kernel '%s' to be pinned here; it has: %s", op, pin->kernel,
                    names),
            "; ", nearest->best);
    if (pin->combination)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the pinned kernel '%s' does not take this node (%s) in the combination "
                       "'%s'; its combinations: %s",
                       pin->kernel, op, pin->combination, combinations);
    if (pin->kernel)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the pinned kernel '%s' does not take this node (%s)%s, with its shapes, "
                       "fields and types; its combinations: %s",
                       pin->kernel, op, pin->type != TN_NONE ? " in the pinned type" : "",
                       combinations);
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "no kernel takes this node (%s) in the pinned type %s%s; there are: %s", op,
                   tn_type_name(pin->type),
                   pin->type == TN_I8 ? " (which also needs scales of its tensors)" : "", names);
}

tn_status tn_lower_node_pin_fail(tn_lowering *lowering, uint32_t index, bool is_kernel_known) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_node_pin *pin = tn_lower_node_pin_of(lowering, index);
    tn_text names, combinations;
    tn_nearest nearest;
    tn_text_init(&names, lowering->graph->allocator);
    tn_text_init(&combinations, lowering->graph->allocator);
    tn_nearest_init(&nearest, pin->kernel ? pin->kernel : "");
    tn_status status = list_kernels(lowering, index, pin, &names, &combinations, &nearest);
    if (status == TN_OK && (names.is_failed || combinations.is_failed))
        status = tn_fail_memory("the pinned kernels");
    if (status == TN_OK)
        status = fail_listed(node, pin, names.data, combinations.data ? combinations.data : "all",
                             &nearest, is_kernel_known);
    tn_text_deinit(&names);
    tn_text_deinit(&combinations);
    return tn_error_in(status, .node = node->name);
}
