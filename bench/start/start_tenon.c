/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's start with Tenon, from its beginning to the first result: loads a plan, runs it once
 * and says when. `tenon-start PLAN THREADS [INPUT.f32]`; cold_start.py runs it.
 */
#include "start.h"

#include <tenon/tenon.h>

static int fail(const char *what) {
    return fprintf(stderr, "%s: %s\n", what, tn_last_error()->message), 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: tenon-start PLAN THREADS [INPUT.f32]\n"), 2;
    const tn_engine_options options = {.size = sizeof(options),
                                       .threads = (uint32_t)strtoul(argv[2], NULL, 10)};
    tn_runtime *runtime = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    if (tn_runtime_create(NULL, &runtime) != TN_OK) return fail("runtime");
    if (tn_engine_load(runtime, argv[1], &options, &engine) != TN_OK) return fail("engine");
    if (tn_context_create(engine, &context) != TN_OK) return fail("context");
    const tn_port_info *port = tn_engine_input(engine, 0);
    int64_t extents[16];
    size_t count = 1;
    for (uint32_t i = 0; i < port->rank && i < 16; i++) {
        extents[i] = port->extents[i] < 0 ? 1 : port->extents[i];
        count *= (size_t)extents[i];
    }
    float *input = start_input(argc > 3 ? argv[3] : NULL, count);
    const tn_tensor *output = NULL;
    if (!input) return fprintf(stderr, "input: not read\n"), 1;
    if (tn_context_set_shape(context, 0, port->rank, extents) != TN_OK ||
        tn_context_bind_input(context, 0, input, count * sizeof(float)) != TN_OK ||
        tn_context_run(context) != TN_OK || tn_context_output(context, 0, &output) != TN_OK)
        return fail("run");
    start_report(output->data, (size_t)output->bytes / sizeof(float));
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    free(input);
    return 0;
}
