/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference of sequences and optionals: descriptors of what their items have in common, which are
 * no shapes, outputs whose shapes depend on items that are not there before a run, and the items
 * themselves where every value is computed.
 */
#include "base/status.h"
#include "graph/infer_private.h"
#include "plugin/sequences/items.h"

#include <inttypes.h>

static bool is_rank(uint32_t rank) {
    return rank <= TN_MAX_RANK || rank == TN_RANK_UNKNOWN;
}

tn_status tn_infer_take_items(tn_inferred_tensor *inferred, const tn_port *port, uint32_t kind) {
    const tn_tensor given = inferred->storage.tensor;
    if (given.shape != inferred->storage.shape.extents || given.kind != kind || given.data)
        return tn_fail(TN_ERROR_PLUGIN,
                       "the kind, the data or the pointer to the shape of output '%s' was replaced",
                       port->name);
    if (!is_rank(given.rank))
        return tn_fail(TN_ERROR_PLUGIN,
                       "the items of output '%s' were given rank %" PRIu32 "; at most %d fits",
                       port->name, given.rank, TN_MAX_RANK);
    for (uint32_t axis = 0; given.rank != TN_RANK_UNKNOWN && axis < given.rank; axis++)
        if (given.shape[axis] < -1)
            return tn_fail(TN_ERROR_PLUGIN,
                           "the items of output '%s' were given the extent %" PRId64
                           " at axis %" PRIu32 ": expected -1 where it is not known",
                           port->name, given.shape[axis], axis);
    tn_items_describe(&inferred->storage, &given, given.rank, given.shape);
    inferred->is_described = true;
    return TN_OK;
}

static bool reads_unknown_items(const tn_graph_node *node, const tn_tensor *const *inputs) {
    for (uint32_t i = 0; i < node->input_count; i++)
        if (inputs[i] && inputs[i]->kind && !inputs[i]->data) return true;
    return false;
}

bool tn_infer_guess_open(const tn_graph_node *node, const tn_tensor *const *inputs,
                         tn_tensor *output) {
    enum { GUESS = 2 }; /* not 1, which may be broadcast and squeezed */
    if (!reads_unknown_items(node, inputs)) return true;
    for (uint32_t axis = 0; output->rank <= TN_MAX_RANK && axis < output->rank; axis++)
        if (output->shape[axis] == -1) output->shape[axis] = GUESS;
    return output->rank != TN_RANK_UNKNOWN;
}

/* ----------------------------------------------------------------------------------------------
 * lists that are computed */

struct tn_inference_lists {
    tn_item_store store;
    size_t count;
    tn_items *items; /* by tensor */
};

static tn_status make_lists(tn_inference *inference) {
    const size_t count = inference->tensor_count;
    struct tn_inference_lists *lists = tn_allocate_zero(inference->allocator, 1, sizeof *lists);
    if (!lists) return tn_fail_memory("lists of items");
    lists->store.allocator = inference->allocator;
    lists->items = tn_allocate_zero(inference->allocator, count + 1, sizeof(*lists->items));
    inference->scratch->lists = lists;
    if (!lists->items) return tn_fail_memory("lists of items");
    lists->count = count;
    for (size_t t = 0; t < count; t++)
        lists->items[t].store = &lists->store;
    return TN_OK;
}

tn_status tn_infer_open_items(tn_inference *inference, tn_tensor_id tensor) {
    if (!inference->scratch->lists) TN_TRY(make_lists(inference));
    tn_items *items = &inference->scratch->lists->items[tensor];
    tn_items_clear(items);
    items->is_open = true;
    inference->tensors[tensor].storage.tensor.data = items;
    return TN_OK;
}

tn_status tn_infer_take_list(tn_inference *inference, tn_tensor_id tensor,
                             const struct tn_items *given) {
    TN_TRY(tn_infer_open_items(inference, tensor));
    tn_items *items = &inference->scratch->lists->items[tensor];
    items->is_open = false;
    TN_TRY(tn_items_share_all(items, given));
    tn_items_summarize(items, &inference->tensors[tensor].storage);
    return TN_OK;
}

void tn_infer_close_items(tn_inference *inference, const tn_graph_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == TN_NO_TENSOR || !tn_graph_output_kind(node, i)) continue;
        tn_items *items = &inference->scratch->lists->items[node->outputs[i]];
        items->is_open = false;
        tn_items_summarize(items, &inference->tensors[node->outputs[i]].storage);
    }
}

void tn_infer_lists_destroy(struct tn_inference_lists *lists, const tn_allocator *allocator) {
    if (!lists) return;
    for (size_t t = 0; t < lists->count; t++)
        tn_items_deinit(&lists->items[t]);
    tn_item_store_deinit(&lists->store);
    tn_deallocate(allocator, lists->items);
    tn_deallocate(allocator, lists);
}

void tn_inference_set_items(tn_inference *inference, tn_tensor_id tensor, const tn_tensor *items) {
    tn_inferred_tensor *inferred = &inference->tensors[tensor];
    tn_items_describe(&inferred->storage, items, items->rank, items->shape);
    inferred->storage.tensor.data = items->data;
    inferred->is_described = true;
}
