/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of tenon/plugin/importer.h in short, for the readers here: a graph knows its
 * reading, shapes are tn_shape.
 */
#ifndef TN_IMPORTERS_COMMON_IMPORT_H
#define TN_IMPORTERS_COMMON_IMPORT_H

#include "base/memory.h"
#include "tensor/shape.h"

#include <tenon/plugin/importer.h>

#include <string.h>

/* The host's allocator. */
tn_allocator tn_import_allocator(const tn_import *import);

/* In a library of its own: calls `read` while `import` is what base/status.h's functions of this
 * thread record their errors by. Where readers are linked with the core those functions are the
 * core's (status.c is left out). */
tn_status tn_import_read(tn_import *import, tn_status (*read)(tn_import *import));

static inline void *tn_import_allocate(tn_import_graph *graph, size_t bytes) {
    return graph->import->services->room(graph->import, bytes);
}

/* A copy in the graph's memory; null of no bytes. `what` is for the message. */
tn_status tn_import_copy(tn_import_graph *graph, const void *data, size_t bytes, const char *what,
                         const void **out_data);
/* Data of a message as the graph's: little is copied next to its like, much is taken over, and
 * *data is null then. There is at least a byte. */
tn_status tn_import_take(tn_import_graph *graph, void **data, size_t bytes, const char *what,
                         const void **out_data);

static inline bool tn_import_has_tensor(const tn_import_graph *graph, const char *name) {
    return graph->import->services->find_tensor(graph, name, NULL);
}

/* Of a number that the graph gave. */
static inline tn_import_tensor_info tn_import_tensor_at(const tn_import_graph *graph,
                                                        tn_import_tensor tensor) {
    tn_import_tensor_info info = {.size = sizeof(info), .name = ""};
    (void)graph->import->services->get_tensor(graph, tensor, &info);
    return info;
}

static inline const char *tn_import_make_name(tn_import_graph *graph, const char *base) {
    return graph->import->services->make_name(graph, base);
}

/* `base` where no tensor has it, else a name that begins so. Null: no memory. */
static inline const char *tn_import_free_name(tn_import_graph *graph, const char *base) {
    return base && tn_import_has_tensor(graph, base) ? tn_import_make_name(graph, base) : base;
}

static inline tn_status tn_import_add_tensor(tn_import_graph *graph, const char *name,
                                             tn_import_tensor *out_tensor) {
    return graph->import->services->add_tensor(graph, name, out_tensor);
}

static inline tn_status tn_import_add_input(tn_import_graph *graph, const char *name, tn_type type,
                                            uint32_t rank, const int64_t *extents,
                                            const char *const *names,
                                            tn_import_tensor *out_tensor) {
    return graph->import->services->add_input(graph, name, type, rank, extents, names, out_tensor);
}

static inline tn_status tn_import_add_constant(tn_import_graph *graph, const char *name,
                                               tn_type type, const tn_shape *shape,
                                               const void *data, size_t bytes,
                                               tn_import_tensor *out_tensor) {
    return graph->import->services->add_constant(graph, name, type, shape->rank, shape->extents,
                                                 data, bytes, out_tensor);
}

static inline tn_status tn_import_add_output(tn_import_graph *graph, tn_import_tensor tensor,
                                             const char *name) {
    return graph->import->services->add_output(graph, tensor, name);
}

/* A node of an operator that was found, whose outputs are tensors of add_tensor. */
tn_status tn_import_add_node(tn_import_graph *graph, const char *name, const tn_operator *op,
                             uint64_t attribute_count, const tn_attribute *const *attributes,
                             uint32_t input_count, const tn_import_tensor *inputs,
                             uint32_t output_count, const tn_import_tensor *outputs);

/* Makes an attribute a list. */
static inline void tn_import_set_list(tn_attribute *attribute, uint32_t type, size_t count,
                                      const void *items) {
    attribute->type = type;
    attribute->count = count;
    attribute->items = items;
}

/* Field `index` of an operator. */
static inline const tn_field *tn_import_field(const tn_operator *op, uint32_t index) {
    return (const tn_field *)(const void *)((const char *)op->fields +
                                            (size_t)index * op->field_size);
}

/* The field of a name, or null; `op` may be null. */
static inline const tn_field *tn_import_find_field(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; op && i < op->field_count; i++)
        if (strcmp(tn_import_field(op, i)->name, name) == 0) return tn_import_field(op, i);
    return NULL;
}

#endif
