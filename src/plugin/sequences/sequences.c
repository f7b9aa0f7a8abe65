/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what libraries ask of sequences and optionals; see sequences.h. */
#include "plugin/sequences/sequences.h"
#include "base/status.h"
#include "plugin/sequences/items.h"
#include "plugin/sequences/kinds.h"

#include <tenon/plugin/string.h>

#include <string.h>

/* "sequence", "map": without its article. */
static const char *kind_name(const tn_tensor *tensor) {
    const char *name = tn_kind_name(tensor->kind), *end = strchr(name, ' ');
    return end ? end + 1 : name;
}

static bool is_input(const tn_call *call, const tn_tensor *tensor) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i] == tensor) return true;
    return false;
}

/* What a body of the node has computed, or is given: its descriptor is the operator's. */
static bool is_of_body(const tn_call *call, const tn_tensor *tensor) {
    bool has_bodies = false; /* the registry's copy of the table has fields of today's size */
    for (uint32_t i = 0; i < call->op->field_count; i++)
        has_bodies = has_bodies || call->op->fields[i].type == TN_FIELD_GRAPH;
    return has_bodies && tensor->kind != TN_KIND_DENSE && tensor->data;
}

static bool is_output(const tn_call *call, const tn_tensor *tensor) {
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i] == tensor) return true;
    return false;
}

/* The list of one of the call's tensors. */
static tn_status find_items(tn_call *call, const tn_tensor *tensor, bool is_written,
                            tn_items **out_items) {
    if (!tensor || !(is_output(call, tensor) ||
                     (!is_written && (is_input(call, tensor) || is_of_body(call, tensor)))))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the tensor is not %s of this call",
                                is_written ? "an output" : "an input or output");
    if (tensor->kind == TN_KIND_DENSE)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "tensor '%s' is dense: expected a sequence, an optional or a map",
                                tensor->name);
    if (!tensor->data)
        return call->host->fail(call, TN_ERROR_STATE,
                                "the items of tensor '%s' are not known before the run",
                                tensor->name);
    *out_items = tensor->data;
    if (is_written && !(*out_items)->is_open)
        return call->host->fail(call, TN_ERROR_STATE,
                                "an item is added to tensor '%s' outside of the reference and run",
                                tensor->name);
    return TN_OK;
}

static tn_status find_item(tn_call *call, const tn_tensor *tensor, uint64_t index,
                           tn_item **out_item) {
    tn_items *items = NULL;
    TN_TRY(find_items(call, tensor, false, &items));
    if (index >= items->count)
        return call->host->fail(call, TN_ERROR_RANGE, "%s '%s' has %zu items, and no item %llu",
                                kind_name(tensor), tensor->name, items->count,
                                (unsigned long long)index);
    *out_item = items->items[index];
    return TN_OK;
}

static tn_status length(tn_call *call, const tn_tensor *tensor, uint64_t *out_length) {
    tn_items *items = NULL;
    TN_TRY(find_items(call, tensor, false, &items));
    if (!out_length)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there is nowhere to write the length to");
    *out_length = items->count;
    return TN_OK;
}

static tn_status item(tn_call *call, const tn_tensor *tensor, uint64_t index,
                      const tn_tensor **out_item) {
    tn_item *found = NULL;
    TN_TRY(find_item(call, tensor, index, &found));
    if (!out_item)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there is nowhere to write the item to");
    *out_item = tn_item_tensor(found);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * adding */

static tn_status check_capacity(tn_call *call, const tn_tensor *output, const tn_items *items) {
    const size_t most = tn_items_most(output->kind);
    if (items->count < most) return TN_OK;
    return call->host->fail(call, TN_ERROR_RANGE, "%s '%s' has %zu items already: it may have %zu",
                            kind_name(output), output->name, items->count, most);
}

/* Against what the shape rule said of all items. */
static tn_status check_shape(tn_call *call, const tn_tensor *output, const tn_items *items,
                             const tn_shape *shape) {
    bool fits = output->rank == TN_RANK_UNKNOWN || output->rank == shape->rank;
    if (tn_kind_is_map(output->kind)) {
        const tn_status status = tn_items_check_next(items, output, shape);
        return status == TN_OK ? TN_OK
                               : call->host->fail(call, status, "%s", tn_last_error()->message);
    }
    if (output->rank == TN_RANK_UNKNOWN) return TN_OK;
    for (uint32_t axis = 0; fits && axis < shape->rank; axis++)
        fits = output->shape[axis] < 0 || output->shape[axis] == shape->extents[axis];
    if (fits) return TN_OK;
    char said[TN_SHAPE_TEXT_BYTES], given[TN_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "item %zu of %s '%s' has shape %s: the shape rule said %s",
                            items->count, kind_name(output), output->name,
                            tn_shape_print(shape->rank, shape->extents, given, sizeof(given)),
                            tn_shape_print(output->rank, output->shape, said, sizeof(said)));
}

static tn_status failed(tn_call *call, tn_status status) {
    return status == TN_OK ? TN_OK : call->host->fail(call, status, "%s", tn_last_error()->message);
}

/* An item of strings, or of numbers where `heap_bytes` is null. */
static tn_status append(tn_call *call, tn_tensor *output, uint32_t rank, const int64_t *extents,
                        const uint64_t *heap_bytes, void **out_data) {
    tn_items *items = NULL;
    tn_shape shape;
    TN_TRY(find_items(call, output, true, &items));
    if (!out_data || (rank > 0 && !extents))
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "an item of '%s' is added without extents, or with nowhere to "
                                "write its memory to",
                                output->name);
    TN_TRY(failed(call, tn_shape_set(&shape, rank, extents)));
    TN_TRY(check_shape(call, output, items, &shape));
    TN_TRY(check_capacity(call, output, items));
    const tn_type type = tn_items_type_at(output, items->count);
    if ((type == TN_STRING) != (heap_bytes != NULL))
        return call->host->fail(call, TN_ERROR_TYPE,
                                "item %zu of %s '%s' is of type %s: expected %s", items->count,
                                kind_name(output), output->name, tn_type_name(type),
                                heap_bytes ? "append for it" : "append_strings for it");
    return failed(call,
                  tn_items_append(items, type, &shape, heap_bytes ? *heap_bytes : 0, out_data));
}

