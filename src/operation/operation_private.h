/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operator as a graph of one node: operation_graph.c makes it for given inputs and infers it,
 * operation_run.c keeps what was built from it, operation.c has the object. Public side:
 * tenon/operation.h.
 */
#ifndef TN_OPERATION_PRIVATE_H
#define TN_OPERATION_PRIVATE_H

#include "graph/graph.h"
#include "tensor/shape.h"

#include <tenon/engine.h>
#include <tenon/operation.h>

#define TN_OPERATION_STATES 8 /* sets of inputs that are kept */

/* What an input is, as far as a state depends on it. */
typedef struct tn_operation_input {
    bool is_present, is_constant;
    tn_type type;
    tn_shape shape;
    const void *pointer; /* of a weight */
    void *value;         /* owned: of an input whose value decides shapes */
    size_t value_bytes;
} tn_operation_input;

/* The operator built for some inputs. */
typedef struct tn_operation_state {
    tn_operation_input *inputs;
    bool *is_wanted; /* by output */
    tn_engine *engine;
    tn_context *context;
    uint64_t last_used;
} tn_operation_state;

struct tn_operation {
    tn_runtime *runtime; /* counted */
    const tn_allocator *allocator;
    tn_graph *model;       /* holds the node with its attributes; its inputs are of no type */
    const tn_operator *op; /* the model's */
    uint32_t version, input_count, output_count, threads;
    uint64_t constant_inputs;
    tn_operation_state states[TN_OPERATION_STATES];
    const tn_operation_state *last; /* of the last run; null: none */
    uint64_t clock;
};

/* Sound linear tensors, and room for the outputs' shapes. `bytes[i]` gets the bytes of an input's
 * elements. Data is needed of all inputs, or of those whose value decides shapes. */
tn_status tn_operation_check(const tn_operation *operation, const tn_tensor *const *inputs,
                             tn_tensor *const *outputs, bool needs_data);
/* Whether the value of an input decides shapes. */
bool tn_operation_is_value(const tn_operation *operation, uint32_t input);
/* Whether an input is part of what is built: a value, or a weight. */
bool tn_operation_is_constant(const tn_operation *operation, uint32_t input);
/* The bytes of a checked input. */
size_t tn_operation_bytes(const tn_tensor *tensor);
/* A graph of one node. Values and weights are constants, whose data is lent. The caller destroys
 * it. */
tn_status tn_operation_graph(const tn_operation *operation, const tn_tensor *const *inputs,
                             tn_tensor *const *outputs, tn_graph **out_graph);
/* Writes what an output is. */
void tn_operation_describe(tn_tensor *output, tn_type type, const tn_shape *shape);
/* Of a state that may be zeroed. */
void tn_operation_state_deinit(const tn_operation *operation, tn_operation_state *state);

#endif
