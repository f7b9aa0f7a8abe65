/* SPDX-License-Identifier: Apache-2.0 */
/* What the two fuzz targets of the Caffe reader share: one parse. */
#ifndef TN_TESTS_CAFFE_FUZZ_H
#define TN_TESTS_CAFFE_FUZZ_H

#include "fuzz_graph.h"

#include "caffe_test.h"
#include "import_test.h"

/* Every error says something; every graph has an output that it computes. */
static void caffe_fuzz_parse(const void *text, size_t text_bytes, const void *model,
                             size_t model_bytes) {
    tn_graph *graph = NULL;
    tn_status status =
        import_caffe(fuzz_runtime(), text, text_bytes, model, model_bytes, NULL, &graph);
    if (status != TN_OK && (graph || !tn_last_error()->message[0])) abort();
    if (status == TN_OK && graph->output_count == 0) abort();
    tn_graph_destroy(graph);
}

#endif
