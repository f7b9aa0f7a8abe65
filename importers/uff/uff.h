/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the UFF reader, shared by its files: the reader's state, values with their two
 * orders of axes, and the functions that read fields and add nodes. The public side is
 * the table in reader.c (tenon/plugin/importer.h); the format's schema is uff.proto; what each
 * operation means is in the files operations_*.c, by the table in operations.c.
 *
 * Orders of axes. UFF's axis numbers count the axes as the framework had them, mostly N, H, W, C
 * (here: *file order*). Operators of ours take N, C, H, W. So a value remembers how its tensor lies
 * (`storage`), operations map their axis numbers through it, constants are put in order while the
 * file is read, and a Transpose is added only where a value is needed in another order than it has.
 */
#ifndef TN_IMPORTERS_UFF_UFF_H
#define TN_IMPORTERS_UFF_UFF_H

#include "base/text.h"
#include "importers/common/custom.h"
#include "importers/common/emit.h"
#include "importers/uff/options.h"
#include "importers/uff/uff.pb-c.h"

typedef Tenon__Uff__MetaGraph tn_uff_file;
typedef Tenon__Uff__Graph tn_uff_graph;
typedef Tenon__Uff__Node tn_uff_node;
typedef Tenon__Uff__Entry tn_uff_entry;
typedef Tenon__Uff__Data tn_uff_data;

/* The opset that the reader's nodes mean, unless they say another: the last one in which axes of
 * reductions and of Squeeze are fields. */
#define TN_UFF_OPSET 12
/* Lists of integers up to this length are followed. */
#define TN_UFF_INTEGERS_AT_MOST 64

/* --- integers that may be open --- */
/* An extent or another number about shapes: known, or open until run time. Open ones are numbered,
 * so that the same unknown is known to be the same. */
#define TN_UFF_OPEN_LIMIT (INT64_MIN + ((int64_t)1 << 40))
static inline bool tn_uff_is_open(int64_t number) {
    return number < TN_UFF_OPEN_LIMIT;
}

/* An order of axes: position i holds axis order[i]. */
typedef struct tn_uff_order {
    uint8_t axes[TN_MAX_RANK];
} tn_uff_order;

/* The same value in another order, once it was needed. */
typedef struct tn_uff_copy {
    tn_uff_order order;
    tn_import_tensor tensor;
} tn_uff_copy;

/* What a node gives. */
typedef struct tn_uff_value {
    const char *name; /* the node's id */
    tn_type type;     /* TN_NONE: not known */
    uint32_t rank;
    int64_t extents[TN_MAX_RANK]; /* in file order, may be open */
    tn_uff_order storage;         /* axis i of the tensor is axis storage.axes[i] of the file's */
    tn_import_tensor tensor; /* in storage order; TN_IMPORT_NO_TENSOR: made when it is needed */
    const void *data;        /* of constants: elements in file order; else null */
    size_t bytes;
    uint32_t blob;        /* of constants: 1 + the entry of referenced_data that holds them */
    const int64_t *known; /* of short lists: the integers, each may be open; or null */
    struct tn_uff_value *flattened; /* what this is the flattened form of, while nobody has needed
                                       it in file order; else null */
    tn_uff_copy copies[2];
    uint32_t copy_count;
} tn_uff_value;

typedef struct tn_uff_state {
    tn_uff_value *value; /* null until the node was read */
    uint32_t extra_count;
    tn_uff_value *extras; /* outputs after the first: "id_1", "id_2" */
    uint8_t mark;         /* of the traversal: 0 not seen, 1 entered, 2 left */
} tn_uff_state;

/* What the readers of a node need of it. */
typedef struct tn_uff_need {
    uint8_t rank; /* 0: not known */
    bool is_channels_last;
    bool is_real; /* they compute with floating-point values, whatever their width */
} tn_uff_need;

