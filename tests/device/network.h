/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network from a file, built for a device and run there: what the commands of device_run.c share.
 * Inputs are made up, the same for the same seed; inputs that decide shapes alone get zeros.
 * Whatever fails ends the program with a line that says what.
 */
#ifndef TN_TESTS_DEVICE_NETWORK_H
#define TN_TESTS_DEVICE_NETWORK_H

#include <stdnoreturn.h>
#include <tenon/tenon.h>

enum { NETWORK_PORTS = 8 };

typedef struct network_options {
    tn_runtime *runtime;
    const char *model;
    const char *shapes[NETWORK_PORTS]; /* "NAME=1x3x128x128" of inputs with open extents */
    uint32_t shape_count;
    const char *timing_cache; /* a file, or null */
    uint32_t precision;       /* TN_PRECISION_... */
    const char *kernel;       /* pinned, "Op=kernel"; null: none */
    uint32_t engine_flags;    /* TN_ENGINE_... */
    uint32_t build_flags;
} network_options;

typedef struct network {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    int64_t extents[NETWORK_PORTS][TN_MAX_RANK]; /* of the inputs */
    uint32_t ranks[NETWORK_PORTS];
    size_t input_counts[NETWORK_PORTS]; /* elements */
    float *inputs[NETWORK_PORTS];       /* what is bound */
    uint32_t input_count, output_count;
} network;

/* Ends the program with 1 after "WHAT: the last error" where the call failed. */
void network_must(tn_status status, const char *what);
noreturn void network_die(const char *format, ...) TN_PRINTF(1, 2);

tn_runtime *network_runtime(const char *const *libraries, uint32_t count);
/* Of an ONNX file, or "op:NAME": the operator between two Relus. */
tn_graph *network_parse(tn_runtime *runtime, const char *model);
/* Builds for `device`, or takes another's plan, and loads it there; no context yet. */
void network_load(network *n, const network_options *options, const char *device,
                  const tn_plan *plan);
/* A context with inputs that are bound. */
void network_open(network *n);
void network_fill(network *n, uint32_t seed);
void network_close(network *n);

/* The first output: elements and data, after a run. */
size_t network_output(const network *n, const float **out_data);
/* Whether each element lies within rtol and atol; and the norm of the difference over that of
 * `wanted`. */
double network_error(const float *wanted, const float *found, size_t count, double rtol,
                     double atol, size_t *out_outside);

#endif
