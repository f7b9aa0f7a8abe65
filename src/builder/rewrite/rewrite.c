/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass that applies rewrites: from the last node to the first, the longest pattern first, again
 * until none applies. Each makes the graph smaller, so that it ends.
 */
#include "base/status.h"
#include "base/text.h"
#include "builder/rewrite/replace.h"
#include "plugin/library.h"

#include <stdio.h>
#include <string.h>

typedef struct rewriter {
    tn_pass_context *context;
    const tn_rewrite_entry **entries;
    uint32_t count;
    tn_matcher *matcher;
} rewriter;

/* The type of literal constants: the first output's. */
tn_type tn_rewrite_number_type(const tn_matcher *m) {
    for (uint32_t i = 0; i < m->pattern->name_count; i++)
        if (m->pattern->names[i].is_output)
            return m->context->points[1]->tensors[m->bindings[i].tensor].storage.tensor.type;
    return TN_F32;
}

/* Adds the replacement and takes the pattern's nodes out. */
tn_status tn_rewrite_replace(tn_matcher *m, const char *name, const char *by) {
    tn_graph *graph = m->context->graph;
    tn_emitter e = {.matcher = m,
                    .graph = graph,
                    .arena = m->arena,
                    .name = name,
                    .by = by,
                    .number_type = tn_rewrite_number_type(m)};
    for (uint32_t i = 0; i < m->pattern->name_count; i++) {
        const bool is_capture = m->pattern->names[i].kind == TN_TERM_CAPTURE;
        const tn_tensor_id id = m->bindings[i].is_bound ? m->bindings[i].tensor : TN_NO_TENSOR;
        const bool is_seen = m->pattern->names[i].is_input || m->pattern->names[i].is_output;
        e.captured[i] = is_capture ? id : TN_NO_TENSOR;
        e.tensors[i] = is_seen ? id : TN_NO_TENSOR;
    }
    const tn_status status = tn_emitter_run(&e);
    for (uint32_t i = 0; i < e.node_count && status != TN_OK; i++)
        graph->nodes[e.nodes[i]].is_dead = true;
    TN_TRY(status);
    for (uint32_t i = 0; i < m->node_count; i++)
        if (!tn_matcher_stays(m, i)) graph->nodes[m->nodes[i]].is_dead = true;
    TN_TRY(tn_pass_names_add(m->context, &m->context->rewritten, name));
    return tn_graph_sort(graph);
}

static void log_refusal(const tn_matcher *m, const char *name, const char *reason) {
    snprintf(m->context->refused, sizeof m->context->refused, "%s", reason);
    tn_runtime_log(m->graph->runtime, TN_LOG_DEBUG, "rewrite '%s' is not applied at node '%s': %s",
                   m->entry->rewrite->name, name, reason);
}

static void start_matcher(const rewriter *r, const tn_rewrite_entry *entry) {
    *r->matcher = (tn_matcher){.context = r->context,
                               .graph = r->context->graph,
                               .entry = entry,
                               .pattern = entry->pattern,
                               .arena = r->matcher->arena};
}

/* What would have matched but for the value of a constant that is to be refitted. */
static tn_status note_hidden(rewriter *r, uint32_t node, const char *name) {
    tn_matcher *m = r->matcher;
    const char *hidden = m->hidden;
    const tn_rewrite_entry *entry = m->entry;
    if (!hidden || r->context->only) return TN_OK;
    start_matcher(r, entry);
    m->ignores_refit = true;
    if (!tn_matcher_find(m, node)) return m->status == TN_ERROR_MEMORY ? m->status : TN_OK;
    const char *why = tn_arena_format(r->context->graph->arena, "rewrite '%s' is not applied",
                                      entry->rewrite->name);
    return why ? tn_pass_note_refit(r->context, name, hidden, why) : tn_fail_memory("a rewrite");
}

