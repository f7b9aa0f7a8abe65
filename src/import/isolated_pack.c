/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph that was read, as records for another process: what a reader would have to call to make
 * the same graph. Constants' data goes into a file, other than what lies in a file of the model's
 * folder. isolated_unpack.c reads it.
 */
#include "base/status.h"
#include "graph/body.h"
#include "import/isolated.h"

#include <string.h>

typedef struct packing {
    const tn_reading *reading;
    tn_isolated_writer records;
    int file;
    uint64_t begin, used; /* of the data in the file */
    tn_status status;     /* of the first write that failed */
} packing;

/* ----------------------------------------------------------------------------------------------
 * data */

static bool find_file(const tn_reading *reading, const void *data, size_t bytes, uint32_t *out_file,
                      uint64_t *out_offset) {
    const uintptr_t begin = (uintptr_t)data;
    for (size_t i = 0; i < reading->file_count; i++) {
        const tn_reading_file *file = &reading->files[i];
        const uintptr_t from = (uintptr_t)file->data;
        if (!file->is_kept || !file->name || begin < from || begin - from > file->bytes ||
            bytes > file->bytes - (begin - from))
            continue;
        *out_file = (uint32_t)i;
        *out_offset = begin - from;
        return true;
    }
    return false;
}

/* Where it lies: 0: the file in memory; 1 + a file of the list. */
static void put_data(packing *p, const void *data, size_t bytes) {
    uint32_t file = 0;
    uint64_t offset = 0;
    const bool is_in_file = bytes > 0 && find_file(p->reading, data, bytes, &file, &offset);
    if (!is_in_file) {
        offset = p->used;
        if (p->status == TN_OK)
            p->status = tn_isolated_write(p->file, data, bytes, p->begin + offset);
        p->used = (p->used + bytes + 63) / 64 * 64;
    }
    tn_isolated_put_u32(&p->records, is_in_file ? 1 + file : 0);
    tn_isolated_put_u64(&p->records, offset);
    tn_isolated_put_u64(&p->records, bytes);
}

static void put_shape(packing *p, bool has_shape, const tn_shape *shape) {
    tn_isolated_put_u32(&p->records, has_shape ? shape->rank : UINT32_MAX);
    if (has_shape)
        tn_isolated_put(&p->records, shape->extents, shape->rank * sizeof(*shape->extents));
}

/* ----------------------------------------------------------------------------------------------
 * parts of a graph */

static void put_graph(packing *p, const tn_graph *graph);

static void put_tensor(packing *p, const tn_graph_tensor *tensor) {
    const uint32_t kind = tensor->is_constant ? 2 : !tensor->is_input ? 0 : tensor->kind ? 3 : 1;
    tn_isolated_put_u32(&p->records, kind);
    tn_isolated_put_text(&p->records, tensor->name);
    if (kind == 0) return;
    tn_isolated_put_u32(&p->records, tensor->type);
    if (kind == 3) {
        tn_isolated_put_u32(&p->records, tensor->kind);
        tn_isolated_put_u32(&p->records, tensor->key_type);
        return;
    }
    put_shape(p, tensor->has_shape, &tensor->shape);
    for (uint32_t i = 0; kind == 1 && tensor->has_shape && i < tensor->shape.rank; i++)
        tn_isolated_put_text(&p->records, tensor->extent_names[i]);
    if (kind == 2) put_data(p, tensor->data, tensor->bytes);
}

static void put_tensor_value(packing *p, const tn_tensor *tensor) {
    tn_isolated_put_u32(&p->records, tensor->type);
    tn_isolated_put_u32(&p->records, tensor->rank);
    tn_isolated_put(&p->records, tensor->shape, tensor->rank * sizeof(*tensor->shape));
    put_data(p, tensor->data, (size_t)tensor->bytes);
}

static void put_body(packing *p, const tn_graph_body *body) {
    const uint32_t count = body->view.capture_count;
    tn_isolated_put_u64(&p->records, count);
    tn_isolated_put(&p->records, body->outer, count * sizeof(*body->outer));
    put_graph(p, body->graph);
}

/* What bodies captured is theirs to say. */
static uint32_t capture_count(const tn_graph_node *node) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i]->type == TN_FIELD_GRAPH)
            count += tn_graph_body_of(node->attributes[i]->graph)->view.capture_count;
    return count;
}

