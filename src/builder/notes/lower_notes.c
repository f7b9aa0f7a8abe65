/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says of a build whose precision allows a lower type: why a node reads and writes
 * nothing in it, and which tensors would need a scale for it. Looks at the choice when it is made
 * and changes nothing.
 */
#include "base/status.h"
#include "builder/choose/choose.h"
#include "builder/lower/lower_candidates.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_fit.h"
#include "builder/lower/lower_storages.h"
#include "builder/notes/lower_notes.h"

#include <math.h>
#include <string.h>

typedef struct note_taker {
    tn_lowering *lowering;
    const uint32_t *choice;
    uint32_t *written; /* by tensor: the number of the storage that it is made in */
    uint32_t *read;    /* by tensor: bits of the storages that it is read in */
    bool *would_lower; /* by tensor: what may_lower would be if each had a scale */
    bool *is_wanted;   /* by tensor: a kernel would take it, and it has no scale */
    tn_lower_note_item *notes;
} note_taker;

static const tn_candidate *chosen_of(const note_taker *taker, uint32_t node) {
    return &taker->lowering->nodes[node].candidates[taker->choice[node]];
}

static bool is_head(const note_taker *taker, uint32_t node) {
    return !taker->lowering->graph->nodes[node].is_dead && taker->choice[node] != TN_CHOOSE_NONE;
}

static uint32_t input_count(const note_taker *taker, uint32_t index,
                            const tn_candidate *candidate) {
    return taker->lowering->graph->nodes[index].input_count + tn_lower_operand_count(candidate);
}

/* An input or, after those, an operand; TN_NO_TENSOR for one that costs no conversion. */
static tn_tensor_id input_of(const note_taker *taker, uint32_t index, const tn_candidate *candidate,
                             uint32_t port, tn_storage *out_storage) {
    const tn_graph *graph = taker->lowering->graph;
    const tn_graph_node *node = &graph->nodes[index];
    tn_tensor_id id;
    if (port < node->input_count) {
        id = tn_lower_input(taker->lowering, index, candidate, port);
        *out_storage = candidate->inputs[port];
        if (tn_graph_input_port(node->entry->op, port)->flags & TN_PORT_SHAPE_ONLY)
            return TN_NO_TENSOR;
    } else {
        id = candidate->chain->operands[port - node->input_count];
        *out_storage = candidate->operands[port - node->input_count];
    }
    return id == TN_NO_TENSOR || graph->tensors[id].is_constant ? TN_NO_TENSOR : id;
}

static void note_uses(note_taker *taker) {
    const tn_lowering *lowering = taker->lowering;
    const tn_graph *graph = lowering->graph;
    for (size_t i = 0; i < graph->output_count; i++)
        taker->read[graph->outputs[i]] |= 1u;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!is_head(taker, n)) continue;
        const tn_candidate *candidate = chosen_of(taker, n);
        for (uint32_t i = 0; i < input_count(taker, n, candidate); i++) {
            tn_storage storage;
            tn_tensor_id id = input_of(taker, n, candidate, i, &storage);
            if (id != TN_NO_TENSOR)
                taker->read[id] |= 1u << tn_lower_storage_number(lowering, storage);
        }
        for (uint32_t i = 0; i < graph->nodes[n].output_count; i++) {
            tn_tensor_id id = tn_lower_output(lowering, n, candidate, i);
            if (id != TN_NO_TENSOR)
                taker->written[id] = tn_lower_storage_number(lowering, candidate->outputs[i]);
        }
    }
}

/* --- slower --- */

typedef struct candidate_cost {
    double ns;
    bool is_measured;
} candidate_cost;

static tn_status add_conversion(const note_taker *taker, tn_tensor_id tensor, tn_storage from,
                                tn_storage to, candidate_cost *cost) {
    double ns = 0;
    bool is_measured = false;
    if (from.type == to.type && from.format == to.format) return TN_OK;
    TN_TRY(tn_lower_reformat_cost(taker->lowering, tensor, from, to, &ns, &is_measured));
    cost->ns += ns;
    cost->is_measured = cost->is_measured && is_measured;
    return TN_OK;
}