/* An output of the network, and which of its node's outputs that is. */
typedef struct tn_uff_output {
    uint32_t node, index;
} tn_uff_output;

typedef struct tn_uff_reader {
    tn_import *import;
    const tn_allocator *allocator;
    tn_uff_file *file;
    const tn_uff_graph *source;
    const tn_uff_options *options;
    tn_import_graph *graph;
    tn_arena *arena;      /* for what has the lifetime of the reader */
    tn_emitter emit;      /* named after the node that is read */
    tn_map *nodes;        /* index in source->nodes by id */
    tn_map *data;         /* index in file->referenced_data by key */
    tn_uff_state *states; /* of source->nodes */
    const void **blobs;   /* of file->referenced_data: what the graph has taken over, or null */
    size_t *blob_bytes;
    uint32_t *sorted; /* live nodes, producers first */
    size_t sorted_count;
    tn_uff_need *needs; /* of source->nodes; inputs.c */
    tn_uff_output *outputs;
    size_t output_count;
    uint64_t open_count;     /* of open integers so far */
    size_t permutable_bytes; /* what constants in another order may still take */
    uint64_t left_out_count; /* constants whose values the file leaves out */
    const char *left_out;    /* the first of them */
    int64_t batch; /* the open number that stands for a batch axis which the file leaves out */
    bool is_batch_left_out; /* inputs without a batch axis: C, H, W */
    bool is_channels_first; /* some input is given as N, C, H, W though the file has N, H, W, C */
} tn_uff_reader;

/* One node that is being read. */
typedef struct tn_uff_call {
    tn_uff_reader *reader;
    const tn_uff_node *node;
    uint32_t index; /* of the node */
    uint32_t input_count;
    tn_uff_value **inputs;
    tn_uff_value *output; /* to be filled; its name is set */
} tn_uff_call;
typedef tn_status tn_uff_operation(tn_uff_call *call);
/* An operation of the core set, and how many inputs it has. */
typedef struct tn_uff_operation_row {
    const char *name;
    uint32_t minimum_inputs, maximum_inputs;
    tn_uff_operation *read;
} tn_uff_operation_row;

/* --- text_form.c --- */
/* Whether a file begins as UFF's text form does: with a name of its outermost fields. */
bool tn_uff_is_text(const char *data, size_t bytes);
/* The binary form of a text, for tn_deallocate. Errors begin with line and column. */
tn_status tn_uff_text_encode(const tn_allocator *allocator, const char *text, size_t bytes,
                             void **out_data, size_t *out_bytes);

/* --- fields.c: of a call, reader and node count --- */
/* A field with references followed, or null when the node has none of that name (or an empty
 * one). */
tn_status tn_uff_field_find(const tn_uff_call *call, const char *name,
                            const tn_uff_data **out_data);
tn_status tn_uff_data_resolve(const tn_uff_reader *reader, const tn_uff_data *data,
                              const tn_uff_data **out_data, uint32_t *out_entry);
/* Typed access; a field that is not there gives the fallback. */
tn_status tn_uff_field_i64(const tn_uff_call *call, const char *name, int64_t fallback,
                           int64_t *out_value);
tn_status tn_uff_field_f64(const tn_uff_call *call, const char *name, double fallback,
                           double *out_value);
/* Null when it is not there. */
tn_status tn_uff_field_text(const tn_uff_call *call, const char *name, const char **out_text);
/* Count 0 and null when it is not there. */
tn_status tn_uff_field_i64s(const tn_uff_call *call, const char *name, size_t *out_count,
                            const int64_t **out_items);
/* Fails when the field is not there. */
tn_status tn_uff_field_require(const tn_uff_call *call, const char *name);
/* Field 'axis' of a tensor of `rank` axes: 0 to rank - 1. */
tn_status tn_uff_field_axis(const tn_uff_call *call, bool is_required, uint32_t rank,
                            uint32_t *out_axis);
