/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as an ONNX model. What is read as a graph is also inferred. Nothing may
 * crash, leak or take long. Needs the inside of the library; replay.c runs it on files.
 */
#include "fuzz_graph.h"

#include <tenon/import.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    tn_graph *graph;
    if (tn_graph_parse_onnx(fuzz_runtime(), data, bytes, NULL, &graph) != TN_OK) return 0;
    fuzz_infer(graph);
    tn_graph_destroy(graph);
    return 0;
}
