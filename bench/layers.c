/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single layers cost in each type: every kernel that takes the layer, in every combination,
 * called directly on one thread (or as many as are asked for), all of them in turn and several
 * times, so that a disturbance meets them alike. For each layer it prints the fastest of each kind
 * (32-bit floats, 8 bits, 16-bit floats) with its combination, and how many times the fastest
 * 32-bit one it takes; behind the fastest of 8 bits, what the 32-bit one takes together with the
 * conversions that it needs instead, and the ratio to that.
 *
 *     tenon-bench-layers [--threads N] [--device KIND[:N]] [--all] [OPERATOR [LAYER]]
 *
 * Layers are written like conformance cases; LAYER is one that is not in the tables. --all prints
 * every kernel and combination. On a device there are more of them, a launch of a captured graph
 * repeats each ten times, all caches warm, and bytes a second (inputs and outputs once) are printed
 * too. Libraries in TENON_PLUGIN_PATH are loaded first.
 */
#include "base/status.h"
#include "cases/stored/stored_memory.h"
#include "plugin/devices.h"
#include "tensor/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct layer {
    const char *name, *op, *text;
} layer;
static const layer layers[] = {
    {"LeNet conv1", "Conv", "| X=f32[1,1,28,28] W=f32[20,1,5,5] B=f32[20]"},
    {"LeNet conv2", "Conv", "| X=f32[1,20,12,12] W=f32[50,20,5,5] B=f32[50]"},
    {"LeNet ip1", "Gemm", "transB=1 | A=f32[1,800] B=f32[500,800] C=f32[500]"},
    {"LeNet ip2", "Gemm", "transB=1 | A=f32[1,500] B=f32[10,500] C=f32[10]"},
    {"LeNet pool1", "MaxPool", "kernel_shape=[2,2] strides=[2,2] | X=f32[1,20,24,24]"},
    {"LeNet pool2", "MaxPool", "kernel_shape=[2,2] strides=[2,2] | X=f32[1,50,8,8]"},
    {"LeNet softmax", "Softmax", "| input=f32[1,10]"},
    {"SRCNN 9x9, 3 to 64, 256x256", "Conv",
     "pads=[4,4,4,4] | X=f32[1,3,256,256] W=f32[64,3,9,9] B=f32[64]"},
    {"SRCNN 1x1, 64 to 32", "Conv", "| X=f32[1,64,256,256] W=f32[32,64,1,1] B=f32[32]"},
    {"SRCNN 5x5, 32 to 3", "Conv", "pads=[2,2,2,2] | X=f32[1,32,256,256] W=f32[3,32,5,5] B=f32[3]"},
    {"ResNet 7x7/2, 3 to 64", "Conv",
     "strides=[2,2] pads=[3,3,3,3] | X=f32[1,3,224,224] W=f32[64,3,7,7] B=f32[64]"},
    {"ResNet 3x3, 64, 56x56", "Conv",
     "pads=[1,1,1,1] | X=f32[1,64,56,56] W=f32[64,64,3,3] B=f32[64]"},
    {"ResNet 1x1, 256 to 64, 56x56", "Conv", "| X=f32[1,256,56,56] W=f32[64,256,1,1] B=f32[64]"},
    {"ResNet 3x3/2, 128 to 128", "Conv",
     "strides=[2,2] pads=[1,1,1,1] | X=f32[1,128,56,56] W=f32[128,128,3,3] B=f32[128]"},
    {"ResNet 3x3, 512, 7x7", "Conv",
     "pads=[1,1,1,1] | X=f32[1,512,7,7] W=f32[512,512,3,3] B=f32[512]"},
    {"ResNet max pool", "MaxPool",
     "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] | X=f32[1,64,112,112]"},
    {"ResNet average pool", "GlobalAveragePool", "| X=f32[1,512,7,7]"},
    {"ResNet add", "Add", "| A=f32[1,256,56,56] B=f32[1,256,56,56]"},
    {"ResNet fully connected", "Gemm", "transB=1 | A=f32[1,2048] B=f32[1000,2048] C=f32[1000]"},
    {"MobileNet 3x3 depthwise, 144, 56x56", "Conv",
     "group=144 pads=[1,1,1,1] | X=f32[1,144,56,56] W=f32[144,1,3,3] B=f32[144]"},
    {"transformer 128 x 768 to 768", "MatMul", "| A=f32[128,768] B=f32[768,768]"},
    {"attention of 12 heads of 32, 128 x 128", "Attention",
     "| Q=f32[1,12,128,32] K=f32[1,12,128,32] V=f32[1,12,128,32]"},
    {"attention of a token, 32 heads on 8 of 128, 4096 keys", "Attention",
     "| Q=f32[1,32,1,128] K=f32[1,8,4096,128] V=f32[1,8,4096,128]"},
    {"sigmoid of 64 x 56 x 56", "Sigmoid", "| X=f32[1,64,56,56]"},
    {"leaky relu of 64 x 56 x 56", "LeakyRelu", "| X=f32[1,64,56,56]"},
    {"softmax of 1 x 1000", "Softmax", "| input=f32[1,1000]"},
    {"softmax of 64 x 1000", "Softmax", "| input=f32[64,1000]"},
    {"softmax of 12 x 128 x 128", "Softmax", "| input=f32[12,128,128]"},
};
/* On devices: enough for memory to be what they wait for. */
static const layer large_layers[] = {
    {"attention of 12 heads of 64, 512 x 512, batch 8", "Attention",
     "| Q=f32[8,12,512,64] K=f32[8,12,512,64] V=f32[8,12,512,64]"},
    {"causal attention of 16 heads of 128, 2048 x 2048", "Attention",
     "is_causal=1 | Q=f32[1,16,2048,128] K=f32[1,16,2048,128] V=f32[1,16,2048,128]"},
    {"max pool 2x2, 32x64x112x112", "MaxPool",
     "kernel_shape=[2,2] strides=[2,2] | X=f32[32,64,112,112]"},
    {"max pool 3x3/2, 32x64x112x112", "MaxPool",
     "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] | X=f32[32,64,112,112]"},
    {"average pool 3x3, 8x64x56x56", "AveragePool",
     "kernel_shape=[3,3] pads=[1,1,1,1] | X=f32[8,64,56,56]"},
    {"bicubic 256 to 1024, 1x3", "Resize",
     "mode=cubic cubic_coeff_a=-0.75 | X=f32[1,3,256,256] sizes=i64[4]{1,3,1024,1024}"},
    {"bicubic 256 to 1024, 32x3", "Resize",
     "mode=cubic cubic_coeff_a=-0.75 | X=f32[32,3,256,256] sizes=i64[4]{32,3,1024,1024}"},
    {"bilinear 256 to 512, 8x3", "Resize",
     "mode=linear | X=f32[8,3,256,256] sizes=i64[4]{8,3,512,512}"},
    {"relu of 16 M", "Relu", "| X=f32[16,64,128,128]"},
    {"sigmoid of 16 M", "Sigmoid", "| X=f32[16,64,128,128]"},
    {"add of 16 M", "Add", "| A=f32[16,64,128,128] B=f32[16,64,128,128]"},
    {"bias of 16 M", "Mul", "| A=f32[16,64,128,128] B=f32[64,1,1]"},
    {"prelu of 16 M", "PRelu", "| X=f32[16,64,128,128] slope=f32[64,1,1]"},
    {"batch normalization of 16 M", "BatchNormalization",
     "| X=f32[16,64,128,128] scale=f32[64] B=f32[64] input_mean=f32[64] input_var=f32[64]"},
    {"softmax of 16384 x 1000", "Softmax", "| input=f32[16384,1000]"},
    {"softmax of 64 x 65536", "Softmax", "| input=f32[64,65536]"},
    {"transpose 16x64x128x128 to channels last", "Transpose",
     "perm=[0,2,3,1] | data=f32[16,64,128,128]"},
    {"concat of 2 x 8 M", "Concat", "axis=1 | inputs=f32[16,32,128,128] inputs=f32[16,32,128,128]"},
    {"plugin's bicubic 256 to 1024, 1x3", "Test::DynamicTRTResize",
     "| image=f32[1,3,256,256] size=f32[1,1,1024,1024]"},
    {"plugin's bicubic 256 to 1024, 32x3", "Test::DynamicTRTResize",
     "| image=f32[32,3,256,256] size=f32[1,1,1024,1024]"},
    {"plugin's max pool 2x2, 32x64x112x112", "UFF::MaxPool",
     "ksize=[1,2,2,1] strides=[1,2,2,1] | x=f32[32,64,112,112]"},
    {"global average of 32x2048x7x7", "GlobalAveragePool", "| X=f32[32,2048,7,7]"},
    {"global average of 32x112x112", "GlobalAveragePool", "| X=f32[1,32,112,112]"},
    {"global average of 144x56x56", "GlobalAveragePool", "| X=f32[1,144,56,56]"},
    {"global average of 480x14x14", "GlobalAveragePool", "| X=f32[1,480,14,14]"},
    {"means of 4096 rows of 1024", "ReduceMean", "| data=f32[4096,1024] axes=i64[1]{0}"},
    {"means of 1024 rows of 4096", "ReduceMean", "| data=f32[1024,4096] axes=i64[1]{1}"},
};

