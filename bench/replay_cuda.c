/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a plan on a GPU whose inputs and outputs stay in its memory: no copies, one wait for many
 * runs. Inputs have the profile's smallest extents where they are open.
 *
 *     tenon-bench-replay-cuda PLAN [RUNS]
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/engine.h>

enum { ROUNDS = 11, WARM_RUNS = 20 };

static int fail(void) {
    fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message);
    return 1;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Numbers in 0..1; types other than 32-bit floats get zeros. */
static tn_status bind_input(tn_context *context, const tn_port_info *port, uint32_t index) {
    int64_t shape[16];
    size_t count = 1;
    for (uint32_t i = 0; i < port->rank && i < 16; i++) {
        shape[i] = port->extents[i] < 0 ? 1 : port->extents[i];
        count *= (size_t)shape[i];
    }
    float *host = calloc(count + 1, 8);
    void *data = NULL;
    if (!host || cudaMalloc(&data, count * 8) != cudaSuccess) abort();
    for (size_t i = 0; port->type == TN_F32 && i < count; i++)
        host[i] = (float)(i * 37 % 255) / 255;
    if (cudaMemcpy(data, host, count * 8, cudaMemcpyHostToDevice) != cudaSuccess) abort();
    free(host);
    const tn_status status = tn_context_set_shape(context, index, port->rank, shape);
    return status == TN_OK ? tn_context_bind_device_input(context, index, data, count * 8) : status;
}

static tn_status bind_outputs(tn_context *context, const tn_engine *engine) {
    tn_status status = tn_context_reshape(context);
    for (uint32_t i = 0; status == TN_OK && i < tn_engine_output_count(engine); i++) {
        const tn_tensor *output = NULL;
        void *data = NULL;
        status = tn_context_output(context, i, &output);
        if (status != TN_OK) break;
        if (cudaMalloc(&data, output->bytes + 1) != cudaSuccess) abort();
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
    if (argc < 2 || runs < 1) {
        fprintf(stderr, "usage: %s PLAN [RUNS]\n", argv[0]);
        return 2;
    }
    if (tn_runtime_create(NULL, &runtime) != TN_OK ||
        tn_engine_load(runtime, argv[1], NULL, &engine) != TN_OK ||
        tn_context_create(engine, &context) != TN_OK)
        return fail();
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) abort();
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++)
        if (bind_input(context, tn_engine_input(engine, i), i) != TN_OK) return fail();
    if (bind_outputs(context, engine) != TN_OK || tn_context_set_stream(context, stream) != TN_OK ||
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
