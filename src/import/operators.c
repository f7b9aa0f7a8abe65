/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators as readers ask for them: found in the registry, held until the reading ends, asked for
 * the shapes of a node that is not there yet, and gathered where they are missing.
 */
#include "base/status.h"
#include "graph/infer.h"
#include "import/reading.h"
#include "plugin/missing.h"

#include <string.h>

const tn_operator_entry *tn_reading_entry(const tn_reading *reading, const tn_operator *op) {
    for (size_t i = reading->held_count; i-- > 0;)
        if (reading->held[i]->op == op) return reading->held[i];
    return NULL;
}

/* Takes over the caller's count. */
static tn_status hold_operator(tn_reading *reading, const tn_operator_entry *entry) {
    tn_status status = TN_OK;
    const bool is_held = tn_reading_entry(reading, entry->op) != NULL;
    if (!is_held)
        status = tn_grow(reading->allocator, (void **)&reading->held, &reading->held_capacity,
                         reading->held_count + 1, sizeof(*reading->held));
    if (!is_held && status == TN_OK)
        reading->held[reading->held_count++] = entry;
    else
        tn_library_release(entry->library);
    return status;
}

tn_status tn_reading_find_operator(tn_import *import, const char *domain, const char *name,
                                   uint32_t version, const tn_operator **out_op) {
    tn_reading *reading = tn_reading_of(import);
    tn_registry *registry = tn_runtime_registry(reading->runtime);
    const tn_operator_entry *entry = NULL;
    if (!name || !*name || !out_op)
        return tn_fail(TN_ERROR_ARGUMENT, "an operator is looked for without a name");
    if (domain && strcmp(domain, "ai.onnx") == 0) domain = "";
    if (domain)
        TN_TRY(tn_runtime_find_operator(reading->runtime, domain, name, version, &entry));
    else
        TN_TRY(tn_registry_find_any(registry, name, &entry));
    TN_TRY(hold_operator(reading, entry));
    *out_op = entry->op;
    return TN_OK;
}

bool tn_reading_is_given(tn_import *import, const char *name) {
    return name && tn_registry_has_given(tn_runtime_registry(tn_reading_of(import)->runtime), name);
}

static tn_status fail_unheld(void) {
    return tn_fail(TN_ERROR_ARGUMENT, "the operator is none that find_operator gave");
}

tn_status tn_reading_check_fields(tn_import *import, const tn_operator *op, uint64_t count,
                                  const tn_attribute *const *attributes) {
    tn_reading *reading = tn_reading_of(import);
    void *params;
    if (!tn_reading_entry(reading, op)) return fail_unheld();
    TN_TRY(tn_reading_attributes(reading, NULL, count, attributes, &attributes));
    return tn_fields_parse(reading->arena, op, count, attributes, &params);
}

/* ----------------------------------------------------------------------------------------------
 * shapes of a node that is not there yet */

static tn_status add_input(tn_graph *graph, const tn_tensor *input, tn_tensor_id *out_id) {
    tn_shape shape;
    size_t bytes;
    if (!input || (input->rank > 0 && !input->shape))
        return tn_fail(TN_ERROR_ARGUMENT, "an operator is asked about an input without a shape");
    if (!tn_type_is_valid(input->type))
        return tn_fail(TN_ERROR_TYPE, "element type %u is not known", input->type);
    const char *name = tn_graph_make_name(graph, input->name ? input->name : "input");
    if (!name) return tn_fail_memory("a tensor's name");
    TN_TRY(tn_shape_set(&shape, input->rank, input->shape));
    TN_TRY(tn_format_bytes(TN_LINEAR, input->type, &shape, &bytes));
    if (input->data && bytes > 0)
        return tn_graph_add_constant_lent(graph, name, input->type, &shape, input->data, bytes,
                                          out_id);
    return tn_graph_add_input(graph, name, input->type, shape.rank, shape.extents, NULL, out_id);
}

/* The one node in a graph of its own. */
static tn_status add_node(tn_graph *graph, const tn_operator_entry *entry,
                          const tn_import_question *question, const tn_attribute *const *attributes,
                          tn_tensor_id *ids) {
    tn_tensor_id *outputs = ids + question->input_count;
    for (uint32_t i = 0; i < question->input_count; i++)
        TN_TRY(add_input(graph, question->inputs[i], &ids[i]));
    for (uint32_t i = 0; i < question->output_count; i++)
        TN_TRY(tn_graph_add_tensor(graph, NULL, TN_NONE, &outputs[i]));
    tn_library_retain(entry->library);
    const tn_status status =
        tn_graph_add_node_raw(graph, question->name, entry, question->attribute_count, attributes,
                              question->input_count, ids, question->output_count, outputs, NULL);
    if (status != TN_OK) {
        tn_library_release(entry->library);
        return status;
    }
    for (uint32_t i = 0; i < question->output_count; i++)
        TN_TRY(tn_graph_add_output(graph, outputs[i], NULL));
    return tn_graph_sort(graph);
}

