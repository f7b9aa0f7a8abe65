/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a Caffe model's weights for a sound network, and as a mean image.
 * Nothing may crash, leak or take long. Its companion fuzz_prototxt.c changes the network instead.
 */
#include "caffe_fuzz.h"

/* An input that a mean may be for. */
static void parse_mean(const uint8_t *data, size_t bytes) {
    static const int64_t extents[] = {-1, 2, 2, 2};
    tn_graph *graph;
    tn_tensor_id input;
    if (tn_graph_create(fuzz_runtime(), "mean", &graph) != TN_OK) return;
    if (tn_graph_add_input(graph, "x", TN_F32, 4, extents, NULL, &input) == TN_OK &&
        tn_graph_add_output(graph, input, "y") == TN_OK)
        (void)import_mean(fuzz_runtime(), graph, "x", data, bytes, 0.5);
    tn_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    caffe_fuzz_parse(caffe_network, strlen(caffe_network), data, bytes);
    parse_mean(data, bytes);
    return 0;
}