static tn_status append_dense(tn_call *call, tn_tensor *output, uint32_t rank,
                              const int64_t *extents, void **out_data) {
    return append(call, output, rank, extents, NULL, out_data);
}

static tn_status append_strings(tn_call *call, tn_tensor *output, uint32_t rank,
                                const int64_t *extents, uint64_t heap_bytes,
                                tn_string **out_elements, char **out_heap) {
    void *data = NULL;
    if (!out_elements || !out_heap)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "there is nowhere to write the memory of strings to");
    TN_TRY(append(call, output, rank, extents, &heap_bytes, &data));
    const tn_items *items = output->data;
    const tn_tensor *item = tn_item_tensor(items->items[items->count - 1]);
    *out_elements = data;
    *out_heap = (char *)data + item->bytes;
    return TN_OK;
}

static tn_status append_item(tn_call *call, tn_tensor *output, const tn_tensor *input,
                             uint64_t index) {
    tn_items *items = NULL;
    tn_item *found = NULL;
    tn_shape shape;
    TN_TRY(find_items(call, output, true, &items));
    if (input != output && !is_input(call, input) && !is_of_body(call, input))
        return call->host->fail(call, TN_ERROR_ARGUMENT, "the item is of no input of this call");
    TN_TRY(find_item(call, input, index, &found));
    const tn_tensor *tensor = tn_item_tensor(found);
    const tn_type type = tn_items_type_at(output, items->count);
    if (tensor->type != type)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "an item of type %s of '%s' is added to %s '%s' of type %s",
                                tn_type_name(tensor->type), input->name, kind_name(output),
                                output->name, tn_type_name(type));
    TN_TRY(failed(call, tn_shape_set(&shape, tensor->rank, tensor->shape)));
    TN_TRY(check_shape(call, output, items, &shape));
    TN_TRY(check_capacity(call, output, items));
    return failed(call, tn_items_share(items, found));
}

/* ----------------------------------------------------------------------------------------------
 * optionals */

static tn_status has_element(tn_call *call, const tn_tensor *tensor, bool *out_has_element) {
    tn_items *items = NULL;
    TN_TRY(find_items(call, tensor, false, &items));
    if (!out_has_element)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there is nowhere to write the answer to");
    if (tensor->kind != TN_KIND_OPTIONAL && tensor->kind != TN_KIND_OPTIONAL_SEQUENCE)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "tensor '%s' is %s, of which there is no telling whether it has an "
                                "element: expected an optional",
                                tensor->name, tn_kind_name(tensor->kind));
    *out_has_element = items->has_element;
    return TN_OK;
}

static tn_status set_element(tn_call *call, tn_tensor *output) {
    tn_items *items = NULL;
    TN_TRY(find_items(call, output, true, &items));
    if (output->kind != TN_KIND_OPTIONAL_SEQUENCE)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "tensor '%s' is %s: expected an optional of a sequence",
                                output->name, tn_kind_name(output->kind));
    items->has_element = true;
    return TN_OK;
}

const tn_sequence_service *tn_sequence_service_table(void) {
    static const tn_sequence_service table = {.size = sizeof(table),
                                              .length = length,
                                              .item = item,
                                              .append = append_dense,
                                              .append_item = append_item,
                                              .append_strings = append_strings,
                                              .has_element = has_element,
                                              .set_element = set_element};
    return &table;
}
