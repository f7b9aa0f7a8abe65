/* SPDX-License-Identifier: Apache-2.0 */
/* A network for the commands of device_run.c: see network.h. */
#include "network.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/import.h>

void network_die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    exit(1);
}

void network_must(tn_status status, const char *what) {
    if (status != TN_OK)
        network_die("%s: %s: %s", what, tn_last_error()->where, tn_last_error()->message);
}

static void log_line(void *user, uint32_t level, const char *text) {
    (void)user;
    if (level <= TN_LOG_WARNING) fprintf(stderr, "log: %s\n", text);
}

tn_runtime *network_runtime(const char *const *libraries, uint32_t count) {
    const tn_runtime_options options = {
        .size = sizeof(options), .log = log_line, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime = NULL;
    network_must(tn_runtime_create(&options, &runtime), "a runtime");
    for (uint32_t i = 0; i < count; i++)
        network_must(tn_runtime_load_library(runtime, libraries[i]), libraries[i]);
    return runtime;
}

static void *read_file(const char *path, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t bytes = 0, capacity = 0;
    if (!file) network_die("%s cannot be read", path);
    for (;;) {
        capacity = capacity ? 2 * capacity : 1 << 20;
        char *grown = realloc(data, capacity);
        if (!grown) network_die("no memory");
        data = grown;
        bytes += fread(data + bytes, 1, capacity - bytes, file);
        if (bytes < capacity) break;
    }
    fclose(file);
    *out_bytes = bytes;
    return data;
}

/* Relu, the operator, Relu, on an image. */
static tn_graph *make_graph(tn_runtime *runtime, const char *op) {
    static const int64_t shape[] = {2, 3, 8, 8};
    const char *const ops[] = {"Relu", op, "Relu"}, *const names[] = {"before", "middle", "after"};
    tn_graph *graph = NULL;
    tn_tensor_id last = TN_NO_TENSOR;
    network_must(tn_graph_create(runtime, "chain", &graph), "a graph");
    network_must(tn_graph_add_input(graph, "x", TN_F32, 4, shape, NULL, &last), "an input");
    for (int i = 0; i < 3; i++) {
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = ops[i],
                                          .name = names[i],
                                          .input_count = 1,
                                          .inputs = &last,
                                          .output_count = 1};
        tn_tensor_id made = TN_NO_TENSOR;
        network_must(tn_graph_add_node(graph, &node, &made), ops[i]);
        last = made;
    }
    network_must(tn_graph_add_output(graph, last, "y"), "an output");
    return graph;
}

tn_graph *network_parse(tn_runtime *runtime, const char *model) {
    tn_graph *graph = NULL;
    size_t bytes = 0;
    if (strncmp(model, "op:", 3) == 0) return make_graph(runtime, model + 3);
    void *data = read_file(model, &bytes);
    network_must(tn_graph_parse_onnx(runtime, data, bytes, NULL, &graph), model);
    free(data);
    return graph;
}

/* ----------------------------------------------------------------------------------------------
 * shapes and numbers */

static void read_shape(network *n, uint32_t input, const char *text) {
    uint32_t rank = 0;
    for (const char *at = text; *at && rank < TN_MAX_RANK;) {
        char *end = NULL;
        n->extents[input][rank++] = strtoll(at, &end, 10);
        if (end == at) network_die("'%s' is no shape", text);
        at = *end == 'x' ? end + 1 : end;
    }
    n->ranks[input] = rank;
}

static void set_shape(network *n, const network_options *options, uint32_t input) {
    const tn_port_info *port = tn_graph_input(n->graph, input);
    n->ranks[input] = port->rank;
    for (uint32_t i = 0; i < port->rank && i < TN_MAX_RANK; i++)
        n->extents[input][i] = port->extents[i] < 0 ? 1 : port->extents[i];
    const size_t length = strlen(port->name);
    for (uint32_t i = 0; i < options->shape_count; i++)
        if (strncmp(options->shapes[i], port->name, length) == 0 &&
            options->shapes[i][length] == '=')
            read_shape(n, input, options->shapes[i] + length + 1);
    n->input_counts[input] = 1;
    for (uint32_t i = 0; i < n->ranks[input]; i++)
        n->input_counts[input] *= (size_t)n->extents[input][i];
}

