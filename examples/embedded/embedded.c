/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for a device: it is linked with the run-only library and with a layer of its own, and
 * needs no other file of Tenon than the plan. `embedded net.plan 0.5` runs the plan once on inputs
 * of that value and prints the outputs. All shapes must be fixed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/engine.h>

/* layer.c, compiled with -Dtenon_library_1=hard_step_library: each library that is linked in gets a
 * name of its own for the symbol that all of them define. */
TN_EXTERN_C tn_library *hard_step_library(const tn_host *host) TN_NOEXCEPT;

static int fail(void) {
    return fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message), 1;
}
#define CHECK(call)                                                                                \
    if ((call) != TN_OK) return fail()

/* Has the lifetime of the context, which reads it. */
static float *make_input(const tn_port_info *port, float value, size_t *out_bytes) {
    size_t count = 1;
    for (uint32_t axis = 0; axis < port->rank; axis++)
        count *= (size_t)(port->extents[axis] < 0 ? 1 : port->extents[axis]);
    float *input = malloc(count * sizeof(float) + 1);
    for (size_t i = 0; input && i < count; i++)
        input[i] = value;
    *out_bytes = count * sizeof(float);
    return input;
}

static int run(tn_engine *engine, tn_context *context, float value) {
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        size_t bytes;
        float *input = make_input(tn_engine_input(engine, i), value, &bytes);
        if (!input) return 1;
        CHECK(tn_context_bind_input(context, i, input, bytes));
    }
    CHECK(tn_context_run(context));
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++) {
        const tn_tensor *output;
        CHECK(tn_context_output(context, i, &output));
        for (uint64_t k = 0; k < output->bytes / sizeof(float); k++)
            printf("%.9g\n", (double)((const float *)output->data)[k]);
    }
    return 0;
}

int main(int argc, char **argv) {
    tn_runtime *runtime;
    tn_engine *engine;
    tn_context *context;
    if (argc < 2) return fprintf(stderr, "usage: embedded PLAN [VALUE]\n"), 2;
    CHECK(tn_runtime_create(NULL, &runtime));
    CHECK(tn_runtime_register_library(runtime, hard_step_library));
    CHECK(tn_engine_load(runtime, argv[1], NULL, &engine));
    CHECK(tn_context_create(engine, &context));
    const int code = run(engine, context, argc > 2 ? strtof(argv[2], NULL) : 0.5F);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    return code;
}
