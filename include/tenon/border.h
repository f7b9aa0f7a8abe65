/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The border of a network: types, formats and strides of its inputs and outputs. A network's own
 * are linear in the types of the graph; here they are changed before a build, asked for of an
 * engine, and bound in memory that is not packed. And inputs and outputs that are no dense tensors.
 */
#ifndef TENON_BORDER_H
#define TENON_BORDER_H

#include <tenon/engine.h>
#include <tenon/plugin/sequence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an input or output is at the border. */
typedef struct tn_border {
    uint32_t size;
    tn_type type;     /* TN_NONE: as it is */
    const char *name; /* of an input, else of an output */
    uint32_t order;   /* TN_BORDER_... */
} tn_border;
enum {
    TN_BORDER_AS_IS = 0,
    TN_BORDER_CHANNELS_LAST = 1 /* N, C, axes becomes N, axes, C: the second axis is the last one.
                                   Of rank 3 or more */
};

/* Gives an input or output of a graph another type (it is cast) or order of axes (it is
 * transposed), before the graph is built: its name stays, its declared shape is the one in the new
 * order, which profiles and contexts then use. Types are those that Cast accepts; strings and types
 * of less than a byte are refused. TN_ERROR_NOT_FOUND with the nearest name; TN_ERROR_TYPE;
 * TN_ERROR_SHAPE (a rank that is less than 3 or not known, where axes change order);
 * TN_ERROR_UNSUPPORTED (an input that is an output, too; operators that are not there): the graph
 * is as it was. TN_ERROR_MEMORY: it must not be used any more. [thread: one at a time] */
TN_EXPORT tn_status tn_graph_set_border(tn_graph *graph, const tn_border *border);

/* A storage of a tensor. */
typedef struct tn_storage_info {
    uint32_t size;
    tn_type type;
    tn_format format;
    uint32_t is_device;    /* in the memory of the engine's device */
    uint32_t is_converted; /* 1: a conversion stands between the border and this storage */
} tn_storage_info;
/* In what the first kernel reads an input, and the last one writes an output: what would need no
 * conversion. That of the border where no kernel reads or writes it, or several in different ones.
 * The caller sets out_storage->size. TN_ERROR_ARGUMENT: an index past the end. [thread: any] */
TN_EXPORT tn_status tn_engine_input_storage(const tn_engine *engine, uint32_t input,
                                            tn_storage_info *out_storage);
TN_EXPORT tn_status tn_engine_output_storage(const tn_engine *engine, uint32_t output,
                                             tn_storage_info *out_storage);

/* As tn_context_bind_input, of host memory in which elements lie apart: element i, j, ... is
 * strides[0] * i + strides[1] * j + ... elements behind `data`, as in NumPy, DLPack and torch
 * (where the first counts bytes). `rank` strides, copied; 0 repeats an element; `bytes` are those
 * behind `data` that may be read. `data` need be aligned to the element at most. Packed strides are
 * those of tn_context_bind_input, without a copy; others are gathered into memory of the context's
 * at each run. Another bind of the input takes it back. TN_ERROR_ARGUMENT: a negative stride, or
 * null data; TN_ERROR_UNSUPPORTED: strings, types of less than a byte. At reshape or run:
 * TN_ERROR_SHAPE (another rank than the input's), TN_ERROR_RANGE (an element ends behind `bytes`,
 * or its offset overflows). */
TN_EXPORT tn_status tn_context_bind_input_strided(tn_context *context, uint32_t input,
                                                  const void *data, uint64_t bytes, uint32_t rank,
                                                  const int64_t *strides);
/* The same of an output, which is scattered there after each run that succeeds; what lies between
 * its elements is left alone. At run, before anything is computed where the shape is known before:
 * also TN_ERROR_RANGE for strides by which two elements lie on one another. tn_context_output
 * answers the packed tensor. */
