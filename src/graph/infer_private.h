/* SPDX-License-Identifier: Apache-2.0 */
/* What only the files of inference share: the rules of types, and the scratch of a call. */
#ifndef TN_GRAPH_INFER_PRIVATE_H
#define TN_GRAPH_INFER_PRIVATE_H

#include "graph/infer.h"

/* An extent of an input whose name another input, or another axis, had first. */
typedef struct tn_named_extent {
    uint32_t input, axis, first_input, first_axis;
} tn_named_extent;

typedef struct tn_infer_memo tn_infer_memo;

struct tn_inference_scratch {
    tn_infer_memo **memos; /* by node, of those with bodies; null: there are none */
    size_t memo_count;     /* the graph's nodes when this was made */
    const tn_tensor **inputs;
    tn_tensor *hidden; /* copies of inputs without their data */
    tn_tensor **outputs;
    tn_type *types; /* of the operator's type variables */
    struct tn_output_state *states;
    tn_named_extent *names;
    size_t name_count;
    struct tn_inference_lists *lists; /* of sequences that are computed; null until one is */
    struct tn_inference_heaps *heaps; /* the same of strings */
};

/* Checks the inputs' types against their ports and binds the operator's type variables (`types`,
 * entry->variable_count of them, TN_NONE where nothing binds one). */
tn_status tn_infer_bind_inputs(const tn_graph_node *node, const tn_tensor *const *inputs,
                               tn_type *types);
/* The type of an output as far as the ports say it: a bound variable's, a single type, or TN_NONE.
 */
tn_type tn_infer_output_type(const tn_operator_entry *entry, uint32_t index, const tn_type *types);
/* The type of an output's keys, where the port allows one alone. */
tn_type tn_infer_key_type(const tn_operator_entry *entry, uint32_t index);
tn_status tn_infer_check_keys(const tn_operator_entry *entry, uint32_t index,
                              const tn_tensor *output);
/* Checks what an operator made of an output's type; binds variables that only outputs have. */
tn_status tn_infer_check_output(const tn_operator_entry *entry, uint32_t index, tn_type type,
                                tn_type *types);
/* A node after one that only a run can size: what can be said is said, and no more. Types do not
 * depend on the run: where an input's shape is not known the rule is asked with examples. */
tn_status tn_infer_estimate(tn_inference *inference, uint32_t index);
/* The types of the inputs; nothing else is known of them. */
void tn_infer_set_types(tn_inference *inference);

/* --- infer_items.c --- */
/* What a shape rule wrote of a sequence or an optional, checked. TN_ERROR_PLUGIN. */
tn_status tn_infer_take_items(tn_inferred_tensor *inferred, const tn_port *port, uint32_t kind);
/* Where an input's items are not there yet an output may be left without extents, which are
 * guessed: what comes after a run is relied on for its rank alone. False: it has no rank either. */
bool tn_infer_guess_open(const tn_graph_node *node, const tn_tensor *const *inputs,
                         tn_tensor *output);

/* Where every value is computed: an empty list for an output's items, open while its node is
 * computed; then their descriptions follow from the items. */
tn_status tn_infer_open_items(tn_inference *inference, tn_tensor_id tensor);
struct tn_items;
/* The items of an input, which a caller has in a list: a list of the inference's own shares them.
 */
tn_status tn_infer_take_list(tn_inference *inference, tn_tensor_id tensor,
                             const struct tn_items *given);
void tn_infer_close_items(tn_inference *inference, const tn_graph_node *node);
void tn_infer_lists_destroy(struct tn_inference_lists *lists, const tn_allocator *allocator);

/* Sets shapes and values of the inputs; checks them against what the graph declares. */
tn_status tn_infer_set_inputs(tn_inference *inference, const tn_shape *shapes,
                              const void *const *values);
/* Finds extents of the same name. */
tn_status tn_infer_find_names(const tn_graph *graph, const tn_allocator *allocator,
                              struct tn_inference_scratch *scratch);

