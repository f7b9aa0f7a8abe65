/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the plan fuzz target into a folder: plans of small graphs of built-in layers,
 * whole and as their description alone, and embedded libraries, so that a fuzzer starts from what
 * is sound.
 *
 *     make_plan_corpus FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

#include "base/code_cache/sha256.h"
#include "base/hash.h"
#include "plan/layout.h"
#include "plan/plan.pb-c.h"
#include "plan_fuzz.h"

static const char *folder;
static tn_runtime *runtime;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != TN_OK) {                                                                     \
            fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message);         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static void write_file(const char *name, const char *ending, const void *data, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.%s", folder, name, ending);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

/* Builds and writes the graph and gives it back. */
static void save_built(tn_graph *graph, const char *name, const tn_builder_options *options) {
    tn_plan *plan;
    uint64_t bytes, section[2];
    TRY(tn_build(graph, options, &plan));
    const unsigned char *data = tn_plan_bytes(plan, &bytes);
    memcpy(section, data + 40, sizeof(section)); /* of the description: offset and bytes */
    write_file(name, "plan", data, (size_t)bytes);
    write_file(name, "description", data + section[0], (size_t)section[1]);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

static void save(tn_graph *graph, const char *name, uint32_t flags) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = flags | TN_BUILD_NO_TIMING};
    save_built(graph, name, &options);
}

static tn_graph *start(tn_tensor_id *out_input, int64_t batch) {
    static const char *const names[] = {"batch", NULL, NULL, NULL};
    tn_graph *graph;
    TRY(tn_graph_create(runtime, "seed", &graph));
    TRY(tn_graph_add_input(graph, "x", TN_F32, 4, LIST(batch, 2, 4, 4), names, out_input));
    return graph;
}

static tn_tensor_id add_node(tn_graph *graph, const char *op, uint32_t input_count,
                             const tn_tensor_id *inputs, uint64_t attribute_count,
                             const tn_attribute *const *attributes) {
    tn_node_description node = {.size = sizeof(node),
                                .domain = "",
                                .op = op,
                                .input_count = input_count,
                                .inputs = inputs,
                                .output_count = 1,
                                .attribute_count = attribute_count,
                                .attributes = attributes};
    tn_tensor_id output;
    TRY(tn_graph_add_node(graph, &node, &output));
    return output;
}

static tn_tensor_id add_ones(tn_graph *graph, const char *name, uint32_t rank,
                             const int64_t *extents, size_t count) {
    static float ones[64];
    tn_tensor_id id;
    for (size_t i = 0; i < 64; i++)
        ones[i] = 1;
    TRY(tn_graph_add_constant(graph, name, TN_F32, rank, extents, ones, count * sizeof(float),
                              &id));
    return id;
}

static tn_tensor_id add_convolution(tn_graph *graph, tn_tensor_id x) {
    const tn_attribute pads = {.size = sizeof(pads),
                               .type = TN_FIELD_I64S,
                               .name = "pads",
                               .count = 4,
                               .items = LIST(1, 1, 1, 1)};
    const tn_attribute *const attributes[] = {&pads};
    tn_tensor_id inputs[] = {x, add_ones(graph, "weight", 4, LIST(3, 2, 3, 3), 54),
                             add_ones(graph, "bias", 1, LIST(3), 3)};
    return add_node(graph, "Conv", 3, inputs, 1, attributes);
}

static void save_convolution(const char *name, int64_t batch, uint32_t flags) {
    tn_tensor_id x;
    tn_graph *graph = start(&x, batch);
    tn_tensor_id y = add_convolution(graph, x);
    y = add_node(graph, "Relu", 1, &y, 0, NULL);
    TRY(tn_graph_add_output(graph, y, "y"));
    save(graph, name, flags);
}

static tn_profile_input batches(const int64_t *low, const int64_t *best, const int64_t *high) {
    return (tn_profile_input){.size = sizeof(tn_profile_input),
                              .rank = 4,
                              .name = "x",
                              .minimum = low,
                              .optimum = best,
                              .maximum = high};
}

static void save_profiles(const char *name, uint32_t flags) {
    tn_tensor_id x;
    tn_graph *graph = start(&x, -1);
    tn_tensor_id y = add_convolution(graph, x);
    TRY(tn_graph_add_output(graph, y, "y"));
    const tn_profile_input few = batches(LIST(1, 2, 4, 4), LIST(1, 2, 4, 4), LIST(2, 2, 4, 4)),
                           many = batches(LIST(4, 2, 4, 4), LIST(8, 2, 4, 4), LIST(8, 2, 4, 4));
    const tn_profile_input *const inputs[] = {&few, &many};
    const tn_profile sets[] = {{sizeof(tn_profile), 1, &inputs[0]},
                               {sizeof(tn_profile), 1, &inputs[1]}};
    const tn_profile *const profiles[] = {&sets[0], &sets[1]};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING | flags,
                                        .profile_count = 2,
                                        .profiles = profiles};
    save_built(graph, name, &options);
}

