/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the records of a graph that a helper process hands over. What is taken
 * as a graph is also inferred. Nothing may crash, leak or take long.
 */
#include "fuzz_graph.h"
#include "unit/import/isolated_parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static uint8_t constants[4096];
    const isolated_parcel parcel = {.data = constants, .data_bytes = sizeof(constants)};
    tn_graph *graph = NULL;
    const tn_status status = isolated_parcel_unpack(fuzz_runtime(), &parcel, data, bytes, &graph);
    if (status != TN_OK && (graph || !tn_last_error()->message[0])) abort();
    if (status != TN_OK) return 0;
    fuzz_infer(graph);
    tn_graph_destroy(graph);
    return 0;
}
