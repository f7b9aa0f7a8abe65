/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a layer to nodes: axes, tops and rows of operators. The layers' files say what; this says
 * how it gets into the graph.
 */
#include "importers/caffe/layer.h"
#include "base/status.h"

#include <inttypes.h>

/* ----------------------------------------------------------------------------------------------
 * axes and extents */

int64_t tn_caffe_multiply(int64_t a, int64_t b) {
    int64_t product;
    return a < 0 || b < 0 || !tn_mul_i64(a, b, &product) ? -1 : product;
}

int64_t tn_caffe_inner_extent(const tn_caffe_value *value, uint32_t axis) {
    int64_t product = tn_caffe_has_rank(value) ? 1 : -1;
    for (uint32_t i = axis; tn_caffe_has_rank(value) && i < value->rank; i++)
        product = tn_caffe_multiply(product, value->extents[i]);
    return product;
}

tn_status tn_caffe_require_rank(const tn_caffe_value *value) {
    if (tn_caffe_has_rank(value)) return TN_OK;
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "this layer needs the rank of its bottom, which is not known after a plugin's "
                   "layer");
}

tn_status tn_caffe_check_rank(const tn_caffe_layer *layer, uint32_t rank, bool is_least) {
    const uint32_t found = layer->bottoms[0].rank;
    if (found == UINT32_MAX || found == rank || (is_least && found > rank)) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; %s%" PRIu32 " is expected",
                   found, is_least ? "at least " : "", rank);
}

tn_status tn_caffe_axis(const tn_caffe_layer *layer, const char *field, int64_t axis,
                        uint32_t *out_axis) {
    const tn_caffe_value *x = &layer->bottoms[0];
    if (!tn_caffe_has_rank(x) && axis >= 0 && axis < TN_MAX_RANK) {
        *out_axis = (uint32_t)axis;
        return TN_OK;
    }
    TN_TRY(tn_caffe_require_rank(x));
    const int64_t rank = (int64_t)x->rank;
    if (axis < -rank || axis >= rank)
        return tn_fail(TN_ERROR_RANGE,
                       "%s is %" PRId64 "; the bottom has rank %" PRIu32
                       ", so it goes from %" PRId64 " to %" PRId64,
                       field, axis, x->rank, -rank, rank - 1);
    *out_axis = (uint32_t)(axis < 0 ? axis + rank : axis);
    return TN_OK;
}

tn_status tn_caffe_axis_read(const tn_caffe_layer *layer, int64_t fallback, uint32_t *out_axis) {
    const int64_t axis = tn_prototext_integer(layer->params, "axis", fallback);
    return tn_caffe_axis(layer, "axis", axis, out_axis);
}

tn_status tn_caffe_output_count(const tn_caffe_layer *layer, int64_t *out_count) {
    *out_count = tn_prototext_integer(layer->params, "num_output", 0);
    if (*out_count >= 1) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "num_output is %" PRId64 "; at least 1 is expected", *out_count);
}

/* ----------------------------------------------------------------------------------------------
 * tops */

/* The last value of a blob has the blob's name, those before it have their layer's too; but an
 * input keeps its name. */
const char *tn_caffe_top_name(const tn_caffe_layer *layer, uint32_t top) {
    const tn_caffe_reader *reader = layer->reader;
    const char *blob = layer->top_names[top];
    uint64_t last;
    bool is_last = tn_map_get(reader->last_writers, blob, &last) && (size_t)last == layer->index;
    if (is_last && !tn_import_has_tensor(reader->graph, blob)) return blob;
    return tn_emit_free_name(layer->emit,
                             tn_arena_format(reader->arena, "%s@%s", blob, layer->name));
}

tn_status tn_caffe_top(const tn_caffe_layer *layer, uint32_t top, const char *op,
                       const tn_emit_fields *fields, tn_emit_tensors inputs,
                       const tn_caffe_value *shape) {
    tn_caffe_value value = *shape;
    TN_TRY(layer->emit->status);
    const char *name = tn_caffe_top_name(layer, top);
    TN_TRY(tn_emit_node(layer->emit, layer->name, op, fields, inputs, 1, &name, &value.tensor));
    return tn_caffe_set_value(layer->reader, layer->top_names[top], &value);
}

tn_status tn_caffe_map(const tn_caffe_layer *layer, const char *op, const tn_emit_fields *fields) {
    const tn_caffe_value *x = &layer->bottoms[0];
    return tn_caffe_top(layer, 0, op, fields, TN_TENSORS(x->tensor), x);
}

tn_status tn_caffe_tops(const tn_caffe_layer *layer, uint32_t count, const char *op,
                        const tn_emit_fields *fields, tn_emit_tensors inputs,
                        const tn_caffe_value *shapes, uint32_t inner_count,
                        const char *const *inner_parts, tn_import_tensor *out_inner) {
    const uint32_t all = count + inner_count;
    const char **names = tn_arena_allocate(layer->reader->arena, all, sizeof(*names));
    tn_import_tensor *outputs = tn_arena_allocate(layer->reader->arena, all, sizeof(*outputs));
    TN_TRY(layer->emit->status);
    if (!names || !outputs) return tn_fail_memory("a node");
    for (uint32_t i = 0; i < all; i++)
        names[i] = i < count ? tn_caffe_top_name(layer, i)
                             : tn_emit_name(layer->emit, inner_parts[i - count]);
    TN_TRY(tn_emit_node(layer->emit, layer->name, op, fields, inputs, all, names, outputs));
    for (uint32_t i = 0; i < count; i++) {
        tn_caffe_value value = shapes[i];
        value.tensor = outputs[i];
        TN_TRY(tn_caffe_set_value(layer->reader, layer->top_names[i], &value));
    }
    for (uint32_t i = 0; i < inner_count; i++)
        out_inner[i] = outputs[count + i];
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * rows of operators */

void tn_caffe_chain_add(tn_caffe_chain *chain, const char *op, const char *part,
                        tn_import_tensor operand) {
    const uint32_t index = chain->count++;
    chain->links[index].op = op;
    chain->links[index].part = part;
    chain->links[index].operand = operand;
}

void tn_caffe_chain_scalar(const tn_caffe_layer *layer, tn_caffe_chain *chain, const char *op,
                           const char *part, double operand) {
    tn_caffe_chain_add(chain, op, part, tn_emit_scalar(layer->emit, part, operand));
}

tn_status tn_caffe_chain_emit(const tn_caffe_layer *layer, const tn_caffe_chain *chain,
                              tn_import_tensor from, const tn_caffe_value *shape) {
    if (chain->count == 0) return tn_caffe_top(layer, 0, "Identity", NULL, TN_TENSORS(from), shape);
    for (uint32_t i = 0;; i++) {
        const tn_import_tensor pair[2] = {from, chain->links[i].operand};
        const tn_emit_tensors inputs = {pair[1] == TN_IMPORT_NO_TENSOR ? 1 : 2, pair};
        if (i + 1 == chain->count)
            return tn_caffe_top(layer, 0, chain->links[i].op, NULL, inputs, shape);
        from = tn_emit(layer->emit, chain->links[i].part, chain->links[i].op, NULL, inputs);
    }
}