static bool absorbs(const tn_candidate *candidate, uint32_t node) {
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        if (candidate->chain->nodes[i] == node) return true;
    return false;
}

/* The nodes of the chosen chain that a shorter one leaves over. */
static void add_rest(const note_taker *taker, uint32_t index, const tn_candidate *candidate,
                     candidate_cost *cost) {
    const tn_candidate *chosen = chosen_of(taker, index);
    for (uint32_t i = 0; i < chosen->chain_count; i++) {
        const tn_lower_node *rest = &taker->lowering->nodes[chosen->chain->nodes[i]];
        const tn_candidate *best = NULL;
        if (absorbs(candidate, chosen->chain->nodes[i])) continue;
        for (size_t c = 0; c < rest->candidate_count; c++)
            if (rest->candidates[c].chain_count == 0 &&
                (!best || rest->candidates[c].cost < best->cost))
                best = &rest->candidates[c];
        if (!best) continue;
        cost->ns += best->cost;
        cost->is_measured = cost->is_measured && best->is_measured;
    }
}

/* What a candidate of a node costs among the others as they were chosen, conversions included. */
static tn_status price_candidate(const note_taker *taker, uint32_t index,
                                 const tn_candidate *candidate, candidate_cost *out_cost) {
    const tn_lowering *lowering = taker->lowering;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    *out_cost = (candidate_cost){candidate->cost, candidate->is_measured};
    for (uint32_t i = 0; i < input_count(taker, index, candidate); i++) {
        tn_storage storage;
        tn_tensor_id id = input_of(taker, index, candidate, i, &storage);
        if (id != TN_NO_TENSOR)
            TN_TRY(add_conversion(taker, id, tn_lower_storage_at(lowering, taker->written[id]),
                                  storage, out_cost));
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        tn_tensor_id id = tn_lower_output(lowering, index, candidate, i);
        uint32_t read = id == TN_NO_TENSOR ? 0 : taker->read[id] ? taker->read[id] : 1u;
        for (uint32_t s = 0; s < tn_lower_storage_count(lowering); s++)
            if (read & 1u << s)
                TN_TRY(add_conversion(taker, id, candidate->outputs[i],
                                      tn_lower_storage_at(lowering, s), out_cost));
    }
    add_rest(taker, index, candidate, out_cost);
    return TN_OK;
}

/* The best candidate in the lower type against the chosen one; false when there is none. */
static tn_status compare_candidates(const note_taker *taker, uint32_t index,
                                    bool *out_has_candidate) {
    const tn_lower_node *lowered = &taker->lowering->nodes[index];
    const tn_candidate *chosen = chosen_of(taker, index);
    candidate_cost best = {INFINITY, false}, own;
    *out_has_candidate = false;
    for (size_t c = 0; c < lowered->candidate_count; c++) {
        const tn_candidate *candidate = &lowered->candidates[c];
        candidate_cost cost;
        if (!tn_lower_covers(chosen, candidate) ||
            !tn_lower_is_lowered(taker->lowering, index, candidate))
            continue;
        TN_TRY(price_candidate(taker, index, candidate, &cost));
        if (cost.ns < best.ns) best = cost;
        *out_has_candidate = true;
    }
    if (!*out_has_candidate) return TN_OK;
    TN_TRY(price_candidate(taker, index, chosen, &own));
    taker->notes[index] = (tn_lower_note_item){.reason = TN_LOWER_SLOWER,
                                               .tensor = TN_NO_TENSOR,
                                               .lower_ns = best.ns,
                                               .chosen_ns = own.ns,
                                               .is_measured = best.is_measured && own.is_measured};
    return TN_OK;
}

/* --- no candidate --- */

static bool names_type(const tn_combination *combination, tn_type type) {
    const tn_type named = type == TN_I8 ? TN_STORED_QI8 : type;
    for (int side = 0; side < 2; side++) {
        uint32_t count = side == 0 ? combination->input_count : combination->output_count;
        const tn_combination_port *ports = side == 0 ? combination->inputs : combination->outputs;
        for (uint32_t i = 0; i < count; i++)
            if (!ports[i].is_every && ports[i].types & TN_TYPE_BIT(named)) return true;
    }
    return false;
}

