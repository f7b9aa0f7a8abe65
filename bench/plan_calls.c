/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's calls as a program makes them that has new arrays each time: shape set, input and output
 * bound again, run. Memory is aligned to 16 bytes only, as NumPy's is. Prints the least nanoseconds
 * of a call over the rounds; bench/python_calls.py compares Python's calls with it.
 *
 *     tenon-bench-plan-calls PLAN ROUNDS CALLS_A_ROUND
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

typedef struct port_memory {
    int64_t extents[TN_MAX_RANK];
    uint32_t rank;
    uint64_t bytes;
    char *data;
} port_memory;

/* Of the input's optimum; of floats. */
static void port_init(port_memory *port, const tn_profile_input *input) {
    port->bytes = sizeof(float);
    port->rank = input->rank;
    for (uint32_t i = 0; i < input->rank; i++)
        port->bytes *= (uint64_t)(port->extents[i] = input->optimum[i]);
    port->data = (char *)aligned_alloc(64, port->bytes / 64 * 64 + 128) + 16;
    for (uint64_t i = 0; i < port->bytes / sizeof(float); i++)
        ((float *)(void *)port->data)[i] = (float)(i % 7);
}

static tn_status call(tn_context *context, const port_memory *input, char *output,
                      uint64_t output_bytes) {
    tn_status status = tn_context_set_shape(context, 0, input->rank, input->extents);
    if (status == TN_OK) status = tn_context_bind_input(context, 0, input->data, input->bytes);
    if (status == TN_OK) status = tn_context_bind_output(context, 0, output, output_bytes);
    return status == TN_OK ? tn_context_run(context) : status;
}

static tn_status measure(tn_engine *engine, tn_context *context, int rounds, int calls) {
    static char output[1 << 16];
    port_memory input;
    tn_status status = TN_OK;
    double least = 1e30;
    port_init(&input, tn_engine_profile(engine, 0));
    for (int round = 0; round < rounds; round++) {
        const double before = now_ns();
        for (int i = 0; i < calls && status == TN_OK; i++)
            status = call(context, &input, output + 16, sizeof(output) - 16);
        const double each = (now_ns() - before) / calls;
        if (each < least) least = each;
    }
    if (status == TN_OK) printf("least_ns=%.1f\n", least);
    return status;
}

int main(int count, char **arguments) {
    tn_runtime *runtime;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    if (count != 4)
        return fprintf(stderr, "usage: tenon-bench-plan-calls PLAN ROUNDS CALLS_A_ROUND\n"), 2;
    tn_status status = tn_runtime_create(NULL, &runtime);
    if (status == TN_OK) status = tn_engine_load(runtime, arguments[1], NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = measure(engine, context, atoi(arguments[2]), atoi(arguments[3]));
    if (status != TN_OK) fprintf(stderr, "%s\n", tn_last_error()->message);
    return status == TN_OK ? 0 : 1;
}