enum { F32 = 0, I8 = 1, F16 = 2, BF16 = 3, KINDS = 4, ROUNDS = 5, CANDIDATES = 256 };
static const char *const kind_names[] = {"f32", "int8", "f16", "bf16"};
static const tn_type kind_types[] = {TN_F32, TN_STORED_QI8, TN_F16, TN_BF16};

typedef struct candidate {
    tn_stored_run *run;
    const char *combination;
    int kind;
    double best_ns;
    double conversions_ns; /* of the narrow tensors, from and to 32-bit floats */
} candidate;

typedef struct bench {
    tn_runtime *runtime;
    tn_arena *arena;
    tn_case c;
    tn_graph *graph;
    tn_outcome outcome;
    candidate candidates[CANDIDATES];
    size_t count;
    uint32_t threads;
    bool is_all;
    const tn_device *device; /* null: the processor */
    void *stream;
} bench;

static bool take_port(const tn_combination_port *port, const tn_shape *shape, tn_type own, int kind,
                      tn_stored_tensor *tensor, bool *inout_is_narrow) {
    if (!port || !tn_format_fits(port->format, shape->rank)) return false;
    const bool is_narrow =
        kind != F32 && own == TN_F32 && (port->types & TN_TYPE_BIT(kind_types[kind]));
    if (!is_narrow && !(port->types & TN_TYPE_BIT(own))) return false;
    *inout_is_narrow = *inout_is_narrow || is_narrow;
    *tensor = (tn_stored_tensor){
        .is_given = true,
        .type = !is_narrow   ? own
                : kind == I8 ? TN_I8
                             : kind_types[kind],
        .format = port->format,
        .scale = is_narrow && kind == I8 ? 1.0f / 64 : 0,
        .own_type = own,
        .shape = shape,
        .is_constant = !is_narrow,
    };
    return true;
}

