/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's start with Tenon, from its beginning to the first result: loads a plan, or builds a
 * model without measuring, runs it once and says when. `tenon-start PLAN|MODEL THREADS [INPUT.f32|-
 * [WIDTH...]]`; cold_start.py runs it. With widths, which new_shapes.py asks for, the input's last
 * extent is each of them after that, and each is run twice.
 */
#include "start.h"

#include <tenon/tenon.h>

static int fail(const char *what) {
    return fprintf(stderr, "%s: %s\n", what, tn_last_error()->message), 1;
}

/* The least, the middle and the greatest extent of the input's last axis, for a model that is built
 * here; all 0: as the model declares them. */
typedef struct width_range {
    int64_t least, middle, greatest;
} width_range;

static width_range range_of(int count, char **widths) {
    width_range range = {0};
    for (int i = 0; i < count; i++) {
        const int64_t width = strtol(widths[i], NULL, 10);
        if (i == 0 || width < range.least) range.least = width;
        if (width > range.greatest) range.greatest = width;
    }
    range.middle = (range.least + range.greatest) / 2;
    return range;
}

/* Extents that the model leaves open but for the last one are 1. */
static tn_status build_model(tn_graph *graph, uint32_t threads, width_range range,
                             tn_plan **out_plan) {
    int64_t extents[3][16];
    tn_profile_input input = {
        .size = sizeof(input), .minimum = extents[0], .optimum = extents[1], .maximum = extents[2]};
    const tn_profile_input *const inputs[] = {&input};
    tn_builder_options options = {.size = sizeof(options),
                                  .threads = threads,
                                  .flags = TN_BUILD_NO_TIMING | TN_BUILD_NO_PACKED_WEIGHTS};
    const tn_port_info *port = tn_graph_input(graph, 0);
    if (range.greatest > 0 && port && port->rank > 0 && port->rank <= 16) {
        for (uint32_t i = 0; i < 3 * port->rank; i++) {
            const uint32_t axis = i % port->rank;
            extents[i / port->rank][axis] = port->extents[axis] < 0 ? 1 : port->extents[axis];
        }
        extents[0][port->rank - 1] = range.least;
        extents[1][port->rank - 1] = range.middle;
        extents[2][port->rank - 1] = range.greatest;
        input.name = port->name;
        input.rank = port->rank;
        options.profile_input_count = 1;
        options.profile_inputs = inputs;
    }
    return tn_build(graph, &options, out_plan);
}

/* From a plan's file, or from a model that is built here without measuring. */
static tn_status load(tn_runtime *runtime, const char *path, uint32_t threads, width_range range,
                      tn_engine **out_engine) {
    const tn_engine_options options = {.size = sizeof(options), .threads = threads};
    const size_t length = strlen(path);
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    if (length > 5 && strcmp(path + length - 5, ".plan") == 0)
        return tn_engine_load(runtime, path, &options, out_engine);
    tn_status status = tn_graph_load(runtime, path, NULL, &graph);
    if (status == TN_OK) status = build_model(graph, threads, range, &plan);
    tn_graph_destroy(graph);
    if (status == TN_OK) status = tn_engine_load_plan(runtime, plan, &options, out_engine);
    tn_plan_destroy(plan);
    return status;
}

/* Runs of further widths, the input's last extent, each twice: milliseconds of both. */
static tn_status run_widths(tn_context *context, uint32_t rank, int64_t *extents, int count,
                            char **widths) {
    for (int i = 0; i < count; i++) {
        size_t values = 1;
        extents[rank - 1] = strtol(widths[i], NULL, 10);
        for (uint32_t k = 0; k < rank; k++)
            values *= (size_t)extents[k];
        float *input = start_input(NULL, values);
        if (!input) return TN_ERROR_MEMORY;
        printf("%s", widths[i]);
        for (int run = 0; run < 2; run++) {
            const double begin = start_now(CLOCK_MONOTONIC),
                         worked = start_now(CLOCK_PROCESS_CPUTIME_ID);
            tn_status status = tn_context_set_shape(context, 0, rank, extents);
            if (status == TN_OK)
                status = tn_context_bind_input(context, 0, input, values * sizeof(float));
            if (status == TN_OK) status = tn_context_run(context);
            if (status != TN_OK) return free(input), status;
            printf(" %.4f %.4f", start_now(CLOCK_MONOTONIC) - begin,
                   start_now(CLOCK_PROCESS_CPUTIME_ID) - worked);
        }
        printf("\n");
        free(input);
    }
    return TN_OK;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return fprintf(stderr, "usage: tenon-start PLAN|MODEL THREADS [INPUT.f32|- [WIDTH...]]\n"),
               2;
    const width_range range = range_of(argc - 4, argv + 4);
    tn_runtime *runtime = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    if (tn_runtime_create(NULL, &runtime) != TN_OK) return fail("runtime");
    if (load(runtime, argv[1], (uint32_t)strtoul(argv[2], NULL, 10), range, &engine) != TN_OK)
        return fail("engine");
    if (tn_context_create(engine, &context) != TN_OK) return fail("context");
    const tn_port_info *port = tn_engine_input(engine, 0);
    const tn_profile_input *made_for = tn_engine_profile(engine, 0);
    int64_t extents[16];
    size_t count = 1;
    for (uint32_t i = 0; i < port->rank && i < 16; i++) {
        extents[i] = made_for ? made_for->optimum[i] : port->extents[i] < 0 ? 1 : port->extents[i];
        count *= (size_t)extents[i];
    }
    if (range.greatest > 0) {
        extents[port->rank - 1] = range.middle;
        count *= (size_t)range.middle;
    }
    float *input = start_input(argc > 3 && strcmp(argv[3], "-") != 0 ? argv[3] : NULL, count);
    const tn_tensor *output = NULL;
    if (!input) return fprintf(stderr, "input: not read\n"), 1;
    if (tn_context_set_shape(context, 0, port->rank, extents) != TN_OK ||
        tn_context_bind_input(context, 0, input, count * sizeof(float)) != TN_OK ||
        tn_context_run(context) != TN_OK || tn_context_output(context, 0, &output) != TN_OK)
        return fail("run");
    start_report(output->data, (size_t)output->bytes / sizeof(float));
    if (argc > 4 && run_widths(context, port->rank, extents, argc - 4, argv + 4) != TN_OK)
        return fail("a width");
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    free(input);
    return 0;
}