TN_EXPORT tn_status tn_context_bind_output_strided(tn_context *context, uint32_t output, void *data,
                                                   uint64_t bytes, uint32_t rank,
                                                   const int64_t *strides);

/* -------------------------------------------------------------------------------------------------
 * values of other kinds
 *
 * Inputs and outputs may be sequences, optionals and maps: tn_port_info.kind says which are. Such a
 * value is made of items (tenon/plugin/sequence.h): the tensors of a sequence, or of the one that
 * an optional has, the one of an optional or none, the keys and the values of a map, and one after
 * the other the keys and values of a sequence of maps. They are in the host's memory, for engines
 * on a device as well.
 *
 *     tn_context_clear_items -> tn_context_append_item, for each item -> tn_context_run
 *         -> tn_context_output_length -> tn_context_output_item, for each item */

/* Adds an input of kind `kind` (TN_KIND_SEQUENCE and so on) with items of type `type`; of maps that
 * is the type of the values, and `key_type` is TN_I64 or TN_STRING, else TN_NONE. Errors as of
 * tn_graph_add_input. [thread: one at a time for one graph] */
TN_EXPORT tn_status tn_graph_add_kind_input(tn_graph *graph, const char *name, uint32_t kind,
                                            tn_type key_type, tn_type type,
                                            tn_tensor_id *out_tensor);

/* Begins the value of such an input anew: it has no items. An input that was never begun has no
 * value, and a run fails with TN_ERROR_STATE; one that was has its value for all runs until the
 * next call. TN_ERROR_ARGUMENT: there is no such input, or it is dense. [thread: as
 * tn_context_set_shape; the same for all here] */
TN_EXPORT tn_status tn_context_clear_items(tn_context *context, uint32_t input);
/* Adds an item, which is copied: linear elements, `bytes` of them exactly; strings with their heap
 * behind them. The context has the memory, and uses it again for later values of the same sizes.
 * What fails leaves the value as it was. TN_ERROR_STATE: tn_context_clear_items was never called;
 * TN_ERROR_TYPE: `type` is not that of the items, or of a map's keys or values, whichever comes
 * next; TN_ERROR_SHAPE: the extents are none, or of a map no vector of as many values as keys;
 * TN_ERROR_RANGE: an optional or a map that is whole already, more than TN_SEQUENCE_MAX_ITEMS, a
 * string outside its heap; TN_ERROR_ARGUMENT: a key that is there twice, other bytes than the shape
 * takes, an input that is dense; TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_context_append_item(tn_context *context, uint32_t input, tn_type type,
                                           uint32_t rank, const int64_t *extents, const void *data,
                                           uint64_t bytes);
/* Gives an input that is an optional of a sequence its element, which has no items yet: an optional
 * without one and one of an empty sequence differ. An item that is added does so, too.
 * TN_ERROR_STATE as of tn_context_append_item; TN_ERROR_ARGUMENT: the input is none such. */
TN_EXPORT tn_status tn_context_set_element(tn_context *context, uint32_t input);
/* Whether an output that is an optional, of a tensor or a sequence, has an element. Errors as of
 * tn_context_output_length; TN_ERROR_ARGUMENT: it is no optional. */
TN_EXPORT tn_status tn_context_output_has_element(tn_context *context, uint32_t output,
                                                  bool *out_has_element);
/* How many items an output has after a run. TN_ERROR_STATE before; TN_ERROR_ARGUMENT: there is no
 * such output, or it is dense. */
TN_EXPORT tn_status tn_context_output_length(tn_context *context, uint32_t output,
                                             uint64_t *out_length);
/* Item `index` of it, from 0: a dense linear tensor of the context's, valid until its next run.
 * Errors as of tn_context_output_length; TN_ERROR_RANGE: it has no such item. */
TN_EXPORT tn_status tn_context_output_item(tn_context *context, uint32_t output, uint64_t index,
                                           const tn_tensor **out_item);

#ifdef __cplusplus
}
#endif
#endif
