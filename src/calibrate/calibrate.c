/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tn_calibrate (tenon/calibrate.h): a copy of the graph with every tensor as an output is built
 * without fusion, so that each is there, and run over the batches; histograms collect the
 * magnitudes, a calibrator makes bounds of them, and the bounds become the table.
 */
#include "base/status.h"
#include "calibrate/calibrate_private.h"
#include "graph/graph.h"
#include "plugin/runtime.h"
#include "program/calibration_table.h"
#include "tensor/type.h"

#include <inttypes.h>
#include <string.h>

#define STEPS              127.0
#define DEFAULT_PERCENTILE 99.99

typedef struct calibrator_row {
    const char *name, *header; /* TensorRT's name of the nearest algorithm */
} calibrator_row;
static const calibrator_row calibrators[] = {
    [TN_CALIBRATOR_ENTROPY] = {"entropy", "TRT-8600-EntropyCalibration2"},
    [TN_CALIBRATOR_MIN_MAX] = {"minmax", "TRT-8600-MinMaxCalibration"},
    [TN_CALIBRATOR_PERCENTILE] = {"percentile", "TRT-8600-LegacyCalibration"}};
#define CALIBRATOR_COUNT (sizeof(calibrators) / sizeof(calibrators[0]))

const char *tn_calibrate_calibrator_name(uint32_t calibrator) {
    return calibrators[calibrator].name;
}

static tn_status check_calibrate_options(const tn_calibrate_options *given,
                                         tn_calibrate_options *out_options) {
    if (!given || given->size < sizeof(*given))
        return tn_fail(TN_ERROR_ARGUMENT, "calibration needs options with `size` set");
    *out_options = *given;
    if (given->calibrator >= CALIBRATOR_COUNT)
        return tn_fail(TN_ERROR_ARGUMENT, "there is no calibrator %" PRIu32 "; the last is %zu",
                       given->calibrator, CALIBRATOR_COUNT - 1);
    if (given->percentile == 0) out_options->percentile = DEFAULT_PERCENTILE;
    if (!(out_options->percentile > 0 && out_options->percentile <= 100))
        return tn_fail(TN_ERROR_RANGE, "the percentile is above 0 and 100 at most");
    return tn_batches_check(given->batches, given->build);
}

/* ----------------------------------------------------------------------------------------------
 * the network with every tensor as an output */

/* A tensor of 16-bit floats is computed in 32-bit ones, and may be stored with a scale then. */
static bool may_be_watched(const tn_graph *graph, tn_tensor_id id) {
    const tn_graph_tensor *tensor = &graph->tensors[id];
    return !tensor->is_constant && tn_graph_kind(graph, id) == 0 &&
           (tensor->type == TN_F32 || tensor->type == TN_NONE || tn_type_is_half(tensor->type));
}

static tn_status watch(tn_calibration_state *state, tn_tensor_id id, const tn_graph_node *node) {
    if (id == TN_NO_TENSOR || !may_be_watched(state->graph, id)) return TN_OK;
    const char *name = state->graph->tensors[id].name;
    state->watched[state->watched_count] =
        (tn_watched_tensor){.name = name,
                            .node = node ? node->name : NULL,
                            .op = node ? node->entry->op->name : NULL,
                            .output = (uint32_t)state->watched_count};
    state->watched_count++;
    return tn_graph_add_output(state->graph, id, name);
}

static tn_status watch_all(tn_calibration_state *state, tn_graph *given) {
    TN_TRY(tn_graph_copy(given, &state->graph));
    tn_graph *graph = state->graph;
    TN_TRY(tn_graph_sort(graph));
    tn_graph_clear_outputs(graph);
    state->watched =
        tn_allocate_zero(state->allocator, graph->tensor_count + 1, sizeof(*state->watched));
    if (!state->watched) return tn_fail_memory("a calibration");
    for (size_t i = 0; i < graph->input_count; i++)
        TN_TRY(watch(state, graph->inputs[i], NULL));
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].output_count; i++)
            TN_TRY(watch(state, graph->nodes[n].outputs[i], &graph->nodes[n]));
    return TN_OK;
}

/* Nothing is fused, so that every tensor is there. */
static tn_builder_options watching_options(const tn_builder_options *given) {
    tn_builder_options build = tn_batch_run_float_options(given);
    build.flags = (build.flags & TN_BUILD_REFERENCE) | TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION;
    return build;
}