/* The combination as a run; false when it does not fit, or not this kind. */
static bool describe(const bench *b, const tn_combination *combination, int kind,
                     tn_stored_run *run) {
    const tn_graph_node *node = &b->graph->nodes[0];
    bool is_narrow = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_case_input *input =
            &b->c.inputs[atoi(b->graph->tensors[node->inputs[i]].name + 2)];
        if (!take_port(tn_combination_input(combination, i), &input->shape, input->type, kind,
                       &run->inputs[i], &is_narrow))
            return false;
        run->inputs[i].data = input->data;
        /* The first is a value of the network, as is everything without weights. */
        if (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_VALUE_NEEDED) continue;
        if (i == 0 || strcmp(node->entry->op->name, "Add") == 0) run->inputs[i].is_constant = false;
    }
    for (uint32_t i = 0; i < b->outcome.count; i++) {
        if (!take_port(tn_combination_output(combination, i), &b->outcome.shapes[i],
                       b->outcome.types[i], kind, &run->outputs[i], &is_narrow))
            return false;
    }
    return is_narrow == (kind != F32);
}

static void note_candidate(bench *b, const tn_kernel_entry *entry, uint32_t index, int kind) {
    tn_stored_run *run = calloc(1, sizeof(*run));
    if (!run || b->count == CANDIDATES || !describe(b, &entry->combinations[index], kind, run)) {
        free(run);
        return;
    }
    run->runtime = b->runtime;
    run->kernel = entry->kernel;
    run->node = &b->graph->nodes[0];
    run->input_count = run->node->input_count;
    run->output_count = run->node->output_count;
    run->threads = b->threads;
    run->device = b->device;
    run->stream = b->stream;
    run->timed_seconds = 0.02;
    const char *text = entry->kernel->combination_count ? entry->kernel->combinations[index] : "*";
    b->candidates[b->count++] = (candidate){.run = run, .combination = text, .kind = kind};
}

