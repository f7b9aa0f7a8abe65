/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plan and runs it once on an input of one value: `run_plan lenet.plan 0.5`. All shapes must be fixed. */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

/* clang-format off */
#define CHECK(call) if ((call) != TN_OK) return fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message), 1

int main(int argc, char **argv) {
    tn_runtime *runtime; tn_engine *engine; tn_context *context; const tn_tensor *output;
    if (argc < 2) return fprintf(stderr, "usage: run_plan PLAN [VALUE]\n"), 2;
    CHECK(tn_runtime_create(NULL, &runtime));
    CHECK(tn_engine_load(runtime, argv[1], NULL, &engine));
    CHECK(tn_context_create(engine, &context));
    const tn_port_info *port = tn_engine_input(engine, 0);
    size_t count = 1;
    for (uint32_t i = 0; i < port->rank; i++) count *= (size_t)(port->extents[i] < 0 ? 1 : port->extents[i]);
    float *input = malloc(count * sizeof(float));
    for (size_t i = 0; input && i < count; i++) input[i] = argc > 2 ? strtof(argv[2], NULL) : 0.5f;
    CHECK(tn_context_bind_input(context, 0, input, count * sizeof(float)));
    CHECK(tn_context_run(context));
    CHECK(tn_context_output(context, 0, &output));
    for (size_t i = 0; i < output->bytes / sizeof(float) && i < 10; i++) printf("%.6f\n", ((float *)output->data)[i]);
    tn_context_destroy(context); tn_engine_release(engine); tn_runtime_release(runtime); free(input);
}