/* --- infer_memo.c --- */
/* The largest value that is remembered. */
enum { TN_MEMO_VALUE_BYTES = 64 };
/* On failure as well, *out_memo is to be destroyed. */
tn_status tn_infer_memo_create(const tn_graph_node *node, const tn_allocator *allocator,
                               tn_infer_memo **out_memo);
void tn_infer_memo_destroy(tn_infer_memo *memo, const tn_allocator *allocator); /* null is fine */
/* Whether the rule was asked this lately; then the outputs have its answer. The question is kept
 * for the answer that follows. */
bool tn_infer_memo_recall(tn_infer_memo *memo, const tn_graph_node *node,
                          const tn_tensor *const *inputs, tn_tensor *const *outputs);
/* The answer to what was not recalled. */
void tn_infer_memo_note(tn_infer_memo *memo, const tn_graph_node *node, tn_tensor *const *outputs);

/* --- infer_plan.c --- */
/* Whether the node's shape, or the value that inference computes, follows from this input's value.
 */
bool tn_infer_uses_value(const tn_graph_node *node, uint32_t input, bool is_host_node);
/* Whether an input of the node is one of the tensors that are marked. */
bool tn_infer_reads(const tn_graph_node *node, const bool *is_marked);

/* --- infer.c --- */
/* Lays out the inputs; the shape rule sees values where its ports need them, the reference all but
 * those of which only the shape is read. Answers false when an input is not known. */
bool tn_infer_gather_inputs(tn_inference *inference, const tn_graph_node *node, bool is_infer);
/* Outputs for the rule to describe, of the types that follow from the inputs' (scratch->types). */
void tn_infer_lay_out(tn_inference *inference, const tn_graph_node *node);
/* Calls the shape rule with what scratch has as inputs and outputs. */
tn_status tn_infer_call_rule(tn_inference *inference, const tn_graph_node *node,
                             bool is_types_only);
/* The shape that a callback wrote, checked. */
tn_status tn_infer_read_shape(const tn_inferred_tensor *inferred, const tn_port *port,
                              tn_shape *out_shape);
/* The location of a failure that is not a callback's own (tn_call_invoke names those). */
tn_status tn_infer_at_node(tn_status status, const tn_graph_node *node);

/* --- infer_values.c --- */
/* Room for a value, kept from one run to the next: of a number of bytes, or as large as the tensor,
 * whose data it then is. */
tn_status tn_infer_reserve(tn_inference *inference, tn_tensor_id tensor, size_t bytes);
tn_status tn_infer_reserve_value(tn_inference *inference, tn_tensor_id tensor);
/* Where every value is computed: an empty heap for an output's strings. Others cannot have any:
 * TN_ERROR_UNSUPPORTED. */
tn_status tn_infer_open_heap(tn_inference *inference, tn_tensor_id tensor);
/* The value of an input: elements and what they name are copied. */
tn_status tn_infer_take_strings(tn_inference *inference, tn_tensor_id tensor, const void *elements,
                                const struct tn_heap *heap);
void tn_infer_heaps_destroy(struct tn_inference_heaps *heaps, const tn_allocator *allocator);
/* Values that stand for those that a run will find, so that what follows can be looked at. */
tn_status tn_infer_guess_values(tn_inference *inference, const tn_graph_node *node);
/* Computes a node whose inputs' values are known and whose outputs have their shapes. */
tn_status tn_infer_values(tn_inference *inference, const tn_graph_node *node);

/* --- evaluate.c --- */
/* Calls the reference; `inputs` as the operator may see them. `source`: of memory for outputs
 * without a bound; null: there are none. `questions` count where it is no run that asks. */
tn_status tn_evaluate_call(const tn_graph *graph, const tn_graph_node *node,
                           const tn_tensor *const *inputs, tn_tensor *const *outputs,
                           struct tn_output_source *source, const tn_run_state *run,
                           uint32_t *questions);

#endif
