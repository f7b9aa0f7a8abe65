/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the fuzz target of records that a helper process hands over: those of small
 * models.
 *
 *     make_isolated_corpus FOLDER
 */
#include "fuzz_graph.h"
#include "unit/import/isolated_parcel.h"
#include "onnx_writer.h"

#include <stdio.h>

static const char *folder;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    (void)data;
    (void)bytes;
    return 0;
}

static void save(onnx_part *model, const char *name) {
    char path[4096];
    isolated_parcel parcel = {0};
    if (isolated_parcel_make(fuzz_runtime(), model->data, model->bytes, &parcel) != TN_OK) {
        fprintf(stderr, "%s: %s\n", name, tn_last_error()->message);
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/%s.records", folder, name);
    onnx_write_file(path, parcel.records, parcel.record_bytes);
    isolated_parcel_free(&parcel);
    onnx_part_free(model);
}

static onnx_part model_of(onnx_part node, const char *shape) {
    static const float values[] = {1, 2, 3};
    onnx_part graph = onnx_graph("seed"),
              w = onnx_tensor_raw("w", ONNX_F32, "3", values, sizeof(values));
    onnx_graph_input(&graph, "x", ONNX_F32, shape);
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    return onnx_model(&graph, "", 21);
}

int main(int argc, char **argv) {
    static const int64_t order[] = {1, 0};
    static const float values[] = {1, 2, 3};
    if (argc != 2) return 2;
    folder = argv[1];
    onnx_part model = model_of(onnx_node("Add", "add", "", "x,w", "y"), "N,3");
    save(&model, "constant");
    onnx_part transpose = onnx_node("Transpose", "t", "", "x", "y");
    onnx_node_add(&transpose, onnx_attribute_ints("perm", 2, order));
    model = model_of(transpose, "2,3");
    save(&model, "list");
    onnx_part constant = onnx_node("Constant", "c", "", "", "y"),
              tensor = onnx_tensor_raw("v", ONNX_F32, "3", values, sizeof(values));
    onnx_node_add(&constant, onnx_attribute_tensor("value", &tensor));
    onnx_part_free(&tensor);
    model = model_of(constant, "1");
    save(&model, "tensor");
    onnx_part dense = onnx_node("Gemm", "g", "", "x,x", "y");
    onnx_node_add(&dense, onnx_attribute_float("alpha", 0.5F));
    onnx_node_add(&dense, onnx_attribute_int("transB", 1));
    model = model_of(dense, "3,3");
    save(&model, "numbers");
    onnx_part depth = onnx_node("DepthToSpace", "d", "", "x", "y");
    onnx_node_add(&depth, onnx_attribute_int("blocksize", 2));
    onnx_node_add(&depth, onnx_attribute_text("mode", "CRD", 3));
    model = model_of(depth, "1,4,2,2");
    save(&model, "text");
    printf("5 seeds in %s\n", folder);
    return 0;
}
