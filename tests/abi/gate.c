/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with the types of the public headers and a few functions, compiled with headers that
 * check_gate.py has changed: what the gate (scripts/check-abi) must let pass and what it must stop.
 * It is looked at, never run.
 */
#include <tenon/tenon.h>

#ifndef GATE_FEWER
tn_status tn_runtime_load_library(tn_runtime *runtime, const char *path) {
    return runtime && path ? TN_OK : TN_ERROR_ARGUMENT;
}
#endif
void tn_runtime_visit_operators(tn_runtime *runtime,
                                bool (*visit)(void *user, const tn_operator *op,
                                              const tn_library_info *library),
                                void *user) {
    if (runtime) visit(user, NULL, NULL);
}
void tn_runtime_visit_kernels(tn_runtime *runtime,
                              bool (*visit)(void *user, const tn_kernel *kernel,
                                            const tn_library_info *library),
                              void *user) {
    if (runtime) visit(user, NULL, NULL);
}
tn_status tn_runtime_register_library(tn_runtime *runtime, tn_library_entry entry) {
    return runtime && entry ? TN_OK : TN_ERROR_ARGUMENT;
}
tn_status tn_runtime_create(const tn_runtime_options *options, tn_runtime **out_runtime) {
    return options && out_runtime ? TN_OK : TN_ERROR_ARGUMENT;
}
tn_status tn_build(tn_graph *graph, const tn_builder_options *options, tn_plan **out_plan) {
    return graph && options && out_plan ? TN_OK : TN_ERROR_ARGUMENT;
}
tn_status tn_graph_add_node(tn_graph *graph, const tn_node_description *node,
                            tn_tensor_id *out_outputs) {
    return graph && node && out_outputs ? TN_OK : TN_ERROR_ARGUMENT;
}
#ifdef GATE_MORE
TN_EXPORT tn_status tn_gate_more(tn_graph *graph);
tn_status tn_gate_more(tn_graph *graph) {
    return graph ? TN_OK : TN_ERROR_ARGUMENT;
}
#endif
