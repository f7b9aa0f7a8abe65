/* SPDX-License-Identifier: Apache-2.0 */
/* A layer from a string: the program holds the code of SoftClip, has it compiled and loaded, puts it into a network and runs it.
 * `compile_layer [CACHE_FOLDER]`; without a folder, the compiled layer is kept in ~/.cache/tenon and found there the next time. */
#include <stdio.h>
#include <tenon/tenon.h>

/* clang-format off */
#define CHECK(call) if ((call) != TN_OK) return fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message), 1

static const tn_compile_field low = {.size = sizeof(low), .type = TN_FIELD_F32, .name = "low", .fallback = "0"};
static const tn_compile_field high = {.size = sizeof(high), .type = TN_FIELD_F32, .name = "high", .fallback = "6"};
static const tn_compile_port x_port = {.size = sizeof(x_port), .name = "x"}, y_port = {.size = sizeof(y_port), .name = "y"};
static const tn_compile_layer soft_clip = {
    .size = sizeof(soft_clip), .domain = "Example", .name = "SoftClip", .doc = "Bends values into low to high.",
    .field_count = 2, .fields = (const tn_compile_field *const[]){&low, &high},
    .input_count = 1, .inputs = (const tn_compile_port *const[]){&x_port},
    .output_count = 1, .outputs = (const tn_compile_port *const[]){&y_port},
    .run = "const float *from = x->data, half = (fields->high - fields->low) / 2, middle = fields->low + half;\n"
           "float *to = y->data;\n"
           "for (uint64_t i = 0; i < x->bytes / sizeof(float); i++)\n"
           "    to[i] = middle + half * tanhf((from[i] - middle) / half);\n",
    /* What `tenon plugin check` holds the kernel against. */
    .reference = "const double half = ((double)fields->high - fields->low) / 2, middle = fields->low + half;\n"
                 "for (uint64_t i = 0; i < x->bytes / sizeof(float); i++)\n"
                 "    ((float *)y->data)[i] = (float)(middle + half * tanh((((const float *)x->data)[i] - middle) / half));\n",
    .case_count = 2, .cases = (const char *const[]){"| x=f32[2,3,5]", "low=-1 high=1 | x=f32[0,4]"}};

int main(int argc, char **argv) {
    static const float values[] = {-4, -2, 0, 2, 3, 4, 6, 8, 10};
    static const int64_t shape[] = {9};
    const tn_compile_options options = {.size = sizeof(options), .layer = &soft_clip, .cache_folder = argc > 1 ? argv[1] : NULL};
    const tn_attribute top = {.size = sizeof(top), .type = TN_FIELD_F32, .name = "high", .f = 8};
    tn_runtime *runtime; tn_graph *graph; tn_plan *plan; tn_engine *engine; tn_context *context;
    tn_tensor_id x, y; const tn_tensor *result; uint64_t bytes;

    CHECK(tn_runtime_create(NULL, &runtime));
    CHECK(tn_compile_library(runtime, &options, NULL));
    CHECK(tn_graph_create(runtime, "clipped", &graph));
    CHECK(tn_graph_add_input(graph, "x", TN_F32, 1, shape, NULL, &x));
    const tn_node_description node = {.size = sizeof(node), .domain = "Example", .op = "SoftClip", .input_count = 1, .inputs = &x,
                                      .output_count = 1, .attribute_count = 1, .attributes = (const tn_attribute *const[]){&top}};
    CHECK(tn_graph_add_node(graph, &node, &y));
    CHECK(tn_graph_add_output(graph, y, "y"));
    CHECK(tn_build(graph, NULL, &plan));
    const void *data = tn_plan_bytes(plan, &bytes);
    CHECK(tn_engine_load_bytes(runtime, data, bytes, NULL, &engine));
    CHECK(tn_context_create(engine, &context));
    CHECK(tn_context_bind_input(context, 0, values, sizeof(values)));
    CHECK(tn_context_run(context));
    CHECK(tn_context_output(context, 0, &result));
    for (int i = 0; i < 9; i++) printf("%4.1f -> %.4f\n", (double)values[i], (double)((const float *)result->data)[i]);
    tn_context_destroy(context); tn_engine_release(engine); tn_plan_destroy(plan); tn_graph_destroy(graph); tn_runtime_release(runtime);
}