/* One tensor's conversion between how the kernel has it and 32-bit floats, on this thread; the
 * shortest of some. */
static tn_status time_conversion(const tn_stored_tensor *tensor, bool is_input, double *inout_ns) {
    tn_stored_memory narrow = {0}, wide = {0};
    tn_stored_tensor own = *tensor;
    own.type = own.own_type;
    own.format = TN_LINEAR;
    own.scale = 0;
    tn_status status = tn_stored_memory_poison(&narrow, tensor);
    if (status == TN_OK) status = tn_stored_memory_poison(&wide, &own);
    narrow.storage.tensor.data = tn_stored_memory_host(&narrow);
    wide.storage.tensor.data = tn_stored_memory_host(&wide);
    const tn_tensor *from = is_input ? &narrow.storage.tensor : &wide.storage.tensor;
    const tn_tensor *to = is_input ? &wide.storage.tensor : &narrow.storage.tensor;
    double best = 0;
    for (int i = 0; status == TN_OK && i < 200; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        status = tn_convert(from, to, 0, tn_convert_items(from, to));
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double ns =
            (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        best = best == 0 || ns < best ? ns : best;
    }
    *inout_ns += best;
    tn_stored_memory_free(&narrow);
    tn_stored_memory_free(&wide);
    return status;
}

static tn_status time_conversions(candidate *one) {
    const tn_stored_run *run = one->run;
    one->conversions_ns = 0;
    for (uint32_t i = 0; i < run->input_count; i++)
        if (run->inputs[i].is_given && run->inputs[i].scale != 0)
            TN_TRY(time_conversion(&run->inputs[i], true, &one->conversions_ns));
    for (uint32_t i = 0; i < run->output_count; i++)
        if (run->outputs[i].is_given && run->outputs[i].scale != 0)
            TN_TRY(time_conversion(&run->outputs[i], false, &one->conversions_ns));
    return TN_OK;
}

static tn_status time_all(bench *b) {
    for (int round = 0; round < (b->device ? 1 : ROUNDS); round++) {
        for (size_t i = 0; i < b->count; i++) {
            candidate *one = &b->candidates[i];
            bool is_taken = false;
            TN_TRY(tn_stored_do(one->run, &is_taken));
            if (!is_taken) continue;
            tn_stored_free(one->run);
            if (one->best_ns == 0 || one->run->best_ns < one->best_ns)
                one->best_ns = one->run->best_ns;
            if (one->kind == I8 && !b->device && b->threads == 1) TN_TRY(time_conversions(one));
        }
    }
    return TN_OK;
}

static const candidate *fastest(const bench *b, int kind) {
    const candidate *best = NULL;
    for (size_t i = 0; i < b->count; i++) {
        const candidate *one = &b->candidates[i];
        if (one->kind == kind && one->best_ns > 0 && (!best || one->best_ns < best->best_ns))
            best = one;
    }
    return best;
}

static double bytes_of(const tn_stored_tensor *tensors, uint32_t count) {
    double all = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = 0;
        if (tensors[i].is_given &&
            tn_format_bytes(tensors[i].format, tensors[i].type, tensors[i].shape, &bytes) == TN_OK)
            all += (double)bytes;
    }
    return all;
}