/* Notes the tensors without a scale of one combination that would fit if they had one. */
static tn_status note_wanted(const note_taker *taker, uint32_t index, const tn_candidate *candidate,
                             const tn_combination *combination, bool *out_fits) {
    tn_lowering would = *taker->lowering;
    tn_lower_precision precision = *would.precision;
    const tn_lowering *lowering = &would;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    uint32_t operands = tn_lower_operand_count(candidate);
    size_t count = (size_t)node->input_count + node->output_count + operands;
    tn_storage *storages = tn_arena_allocate(lowering->arena, count + 1, sizeof *storages);
    if (!storages) return tn_fail_memory("the notes of a build");
    precision.may_lower = taker->would_lower;
    would.precision = &precision;
    TN_TRY(tn_lower_ports(&would, index, candidate, combination, precision.lower_type, storages,
                          out_fits));
    for (uint32_t i = 0; *out_fits && i < count; i++) {
        tn_tensor_id id =
            i < node->input_count ? tn_lower_input(lowering, index, candidate, i)
            : i < node->input_count + node->output_count
                ? tn_lower_output(lowering, index, candidate, i - node->input_count)
                : candidate->chain->operands[i - node->input_count - node->output_count];
        if (storages[i].type == TN_NONE || id == TN_NO_TENSOR ||
            taker->lowering->precision->may_lower[id])
            continue;
        taker->is_wanted[id] = true;
        if (taker->notes[index].tensor == TN_NO_TENSOR) taker->notes[index].tensor = id;
    }
    return TN_OK;
}

/* The kernels that name the type, and what they would need. */
static tn_status note_kernels(const note_taker *taker, uint32_t index) {
    tn_lowering *lowering = taker->lowering;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_lower_kernels *kernels = NULL;
    tn_lower_note_item *note = &taker->notes[index];
    note->tensor = TN_NO_TENSOR;
    note->reason = TN_LOWER_NO_KERNEL;
    TN_TRY(tn_lower_kernels_of(lowering, node->entry->op, tn_lower_has_device(lowering), &kernels));
    for (uint32_t k = 0; k < kernels->count; k++) {
        const tn_lower_fit *fit = NULL;
        TN_TRY(tn_lower_fit_of(lowering, index, kernels->entries[k], &fit));
        for (uint32_t c = 0; c < fit->combination_count; c++) {
            bool fits = false;
            if (!names_type(&fit->combinations[c], lowering->precision->lower_type)) continue;
            if (note->reason == TN_LOWER_NO_KERNEL) note->reason = TN_LOWER_NO_FIT;
            TN_TRY(
                note_wanted(taker, index, chosen_of(taker, index), &fit->combinations[c], &fits));
        }
    }
    if (note->tensor != TN_NO_TENSOR) note->reason = TN_LOWER_NO_SCALE;
    return TN_OK;
}

static bool is_kept(const note_taker *taker, uint32_t index) {
    const bool *kept = taker->lowering->options->is_kept;
    const tn_candidate *chosen = chosen_of(taker, index);
    bool is = kept && kept[index];
    for (uint32_t i = 0; kept && i < chosen->chain_count; i++)
        is = is || kept[chosen->chain->nodes[i]];
    return is;
}

/* Nodes of floats alone: others have no lower type. */
static bool has_floats(const note_taker *taker, uint32_t index) {
    const tn_lowering *lowering = taker->lowering;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR && lowering->facts->types[node->outputs[i]] == TN_F32)
            return true;
    return false;
}

static tn_status note_node(const note_taker *taker, uint32_t index) {
    const tn_candidate *chosen = chosen_of(taker, index);
    bool has_candidate = false;
    if (chosen->kind != TN_STEP_KERNEL || chosen->is_host || !has_floats(taker, index) ||
        tn_lower_is_lowered(taker->lowering, index, chosen))
        return TN_OK;
    if (is_kept(taker, index)) {
        taker->notes[index].reason = TN_LOWER_KEPT;
        return TN_OK;
    }
    TN_TRY(compare_candidates(taker, index, &has_candidate));
    return has_candidate ? TN_OK : note_kernels(taker, index);
}