static tn_status start_calibration(tn_calibration_state *state, tn_graph *graph) {
    const tn_builder_options build = watching_options(state->options->build);
    TN_TRY(watch_all(state, graph));
    TN_TRY(tn_batch_run_init(&state->run, state->graph, &build, NULL));
    for (size_t i = 0; i < state->watched_count; i++) {
        tn_watched_tensor *watched = &state->watched[i];
        const tn_type type = tn_engine_output(state->run.engine, watched->output)->type;
        if (type == TN_F32 || tn_type_is_half(type))
            TN_TRY(tn_histogram_init(&watched->histogram, state->allocator));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * running */

/* A tensor's elements in 32-bit floats: its own, or widened into memory of the state's. */
static tn_status read_floats(tn_calibration_state *state, const tn_tensor *tensor, size_t count,
                             const float **out_values) {
    *out_values = tensor->data;
    if (tensor->type == TN_F32) return TN_OK;
    TN_TRY(tn_grow(state->allocator, (void **)&state->floats, &state->float_capacity, count,
                   sizeof *state->floats));
    for (size_t i = 0; i < count; i++)
        state->floats[i] = (float)tn_element_get_f64(tensor->data, tensor->type, i);
    *out_values = state->floats;
    return TN_OK;
}

static tn_status collect(tn_calibration_state *state, uint64_t batch) {
    for (size_t i = 0; i < state->watched_count; i++) {
        tn_watched_tensor *watched = &state->watched[i];
        const tn_tensor *tensor;
        const float *values;
        size_t count = 0;
        if (!watched->histogram.counts) continue;
        TN_TRY(tn_context_output(state->run.context, watched->output, &tensor));
        tn_shape shape;
        TN_TRY(tn_shape_set(&shape, tensor->rank, tensor->shape));
        TN_TRY(tn_shape_count(&shape, &count));
        TN_TRY(read_floats(state, tensor, count, &values));
        const size_t good = tn_histogram_add(&watched->histogram, values, count);
        if (good < count)
            return tn_fail(TN_ERROR_RANGE,
                           "sample input %" PRIu64 " makes element %zu of tensor '%s' %s: there is "
                           "no scale for it. Do the inputs have the range that the network was "
                           "trained with?",
                           batch, good, watched->name,
                           values[good] != values[good] ? "not a number" : "infinite");
    }
    return TN_OK;
}

static tn_status run_batches(tn_calibration_state *state) {
    const tn_batches *batches = state->options->batches;
    for (uint64_t i = 0; i < batches->count; i++) {
        TN_TRY(tn_batches_progress(batches, "calibrate", i, batches->count));
        TN_TRY(tn_batch_run_batch(&state->run, batches, i));
        TN_TRY(collect(state, i));
    }
    return tn_batches_progress(batches, "calibrate", batches->count, batches->count);
}

/* ----------------------------------------------------------------------------------------------
 * the table */

static double bound_of(const tn_calibrate_options *options, const tn_histogram *histogram) {
    switch (options->calibrator) {
    case TN_CALIBRATOR_MIN_MAX:
        return tn_min_max_bound(histogram);
    case TN_CALIBRATOR_PERCENTILE:
        return tn_percentile_bound(histogram, options->percentile);
    default:
        return tn_entropy_bound(histogram);
    }
}

static tn_status make_table(tn_calibration_state *state, tn_calibration *table) {
    TN_TRY(tn_calibration_table_set_header(table, calibrators[state->options->calibrator].header));
    for (size_t i = 0; i < state->watched_count; i++) {
        tn_watched_tensor *watched = &state->watched[i];
        if (!watched->histogram.counts) continue;
        watched->bound = bound_of(state->options, &watched->histogram);
        const float scale = (float)(watched->bound / STEPS);
        if (!tn_calibration_table_is_scale(scale)) continue;
        watched->scale = (double)scale;
        TN_TRY(tn_calibration_set(table, watched->name, scale));
    }
    return TN_OK;
}

static void free_state(tn_calibration_state *state) {
    for (size_t i = 0; i < state->watched_count; i++)
        tn_histogram_deinit(&state->watched[i].histogram, state->allocator);
    tn_deallocate(state->allocator, state->watched);
    tn_deallocate(state->allocator, state->floats);
    tn_batch_run_deinit(&state->run);
    tn_graph_destroy(state->graph);
}

tn_status tn_calibrate(tn_graph *graph, const tn_calibrate_options *options,
                       tn_calibration **out_calibration, char **out_report_json) {
    tn_calibrate_options known;
    tn_calibration *table = NULL;
    char *report = NULL;
    if (!graph || !out_calibration)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_calibrate needs a graph and a pointer for the table");
    TN_TRY(check_calibrate_options(options, &known));
    tn_calibration_state state = {.options = &known,
                                  .allocator = tn_runtime_allocator(graph->runtime)};
    tn_status status;
    TN_GO(start_calibration(&state, graph));
    TN_GO(run_batches(&state));
    TN_GO(tn_calibration_create(graph->runtime, &table));
    TN_GO(make_table(&state, table));
    if (out_report_json) TN_GO(tn_calibrate_report(&state, &report));
done:
    free_state(&state);
    if (status != TN_OK) {
        tn_calibration_destroy(table);
        return status;
    }
    *out_calibration = table;
    if (out_report_json) *out_report_json = report;
    return TN_OK;
}