void network_fill(network *n, uint32_t seed) {
    for (uint32_t i = 0; i < n->input_count; i++) {
        uint32_t state = seed * 2654435761u + i + 1;
        for (size_t k = 0; k < n->input_counts[i]; k++) {
            state = state * 1664525u + 1013904223u;
            n->inputs[i][k] = (float)(state >> 16 & 1023) / 1024.0f;
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * calibration for 8 bits */

typedef struct samples {
    network *n;
    tn_tensor tensors[NETWORK_PORTS];
} samples;

static tn_status read_batch(void *user, uint64_t index, const tn_tensor **out_inputs) {
    samples *s = user;
    network_fill(s->n, 100 + (uint32_t)index);
    for (uint32_t i = 0; i < s->n->input_count; i++) {
        s->tensors[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                    .type = TN_F32,
                                    .format = TN_LINEAR,
                                    .rank = s->n->ranks[i],
                                    .shape = s->n->extents[i],
                                    .data = s->n->inputs[i],
                                    .bytes = s->n->input_counts[i] * sizeof(float)};
        out_inputs[i] = &s->tensors[i];
    }
    return TN_OK;
}

static tn_calibration *calibrate(network *n, const tn_builder_options *build) {
    samples s = {.n = n};
    tn_calibration *made = NULL;
    tn_builder_options plain = *build;
    plain.precision = TN_PRECISION_F32;
    plain.device = "cpu";
    plain.force_kernel = NULL;
    const tn_batches batches = {
        .size = sizeof(batches), .count = 8, .read = read_batch, .user = &s};
    const tn_calibrate_options options = {.size = sizeof(options),
                                          .calibrator = TN_CALIBRATOR_ENTROPY,
                                          .build = &plain,
                                          .batches = &batches};
    network_must(tn_calibrate(n->graph, &options, &made, NULL), "calibration");
    return made;
}

/* ----------------------------------------------------------------------------------------------
 * life */

static void build(network *n, const network_options *options, const char *device) {
    tn_profile_input inputs[NETWORK_PORTS];
    const tn_profile_input *pointers[NETWORK_PORTS];
    tn_calibration *calibration = NULL;
    for (uint32_t i = 0; i < n->input_count; i++) {
        inputs[i] = (tn_profile_input){.size = sizeof(inputs[i]),
                                       .rank = n->ranks[i],
                                       .name = tn_graph_input(n->graph, i)->name,
                                       .minimum = n->extents[i],
                                       .optimum = n->extents[i],
                                       .maximum = n->extents[i]};
        pointers[i] = &inputs[i];
    }
    tn_builder_options b = {.size = sizeof(b),
                            .threads = 1,
                            .device = device,
                            .timing_cache = options->timing_cache,
                            .precision = options->precision,
                            .force_kernel = options->kernel,
                            .flags = options->build_flags,
                            .timing_seconds = 30,
                            .profile_input_count = n->input_count,
                            .profile_inputs = pointers};
    if (options->precision == TN_PRECISION_I8) b.calibration = calibration = calibrate(n, &b);
    const tn_status status = tn_build(n->graph, &b, &n->plan);
    tn_calibration_destroy(calibration);
    network_must(status, "building");
}

void network_load(network *n, const network_options *options, const char *device,
                  const tn_plan *plan) {
    uint64_t bytes = 0;
    *n = (network){.runtime = options->runtime};
    n->graph = network_parse(options->runtime, options->model);
    n->input_count = tn_graph_input_count(n->graph);
    if (n->input_count > NETWORK_PORTS) network_die("too many inputs");
    for (uint32_t i = 0; i < n->input_count; i++) {
        set_shape(n, options, i);
        n->inputs[i] = aligned_alloc(64, (n->input_counts[i] * sizeof(float) + 63) / 64 * 64);
        if (!n->inputs[i]) network_die("no memory");
    }
    network_fill(n, 1);
    /* What was built in this process has to run as it was chosen. */
    const uint32_t exact = plan ? 0 : TN_ENGINE_EXACT;
    if (!plan) {
        build(n, options, device);
        plan = n->plan;
    }
    const tn_engine_options e = {
        .size = sizeof(e), .device = device, .flags = options->engine_flags | exact};
    const void *data = tn_plan_bytes(plan, &bytes);
    network_must(tn_engine_load_bytes(n->runtime, data, bytes, &e, &n->engine), "loading");
    n->output_count = tn_engine_output_count(n->engine);
}

void network_open(network *n) {
    network_must(tn_context_create(n->engine, &n->context), "a context");
    for (uint32_t i = 0; i < n->input_count; i++) {
        network_must(tn_context_set_shape(n->context, i, n->ranks[i], n->extents[i]), "a shape");
        network_must(
            tn_context_bind_input(n->context, i, n->inputs[i], n->input_counts[i] * sizeof(float)),
            "an input");
    }
}

void network_close(network *n) {
    tn_context_destroy(n->context);
    tn_engine_release(n->engine);
    tn_plan_destroy(n->plan);
    tn_graph_destroy(n->graph);
    for (uint32_t i = 0; i < n->input_count; i++)
        free(n->inputs[i]);
    *n = (network){0};
}

size_t network_output(const network *n, const float **out_data) {
    const tn_tensor *output = NULL;
    network_must(tn_context_output(n->context, 0, &output), "an output");
    *out_data = output->data;
    return (size_t)output->bytes / sizeof(float);
}

double network_error(const float *wanted, const float *found, size_t count, double rtol,
                     double atol, size_t *out_outside) {
    double norm = 0, difference = 0;
    *out_outside = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = (double)wanted[i], d = fabs((double)found[i] - a);
        norm += a * a;
        difference += d * d;
        *out_outside += !(d <= atol + rtol * fabs(a)); /* no number is outside */
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}