static void print_candidate(const candidate *one, const candidate *base) {
    const tn_stored_run *run = one->run;
    printf("    %-5s %10.2f us  %5.2f  %s  \"%s\"", kind_names[one->kind], one->best_ns / 1e3,
           base ? one->best_ns / base->best_ns : 0, run->kernel->name, one->combination);
    if (run->device)
        printf("  %.0f GB/s", (bytes_of(run->inputs, run->input_count) +
                               bytes_of(run->outputs, run->output_count)) /
                                  one->best_ns);
    if (one->conversions_ns > 0 && base)
        printf("  (f32 and conversions: %.2f us, %.2f)",
               (base->best_ns + one->conversions_ns) / 1e3,
               one->best_ns / (base->best_ns + one->conversions_ns));
    printf("\n");
}

static void print_layer(const bench *b, const layer *l) {
    const candidate *base = fastest(b, F32);
    printf("%s\n", l->name);
    for (int kind = 0; kind < KINDS && !b->is_all; kind++) {
        if (fastest(b, kind)) print_candidate(fastest(b, kind), base);
    }
    for (size_t i = 0; i < b->count && b->is_all; i++) {
        if (b->candidates[i].best_ns > 0) print_candidate(&b->candidates[i], base);
    }
    fflush(stdout);
}

/* The outputs' types and shapes, from a run of the reference. */
static tn_status describe_outputs(bench *b, const tn_graph_node *node) {
    const tn_builder_options options = {.size = sizeof(options), .flags = TN_BUILD_NO_TIMING};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes;
    (void)node;
    tn_status status = tn_build(b->graph, &options, &plan);
    if (status == TN_OK) {
        const void *data = tn_plan_bytes(plan, &bytes);
        status = tn_engine_load_bytes(b->runtime, data, bytes, NULL, &engine);
    }
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = tn_context_reshape(context);
    b->outcome.count = status == TN_OK ? tn_engine_output_count(engine) : 0;
    for (uint32_t i = 0; i < b->outcome.count && status == TN_OK; i++) {
        const tn_tensor *tensor = NULL;
        status = tn_context_output(context, i, &tensor);
        if (status != TN_OK) break;
        b->outcome.types[i] = tensor->type;
        status = tn_shape_set(&b->outcome.shapes[i], tensor->rank, tensor->shape);
    }
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return status;
}

static tn_status make_graph(bench *b, const tn_operator *op) {
    tn_tensor_id inputs[16], output;
    TN_TRY(tn_graph_create(b->runtime, "layer", &b->graph));
    for (uint32_t i = 0; i < b->c.input_count && i < 16; i++) {
        const tn_case_input *input = &b->c.inputs[i];
        char name[16];
        snprintf(name, sizeof(name), "in%u", i);
        if (op->inputs[input->port].flags & TN_PORT_VALUE_NEEDED)
            TN_TRY(tn_graph_add_constant(b->graph, name, input->type, input->shape.rank,
                                         input->shape.extents, input->data, input->bytes,
                                         &inputs[i]));
        else
            TN_TRY(tn_graph_add_input(b->graph, name, input->type, input->shape.rank,
                                      input->shape.extents, NULL, &inputs[i]));
    }
    /* Ports before the last given one that are not given are absent. */
    tn_tensor_id ports[16];
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->c.input_count && i < 16; i++) {
        while (count < b->c.inputs[i].port && count < 15)
            ports[count++] = TN_NO_TENSOR;
        if (count < 16) ports[count++] = inputs[i];
    }
    const tn_node_description node = {.size = sizeof(node),
                                      .version = op->since_version,
                                      .domain = op->domain,
                                      .op = op->name,
                                      .name = "node",
                                      .input_count = count,
                                      .output_count = 1,
                                      .inputs = ports,
                                      .attribute_count = b->c.attribute_count,
                                      .attributes = b->c.attributes};
    TN_TRY(tn_graph_add_node(b->graph, &node, &output));
    return tn_graph_add_output(b->graph, output, NULL);
}