static tn_status run_inference(const tn_graph *graph, tn_arena *arena,
                               const tn_import_question *question, const tn_tensor_id *outputs) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    tn_status status = TN_OK;
    tn_shape *shapes = tn_arena_allocate(arena, graph->input_count, sizeof(*shapes));
    if (!shapes) return tn_fail_memory("shapes");
    for (size_t i = 0; i < graph->input_count; i++)
        shapes[i] = graph->tensors[graph->inputs[i]].shape;
    TN_TRY(tn_inference_plan_create(graph, arena, &plan));
    TN_GO(tn_inference_init(&inference, graph, &plan));
    TN_GO(tn_inference_run(&inference, shapes, NULL));
    for (uint32_t i = 0; i < question->output_count; i++) {
        const tn_tensor_storage *storage = &inference.tensors[outputs[i]].storage;
        question->out_types[i] = storage->tensor.type;
        question->out_ranks[i] = storage->shape.rank;
        memcpy(question->out_extents[i], storage->shape.extents, sizeof(storage->shape.extents));
    }
done:
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_reading_ask(tn_import *import, const tn_import_question *question) {
    tn_reading *reading = tn_reading_of(import);
    tn_graph *graph = NULL;
    tn_arena *arena = NULL;
    const tn_attribute *const *attributes;
    tn_status status = TN_OK;
    if (!question || question->size < sizeof(*question) ||
        (question->input_count > 0 && !question->inputs) ||
        (question->output_count > 0 &&
         (!question->out_types || !question->out_ranks || !question->out_extents)))
        return tn_fail(TN_ERROR_ARGUMENT, "a question to an operator is incomplete");
    const tn_operator_entry *entry = tn_reading_entry(reading, question->op);
    if (!entry) return fail_unheld();
    TN_TRY(tn_reading_attributes(reading, NULL, question->attribute_count, question->attributes,
                                 &attributes));
    TN_GO(tn_graph_create(reading->runtime, question->name ? question->name : "", &graph));
    TN_GO(tn_arena_create(reading->allocator, &arena));
    const size_t count = (size_t)question->input_count + question->output_count;
    tn_tensor_id *ids = tn_arena_allocate(arena, count, sizeof(*ids));
    if (!ids) TN_GO(tn_fail_memory("a node"));
    TN_GO(add_node(graph, entry, question, attributes, ids));
    TN_GO(run_inference(graph, arena, question, ids + question->input_count));
done:
    tn_arena_destroy(arena);
    tn_graph_destroy(graph);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * missing ones */

tn_status tn_reading_describe_missing(tn_import *import, const char *name, uint64_t count,
                                      const tn_attribute *const *attributes) {
    tn_reading *reading = tn_reading_of(import);
    tn_error_copy failure;
    const tn_status status = tn_last_error()->status;
    if (status == TN_OK) return tn_fail(TN_ERROR_STATE, "nothing was found missing");
    tn_error_save(&failure);
    const tn_attribute *const *copies = NULL;
    const tn_status copied = tn_reading_attributes(reading, NULL, count, attributes, &copies);
    if (copied != TN_OK) return copied;
    tn_error_restore(&failure);
    return tn_missing_describe(reading->runtime, name ? name : "", status, count, copies);
}

tn_status tn_reading_add_missing(tn_import *import, const char *key, const char *node) {
    tn_reading *reading = tn_reading_of(import);
    const char *own = tn_arena_text(reading->arena, node ? node : "");
    if (!key) return tn_fail(TN_ERROR_ARGUMENT, "what is missing needs a key");
    return own ? tn_missing_list_add(&reading->missing, key, own) : tn_fail_memory("a message");
}

bool tn_reading_is_missing(tn_import *import, const char *key) {
    return key && tn_missing_list_count(&tn_reading_of(import)->missing, key);
}

tn_status tn_reading_report_missing(tn_import *import) {
    return tn_missing_list_report(&tn_reading_of(import)->missing);
}