/* Tries one rewrite on one node. */
static tn_status try_rewrite(rewriter *r, const tn_rewrite_entry *entry, uint32_t node,
                             bool *out_is_applied) {
    tn_matcher *m = r->matcher;
    const tn_graph *graph = r->context->graph;
    const char *name = graph->nodes[node].name;
    bool is_right = false;
    start_matcher(r, entry);
    if (!tn_matcher_find(m, node)) {
        if (m->status != TN_OK)
            return tn_error_at(m->status, "rewrite '%s' (library %s), node '%s'",
                               entry->rewrite->name, entry->library->name, name);
        if (m->reason[0]) log_refusal(m, name, m->reason);
        return note_hidden(r, node, name);
    }
    TN_TRY(tn_trial_run(m, name, &is_right, m->reason, sizeof m->reason));
    if (!is_right) {
        log_refusal(m, name, m->reason);
        return TN_OK;
    }
    /* the library may be gone when the report is written */
    const char *by = tn_arena_text(graph->arena, entry->rewrite->name);
    if (!by) return tn_fail_memory("a rewrite");
    *out_is_applied = true;
    TN_TRY(tn_pass_names_add(r->context, &r->context->rewritten_by, by));
    return tn_rewrite_replace(m, name, by);
}

static tn_status try_node(rewriter *r, uint32_t node, bool *out_is_applied) {
    const tn_graph *graph = r->context->graph;
    const tn_allocator *allocator = graph->allocator;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < r->count && !*out_is_applied && status == TN_OK; i++) {
        if (!tn_matcher_may_stand(r->entries[i]->pattern, &graph->nodes[node])) continue;
        TN_TRY(tn_arena_create(allocator, &r->matcher->arena));
        tn_arena *arena = r->matcher->arena;
        status = try_rewrite(r, r->entries[i], node, out_is_applied);
        tn_arena_destroy(arena);
    }
    return status;
}

static tn_status sweep(rewriter *r, bool *out_is_changed) {
    const tn_graph *graph = r->context->graph;
    for (size_t n = graph->node_count; n-- > 0;) {
        bool is_applied = false;
        if (n >= graph->node_count) n = graph->node_count - 1;
        TN_TRY(try_node(r, (uint32_t)n, &is_applied));
        *out_is_changed = *out_is_changed || is_applied;
        if (graph->node_count == 0) return TN_OK;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * which rewrites */

static bool is_off(const tn_pass_context *context, const tn_rewrite *rewrite) {
    for (uint32_t i = 0; i < context->without_count; i++)
        if (strcmp(context->without[i], rewrite->name) == 0) return true;
    return false;
}

static uint32_t size_of(const tn_rewrite_entry *entry) {
    return entry->pattern->least_nodes;
}

/* The longest pattern first; of equal ones the one that was registered first. */
static void sort_entries(const tn_rewrite_entry **entries, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        const tn_rewrite_entry *moved = entries[i];
        uint32_t at = i;
        for (; at > 0 && size_of(entries[at - 1]) < size_of(moved); at--)
            entries[at] = entries[at - 1];
        entries[at] = moved;
    }
}

static void choose_rewrites(rewriter *r) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const tn_rewrite_entry *entry = r->entries[i];
        const bool is_only = !r->context->only || r->context->only == entry;
        const bool stays = is_only && !is_off(r->context, entry->rewrite);
        r->entries[i] = r->entries[kept];
        r->entries[kept] = entry;
        kept += stays;
    }
    r->count = kept;
}

/* Which rewrites were read so far. */
typedef struct reading {
    const rewriter *rewriter;
    bool *is_read;
} reading;

/* Whether a node of the operator is there, or may be added by one of those that were read. */
static bool may_be_there(const void *user, const char *op, size_t length) {
    const reading *so_far = user;
    const rewriter *r = so_far->rewriter;
    const tn_graph *graph = r->context->graph;
    bool is_there = false;
    for (size_t n = 0; n < graph->node_count && !is_there; n++) {
        const char *name = graph->nodes[n].entry->op->name;
        is_there = *name == *op && strncmp(name, op, length) == 0 && name[length] == 0;
    }
    for (uint32_t i = 0; i < r->count && !is_there; i++)
        is_there = so_far->is_read[i] && tn_pattern_adds(r->entries[i]->pattern, op, length);
    return is_there;
}