/* Field 'axes' of the first input, as bits. */
tn_status tn_uff_field_axes(const tn_uff_call *call, size_t *out_count, uint32_t *out_axes);
/* UFF's name of a function, and the operator that computes it; null: made of others. */
typedef struct tn_uff_function {
    const char *name, *op;
} tn_uff_function;
/* The row of field 'func'; the message lists all names. */
tn_status tn_uff_field_function(const tn_uff_call *call, size_t count, const tn_uff_function *rows,
                                const tn_uff_function **out_row);
/* The element type of a number of UFF's; TN_NONE when there is none of ours. */
tn_type tn_uff_type(int64_t number);
tn_status tn_uff_field_type(const tn_uff_call *call, const char *name, tn_type fallback,
                            tn_type *out_type);
/* A text without the b'...' that a Python program may have left around it. Null: no memory. */
const char *tn_uff_text(tn_arena *arena, const char *text);

/* --- orders.c --- */
tn_uff_order tn_uff_order_plain(void);
bool tn_uff_order_equal(const tn_uff_order *a, const tn_uff_order *b, uint32_t rank);
/* The position of an axis in an order. */
uint32_t tn_uff_order_find(const tn_uff_order *order, uint32_t axis);
/* What a node says of input `index` by its `inputs_orders`: the order that gives N, C, spatial axes
 * (or K, C, spatial axes); `rank` is the input's. A node without the field: the plain order. */
tn_status tn_uff_order_read(const tn_uff_call *call, uint32_t index, uint32_t rank,
                            tn_uff_order *out_order);
/* Whether an input's order says that channels are last; false where nothing is said. */
bool tn_uff_order_is_channels_last(const tn_uff_call *call);

/* --- integers.c --- */
int64_t tn_uff_open(tn_uff_reader *reader);
/* The product of extents; open (a new number) when it is not known. */
int64_t tn_uff_product(tn_uff_reader *reader, uint32_t count, const int64_t *extents);
/* Operations on integers that may be open, for shapes; fails on overflow only. */
tn_status tn_uff_quotient(tn_uff_reader *reader, uint32_t count, const int64_t *extents,
                          uint32_t divisor_count, const int64_t *divisors, int64_t *out_number);
/* The elements of a short list of integers: null when they are not known. */
const int64_t *tn_uff_integers(const tn_uff_value *value, size_t *out_count);
/* The same where all must be known: fails with `what` for the message. */
tn_status tn_uff_integers_require(const tn_uff_value *value, const char *what, size_t *out_count,
                                  const int64_t **out_integers);
/* Makes a value a list (rank 0 or 1) of integers: a constant when all are known. */
tn_status tn_uff_integers_set(tn_uff_reader *reader, tn_uff_value *value, uint32_t rank,
                              size_t count, const int64_t *values);
/* An axis from -rank to rank-1 as 0 to rank-1. */
tn_status tn_uff_axis(int64_t axis, uint32_t rank, uint32_t *out_axis);

/* --- values.c: tensors of values; failures are the emitter's --- */
/* With its axes in an order; made when it is not there. */
tn_import_tensor tn_uff_ordered(tn_uff_reader *reader, tn_uff_value *value,
                                const tn_uff_order *order);
/* In the file's order. */
tn_import_tensor tn_uff_plain(tn_uff_reader *reader, tn_uff_value *value);
/* In the order that it has. */
tn_import_tensor tn_uff_stored(tn_uff_reader *reader, tn_uff_value *value);
/* Which axes of the tensor are those of the file whose bits are set; answers how many. */
uint32_t tn_uff_value_positions(const tn_uff_value *value, uint32_t axes, int64_t *out_positions);
/* Elements of a constant in another order, and their extents there. In the graph's memory. */
tn_status tn_uff_constant_permute(tn_uff_reader *reader, const tn_uff_value *value,
                                  const tn_uff_order *order, const void **out_data,
                                  int64_t *out_extents);
