/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/sequence.h: tensors that are lists of tensors (ONNX's sequences), that may be absent
 * at run time (its optionals, of a tensor or of a sequence), or that are maps from keys to values,
 * one or a list of them.
 *
 * A port is of such a kind when its `types` say so: "seq(f32)", "seq(T:f32|f16)", "opt(T)",
 * "opt(seq(T))", "map(i64|string,f32)", "seq(map(i64,T))". What is in the parentheses are the
 * element types of the items, of a map first those of its keys (i64, string or both), with type
 * variables as at any port but for keys: one that a sequence binds may be a dense port's type. A
 * node's tensor has the kind of the port that writes it, and is read at ports of the same kind
 * alone. A host without this header refuses a library with such a port by name.
 *
 * Inputs and outputs of networks may be of any kind (tenon/border.h), and those of bodies
 * (tenon/plugin/body.h) where the operator's ports are; constants are dense. Items are dense, in
 * host memory, linear. Nodes that read or write one run on the processor, one by one; kernels of
 * them have no `prepare`, `accepts`, `tactics`, `combination` or a format but linear (the
 * operator's reference is taken instead), and do not run in a helper process (TN_ENGINE_ISOLATED).
 *
 * In the text of a test case (tn_operator.cases) the items of a port are tensors that repeat its
 * name, "x=f32[2,3] x=f32[1,3]", and a type alone is no item, "x=f32".
 *
 * See docs/sequences.md.
 */
#ifndef TENON_PLUGIN_SEQUENCE_H
#define TENON_PLUGIN_SEQUENCE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* host->extension(host, TN_SEQUENCES): tn_sequence_service. */
#define TN_SEQUENCES "tn.sequence/1"

/* tn_tensor.kind */
enum {
    TN_KIND_DENSE = 0,
    TN_KIND_SEQUENCE = 1,          /* any number of items */
    TN_KIND_OPTIONAL = 2,          /* none or one */
    TN_KIND_MAP = 3,               /* one map: two items, its keys and its values */
    TN_KIND_MAPS = 4,              /* a list of maps: keys, values, keys, values ... */
    TN_KIND_ANY = 5,               /* of ports alone, "value(T)": see below */
    TN_KIND_OPTIONAL_SEQUENCE = 6, /* none, or a sequence, which may be without items */
    TN_KIND_EACH = 7               /* of ports alone, "each(T)": see below */
};

/* A port of an operator with graphs in its fields may be of any kind, "value(any)"; its tensors
 * have the kinds that the graphs say. Input i of the node is of the kind of input i of its first
 * graph, what a graph captures of the kind of the graph's input for it; output i is of the kind of
 * the first graph's output i, or i + 1 where that graph has inputs (a loop's, whose first output is
 * its condition). Further graphs have outputs of the same kinds. A graph with inputs hands its
 * third one on: input 2 + i and output 1 + i have one kind, and other outputs are dense. In `infer`
 * of a body's service (tenon/plugin/body.h) a tensor that is not dense has rank 0; `run` wants no
 * memory for one, and its results may be read, and added to outputs by append_item, as inputs are.
 *
 * At a port "each(any)" of such an operator the tensors are dense or sequences, as the operator
 * sees in their `kind`: one that runs its graph for each item gives it items of the one, and all of
 * the other. Its graphs' own inputs and outputs are dense; what they capture is of any kind.
 */

/* The keys and the values of a map are vectors of the same length. Keys are of 64-bit integers or
 * strings, each there once, in any order; `type` of the tensor is that of the values, and the type
 * of the keys is in its `reserved`: TN_I64, TN_STRING, or TN_NONE before it is known. `infer`
 * writes it on outputs whose port allows both. */
static inline tn_type tn_map_key_type(const tn_tensor *tensor) {
    return tensor->reserved;
}
static inline void tn_map_set_key_type(tn_tensor *output, tn_type type) {
    output->reserved = type;
}

/* tn_tensor.rank of a sequence or an optional whose items' rank is not known, or not the same. */
#define TN_RANK_UNKNOWN UINT32_MAX

/* The most items of a sequence, and twice the most maps of a list. */
#define TN_SEQUENCE_MAX_ITEMS (1u << 20)

/* A tensor of these kinds, in `infer`, `reshape`, `reference` and `run`: `type` is that of all
 * items; `rank` and `shape` are what all items have in common: TN_RANK_UNKNOWN, or the rank, with
 * extents of which -1 stands for one that is not known or not the same. `bytes` is 0, `strides` are
 * -1. `data` is null or stands for the items: only this service reads it.
 *
 * infer: what it writes of such an output holds for every item that `run` will add (type, if no
 * variable binds it; rank; shape), and is -1 or TN_RANK_UNKNOWN where it depends on values. `data`
 * of such an input is null before the run; then an output that depends on it may be left with
 * extents of -1, or with TN_RANK_UNKNOWN: the node is inferred again when its inputs are there, and
 * says the true shape then. */
struct tn_string;
typedef struct tn_sequence_service {
    uint32_t size;
    uint32_t reserved;
    /* How many items a sequence has; of an optional 1 or 0, of one of a sequence that sequence's,
     * or 0; of a map 2, of a list of maps 2 a map. `tensor` is one of the call's inputs or outputs.
     * TN_ERROR_ARGUMENT: it is not, or is dense; TN_ERROR_STATE: its items are not known before the
     * run. [thread: any, for inputs; called: infer, reshape, reference, run; may fail] */
    tn_status (*length)(tn_call *call, const tn_tensor *tensor, uint64_t *out_length) TN_NOEXCEPT;
    /* Item `index`, from 0: dense, linear, packed, aligned to 64 bytes, with data, and not to be
     * written. It is the host's and valid until the callback returns. As length; TN_ERROR_RANGE: it
     * has no such item. [thread: any; called: infer, reshape, reference, run; may fail] */
    tn_status (*item)(tn_call *call, const tn_tensor *tensor, uint64_t index,
                      const tn_tensor **out_item) TN_NOEXCEPT;
    /* Adds an item of the output's type behind the others. `extents`: `rank` of them, each at least
     * 0; they are read before this returns. *out_data: linear room for its elements, aligned to 64
     * bytes, the host's, of undefined contents: all of it is to be written before the callback
     * returns (the bits behind the last element of a packed type are zero already). What fails
     * leaves the output as it was. TN_ERROR_ARGUMENT: the tensor is no output of the call or is
     * dense; TN_ERROR_SHAPE: a rank above TN_MAX_RANK, a negative extent, too many elements, or
     * other than what `infer` said of all items, or of a map no vector, or values that are not as
     * many as the keys before them; TN_ERROR_TYPE: items of strings (append_strings);
     * TN_ERROR_RANGE: an optional that has one, a map that has both, a sequence with
     * TN_SEQUENCE_MAX_ITEMS; TN_ERROR_MEMORY. Where sizes repeat from one run to the next nothing
     * is allocated. [thread: node, one at a time; called: reference, run; may fail] */
    tn_status (*append)(tn_call *call, tn_tensor *output, uint32_t rank, const int64_t *extents,
                        void **out_data) TN_NOEXCEPT;
    /* Adds item `index` of an input, a sequence, an optional or a map, or of the output itself,
     * behind the others of the output without copying it: both have it. Errors as of item and
     * append; TN_ERROR_TYPE: the item's type is not what the output has there. [thread: node, one
     * at a time; called: reference, run; may fail] */
    tn_status (*append_item)(tn_call *call, tn_tensor *output, const tn_tensor *input,
                             uint64_t index) TN_NOEXCEPT;
    /* append for items of strings: the item's elements and, behind them, `heap_bytes` bytes that
     * they point into (tenon/plugin/string.h), all of which is to be written. Errors as of append;
     * TN_ERROR_TYPE: the item is not of strings. [thread: node, one at a time; called: reference,
     * run; may fail] */
    tn_status (*append_strings)(tn_call *call, tn_tensor *output, uint32_t rank,
                                const int64_t *extents, uint64_t heap_bytes,
                                struct tn_string **out_elements, char **out_heap) TN_NOEXCEPT;
    /* Whether an optional, of either kind, has an element. Hosts before this function have a
     * smaller `size`. Errors as of length; TN_ERROR_ARGUMENT: the tensor is no optional. [thread:
     * any, for inputs; called: infer, reshape, reference, run; may fail] */
    tn_status (*has_element)(tn_call *call, const tn_tensor *tensor,
                             bool *out_has_element) TN_NOEXCEPT;
    /* Gives an output that is an optional of a sequence its element, which has no items yet;
     * an item that is added does so, too. TN_ERROR_ARGUMENT: the tensor is no such output. [thread:
     * node, one at a time; called: reference, run; may fail] */
    tn_status (*set_element)(tn_call *call, tn_tensor *output) TN_NOEXCEPT;
} tn_sequence_service;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_sequence_service, length, 8);
TN_FROZEN(tn_sequence_service, append_item, 32);
TN_FROZEN(tn_sequence_service, append_strings, 40);
TN_FROZEN(tn_sequence_service, set_element, 56);

#endif
