/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the plans of test_run_only.c with the whole library, and keeps what they compute there.
 * Third parties' libraries are loaded as files here. */
#include "networks.h"

#include <stdlib.h>
#include <string.h>

#include <tenon/import.h>

/* Ends the program. */
static void must(tn_status status, const char *what) {
    if (status == TN_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, tn_last_error()->where, tn_last_error()->message);
    exit(1);
}

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* ----------------------------------------------------------------------------------------------
 * networks by hand */

static tn_tensor_id add(tn_graph *graph, const char *domain, const char *op, uint32_t input_count,
                        const tn_tensor_id *inputs) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .name = op,
                                      .input_count = input_count,
                                      .output_count = 1,
                                      .inputs = inputs};
    tn_tensor_id output;
    must(tn_graph_add_node(graph, &node, &output), op);
    return output;
}

static tn_tensor_id add_input(tn_graph *graph, const char *name, uint32_t rank,
                              const int64_t *extents) {
    tn_tensor_id input;
    must(tn_graph_add_input(graph, name, TN_F32, rank, extents, NULL, &input), name);
    return input;
}

/* y = grid_sampler(SoftClip(x), grid): of two third parties. */
static void make_plugins(tn_graph *graph) {
    const tn_tensor_id x = add_input(graph, "x", 4, (const int64_t[]){1, 2, 5, 6});
    const tn_tensor_id grid = add_input(graph, "grid", 4, (const int64_t[]){1, 4, 3, 2});
    const tn_tensor_id clipped = add(graph, "Test", "SoftClip", 1, &x);
    const tn_tensor_id y =
        add(graph, "mmcv", "grid_sampler", 2, (const tn_tensor_id[]){clipped, grid});
    must(tn_graph_add_output(graph, y, "y"), "an output");
}

/* y = Exp(x) + Quirk(x) */
static void make_quirk(tn_graph *graph) {
    const tn_tensor_id x = add_input(graph, "x", 1, (const int64_t[]){-1});
    const tn_tensor_id terms[] = {add(graph, "", "Exp", 1, &x), add(graph, "Test", "Quirk", 1, &x)};
    must(tn_graph_add_output(graph, add(graph, "", "Add", 2, terms), "y"), "an output");
}

static void make_relu(tn_graph *graph) {
    const tn_tensor_id x = add_input(graph, "x", 1, (const int64_t[]){9});
    must(tn_graph_add_output(graph, add(graph, "", "Relu", 1, &x), "y"), "an output");
}

/* ----------------------------------------------------------------------------------------------
 * plans */

typedef struct network {
    const char *model; /* below models/; null: `make` */
    void (*make)(tn_graph *graph);
    const char *force_kernel;
    int64_t extent; /* of unknown ones, in the run that is kept */
    const char *plan, *out;
} network;

static const network networks[] = {
    {"lenet.onnx", NULL, NULL, 2, RUN_ONLY_FILE("lenet", ".plan"), RUN_ONLY_FILE("lenet", ".out")},
    {"srcnn_fixed.onnx", NULL, NULL, 0, RUN_ONLY_FILE("srcnn", ".plan"),
     RUN_ONLY_FILE("srcnn", ".out")},
    {NULL, make_plugins, NULL, 0, RUN_ONLY_FILE("plugins", ".plan"),
     RUN_ONLY_FILE("plugins", ".out")},
    {NULL, make_quirk, NULL, 4, RUN_ONLY_FILE("quirk", ".plan"), RUN_ONLY_FILE("quirk", ".out")},
    {NULL, make_relu, "Relu=third", 0, RUN_ONLY_FILE("relu", ".plan"),
     RUN_ONLY_FILE("relu", ".out")},
};

static tn_graph *make_graph(tn_runtime *runtime, const network *from) {
    tn_graph *graph;
    char path[4096];
    if (from->model) {
        snprintf(path, sizeof(path), "%s/models/%s", TENON_ROOT, from->model);
        must(tn_graph_load_onnx(runtime, path, &graph), path);
    } else {
        must(tn_graph_create(runtime, from->plan, &graph), "a graph");
        from->make(graph);
    }
    return graph;
}

static void write_plan(tn_runtime *runtime, const network *from) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 2,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .force_kernel = from->force_kernel};
    tn_graph *graph = make_graph(runtime, from);
    tn_plan *plan;
    tn_engine *engine;
    run_only_bytes bytes;
    must(tn_build(graph, &options, &plan), from->plan);
    must(tn_plan_save(plan, from->plan), from->plan);
    must(tn_engine_load(runtime, from->plan, NULL, &engine), from->plan);
    must(run_only_compute(engine, from->extent, &bytes), from->plan);
    write_file(from->out, bytes.data, bytes.count);
    free(bytes.data);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

int main(int argc, char **argv) {
    const tn_runtime_options options = {.size = sizeof(options),
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT |
                                                 TN_RUNTIME_NO_KERNEL_LIBRARIES};
    tn_runtime *runtime;
    must(tn_runtime_create(&options, &runtime), "a runtime");
    for (int i = 1; i < argc; i++)
        must(tn_runtime_load_library(runtime, argv[i]), argv[i]);
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        write_plan(runtime, &networks[i]);
    tn_runtime_release(runtime);
}