static const char *why_of(const tn_lower_note_item *note, tn_arena *arena, const char *type) {
    switch (note->reason) {
    case TN_LOWER_KEPT:
        return tn_arena_text(arena, "kept by the caller");
    case TN_LOWER_NO_KERNEL:
        return tn_arena_format(arena, "no kernel with %s", type);
    case TN_LOWER_NO_FIT:
        return tn_arena_format(arena, "no kernel with %s takes this node", type);
    case TN_LOWER_NO_SCALE:
        return tn_arena_text(arena, "no scale");
    default:
        return tn_arena_format(arena, "slower in %s", type);
    }
}

static const char *text_of(const note_taker *taker, const tn_lower_note_item *note,
                           tn_arena *arena) {
    if (note->reason == TN_LOWER_NO_SCALE)
        return tn_arena_format(arena,
                               "no scale for tensor '%s': calibrate with inputs, or give a table "
                               "that names it",
                               taker->lowering->graph->tensors[note->tensor].name);
    if (note->reason == TN_LOWER_SLOWER)
        return tn_arena_format(arena, "%s: %.0f ns with its conversions, %.0f ns as it is%s",
                               note->why, note->lower_ns, note->chosen_ns,
                               note->is_measured ? "" : ", by estimate");
    return note->why;
}

static tn_status put_in_words(const note_taker *taker, uint32_t index, tn_arena *arena) {
    const tn_type type = taker->lowering->precision->lower_type;
    tn_lower_note_item *note = &taker->notes[index];
    if (note->reason == TN_LOWER_DONE) return TN_OK;
    note->why = why_of(note, arena, type == TN_I8 ? "int8" : tn_type_name(type));
    note->text = note->why ? text_of(taker, note, arena) : NULL;
    return note->text ? TN_OK : tn_fail_memory("the notes of a build");
}

/* The list of tensors that lack a scale. */
static tn_status list_wanted(const note_taker *taker, tn_arena *arena, tn_lower_notes *notes) {
    size_t count = 0;
    for (size_t t = 0; t < taker->lowering->graph->tensor_count; t++)
        count += taker->is_wanted[t];
    notes->without_scale = tn_arena_allocate(arena, count + 1, sizeof *notes->without_scale);
    if (!notes->without_scale) return tn_fail_memory("the notes of a build");
    for (uint32_t t = 0; t < taker->lowering->graph->tensor_count; t++)
        if (taker->is_wanted[t]) notes->without_scale[notes->without_scale_count++] = t;
    return TN_OK;
}

tn_status tn_lower_note(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_lower_notes *out_notes) {
    size_t tensors = lowering->graph->tensor_count + 1;
    note_taker taker = {.lowering = lowering, .choice = choice};
    *out_notes = (tn_lower_notes){.type = lowering->precision->lower_type};
    taker.written = tn_arena_allocate(lowering->arena, tensors, sizeof *taker.written);
    taker.read = tn_arena_allocate(lowering->arena, tensors, sizeof *taker.read);
    taker.would_lower = tn_arena_allocate(lowering->arena, tensors, sizeof(bool));
    taker.is_wanted = tn_arena_allocate(lowering->arena, tensors, sizeof(bool));
    taker.notes = tn_arena_allocate(arena, lowering->graph->node_count + 1, sizeof *taker.notes);
    if (!taker.written || !taker.read || !taker.would_lower || !taker.is_wanted || !taker.notes)
        return tn_fail_memory("the notes of a build");
    out_notes->nodes = taker.notes;
    if (lowering->precision->lower_type == TN_NONE) return list_wanted(&taker, arena, out_notes);
    for (size_t t = 0; t < lowering->graph->tensor_count; t++)
        taker.would_lower[t] =
            lowering->precision->may_lower[t] || lowering->precision->lacks_scale[t];
    note_uses(&taker);
    for (uint32_t n = 0; n < lowering->graph->node_count; n++)
        if (is_head(&taker, n)) {
            TN_TRY(note_node(&taker, n));
            TN_TRY(put_in_words(&taker, n, arena));
        }
    return list_wanted(&taker, arena, out_notes);
}