static void save_classifier(const char *name) {
    tn_tensor_id x;
    tn_graph *graph = start(&x, 1);
    const tn_attribute kernel = {.size = sizeof(kernel),
                                 .type = TN_FIELD_I64S,
                                 .name = "kernel_shape",
                                 .count = 2,
                                 .items = LIST(2, 2)};
    const tn_attribute *const attributes[] = {&kernel};
    tn_tensor_id y = add_node(graph, "MaxPool", 1, &x, 1, attributes);
    y = add_node(graph, "Flatten", 1, &y, 0, NULL);
    tn_tensor_id product[] = {y, add_ones(graph, "matrix", 2, LIST(18, 3), 54)};
    y = add_node(graph, "MatMul", 2, product, 0, NULL);
    y = add_node(graph, "Softmax", 1, &y, 0, NULL);
    TRY(tn_graph_add_output(graph, y, "y"));
    save(graph, name, 0);
}

static void save_sum(const char *name) {
    tn_tensor_id x;
    tn_graph *graph = start(&x, -1);
    tn_tensor_id sum[] = {x, add_ones(graph, "one", 0, NULL, 1)};
    tn_tensor_id y = add_node(graph, "Add", 2, sum, 0, NULL);
    TRY(tn_graph_add_output(graph, y, "y"));
    TRY(tn_graph_add_output(graph, add_node(graph, "Shape", 1, &y, 0, NULL), "shape"));
    save(graph, name, TN_BUILD_REFERENCE);
}

/* Weights that products pack, with types and orders of their own at the border, and with what a
 * model's file says of itself. */
static void save_described(const char *name, uint32_t flags) {
    tn_tensor_id x;
    tn_graph *graph = start(&x, -1);
    const tn_border border = {
        .size = sizeof(border), .type = TN_F64, .name = "x", .order = TN_BORDER_CHANNELS_LAST};
    tn_tensor_id y = add_node(graph, "Relu", 1, &x, 0, NULL);
    tn_tensor_id product[] = {y, add_ones(graph, "matrix", 2, LIST(4, 3), 12)};
    y = add_node(graph, "MatMul", 2, product, 0, NULL);
    TRY(tn_graph_add_output(graph, y, "y"));
    TRY(tn_graph_set_border(graph, &border));
    TRY(tn_graph_set_metadata(graph, "author", "nobody"));
    TRY(tn_graph_set_metadata(graph, "license", ""));
    save(graph, name, flags);
}

/* A manifest of one library, and the section with that: all that loading embedded libraries looks
 * at, in the fewest bytes. The manifest always has the digest that the target trusts. */
static void save_embedded(const char *name, const char *content) {
    const size_t content_bytes = strlen(content);
    unsigned char digest[TN_SHA256_BYTES], data[1024] = {0};
    Tenon__Plan__Library library = TENON__PLAN__LIBRARY__INIT, *libraries[] = {&library};
    Tenon__Plan__Plan plan = TENON__PLAN__PLAN__INIT;
    tn_sha256(PLAN_FUZZ_LIBRARY, PLAN_FUZZ_LIBRARY_BYTES, digest);
    library.name = library.file_name = "seed";
    library.hash = tn_hash(content, content_bytes);
    library.sha256 = (ProtobufCBinaryData){sizeof(digest), digest};
    library.embedded_bytes = content_bytes;
    plan.n_libraries = 1;
    plan.libraries = libraries;
    const size_t bytes = tenon__plan__plan__get_packed_size(&plan), start = 32 + 2 * 32;
    const size_t section = (start + bytes + 63) / 64 * 64;
    const tn_plan_layout layout = {
        .bytes = section + content_bytes,
        .section_count = 2,
        .sections = {{.kind = TN_SECTION_DESCRIPTION, .offset = start, .bytes = bytes},
                     {.kind = TN_SECTION_LIBRARIES, .offset = section, .bytes = content_bytes}}};
    if (layout.bytes > sizeof(data)) exit(1);
    tenon__plan__plan__pack(&plan, data + start);
    memcpy(data + section, content, content_bytes);
    tn_plan_layout_write(&layout, data);
    write_file(name, "plan", data, layout.bytes);
}

int main(int argument_count, char **arguments) {
    tn_runtime_options options = {.size = sizeof(options), .flags = TN_RUNTIME_NO_ENVIRONMENT};
    if (argument_count != 2) {
        fprintf(stderr, "usage: make_plan_corpus FOLDER\n");
        return 2;
    }
    folder = arguments[1];
    TRY(tn_runtime_create(&options, &runtime));
    save_convolution("convolution", 1, 0);
    save_convolution("convolution_any_batch", -1, 0);
    save_convolution("convolution_reference", 1, TN_BUILD_REFERENCE);
    save_convolution("convolution_refit", 1, TN_BUILD_REFIT);
    save_convolution("convolution_unpacked", 1, TN_BUILD_NO_PACKED_WEIGHTS);
    save_profiles("profiles", 0);
    save_profiles("profiles_refit", TN_BUILD_REFIT);
    save_profiles("profiles_unpacked", TN_BUILD_NO_PACKED_WEIGHTS);
    save_described("described", 0);
    save_described("described_refit", TN_BUILD_REFIT);
    save_classifier("classifier");
    save_sum("sum");
    save_embedded("embedded", PLAN_FUZZ_LIBRARY);
    save_embedded("embedded_changed", "other bytes");
    tn_runtime_release(runtime);
    return 0;
}
