/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that begin with an optional and go on with a value: ONNX lets a body return a tensor or a
 * sequence for what it was given as an optional. The value is put into one at the body's end, and
 * taken out of it behind the loop.
 */
#include "base/status.h"
#include "importers/onnx/loop/loop.h"

#include <tenon/plugin/sequence.h>

#include <string.h>

/* The operators that make and open an optional of what output `index` of a graph is declared as. */
typedef struct optional_operators {
    const char *domain, *put, *get;
    uint32_t version;
} optional_operators;

static bool find_operators(const tn_onnx_graph *graph, size_t index,
                           optional_operators *out_operators) {
    if (index == 0 || index + 1 >= graph->n_input || index >= graph->n_output) return false;
    const Tenon__Onnx__TypeProto *given = graph->input[index + 1]->type;
    const Tenon__Onnx__TypeProto *made = graph->output[index]->type;
    if (!given || !made || !given->optional_type) return false;
    if (made->sequence_type)
        *out_operators =
            (optional_operators){"Tenon", "OptionalSequence", "OptionalGetSequence", 1};
    else if (made->tensor_type)
        *out_operators = (optional_operators){"", "Optional", "OptionalGetElement", 15};
    else
        return false;
    return true;
}

static tn_status add_unary(tn_onnx_reader *reader, const optional_operators *operators,
                           const char *op_name, const char *name, tn_import_tensor input,
                           tn_import_tensor output) {
    const tn_operator *op;
    TN_TRY(reader->import->services->find_operator(reader->import, operators->domain, op_name,
                                                   operators->version, &op));
    return tn_import_add_node(reader->graph, name, op, 0, NULL, 1, &input, 1, &output);
}

/* A tensor that the file has no name for. */
static tn_status add_tensor(tn_onnx_reader *reader, const char *name,
                            tn_import_tensor *out_tensor) {
    const char *own = tn_import_free_name(reader->graph, name);
    if (!own) return tn_fail_memory("a tensor's name");
    return tn_import_add_tensor(reader->graph, own, out_tensor);
}

tn_status tn_onnx_optional_put(tn_onnx_reader *reader, const tn_onnx_graph *graph, size_t index,
                               tn_import_tensor *inout_tensor) {
    optional_operators operators;
    tn_import_tensor made;
    if (!find_operators(graph, index, &operators)) return TN_OK;
    TN_TRY(add_tensor(reader, graph->output[index]->name, &made));
    TN_TRY(add_unary(reader, &operators, operators.put, graph->output[index]->name, *inout_tensor,
                     made));
    *inout_tensor = made;
    return TN_OK;
}

tn_status tn_onnx_optional_outputs(tn_onnx_reader *reader, const tn_onnx_node *node, uint32_t count,
                                   const tn_import_tensor *outputs,
                                   const tn_import_tensor **out_made) {
    const tn_onnx_graph *body = tn_onnx_loop_body(node);
    optional_operators operators;
    tn_import_tensor *made = NULL;
    *out_made = outputs;
    for (uint32_t i = 0; body && i < count; i++) {
        if (outputs[i] == TN_IMPORT_NO_TENSOR || !find_operators(body, i + 1, &operators)) continue;
        if (!made) made = tn_arena_copy(reader->arena, outputs, count * sizeof(*made));
        if (!made) return tn_fail_memory("a node");
        TN_TRY(add_tensor(reader, node->output[i], &made[i]));
        *out_made = made;
    }
    return TN_OK;
}

tn_status tn_onnx_optional_get(tn_onnx_reader *reader, const tn_onnx_node *node, const char *name,
                               uint32_t count, const tn_import_tensor *outputs,
                               const tn_import_tensor *made) {
    const tn_onnx_graph *body = tn_onnx_loop_body(node);
    optional_operators operators;
    for (uint32_t i = 0; i < count && made != outputs; i++) {
        if (made[i] == outputs[i] || !find_operators(body, i + 1, &operators)) continue;
        TN_TRY(add_unary(reader, &operators, operators.get, name, made[i], outputs[i]));
    }
    return TN_OK;
}