/* Reads the patterns of the rewrites that may be applied, and leaves out the others, of which there
 * are most. */
static tn_status read_rewrites(rewriter *r) {
    const tn_graph *graph = r->context->graph;
    tn_status status = TN_OK;
    uint32_t kept = 0;
    bool is_changed = true, *is_read = tn_allocate_zero(graph->allocator, r->count + 1u, 1);
    const reading so_far = {r, is_read};
    if (!is_read) return tn_fail_memory("rewrites");
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = 0; i < r->count; i++) {
            const char *pattern = r->entries[i]->rewrite->pattern;
            if (is_read[i] || !tn_pattern_may_end(pattern, may_be_there, &so_far)) continue;
            TN_GO(tn_registry_read_rewrite(tn_runtime_registry(graph->runtime), r->entries[i]));
            is_read[i] = is_changed = true;
        }
    }
    for (uint32_t i = 0; i < r->count; i++) {
        const tn_rewrite_entry *entry = r->entries[i];
        if (!is_read[i]) continue;
        r->entries[i] = r->entries[kept]; /* all of them are given back */
        r->entries[kept++] = entry;
    }
    r->count = kept;
    sort_entries(r->entries, kept);
done:
    tn_deallocate(graph->allocator, is_read);
    return status;
}

/* A name that no rewrite has is a slip. */
static tn_status check_without(const rewriter *r, uint32_t held) {
    for (uint32_t i = 0; i < r->context->without_count; i++) {
        tn_nearest nearest;
        bool is_found = false;
        tn_nearest_init(&nearest, r->context->without[i]);
        for (uint32_t k = 0; k < held; k++) {
            tn_nearest_offer(&nearest, r->entries[k]->rewrite->name);
            is_found =
                is_found || strcmp(r->entries[k]->rewrite->name, r->context->without[i]) == 0;
        }
        if (!is_found)
            return tn_error_mend_nearest(
                tn_fail(TN_ERROR_NOT_FOUND, "there is no rewrite '%s'", r->context->without[i]),
                "; ", nearest.best);
    }
    return TN_OK;
}

/* Keeps the rewrites that folded constants would hide their nodes from, and folds the others. */
static tn_status choose_waiting(rewriter *r) {
    tn_pass_context *context = r->context;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const tn_rewrite_entry *entry = r->entries[i];
        if (!tn_pattern_reads_constants(entry->pattern, NULL)) continue;
        for (uint32_t k = i; k > kept; k--)
            r->entries[k] = r->entries[k - 1];
        r->entries[kept++] = entry;
    }
    r->count = kept;
    if (kept == 0) return TN_OK;
    context->waiting = r->entries;
    context->waiting_count = kept;
    const tn_status status = tn_pass_fold_constants(context);
    context->waiting = NULL;
    context->waiting_count = 0;
    return status;
}

static tn_status rewrite(tn_pass_context *context, bool before_folding) {
    tn_registry *registry = tn_runtime_registry(context->graph->runtime);
    rewriter r = {.context = context};
    tn_status status = TN_OK;
    uint32_t held = 0;
    bool is_changed = true;
    TN_TRY(tn_registry_rewrites(registry, &r.entries, &held));
    r.count = held;
    choose_rewrites(&r);
    r.matcher = tn_allocate_zero(context->graph->allocator, 1, sizeof *r.matcher);
    if (!r.matcher) TN_GO(tn_fail_memory("rewrites"));
    TN_GO(check_without(&r, held));
    TN_GO(read_rewrites(&r));
    if (before_folding) TN_GO(choose_waiting(&r));
    while (is_changed && r.count > 0) {
        is_changed = false;
        TN_GO(sweep(&r, &is_changed));
    }
    TN_GO(tn_graph_sort(context->graph));
done:
    tn_deallocate(context->graph->allocator, r.matcher);
    tn_registry_free_rewrites(registry, r.entries, held);
    return status;
}

tn_status tn_pass_rewrite(tn_pass_context *context) {
    return rewrite(context, false);
}

tn_status tn_pass_rewrite_constants(tn_pass_context *context) {
    return rewrite(context, true);
}
