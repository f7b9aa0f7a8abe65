/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a plan on a GPU whose inputs and outputs stay in its memory: no copies, one wait for many
 * runs. Inputs have the profile's smallest extents where they are open.
 *
 *     tenon-bench-replay-cuda PLAN [RUNS] [INPUT=NUMBER | --state PREFIX]...
 *
 * An input of 64-bit integers holds NUMBER, or 0. An output whose name is PREFIX and an input's
 * lies in that input's memory, as caches do that a run writes in place.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/engine.h>

enum { ROUNDS = 11, WARM_RUNS = 20, MOST_INPUTS = 256 };

static void *inputs[MOST_INPUTS];

static int fail(void) {
    fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message);
    return 1;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* What an argument says of an input, or 0. */
static int64_t number_of(char **arguments, const char *name) {
    const size_t length = strlen(name);
    for (; *arguments; arguments++)
        if (strncmp(*arguments, name, length) == 0 && (*arguments)[length] == '=')
            return atoll(*arguments + length + 1);
    return 0;
}

/* Numbers in 0..1, and the same integer everywhere; other types get zeros. */
static tn_status bind_input(tn_context *context, const tn_port_info *port, uint32_t index,
                            char **arguments) {
    int64_t shape[16];
    size_t count = 1;
    for (uint32_t i = 0; i < port->rank && i < 16; i++) {
        shape[i] = port->extents[i] < 0 ? 1 : port->extents[i];
        count *= (size_t)shape[i];
    }
    float *host = calloc(count + 1, 8);
    void *data = NULL;
    if (!host || index >= MOST_INPUTS || cudaMalloc(&data, count * 8) != cudaSuccess) abort();
    for (size_t i = 0; port->type == TN_F32 && i < count; i++)
        host[i] = (float)(i * 37 % 255) / 255;
    const int64_t number = number_of(arguments, port->name);
    for (size_t i = 0; port->type == TN_I64 && i < count; i++)
        ((int64_t *)(void *)host)[i] = number;
    if (cudaMemcpy(data, host, count * 8, cudaMemcpyHostToDevice) != cudaSuccess) abort();
    free(host);
    inputs[index] = data;
    const tn_status status = tn_context_set_shape(context, index, port->rank, shape);
    return status == TN_OK ? tn_context_bind_device_input(context, index, data, count * 8) : status;
}

/* The memory of the input whose state the output is, or of its own. */
static void *memory_of(const tn_engine *engine, const char *name, size_t bytes, char **arguments) {
    void *data = NULL;
    for (; arguments[0] && arguments[1]; arguments++) {
        const size_t length = strlen(arguments[1]);
        if (strcmp(arguments[0], "--state") != 0 || strncmp(name, arguments[1], length) != 0)
            continue;
        for (uint32_t i = 0; i < tn_engine_input_count(engine); i++)
            if (strcmp(tn_engine_input(engine, i)->name, name + length) == 0) return inputs[i];
    }
    if (cudaMalloc(&data, bytes + 1) != cudaSuccess) abort();
    return data;
}

static tn_status bind_outputs(tn_context *context, const tn_engine *engine, char **arguments) {
    tn_status status = tn_context_reshape(context);
    for (uint32_t i = 0; status == TN_OK && i < tn_engine_output_count(engine); i++) {
        const tn_tensor *output = NULL;
        status = tn_context_output(context, i, &output);
        if (status != TN_OK) break;
        void *data = memory_of(engine, tn_engine_output(engine, i)->name, output->bytes, arguments);
        status = tn_context_bind_device_output(context, i, data, output->bytes);
    }
    return status;
}

static tn_status replay(tn_context *context, cudaStream_t stream, int runs, float *us) {
    cudaEvent_t begin, end;
    tn_status status = TN_OK;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int i = 0; i < WARM_RUNS && status == TN_OK; i++)
        status = tn_context_run(context);
    for (int round = 0; round < ROUNDS && status == TN_OK; round++) {
        float ms = 0;
        cudaEventRecord(begin, stream);
        for (int i = 0; i < runs && status == TN_OK; i++)
            status = tn_context_run(context);
        cudaEventRecord(end, stream);
        if (cudaEventSynchronize(end) != cudaSuccess) abort();
        cudaEventElapsedTime(&ms, begin, end);
        us[round] = ms * 1000 / (float)runs;
    }
    return status;
}

int main(int argc, char **argv) {
    const int runs = argc > 2 ? atoi(argv[2]) : 200;
    tn_runtime *runtime = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    cudaStream_t stream = NULL;
    float us[ROUNDS];
    char **arguments = argv + (argc > 2 ? 3 : argc);
    if (argc < 2 || runs < 1) {
        fprintf(stderr, "usage: %s PLAN [RUNS] [INPUT=NUMBER | --state PREFIX]...\n", argv[0]);
        return 2;
    }
    if (tn_runtime_create(NULL, &runtime) != TN_OK ||
        tn_engine_load(runtime, argv[1], NULL, &engine) != TN_OK ||
        tn_context_create(engine, &context) != TN_OK)
        return fail();
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) abort();
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++)
        if (bind_input(context, tn_engine_input(engine, i), i, arguments) != TN_OK) return fail();
    if (bind_outputs(context, engine, arguments) != TN_OK ||
        tn_context_set_stream(context, stream) != TN_OK ||
        replay(context, stream, runs, us) != TN_OK)
        return fail();
    qsort(us, ROUNDS, sizeof(*us), compare);
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(context, &statistics);
    printf("%s: median_us=%.2f min_us=%.2f graphs_a_run=%.1f\n", argv[1], (double)us[ROUNDS / 2],
           (double)us[0], (double)statistics.graph_launches / (double)statistics.runs);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    return 0;
}