/* Rank, extents and type of another value. */
void tn_uff_value_like(tn_uff_value *value, const tn_uff_value *other);
/* Rank and extents of another value with an axis more. */
void tn_uff_value_insert_axis(const tn_uff_value *x, uint32_t axis, int64_t extent,
                              tn_uff_value *y);
/* Rank, extents and type without the axes whose bits are set in `axes`. */
void tn_uff_value_drop_axes(const tn_uff_value *x, uint32_t axes, tn_uff_value *y);

/* --- emit.c: beside importers/common/emit.h --- */
/* A node of ONNX's domain with one output, both called `name`. Null: no memory. */
tn_import_tensor tn_uff_emit_as(tn_uff_reader *reader, const char *name, const char *op,
                                const tn_emit_fields *fields, tn_emit_tensors inputs);
/* The node that makes the call's output, called as it is. */
tn_status tn_uff_emit(tn_uff_call *call, const char *op, const tn_emit_fields *fields,
                      tn_emit_tensors inputs);
/* A tensor with another shape, whose elements stay in order. `extents` may hold open integers: one,
 * and those that stand at the same position of `from`. TN_ERROR_UNSUPPORTED for more. */
tn_import_tensor tn_uff_emit_reshape(tn_uff_reader *reader, const char *name,
                                     tn_import_tensor tensor, uint32_t from_rank,
                                     const int64_t *from, uint32_t rank, const int64_t *extents);

/* --- inputs.c --- */
/* Whether a node is an input of the network: it is one in the file, or the options say so. */
bool tn_uff_is_input(const tn_uff_reader *reader, const tn_uff_node *node);
/* Finds out whether inputs lack a batch axis, and how they are given. The nodes are sorted. */
tn_status tn_uff_inputs_survey(tn_uff_reader *reader);
tn_status tn_uff_input_read(tn_uff_call *call);

/* --- traverse.c --- */
/* The nodes by id, the outputs, and the order in which nodes are read. */
tn_status tn_uff_traverse(tn_uff_reader *reader);
/* A node by the name that others call it by, and which of its outputs is meant. */
tn_status tn_uff_node_find(const tn_uff_reader *reader, const char *name, uint32_t *out_node,
                           uint32_t *out_output);

/* --- operations.c, constants.c and operations_*.c --- */
/* Null where the core set has no operation of that name. */
const tn_uff_operation_row *tn_uff_operation_find(const char *name);
tn_uff_operation tn_uff_read_activation, tn_uff_read_arg, tn_uff_read_batch_norm;
tn_uff_operation tn_uff_read_binary, tn_uff_read_concat, tn_uff_read_const, tn_uff_read_conv;
tn_uff_operation tn_uff_read_conv_transpose, tn_uff_read_expand_dims, tn_uff_read_flatten;
tn_uff_operation tn_uff_read_fully_connected, tn_uff_read_gather, tn_uff_read_leaky_relu;
tn_uff_operation tn_uff_read_lrn, tn_uff_read_pad, tn_uff_read_pool, tn_uff_read_reduce;
tn_uff_operation tn_uff_read_reshape, tn_uff_read_shape, tn_uff_read_softmax, tn_uff_read_squeeze;
tn_uff_operation tn_uff_read_stack, tn_uff_read_strided_slice, tn_uff_read_transpose;
tn_uff_operation tn_uff_read_unary;

/* --- custom.c, custom_fields.c --- */
/* All fields of a node, references followed. */
tn_status tn_uff_custom_fields_read(const tn_uff_call *call, size_t *out_count,
                                    tn_custom_field **out_fields);
/* Whether all live nodes have an operation or an operator; those that have not are all named in one
 * error. The nodes are sorted. */
tn_status tn_uff_customs_check(tn_uff_reader *reader);
/* A node whose operator is a library's. */
tn_uff_operation tn_uff_read_custom;

#endif
