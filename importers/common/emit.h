/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes and constants one after the other, so that a layer reads as its formula: each function
 * answers the tensor that it made. The first failure is kept in `status`; from then on nothing is
 * added, and the answers mean nothing: who ends a formula returns the status. The order in which
 * arguments are evaluated is open in C: at most one argument of a call is a call itself.
 */
#ifndef TN_IMPORTERS_COMMON_EMIT_H
#define TN_IMPORTERS_COMMON_EMIT_H

#include "base/map.h"
#include "importers/common/import.h"

typedef struct tn_emitter {
    tn_import_graph *graph;
    tn_arena *arena;
    const tn_map *reserved; /* names that are left to others; may be null */
    uint32_t version;       /* of operators; 0: what the graph says of their domain */
    const char *name;       /* what names begin with: "conv1" of "conv1/scaled" */
    tn_status status;
} tn_emitter;

/* A node's inputs: TN_TENSORS(x, bias). */
typedef struct tn_emit_tensors {
    uint32_t count;
    const tn_import_tensor *items;
} tn_emit_tensors;
#define TN_TENSORS(...)                                                                            \
    ((tn_emit_tensors){sizeof((tn_import_tensor[]){__VA_ARGS__}) / sizeof(tn_import_tensor),       \
                       (const tn_import_tensor[]){__VA_ARGS__}})

/* A node's fields; one without a name is none. Lists are lent until the node is added. */
#define TN_EMIT_FIELDS 16
typedef struct tn_emit_fields {
    const char *domain; /* of the operator; null: ONNX's */
    uint32_t version;   /* of the operator; 0: the emitter's */
    tn_attribute items[TN_EMIT_FIELDS];
} tn_emit_fields;
#define TN_EMIT(...) (&(const tn_emit_fields){.items = {__VA_ARGS__}})

#define TN_EMIT_FIELD(field_type, field_name, ...)                                                 \
    ((tn_attribute){                                                                               \
        .size = sizeof(tn_attribute), .type = (field_type), .name = (field_name), __VA_ARGS__})
static inline tn_attribute tn_emit_no_field(void) {
    return (tn_attribute){.size = sizeof(tn_attribute)};
}
static inline tn_attribute tn_emit_i64(const char *name, int64_t value) {
    return TN_EMIT_FIELD(TN_FIELD_I64, name, .i = value);
}
static inline tn_attribute tn_emit_f64(const char *name, double value) {
    return TN_EMIT_FIELD(TN_FIELD_F64, name, .f = value);
}
static inline tn_attribute tn_emit_text(const char *name, const char *value) {
    return TN_EMIT_FIELD(TN_FIELD_STRING, name, .s = value);
}
static inline tn_attribute tn_emit_i64s(const char *name, size_t count, const int64_t *items) {
    return TN_EMIT_FIELD(TN_FIELD_I64S, name, .count = count, .items = items);
}

/* Keeps a failure, unless there was one before. */
void tn_emit_keep(tn_emitter *emitter, tn_status status);
/* Names begin with `name` from here on; answers what they began with, for emitter->name. */
const char *tn_emit_enter(tn_emitter *emitter, const char *name);
/* "conv1/part", or a name that begins so where that is taken. Null: no memory, which is kept. */
const char *tn_emit_name(tn_emitter *emitter, const char *part);
/* A name that nothing has and that is reserved for nobody; null as above, and where `base` is. */
const char *tn_emit_free_name(tn_emitter *emitter, const char *base);

/* A node of one output, called by `part`. `fields` may be null. */
tn_import_tensor tn_emit(tn_emitter *emitter, const char *part, const char *op,
                         const tn_emit_fields *fields, tn_emit_tensors inputs);
tn_import_tensor tn_emit_unary(tn_emitter *emitter, const char *part, const char *op,
                               tn_import_tensor x);
tn_import_tensor tn_emit_binary(tn_emitter *emitter, const char *part, const char *op,
                                tn_import_tensor x, tn_import_tensor y);
tn_import_tensor tn_emit_cast(tn_emitter *emitter, const char *part, const char *type,
                              tn_import_tensor x);
/* A node with names of the caller's own; a null among them is no memory. */
tn_status tn_emit_node(tn_emitter *emitter, const char *name, const char *op,
                       const tn_emit_fields *fields, tn_emit_tensors inputs, uint32_t output_count,
                       const char *const *output_names, tn_import_tensor *out_outputs);

/* Constants, called by `part`. The data is lent for as long as the graph lives, or copied. */
tn_import_tensor tn_emit_lent(tn_emitter *emitter, const char *part, tn_type type, uint32_t rank,
                              const int64_t *extents, const void *data);
tn_import_tensor tn_emit_constant(tn_emitter *emitter, const char *part, tn_type type,
                                  uint32_t rank, const int64_t *extents, const void *data);
tn_import_tensor tn_emit_scalar(tn_emitter *emitter, const char *part, double value);
tn_import_tensor tn_emit_list(tn_emitter *emitter, const char *part, size_t count,
                              const int64_t *items);

#endif