static void put_node(packing *p, const tn_graph_node *node) {
    const tn_operator *op = node->entry->op;
    const uint32_t input_count = node->input_count - capture_count(node);
    tn_isolated_put_text(&p->records, op->domain);
    tn_isolated_put_text(&p->records, op->name);
    tn_isolated_put_u32(&p->records, op->since_version);
    tn_isolated_put_text(&p->records, node->name);
    tn_isolated_put_u64(&p->records, input_count);
    tn_isolated_put(&p->records, node->inputs, input_count * sizeof(*node->inputs));
    tn_isolated_put_u64(&p->records, node->output_count);
    tn_isolated_put(&p->records, node->outputs, node->output_count * sizeof(*node->outputs));
    tn_isolated_put_u64(&p->records, node->attribute_count);
    for (uint64_t i = 0; i < node->attribute_count; i++) {
        const tn_attribute *attribute = node->attributes[i];
        tn_isolated_put_attribute(&p->records, attribute);
        if (attribute->type == TN_FIELD_TENSOR) put_tensor_value(p, attribute->tensor);
        if (attribute->type == TN_FIELD_GRAPH) put_body(p, tn_graph_body_of(attribute->graph));
    }
}

static void put_declarations(packing *p, const tn_graph *graph) {
    size_t count;
    const tn_graph_declaration *items = tn_graph_declarations(graph, &count);
    tn_isolated_put_u64(&p->records, count);
    for (size_t i = 0; i < count; i++) {
        tn_isolated_put_u32(&p->records, items[i].tensor);
        tn_isolated_put_text(&p->records, items[i].name);
        tn_isolated_put_u32(&p->records, items[i].is_output);
        tn_isolated_put_u32(&p->records, items[i].type);
        put_shape(p, items[i].has_shape, &items[i].shape);
        const tn_graph_tensor *tensor = &graph->tensors[items[i].tensor];
        for (uint32_t k = 0; items[i].has_shape && k < items[i].shape.rank; k++)
            tn_isolated_put_text(&p->records, tensor->extent_names[k]);
    }
}

static void put_model(packing *p, const tn_graph *graph) {
    tn_model_info info = {.size = sizeof(info)};
    (void)tn_graph_get_model_info(graph, &info);
    const char *const texts[] = {info.producer_name, info.producer_version, info.domain, info.doc,
                                 info.source_format};
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        tn_isolated_put_text(&p->records, texts[i]);
    tn_isolated_put(&p->records, &info.model_version, sizeof(info.model_version));
    tn_isolated_put_u64(&p->records, info.metadata_count);
    for (uint64_t i = 0; i < info.metadata_count; i++) {
        tn_isolated_put_text(&p->records, info.metadata[i].key);
        tn_isolated_put_text(&p->records, info.metadata[i].value);
    }
    tn_isolated_put_u64(&p->records, info.opset_count);
    for (uint32_t i = 0; i < info.opset_count; i++) {
        tn_isolated_put_text(&p->records, info.opsets[i].domain);
        tn_isolated_put_u32(&p->records, info.opsets[i].version);
    }
}

static void put_graph(packing *p, const tn_graph *graph) {
    tn_isolated_put_text(&p->records, graph->name);
    put_model(p, graph);
    tn_isolated_put_u64(&p->records, graph->tensor_count);
    for (size_t i = 0; i < graph->tensor_count; i++)
        put_tensor(p, &graph->tensors[i]);
    tn_isolated_put_u64(&p->records, graph->node_count);
    for (size_t i = 0; i < graph->node_count; i++)
        put_node(p, &graph->nodes[i]);
    tn_isolated_put_u64(&p->records, graph->output_count);
    for (size_t i = 0; i < graph->output_count; i++) {
        tn_isolated_put_u32(&p->records, graph->outputs[i]);
        tn_isolated_put_text(&p->records, graph->output_names[i]);
    }
    put_declarations(p, graph);
    tn_isolated_put_u64(&p->records, tn_graph_names_made(graph));
}

/* ----------------------------------------------------------------------------------------------
 * all of it */

/* All that are kept, so that indices are those of the list. */
static void put_files(packing *p) {
    tn_isolated_put_u64(&p->records, p->reading->file_count);
    for (size_t i = 0; i < p->reading->file_count; i++) {
        const tn_reading_file *file = &p->reading->files[i];
        tn_isolated_put_text(&p->records, file->is_kept ? file->name : NULL);
        tn_isolated_put_u64(&p->records, file->bytes);
        tn_isolated_put_u64(&p->records, file->identity);
    }
}

tn_status tn_isolated_pack(const tn_reading *reading, int file, tn_isolated_page *page) {
    packing p = {.reading = reading,
                 .records = {.allocator = reading->allocator},
                 .file = file,
                 .begin = page->data_begin,
                 .status = TN_OK};
    put_files(&p);
    put_graph(&p, reading->root.graph);
    page->data_bytes = p.used;
    page->records_begin =
        page->data_begin + (p.used + TN_ISOLATED_PAGE - 1) / TN_ISOLATED_PAGE * TN_ISOLATED_PAGE;
    page->records_bytes = p.records.bytes;
    tn_status status = p.records.is_failed ? tn_fail_memory("a model's records") : p.status;
    if (status == TN_OK)
        status = tn_isolated_write(file, p.records.data, p.records.bytes, page->records_begin);
    tn_isolated_writer_deinit(&p.records);
    return status;
}