static tn_status bench_layer(bench *b, const layer *l) {
    const tn_operator_entry *op = NULL;
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    tn_registry *registry = tn_runtime_registry(b->runtime);
    b->count = 0;
    b->graph = NULL;
    char domain[32] = "";
    const char *colon = strstr(l->op, "::");
    if (colon) snprintf(domain, sizeof(domain), "%.*s", (int)(colon - l->op), l->op);
    const tn_status found =
        tn_registry_find_operator(registry, domain, colon ? colon + 2 : l->op, 0, &op);
    if (colon && found == TN_ERROR_NOT_FOUND) return TN_OK; /* its plugin is not loaded */
    TN_TRY(found);
    TN_TRY(tn_arena_create(tn_allocator_default(), &b->arena));
    tn_status status = tn_case_read(b->arena, op->op, l->text, &b->c);
    if (status == TN_OK) status = make_graph(b, op->op);
    if (status == TN_OK) status = describe_outputs(b, &b->graph->nodes[0]);
    if (status == TN_OK)
        status = tn_registry_kernels(registry, op->op, b->device ? b->device->kind : "cpu",
                                     &entries, &count);
    for (uint32_t e = 0; e < count; e++) {
        for (uint32_t k = 0; k < entries[e]->combination_count; k++) {
            for (int kind = 0; kind < KINDS; kind++)
                note_candidate(b, entries[e], k, kind);
        }
    }
    if (status == TN_OK) status = time_all(b);
    if (status == TN_OK) print_layer(b, l);
    for (size_t i = 0; i < b->count; i++)
        free(b->candidates[i].run);
    tn_registry_free_kernels(registry, entries, count);
    tn_graph_destroy(b->graph);
    tn_arena_destroy(b->arena);
    tn_library_release(op->library);
    return status;
}

static tn_status bench_all(bench *b, const layer *all, size_t count, const char *only) {
    for (size_t i = 0; i < count; i++)
        if (!only || strcmp(only, all[i].op) == 0) TN_TRY(bench_layer(b, &all[i]));
    return TN_OK;
}

/* On a device, both tables. */
static tn_status bench_on(bench *b, const char *name, const char *only) {
    tn_used_device used = {0};
    tn_device_libraries_load(b->runtime);
    TN_TRY(tn_device_take(b->runtime, name, &used));
    b->device = used.device;
    printf("%s\n", used.device->fingerprint(used.device));
    tn_status status = used.device->stream_create(used.device, &b->stream);
    if (status == TN_OK) status = bench_all(b, layers, sizeof(layers) / sizeof(layers[0]), only);
    if (status == TN_OK)
        status = bench_all(b, large_layers, sizeof(large_layers) / sizeof(large_layers[0]), only);
    used.device->stream_destroy(used.device, b->stream);
    tn_device_give_back(&used);
    return status;
}

int main(int argc, char **argv) {
    static bench b = {.threads = 1};
    layer own = {0};
    const char *only = NULL, *device = NULL, *folder = getenv("TENON_PLUGIN_PATH");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            b.threads = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device = argv[++i];
        else if (strcmp(argv[i], "--all") == 0)
            b.is_all = true;
        else if (only)
            own = (layer){argv[i], only, argv[i]};
        else
            only = argv[i];
    }
    if (b.threads == 0) b.threads = 1;
    tn_status status = tn_runtime_create(NULL, &b.runtime);
    if (status == TN_OK) status = tn_runtime_load_companions(b.runtime, NULL, NULL);
    if (status == TN_OK && folder && folder[0])
        status = tn_runtime_load_directory(b.runtime, folder);
    if (status == TN_OK)
        status = own.op   ? bench_layer(&b, &own)
                 : device ? bench_on(&b, device, only)
                          : bench_all(&b, layers, sizeof(layers) / sizeof(layers[0]), only);
    if (status != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message);
    tn_runtime_release(b.runtime);
    return status != TN_OK;
}
