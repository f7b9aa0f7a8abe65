/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions that the builder puts between a network's types and those that it computes in; see
 * graph/graph.h. */
#include "base/status.h"
#include "importers/edits/edit.h"
#include "plugin/library.h"
#include "tensor/type.h"

tn_status tn_graph_add_cast(tn_graph *graph, tn_tensor_id from, tn_tensor_id to, tn_type type) {
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_STRING, .name = "to", .s = tn_type_name(type)};
    const tn_attribute *attributes = &attribute;
    const tn_operator_entry *entry = NULL;
    TN_TRY(tn_registry_find_operator(tn_runtime_registry(graph->runtime), "", "Cast", TN_EDIT_OPSET,
                                     &entry));
    const tn_status status = tn_graph_add_node_raw(graph, graph->tensors[to].name, entry, 1,
                                                   &attributes, 1, &from, 1, &to, NULL);
    if (status != TN_OK) tn_library_release(entry->library);
    return status;
}
